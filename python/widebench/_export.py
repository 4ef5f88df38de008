"""A module exported into the bytes of a .pt2 file, without its weights."""
import concurrent.futures
import io
import os
import re
import sysconfig
import threading
import traceback
import warnings
from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from ._arguments import children
from ._errors import Error, warn

_LARGEST_BROADCAST = 1 << 30  # bytes; the reader of programs refuses larger ones


class _Exports:
    """torch.export bears one trace at a time: it keeps what it is at in globals.

    Nor may a thread that traced end before the next trace: where there is no GPU, libtorch then reads what was the thread's
    (``torch._C._ensureCUDADeviceGuardSet``, seen in 2.11). So a thread that stays traces for all but the main one.
    """

    def __init__(self):
        self.lock, self._staying = threading.RLock(), None

    def run(self, trace):
        if threading.current_thread() is threading.main_thread():
            with self.lock:
                return trace()
        with self.lock:
            self._staying = self._staying or concurrent.futures.ThreadPoolExecutor(1, "widebench-export")
        gradients = torch.is_grad_enabled()

        def there():
            with self.lock, torch.set_grad_enabled(gradients):
                return trace()

        return self._staying.submit(there).result()


_exports = _Exports()
os.register_at_fork(after_in_child=_exports.__init__)  # the thread is not there, and nobody would release the lock


class Trace(NamedTuple):
    """What torch.export makes of a module."""

    data: bytearray  #: a .pt2 without weights
    constants: dict[str, torch.Tensor]  #: tensors by name that are neither parameters nor buffers
    out_spec: pytree.TreeSpec | None  #: what the module returns, where the file cannot say it
    found: set[str]  #: those of them that were there before the trace, in an attribute, a closure, a cache or the globals of a file


def export(module, args, kwargs, dynamic_shapes, place):
    """The module's `Trace`. Nothing touches the disk."""
    def trace():
        # torch.export computes with tensors of one number, and what the model writes into one that is no buffer stays there.
        single = [tensor for part in module.modules() for tensor in vars(part).values()
                  if type(tensor) is torch.Tensor and tensor.numel() == 1 and not tensor.is_inference()]
        before = [tensor.detach().clone() for tensor in single]
        versions = [tensor._version for tensor in single]
        try:
            return _export(module, args, kwargs, dynamic_shapes, place)
        finally:
            for tensor, was, version in zip(single, before, versions):
                if tensor._version != version:
                    tensor.detach().copy_(was)

    return _exports.run(trace)


class _Contiguous(TorchFunctionMode):
    """Counts calls of contiguous() that give the tensor itself, of which torch.export leaves no trace; `kept`: leaves one.

    In a call whose input has other strides they are copies, which matters where either tensor is then written.
    """

    def __init__(self, kept):
        super().__init__()
        self.kept, self.calls = kept, 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is not torch.Tensor.contiguous or result is not args[0]:
            return result
        self.calls += 1
        return torch.ops.aten.contiguous.default(result.view_as(result), **(kwargs or {})) if self.kept else result


def _traced(module, args, kwargs, dynamic_shapes, place):
    def trace(kept=False):
        with _Contiguous(kept) as seen:
            return torch.export.export(module, args, kwargs or None, dynamic_shapes=dynamic_shapes, strict=False), seen.calls

    program, calls = trace()
    if calls and any(getattr(node.target, "_schema", None) and node.target._schema.is_mutable for node in program.graph.nodes):
        try:
            program, _ = trace(kept=True)
        except Exception as error:  # what the first trace left in caches may not bear a second one: then the first it is
            if _interrupt(error):
                raise
            warn([f"{place}: it writes in place and calls contiguous(), and could not be traced a second time ({_first_line(error)}): "
                  "calls may be wrong whose inputs have other strides than the example; give an example that has those of the calls"])
    return program


def _export(module, args, kwargs, dynamic_shapes, place):
    args, kwargs = _each_its_own(args, kwargs)
    try:
        does = "refuses"
        program = _traced(module, args, kwargs, dynamic_shapes, place)
        does = "cannot save"
        if any(getattr(node.target, "__module__", "") == "torch._functorch.predispatch" for node in program.graph.nodes):
            program = program.run_decompositions({})  # a file cannot hold the marks that torch.vmap leaves in 2.11
        names = program.graph_signature.inputs_to_lifted_tensor_constants
        constants = {name: program.constants[name] for name in names.values()}
        signature = program.module_call_graph[0].signature
        out_spec = signature.out_spec if _has_return_type(signature.out_spec) else None
        if out_spec is not None:
            signature.out_spec = _with_tuples(out_spec)
        return Trace(_saved(program), constants, out_spec, _found(program, names))
    except Exception as error:
        if interrupt := _interrupt(error):
            raise interrupt from None
        first = _first_line(error)
        if unsaved := re.match(r"Failed serializing node (\w+) in graph", first):
            why = f" ({error.__cause__})" if error.__cause__ else ""
            raise Error("export", f"{place}: torch.export can trace the model's '{unsaved[1]}', but cannot save it{why}; write it in other "
                                  "operators (flex_attention as scaled_dot_product_attention) on dense tensors", place) from error
        why = first.split(" See http")[0].strip()
        raise Error("export", f"{place}: torch.export {does} the model ({why}){_line_of_code(error)}; {_advice(str(error))}", place) from error


_TORCH = os.path.dirname(torch.__file__) + os.sep
_PYTHON = sysconfig.get_paths()["stdlib"] + os.sep


def _first_line(error):
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _of_the_model(file):
    ours = file.startswith((_TORCH, os.path.dirname(__file__) + os.sep))
    return not ours and (not file.startswith(_PYTHON) or "-packages" + os.sep in file)


def _line_of_code(error):
    """Where in the model: of what torch.export says over many lines, else the last line that it ran of neither torch nor Python."""
    found = re.findall(r"# File: (\S+:\d+) in \S+, code: (.*)", str(error))
    if found:
        return f" at {found[-1][0]}: {found[-1][1].strip()}"
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        while frames and not frames[0].filename.startswith(_TORCH):
            del frames[0]  # who called
        for frame in reversed(frames):
            if frame.line and _of_the_model(frame.filename):
                return f" at {frame.filename}:{frame.lineno}: {frame.line}"
        error = error.__cause__ or error.__context__
    return ""


def _advice(text):
    if "namedtuple" in text:
        return "return a tuple, a dict or a registered dataclass in place of a named tuple"
    if any(kind in text for kind in ("dataclass", "pytree", "serialized_type_name")):
        return ("return tensors in tuples, lists or dicts (models of transformers: use_cache=False), or register a dataclass with "
                "torch.export.register_dataclass(…, serialized_type_name=\"a name\")")
    if "data-dependent" in text:
        return "what is computed may not hang on numbers in tensors; checks of arguments, as torch.distributions makes them, go with validate_args=False"
    return "see torch.export's notes on what it can trace"


def _interrupt(error):
    """The Ctrl-C that torch.export called another error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


_RETURN_TYPES = frozenset(torch.return_types.all_return_types)  # of topk() and the like: named tuples that have no name in files


def _has_return_type(spec):
    return spec.type in _RETURN_TYPES or any(map(_has_return_type, children(spec)))


def _with_tuples(spec):
    """The tree with a tuple in the place of each of these."""
    made = pytree.tree_unflatten([0] * spec.num_leaves, spec)
    return pytree.tree_structure(pytree.tree_map(lambda part: tuple(part) if type(part) in _RETURN_TYPES else part, made,
                                                 is_leaf=lambda part: type(part) in _RETURN_TYPES))


def _each_its_own(args, kwargs):
    """One tensor that stands at several places is copied: code that asks `query is key` would be traced for such calls alone."""
    seen = set()

    def own(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        again = id(leaf) in seen
        seen.add(id(leaf))
        return leaf.detach().clone().requires_grad_(leaf.requires_grad) if again else leaf

    return pytree.tree_map(own, (args, kwargs))


def _found(program, names):
    # What the code makes of numbers, torch.tensor(2.0), is copied where it is read.
    return {names[node.name] for node in program.graph.nodes if node.name in names
            and any(user.target is not torch.ops.aten.lift_fresh_copy.default for user in node.users)}


def _saved(program):
    # Weights are given by reference, and a broadcast of one number stands for each in the file.
    program._state_dict = {name: _thin(tensor) for name, tensor in program.state_dict.items()}
    # An attribute of a tensor, as torch.export gives them where sizes may change, would be a class of its own in the file.
    program._example_inputs = pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, program.example_inputs)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, file)
    return bytearray(file.getbuffer())


def _thin(tensor):
    if tensor.numel() == 0 or tensor.numel() * tensor.element_size() > _LARGEST_BROADCAST:
        return tensor  # torch.export.save cannot write an empty broadcast
    thin = torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
    return torch.nn.Parameter(thin, requires_grad=tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else thin

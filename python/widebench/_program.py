"""An exported program: its bytes, and what its JSON says of inputs and outputs."""
import ast
import concurrent.futures
import io
import json
import math
import os
import re
import sysconfig
import threading
import traceback
import warnings
import zipfile
from typing import NamedTuple

import torch
from torch.utils import _pytree as pytree

from ._arguments import as_example, children, form, parameters_named
from ._errors import Error
from ._inputs import in_order

# torch/_export/serde/schema.py, ScalarType.
_DTYPES = {1: torch.uint8, 2: torch.int8, 3: torch.int16, 4: torch.int32, 5: torch.int64, 6: torch.float16, 7: torch.float32,
           8: torch.float64, 9: torch.complex32, 10: torch.complex64, 11: torch.complex128, 12: torch.bool, 13: torch.bfloat16,
           28: torch.uint16, 29: torch.float8_e4m3fn, 30: torch.float8_e5m2}
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


def _export(module, args, kwargs, dynamic_shapes, place):
    args, kwargs = _each_its_own(args, kwargs)
    try:
        program = torch.export.export(module, args, kwargs or None, dynamic_shapes=dynamic_shapes, strict=False)
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
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        if unsaved := re.match(r"Failed serializing node (\w+) in graph", lines[0]):
            why = f" ({error.__cause__})" if error.__cause__ else ""
            raise Error("export", f"{place}: torch.export can trace the model's '{unsaved[1]}', but cannot save it{why}; write it in other "
                                  "operators (flex_attention as scaled_dot_product_attention) on dense tensors", place) from error
        why = lines[0].split(" See http")[0].strip()
        raise Error("export", f"{place}: torch.export refuses the model ({why}){_line_of_code(error)}; {_advice(str(error))}", place) from error


_TORCH = os.path.dirname(torch.__file__) + os.sep
_PYTHON = sysconfig.get_paths()["stdlib"] + os.sep


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


_OF_JOINT_GRAPHS = ("loss_output", "gradient_to_parameter", "gradient_to_user_input")  # a step of training: the loss, then gradients

_FUNCTIONS = {"Integer": lambda a: a, "Float": float, "Add": lambda *terms: sum(terms[1:], terms[0]), "Mul": lambda *factors: math.prod(factors),
              "Pow": lambda a, b: a ** b, "FloorDiv": lambda a, b: a // b, "CleanDiv": lambda a, b: a // b, "IntTrueDiv": lambda a, b: a / b,
              "FloatTrueDiv": lambda a, b: a / b, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b, "CeilDiv": lambda a, b: -(-a // b),
              "CeilToInt": lambda a: math.ceil(a), "ToFloat": torch.sym_float, "Max": torch.sym_max, "Min": torch.sym_min}


class _Sizes:
    """Numbers as a program has them, computed from the sizes of inputs. Expressions are data: a few functions, no more."""

    def __init__(self, inputs, tensors):
        self._values = {}
        for meta, tensor in zip(inputs, tensors):
            for size, actual in zip(meta["sizes"], tensor):
                if "as_expr" in size:
                    tree = _tree(size)
                    if isinstance(tree, ast.Call) and tree.func.id == "Symbol":
                        self._values.setdefault(tree.args[0].value, actual)

    def __call__(self, size):
        return self._evaluate(_tree(size)) if "as_expr" in size else _constant(size)

    def knows(self, size):
        """Whether the sizes of inputs say all of it."""
        return "as_expr" not in size or all(
            not isinstance(part, ast.Call) or isinstance(part.func, ast.Name) and (part.args[0].value in self._values if part.func.id == "Symbol" else part.func.id in _FUNCTIONS)
            for part in ast.walk(_tree(size)))

    def _evaluate(self, tree):
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self._evaluate(tree.operand)
        name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""
        if name == "Symbol" and tree.args[0].value in self._values:
            return self._values[tree.args[0].value]
        if name not in _FUNCTIONS:
            raise Error("run", f"the size {ast.unparse(tree)} depends on data; call the wide model outside of torch.compile")
        return _FUNCTIONS[name](*map(self._evaluate, tree.args))


def _tree(size):
    return ast.parse(size["as_expr"]["expr_str"], mode="eval").body


def _constant(argument):
    """What stands in a program for a value that is no tensor. JSON has no words for infinities and nan: they are text."""
    kind, value = next(iter(argument.items()))
    return None if kind == "as_none" else float(value) if kind == "as_float" else value


class Program:
    """What the file says of how it is called.

    Attributes
    ----------
    weights : list of str
        Names of parameters, buffers and tensor constants that the graph has.
    weight_dtypes : set of torch.dtype
        Of these.
    read : set of str
        Names of those that an operator reads: of a tensor with two names, one.
    in_spec, out_spec : TreeSpec
        Of ``(args, kwargs)`` and of what the model returns.
    parameters : inspect.Signature or None
        Of the model's forward, by which a call may be given otherwise than the example.
    """

    def __init__(self, data, out_spec=None):
        self.data = torch.frombuffer(data, dtype=torch.uint8)  # not numpy's way, which torch does without
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            names = [name for name in archive.namelist() if "/models/" in name and name.endswith(".json")]
            name = names[0] if len(names) == 1 else next(name for name in names if name.endswith("/model.json"))
            module = json.loads(archive.read(name))["graph_module"]
            signature = module["module_call_graph"][0]["signature"]
            self.in_spec = pytree.treespec_loads(signature["in_spec"])
            self.out_spec = out_spec or pytree.treespec_loads(signature["out_spec"])
            self.parameters = parameters_named(signature.get("forward_arg_names"))
        except (StopIteration, KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise Error("load", f"this is no program of torch.export.save ({error}); export the model again") from error
        graph, specs = module["graph"], module["signature"]
        tensors = graph["tensor_values"]
        self._numbers = {name: number for kind in ("sym_int_values", "sym_float_values", "sym_bool_values") for name, number in graph.get(kind, {}).items()}
        used = set(re.findall(r'"name": "([^"]+)"', json.dumps([node["inputs"] for node in graph["nodes"]])))
        self.weights, self.weight_dtypes, self.read, self._leaves = [], set(), set(), []
        for spec in specs["input_specs"]:
            kind, value = next(iter(spec.items()))
            if kind == "user_input":
                self._leaves.append(tensors[value["arg"]["as_tensor"]["name"]] if "as_tensor" in value["arg"] else None)
            elif kind == "constant_input":
                self._leaves.append(("constant", _constant(value["value"])))
            else:
                name = value.get(kind + "_name")
                if name is not None and kind != "custom_obj":
                    self.weights.append(name)
                    if value["arg"]["name"] in used:
                        self.read.add(name)
                    self.weight_dtypes.add(_DTYPES.get(tensors[value["arg"]["name"]]["dtype"], torch.float32))
        self.persistent = {spec["buffer"]["buffer_name"]: spec["buffer"]["persistent"] for spec in specs["input_specs"] if "buffer" in spec}
        self._inputs = [leaf for leaf in self._leaves if isinstance(leaf, dict)]
        self._outputs = []  # a tensor's meta, ("size", a function of sizes), or (a constant,)
        sizes = self._sizes([[0] * len(meta["sizes"]) for meta in self._inputs])
        for spec in specs["output_specs"]:
            kind, value = next(iter(spec.items()))
            if kind in _OF_JOINT_GRAPHS:
                self._outputs.append(tensors[value["arg"]["name"]])
            if kind != "user_output":
                continue
            argument = spec["user_output"]["arg"]
            kind, value = next(iter(argument.items()))
            if kind == "as_tensor":
                self._outputs.append(tensors[value["name"]])
            elif kind.startswith("as_sym_"):
                number = self._numbers[value["as_name"]] if "as_name" in value else value
                if not sizes.knows(number):
                    raise Error("load", f"output {len(self._outputs)} of the model is a number that its data decide (.item(), .tolist()), or that is "
                                        "computed in a way not known here; return it as a tensor", f"output.{len(self._outputs)}")
                self._outputs.append(("size", number))
            else:
                self._outputs.append((_constant(argument),))
        if any(next(iter(spec)) in _OF_JOINT_GRAPHS for spec in specs["output_specs"]):  # the tree has no gradients
            self.out_spec = pytree.tree_structure((0,) * len(self._outputs))
        # A call with so many tensors, and nothing else, needs no flattening; -1: every call does.
        self.plain = len(self._leaves) if self.in_spec == pytree.tree_structure((("",) * len(self._leaves), {})) else -1
        self.plain = self.plain if len(self._inputs) == len(self._leaves) else -1
        self.tensors = sum(isinstance(output, dict) for output in self._outputs)  # among the outputs
        self._built = _builder(self.out_spec, len(self._outputs))
        # What builds the answer of results alone; None: sizes or constants are among the outputs.
        self.built = self._built if self.tensors == len(self._outputs) else None

    @property
    def inputs(self):
        """How many tensors a call takes."""
        return len(self._inputs)

    def flatten(self, args, kwargs):
        """The tensors of a call, in order."""
        leaves, spec = pytree.tree_flatten((tuple(args), kwargs))
        if spec != self.in_spec:
            leaves, spec = pytree.tree_flatten(in_order(as_example(tuple(args), kwargs, self.in_spec, self.parameters), self.in_spec))
        if spec != self.in_spec:
            raise Error("run", f"the call is {form(spec)} where the example was {form(self.in_spec)}; call it as the example was given", "inputs")
        tensors = []
        for place, (leaf, wanted) in enumerate(zip(leaves, self._leaves)):
            if isinstance(wanted, dict):
                if not isinstance(leaf, torch.Tensor):
                    raise Error("run", f"input.{place}: is {type(leaf).__name__}, the example had a tensor; give a tensor")
                tensors.append(leaf)
            elif isinstance(wanted, tuple) and not _same_constant(leaf, wanted[1]):
                raise Error("run", f"input.{place}: is {leaf!r}, the graph was traced with {wanted[1]!r}; compile another model for it")
        return tensors

    def call(self, tensors):
        """The reverse of flatten(): args and kwargs of these tensors and of the constants that the graph was traced with."""
        rest = iter(tensors)
        return pytree.tree_unflatten([next(rest) if isinstance(leaf, dict) else leaf[1] if leaf else None for leaf in self._leaves], self.in_spec)

    def unflatten(self, results, tensors, mapped):
        """What the model returns, built of the library's answers."""
        if self.built is None:
            answers, sizes = iter(results), None
            results = []
            for output in self._outputs:
                if isinstance(output, dict):
                    results.append(next(answers))
                elif output[0] == "size":
                    sizes = sizes or self._sizes(_shapes(tensors, mapped))
                    results.append(sizes(output[1]))
                else:
                    results.append(output[0])
        return self._built(results)

    def _sizes(self, shapes):
        return _Sizes(self._inputs, shapes)

    def fake_outputs(self, tensors, mapped, members):
        """Tensors of the shapes that a call gives, under tracing and of tensors without numbers, on the device meta."""
        sizes = self._sizes(_shapes(tensors, mapped))
        device = "meta" if any(tensor.device.type == "meta" for tensor in tensors) else "cpu"
        return [torch.empty([members, *map(sizes, meta["sizes"])], dtype=_DTYPES[meta["dtype"]], device=device)
                for meta in self._outputs if isinstance(meta, dict)]


def _shapes(tensors, mapped):
    return [tensor.shape[1:] if own else tensor.shape for tensor, own in zip(tensors, mapped)]


def only(results):
    """What builds an answer that is one tensor itself."""
    return results[0]


def _builder(spec, leaves):
    """What makes of a list of leaves the tree that `spec` says. One leaf or a tuple, list or dict of them needs no walk."""
    if spec == pytree.tree_structure(""):
        return only
    for made in (tuple, list):
        if spec == pytree.tree_structure(made([""] * leaves)):
            return made
    if spec.type is dict and len(spec.context) == leaves and spec == pytree.tree_structure(dict.fromkeys(spec.context, "")):
        return lambda results: dict(zip(spec.context, results))
    return lambda results: pytree.tree_unflatten(results, spec)


def _same_constant(given, traced):
    if isinstance(traced, float):
        return type(given) is float and repr(given) == repr(traced)  # nan is itself, -0.0 is not 0.0
    return type(given) is type(traced) and given == traced

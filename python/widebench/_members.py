"""Modules as members: what they are made of, whether they are of one architecture, copies of them."""
import collections
import copy
import enum
import functools
import sys
import types
from collections.abc import Iterable

import torch

from ._errors import Error, checked

_OWN = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
_FLAT = {"_flat_weights", "_flat_weight_refs"}  # of recurrent layers: their parameters once more
# Of subclasses of the values and of the containers below the value is not all.
_VALUES = (bool, int, float, complex, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_SINGLE = (type(None), torch.dtype, torch.device, torch.Size, torch.memory_format, torch.layout, type, enum.Enum, types.FunctionType,
           types.BuiltinFunctionType, types.ModuleType, torch._ops.OpOverload, torch._ops.OpOverloadPacket)


class _Unknown(Exception):
    pass


def signature(module):
    """All that a trace of the module may depend on but the numbers in its tensors; None where that cannot be told.

    Equal signatures are one graph: the same classes and functions over equal settings, with tensors of equal shapes and
    dtypes that are tied alike. Unequal ones may be one graph all the same.
    """
    tensors, seen = {}, {}

    def tensor(value):
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            raise _Unknown
        return (tensors.setdefault(id(value), len(tensors)), value.shape, value.stride(), value.dtype, value.requires_grad, value.device)

    def of(value, depth=0):
        if type(value) in _VALUES or isinstance(value, _SINGLE):
            return (type(value), repr(value) if isinstance(value, float) else value)  # repr: nan is equal, -0.0 is not 0.0
        if depth > 20:
            raise _Unknown
        if isinstance(value, torch.Tensor):
            # A tensor in no slot of its own: read as a constant under a name that the trace makes up.
            raise _Unknown
        if id(value) in seen:
            return ("again", seen[id(value)])
        seen[id(value)] = len(seen)
        keep.append(value)
        if type(value) in (list, tuple) or isinstance(value, tuple) and hasattr(value, "_fields") and not hasattr(value, "__dict__"):
            return (type(value), tuple(of(item, depth + 1) for item in value))
        if type(value) in (dict, collections.OrderedDict):
            return (type(value), tuple((of(key, depth + 1), of(item, depth + 1)) for key, item in value.items()))
        if type(value) in (set, frozenset):
            return (type(value), frozenset(of(item, depth + 1) for item in value))
        if isinstance(value, functools.partial):
            return (functools.partial, of(value.func, depth + 1), of(value.args, depth + 1), of(value.keywords, depth + 1))
        if isinstance(value, torch.nn.Module):
            raise _Unknown  # a module outside of the tree
        if isinstance(value, (*_VALUES, *_CONTAINERS)) or type(value).__module__ == "builtins" or not hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            raise _Unknown
        return (type(value), of(vars(value), depth + 1))

    keep, whole = [], []  # kept alive: an id may not be used again
    try:
        for name, part in module.named_modules(remove_duplicate=False):
            if any(vars(kind).get("__slots__") for kind in type(part).__mro__):
                raise _Unknown  # they hold what vars() does not have
            settings = tuple((key, tensor(value) if isinstance(value, torch.Tensor) else of(value))
                             for key, value in sorted(vars(part).items()) if key not in _OWN
                             and not (key in _FLAT and isinstance(part, torch.nn.RNNBase)))
            own = tuple((key, None if value is None else tensor(value))
                        for kept in (part._parameters, part._buffers) for key, value in kept.items())
            whole.append((name, type(part), settings, own, frozenset(part._non_persistent_buffers_set), tuple(part._modules)))
    except _Unknown:
        return None
    return whole


def first_difference(a, b):
    """Where two signatures differ, for a message."""
    for left, right in zip(a, b):
        if left != right:
            at = left[0] or "the model itself"
            if left[1] is not right[1]:
                return f"{at} is a {left[1].__name__} in the one, a {right[1].__name__} in the other"
            for x, y in zip(left[2], right[2]):
                if x != y:
                    return f"{at}.{x[0]} is {_shown(x[1])} in the one, {_shown(y[1])} in the other"
            return f"{at} has other tensors"
    return "they have other parts"


def _shown(value):
    return str(value[1]) if isinstance(value, tuple) and len(value) == 2 else "another"


def named_tensors(module):
    """Every parameter, buffer and tensor attribute by its full name, also where one has several."""
    tensors = dict(module.named_parameters(remove_duplicate=False))
    tensors.update(module.named_buffers(remove_duplicate=False))
    for prefix, part in module.named_modules(remove_duplicate=False):
        for key, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                tensors[f"{prefix}.{key}" if prefix else key] = value
    return tensors


def are_globals(tensors, module):
    """Whether all are globals of the files that the module's classes are written in, and so the same for every member."""
    files = {sys.modules.get(type(part).__module__) for part in module.modules()} - {None} if tensors else ()
    own = [value for file in files for value in vars(file).values() if type(value) is torch.Tensor and value.layout is torch.strided]
    return all(any(value.dtype is tensor.dtype and value.device == tensor.device and value.is_set_to(tensor) for value in own) for tensor in tensors)


def same_numbers(a, b):
    """Bit for bit: nan is itself, and -0.0 is not 0.0."""
    bits = [tensor.resolve_conj().resolve_neg().reshape(-1).view(torch.uint8) for tensor in (a, b)]
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(*bits)


def check_made(module, place):
    """Refuses what torch.export has no words for: lazy parameters, and tensors of inference mode, whose writes are not counted."""
    for name, tensor in named_tensors(module).items():
        if torch.nn.parameter.is_lazy(tensor):
            raise Error("load", f"{place}, tensor '{name}': has no shape yet, as the module is lazy; call it once before", place)
        if tensor.is_inference():
            raise Error("load", f"{place}, tensor '{name}': was made under torch.inference_mode(); make the members outside of it, and put only "
                                "their calls under it", place)


def bring(module, weights, place):
    """The module's tensors for those names of a program that it has, in order; constants of the trace itself it has not."""
    tensors = named_tensors(module)
    own = {}
    for name in weights:
        if name in tensors:
            if type(tensors[name]) not in (torch.Tensor, torch.nn.Parameter):
                raise Error("load", f"{place}, tensor '{name}': is a {type(tensors[name]).__name__}; give plain tensors", place)
            own[name] = tensors[name]
    return own


def skeleton(module):
    """A copy of the module without numbers: its parameters and buffers lie on the meta device. Other tensors are copied."""
    memo = {id(tensor): tensor.detach().clone() for tensor in named_tensors(module).values()}
    for tensor in [*module.parameters(), *module.buffers()]:
        empty = torch.empty_like(tensor, device="meta")
        memo[id(tensor)] = (torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
                            if isinstance(tensor, torch.nn.Parameter) else empty)
    return copy.deepcopy(module, memo)


def with_tensors(module, tensors):
    """A copy of a skeleton with these tensors, tied as the skeleton's are."""
    module = copy.deepcopy(module)
    made = {}
    for _, part in module.named_modules():
        for slots in (part._parameters, part._buffers, vars(part)):
            for key, value in list(slots.items()):
                if isinstance(value, torch.Tensor):
                    made.setdefault(id(value), (value, []))[1].append((slots, key))
    names = {id(value): name for name, value in named_tensors(module).items() if name in tensors}
    for value, places in made.values():
        if id(value) not in names:
            continue
        tensor = tensors[names[id(value)]]
        if isinstance(value, torch.nn.Parameter):
            tensor = torch.nn.Parameter(tensor, requires_grad=value.requires_grad)
        for slots, key in places:
            slots[key] = tensor
    for part in module.modules():
        if isinstance(part, torch.nn.RNNBase):
            part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]
    return module


def reinitialised(module, n, seed, init):
    """N copies, copy i initialised anew as after ``torch.manual_seed(seed + i)``."""
    copies = []
    with torch.random.fork_rng(devices=[]):
        for i in range(n):
            try:
                one = copy.deepcopy(module)
            except (RuntimeError, TypeError) as error:
                raise Error("usage", f"the model cannot be copied ({str(error).splitlines()[0]}); give a list of members", "models") from error
            torch.manual_seed(seed + i)
            if init is not None:
                init(one, i)
            else:
                _initialise(one)
            copies.append(one)
    return copies


def _initialise(module):
    done = set()
    for _, part in module.named_modules():
        reset = getattr(part, "reset_parameters", None) or getattr(part, "_reset_parameters", None)
        if callable(reset):
            reset()
            done.update(id(tensor) for tensor in part.parameters())
    for name, tensor in module.named_parameters():
        if id(tensor) not in done:
            raise Error("usage", f"parameter '{name}': no module that holds it has reset_parameters(); give init=, a function of a copy and its "
                                 "number that initialises it", name)


def names_of(names, count):
    """The members' names, given or made up; each has its own."""
    names = [f"member{i}" for i in range(count)] if names is None else [str(name) for name in checked(names, Iterable, "names", "a list of names")]
    if len(names) != count or len(set(names)) != count:
        raise Error("usage", f"{len(set(names))} different names for {count} members; give each its own", "names")
    return names

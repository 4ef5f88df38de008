"""Which inputs of a wide model have an axis of members: `in_dims`, a prefix of the arguments' pytree as in ``torch.vmap``."""
import torch
from torch.utils import _pytree as pytree

from ._arguments import children
from ._errors import Error


def axes(in_dims, kwargs_in_dims, args, kwargs):
    """For each tensor of a call, in order, where its axis of members is; None where it has none."""
    dims = []
    for argument, dim in zip(args, _prefix(in_dims, args, "in_dims")):
        dims += _spread(dim, argument)
    unknown = [name for name in kwargs_in_dims or {} if name not in kwargs]
    if unknown:
        raise Error("usage", f"kwargs_in_dims names '{unknown[0]}', which the example's keyword arguments ({', '.join(kwargs) or 'none'}) lack; "
                             "name one of these", "kwargs_in_dims")
    for name, argument in kwargs.items():
        dims += _spread((kwargs_in_dims or {}).get(name), argument)
    leaves = pytree.tree_leaves((args, kwargs))
    moves = []
    for leaf, dim in zip(leaves, dims):
        if isinstance(leaf, torch.Tensor):
            if dim is not None and not -leaf.dim() - 1 <= dim <= leaf.dim():
                raise Error("usage", f"in_dims: an argument of {leaf.dim()} axes for one member has {leaf.dim() + 1} for all, and none is "
                                     f"number {dim}; give one of them", "in_dims")
            moves.append(dim)
        elif dim is not None:
            raise Error("usage", f"in_dims: a {type(leaf).__name__} has no axis of members; say None there", "in_dims")
    return moves


def varied(tensor, i):
    """Other numbers for member i than the example's, where that is as legal: its rows in another order."""
    return tensor.roll(i, 0) if tensor.dim() > 0 and tensor.shape[0] > 1 else tensor


def in_order(part, spec):
    """The same, its dicts in the order that they have in `spec`."""
    parts = children(spec)
    if spec.type is dict and type(part) is dict and set(part) == set(spec.context):
        return {key: in_order(part[key], child) for key, child in zip(spec.context, parts)}
    if spec.type in (list, tuple) and type(part) is spec.type and len(part) == len(parts):
        return spec.type(map(in_order, part, parts))
    return part


def _is_axis(dim):
    return isinstance(dim, int) and not isinstance(dim, bool)


def _prefix(in_dims, args, what):
    if in_dims is None or _is_axis(in_dims):
        return [in_dims] * len(args)
    if not isinstance(in_dims, (tuple, list)) or len(in_dims) != len(args):
        raise Error("usage", f"{what}={in_dims!r} does not fit {len(args)} arguments; give one entry for each", what)
    return list(in_dims)


def _spread(dim, argument):
    """`dim`, a prefix of the argument's pytree, for each leaf of it."""
    leaves, spec = pytree.tree_flatten(argument)
    if dim is None or _is_axis(dim):
        return [dim if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
    dims = pytree._broadcast_to_and_flatten(in_order(dim, spec), spec)  # as torch.vmap does
    for each in dims or []:
        if each is not None and not _is_axis(each):
            raise Error("usage", f"in_dims has {each!r}; give the number of an axis or None", "in_dims")
    if dims is None:
        own = " ".join(str(pytree.tree_structure(dim)).split())
        raise Error("usage", f"in_dims has {own} where the argument is {' '.join(str(spec).split())}; give an int or None for it, or for each part "
                             "of it", "in_dims")
    return dims

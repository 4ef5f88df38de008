"""From the answers of N members to one: each takes a tensor ``[N, ...]`` or a pytree of them, as a wide model gives it."""
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from ._apart import Apart
from ._errors import Error, whole

Tree = TypeVar("Tree")  # a tensor, or a pytree of them

__all__ = ["mean", "quantiles", "topk", "variance", "vote"]


def _each(reducer, function, outputs, kinds="floating-point or complex"):
    def of(leaf):
        if isinstance(leaf, Apart) or (isinstance(leaf, torch.Tensor) and leaf.is_nested):
            raise Error("usage", "members' answers have sizes of their own; take them apart by unbind()", "reduce")
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if leaf.dim() == 0:
            raise Error("usage", f"reduce.{reducer}: a tensor without axes is no answer of N members; give what a wide model gives", "outputs")
        if kinds and not (leaf.is_floating_point() or (leaf.is_complex() and "complex" in kinds)):
            raise Error("usage", f"reduce.{reducer} takes {kinds} answers, not {str(leaf.dtype).removeprefix('torch.')}; convert them", "outputs")
        try:
            return function(leaf)
        except Error:
            raise
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            raise Error("usage", f"reduce.{reducer}: {(str(error).splitlines() or ['it failed'])[0]}", "outputs") from error

    if not any(isinstance(leaf, (torch.Tensor, Apart)) for leaf in pytree.tree_leaves(outputs)):
        raise Error("usage", f"reduce.{reducer}: there is no tensor in a {type(outputs).__name__}; give what a wide model gives", "outputs")
    return pytree.tree_map(of, outputs)


def _axis(reducer, leaf, dim):
    """The axis of the classes in `leaf`, [N, ...]; `dim` counts in one member's answer."""
    axes = leaf.dim() - 1
    if not -axes <= whole(dim, -2**63, "dim") < axes:
        raise Error("usage", f"reduce.{reducer}: dim={dim}, but a member's answer has {axes} axes; name the one of the classes", "dim")
    return dim if dim < 0 else dim + 1


def mean(outputs: Tree) -> Tree:
    """Mean over members, ``[N, ...] -> [...]``."""
    return _each("mean", lambda leaf: leaf.mean(0), outputs)


def variance(outputs: Tree, correction: int = 1) -> Tree:
    """Variance over members, ``[N, ...] -> [...]``; `correction` as in `torch.var`."""
    return _each("variance", lambda leaf: leaf.var(0, correction=correction), outputs)


def vote(outputs: Tree, dim: int = -1) -> Tree:
    """The class that most members choose, ``[N, ..., C] -> [...]`` of int64; the smaller number where two have as many.

    `dim` is the axis of classes in one member's answer.
    """
    def of(leaf):
        axis = _axis("vote", leaf, dim)
        chosen = leaf.argmax(axis)  # [N, ...]
        return torch.nn.functional.one_hot(chosen, leaf.shape[axis]).sum(0).argmax(-1)

    return _each("vote", of, outputs, kinds="")


def topk(outputs: Any, k: int, dim: int = -1) -> Any:
    """The k classes of greatest mean probability, ``[N, ..., C] -> (values, indices)`` of ``[..., k]``; outputs are logits."""
    def of(leaf):
        axis = _axis("topk", leaf, dim)
        if not 0 <= whole(k, 0, "k") <= leaf.shape[axis]:
            raise Error("usage", f"reduce.topk: k={k}, but there are {leaf.shape[axis]} classes; give at most so many", "k")
        return leaf.softmax(axis).mean(0).topk(k, dim)

    return _each("topk", of, outputs, kinds="floating-point")


def quantiles(outputs: Tree, q: float | Sequence[float]) -> Tree:
    """Quantiles over members, ``[N, ...] -> [Q, ...]``, of a single number ``[...]``; `q` is a number or a list of Q of 0 to 1."""
    def of(leaf):
        exact = leaf.float() if leaf.dtype in (torch.float16, torch.bfloat16) else leaf  # torch.quantile has no 16 bits
        places = torch.as_tensor(q, dtype=exact.dtype)
        if exact.shape[0] > 0 and exact.numel() == 0:
            return leaf.new_empty(places.shape + exact.shape[1:])
        return exact.quantile(places, dim=0).to(leaf.dtype)

    for one in q if isinstance(q, Sequence) and not isinstance(q, str) else [q]:
        if isinstance(one, (int, float)) and not 0 <= one <= 1 or isinstance(one, (str, type(None))):
            raise Error("usage", f"reduce.quantiles: q={q!r}; give a number from 0 to 1, or a list of such", "q")
    return _each("quantiles", of, outputs, kinds="floating-point")

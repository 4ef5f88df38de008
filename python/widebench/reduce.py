"""From the answers of N members to one: each takes a tensor ``[N, ...]`` or a pytree of them, as a wide model gives it."""
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from ._apart import Apart
from ._errors import Error

Tree = TypeVar("Tree")  # a tensor, or a pytree of them

__all__ = ["mean", "quantiles", "topk", "variance", "vote"]


def _each(function, outputs):
    def of(leaf):
        if not isinstance(leaf, (torch.Tensor, Apart)):
            return leaf
        if isinstance(leaf, Apart) or leaf.is_nested:
            raise Error("usage", "members' answers have sizes of their own; take them apart by unbind()", "reduce")
        return function(leaf)

    return pytree.tree_map(of, outputs)


def mean(outputs: Tree) -> Tree:
    """Mean over members, ``[N, ...] -> [...]``."""
    return _each(lambda leaf: leaf.mean(0), outputs)


def variance(outputs: Tree, correction: int = 1) -> Tree:
    """Variance over members, ``[N, ...] -> [...]``; `correction` as in `torch.var`."""
    return _each(lambda leaf: leaf.var(0, correction=correction), outputs)


def vote(outputs: Tree, dim: int = -1) -> Tree:
    """The class that most members choose, ``[N, ..., C] -> [...]`` of int64; the smaller number where two have as many.

    `dim` is the axis of classes in one member's answer.
    """
    def of(leaf):
        classes = leaf.shape[1:][dim]
        chosen = leaf.argmax(dim if dim < 0 else dim + 1)  # [N, ...]
        return torch.nn.functional.one_hot(chosen, classes).sum(0).argmax(-1)

    return _each(of, outputs)


def topk(outputs: Any, k: int, dim: int = -1) -> Any:
    """The k classes of greatest mean probability, ``[N, ..., C] -> (values, indices)`` of ``[..., k]``; outputs are logits."""
    def of(leaf):
        return leaf.softmax(dim if dim < 0 else dim + 1).mean(0).topk(k, dim)

    return _each(of, outputs)


def quantiles(outputs: Tree, q: float | Sequence[float]) -> Tree:
    """Quantiles over members, ``[N, ...] -> [Q, ...]``, of a single number ``[...]``; `q` is a number or a list of Q of 0 to 1."""
    def of(leaf):
        exact = leaf.float() if leaf.dtype in (torch.float16, torch.bfloat16) else leaf  # torch.quantile has no 16 bits
        return exact.quantile(torch.as_tensor(q, dtype=exact.dtype), dim=0).to(leaf.dtype)

    return _each(of, outputs)

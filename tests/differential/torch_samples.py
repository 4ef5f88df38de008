"""Every operator and module that PyTorch tests itself by, on the inputs that it tests them with, as members of a wide model.

    PYTHONPATH=build/release/python $python tests/differential/torch_samples.py [--dtypes float32,bfloat16] [--most 4] [--only add,nn.GRU]
                                                                                [--shard 0/2]

Prints what differs from the modules in eager mode, what is refused and by whom, then how many were right. Ends with 1 where
something differs or fails otherwise than by an error of widebench. Sample K of an operator is drawn three times, for three
members: with the first tensor given per member, given to all, and as a weight like the others.
"""
import argparse
import collections
import copy
import logging
import random
import signal
import sys
import types
import unittest
import warnings

import torch
from torch.utils import _pytree as pytree

import widebench

# Of this library PyTorch's samples need no more than the name.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))
from torch.testing._internal import common_methods_invocations as operators  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

MEMBERS = 3
SECONDS = 90  # of one case
TOLERANCE = {torch.bfloat16: 3e-2, torch.float16: 4e-3, torch.float32: 3e-4, torch.complex64: 3e-4, torch.float64: 1e-7, torch.complex128: 1e-7}
# A seed within the operator would be of the trace alone.
operators.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
# They give what was in memory.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}


class Late(Exception):
    """The case takes too long."""


def is_tensor(leaf):
    return isinstance(leaf, torch.Tensor)


class Case(torch.nn.Module):
    """Calls `op` on leaves: the one at `given` is its input, other tensors are parameters and buffers."""

    def __init__(self, op, leaves, spec, given):
        super().__init__()
        self.op, self.leaves, self.spec, self.given = op, [None if is_tensor(leaf) else leaf for leaf in leaves], spec, given
        for i, leaf in enumerate(leaves):
            if is_tensor(leaf) and i != given:
                own = leaf.detach().clone()
                numbers = own.is_floating_point() or own.is_complex()
                self.register_parameter(f"p{i}", torch.nn.Parameter(own, requires_grad=False)) if numbers else self.register_buffer(f"p{i}", own)

    def forward(self, x):
        leaves = [x if i == self.given else getattr(self, f"p{i}", leaf) for i, leaf in enumerate(self.leaves)]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(*args, **kwargs)


def cases_of_operators(dtypes, most, chosen):
    """Name, modules and each one's input; None: it has none of its own."""
    for op in operators.op_db:
        name = ".".join(filter(None, (op.name, op.variant_test_name)))
        if op.name in UNINITIALISED or not chosen(name):
            continue
        for dtype in dtypes:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            drawn = []
            for member in range(MEMBERS):
                torch.manual_seed(member), random.seed(member)
                try:
                    drawn.append(list(op.sample_inputs("cpu", dtype, requires_grad=False)))
                except Exception as error:  # of PyTorch's own making
                    print(f"no samples of {name}, {dtype}: {error}")
                    break
            count = min(map(len, drawn)) if len(drawn) == MEMBERS else 0
            for k in range(0, count, max(1, count // most)):
                flat = [pytree.tree_flatten(((one[k].input, *one[k].args), one[k].kwargs)) for one in drawn]
                of_tensors = [[(leaf.shape, leaf.dtype) if is_tensor(leaf) else None for leaf in leaves] for leaves, _ in flat]
                tensors = [i for i, leaf in enumerate(flat[0][0]) if is_tensor(leaf)]
                if any(one != of_tensors[0] for one in of_tensors) or any(spec != flat[0][1] for _, spec in flat):
                    continue  # another architecture
                if not tensors or any(flat[0][0][i].layout != torch.strided for i in tensors):
                    continue
                for how in ("mapped", "shared", "weights")[:: 2 if len(tensors) < 2 else 1]:
                    given = None if how == "weights" else tensors[0]
                    leaves = [[own if is_tensor(own) else first for own, first in zip(one, flat[0][0])] for one, _ in flat]
                    modules = [Case(op.op, one, flat[0][1], given).eval() for one in leaves]
                    inputs = [torch.zeros(1) if given is None else one[given].detach() for one in leaves]
                    yield f"{name} {dtype} sample {k} {how}", modules, inputs if how == "mapped" else inputs[:1]


def cases_of_modules(dtypes, most, chosen):
    for info in module_db:
        for dtype in [dtype for dtype in dtypes if dtype.is_floating_point] if chosen(info.name) else ():
            for training in (False, True):
                try:
                    torch.manual_seed(0)
                    samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=training)
                except Exception as error:
                    print(f"no samples of {info.name}, {dtype}: {error}")
                    continue
                for k in range(0, len(samples), max(1, len(samples) // (2 * most))):
                    taken = samples[k].forward_input
                    leaves, spec = pytree.tree_flatten((taken.args, taken.kwargs)) if taken else ([], None)
                    tensors = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
                    if not tensors or "Lazy" in info.name:
                        continue
                    modules = []
                    for member in range(MEMBERS):
                        torch.manual_seed(member)
                        made = info.module_cls(*samples[k].constructor_input.args, **samples[k].constructor_input.kwargs).to(dtype)
                        modules.append(Case(made.requires_grad_(False), leaves, spec, tensors[0]).train(training))
                    x = leaves[tensors[0]].detach()
                    name = f"{info.name} {dtype} sample {k} {'training' if training else 'evaluation'}"
                    yield name + " shared", modules, [x]
                    if x.is_floating_point():
                        yield name + " mapped", modules, [x * factor for factor in (1, 0.9, 1.1)]


def difference(own, expected):
    """What the first difference is; empty: there is none."""
    if not is_tensor(expected):
        return "" if own == expected or (own != own and expected != expected) else f"{own} in place of {expected}"
    if not is_tensor(own) or own.dtype != expected.dtype or own.shape != expected.shape:
        return f"{own.dtype}{list(own.shape)} in place of {expected.dtype}{list(expected.shape)}" if is_tensor(own) else f"a {type(own).__name__}"
    try:
        bound = TOLERANCE.get(expected.dtype, 0)
        torch.testing.assert_close(own, expected, rtol=bound, atol=bound, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def judged(modules, inputs):
    """A kind and what is to be said of it."""
    expected = []
    for member, module in enumerate(copy.deepcopy(modules)):
        torch.manual_seed(member)
        try:
            expected.append((module(inputs[member % len(inputs)].clone()), dict(module.named_buffers())))
        except Late:
            raise
        except Exception as error:
            return "refused by PyTorch", str(error)
    try:
        mapped = len(inputs) > 1
        wide = widebench.compile(copy.deepcopy(modules), inputs[0], in_dims=0 if mapped else None, config="fast")
        answers = pytree.tree_leaves(wide(torch.stack(inputs) if mapped else inputs[0].clone()), is_leaf=lambda one: isinstance(one, widebench.Apart))
    except widebench.Error as error:
        return "refused by torch.export" if error.stage == "export" else "refused", str(error)
    for member, (answer, buffers) in enumerate(expected):
        leaves = pytree.tree_leaves(answer)
        own = [one[member] if is_tensor(one) or isinstance(one, widebench.Apart) else one for one in answers]
        if len(own) != len(leaves):
            return "DIFFERS", f"{len(own)} answers in place of {len(leaves)}"
        state = wide.state_dict(member)
        pairs = [*zip(own, leaves), *((state[name], buffer) for name, buffer in buffers.items() if name in state)]
        for what in filter(None, (difference(*pair) for pair in pairs)):
            return "DIFFERS", f"member {member}: {what}"
    return "right", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--most", type=int, default=4, help="samples of each, about")
    parser.add_argument("--only", default="", help="names, with commas between")
    parser.add_argument("--shard", default="0/1", help="K/N: every N-th name from number K on")
    given = parser.parse_args()
    shard, shards = map(int, given.shard.split("/"))
    dtypes, names = [getattr(torch, name) for name in given.dtypes.split(",")], [name for name in given.only.split(",") if name]
    met = {}

    def chosen(name):
        number = met.setdefault(name, len(met))
        return number % shards == shard and (not names or name in names)

    def late(*_):
        raise Late()

    signal.signal(signal.SIGALRM, late)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable()  # what torch.export refuses is told below
    counts = collections.Counter()
    for cases in (cases_of_operators, cases_of_modules):
        for name, modules, inputs in cases(dtypes, given.most, chosen):
            signal.alarm(SECONDS)
            try:
                with torch.no_grad():
                    kind, text = judged(modules, inputs)
            except Late:
                kind, text = "LATE", f"more than {SECONDS} s"
            except Exception as error:
                kind, text = "FAILED", repr(error)
            finally:
                signal.alarm(0)
            counts[kind] += 1
            if kind != "right":
                print(f"{kind}: {name}: {' '.join(text.split())[:300]}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    sys.exit(any(counts[kind] for kind in ("DIFFERS", "FAILED", "LATE")))


if __name__ == "__main__":
    main()

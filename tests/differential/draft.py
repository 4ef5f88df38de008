"""Random modules as text. A statement is kept when PyTorch can run it on the values that there are, so that every shape and
dtype is known by what it really is."""
import math
import random

import torch
import torch.nn.functional as F

import operators
import support

LIMIT = 4096  # elements of a value: what a statement makes beyond it is dropped
FLOATS = ("float32", "float64", "bfloat16", "float16")
INTEGERS = ("int64", "int32", "uint8", "int16", "int8")
HEADER = """import torch
import torch.nn.functional as F
from support import associative_scan, cond, map_rows, scan, spiked, while_loop

"""


class Refused(Exception):
    """A template that has no use for the values that there are."""


class Value(str):
    """The name of a value in the module's text, with the tensor that it stands for."""

    def __new__(cls, name, tensor, origin="local"):
        self = super().__new__(cls, name)
        self.tensor, self.origin = tensor, origin
        return self

    @property
    def shape(self):
        return tuple(self.tensor.shape)

    @property
    def rank(self):
        return self.tensor.dim()

    @property
    def dtype(self):
        return str(self.tensor.dtype).removeprefix("torch.")

    @property
    def kind(self):
        if self.tensor.is_complex():
            return "c"
        if self.tensor.is_floating_point():
            return "f"
        return "b" if self.tensor.dtype == torch.bool else "i"


class Text:
    """A module's parts. `statements` are pairs of text and the names that they make; the rest are lines of text."""

    def __init__(self):
        self.attributes, self.inputs, self.statements, self.outputs = {}, {}, [], []
        self.train = False

    def source(self):
        made = [f"        {line}" for line in self.attributes.values()] or []
        body = [f"        {line}" for text, _ in self.statements for line in text.split("\n")]
        drawn = [f"        {text}," for text in self.inputs.values()]
        return "\n".join([
            HEADER, "class M(torch.nn.Module):", "    def __init__(self):", "        super().__init__()", *made,
            f"        self.train({self.train})", "", f"    def forward(self, {', '.join(self.inputs)}):", *body,
            f"        return ({', '.join(self.outputs)},)", "", "", "def inputs(B):", "    return (", *drawn, "    )", ""])


class Draft:
    """Grows one module. Templates (operators.py) ask it for values, weights and numbers."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.text = Text()
        self.module = torch.nn.Module()
        self.text.train = self.chance(0.15)
        self.module.train(self.text.train)
        self.grad = self.chance(0.3)
        self.extreme = self.chance(0.08)
        self.main = self.random.choices(FLOATS, (6, 1.2, 1.4, 1.4))[0]
        self.batch = self.random.choice((2, 3, 4, 7))
        self.dynamic = self.chance(0.15)
        self.names = {"torch": torch, "F": F, "self": self.module, "B": self.batch,
                      **{name: getattr(support, name) for name in
                         ("associative_scan", "cond", "map_rows", "scan", "spiked", "while_loop")}}
        self.values, self.count = [], 0

    # What templates ask for.
    def chance(self, probability):
        return self.random.random() < probability

    def of(self, *choices):
        return self.random.choice(choices)

    def int(self, low, high):
        return self.random.randint(low, high)

    def num(self):
        return self.of(0.5, -1.5, 2.0, 0.1, 1.0, 3, -2, 2)

    def size(self):
        return 0 if self.chance(0.015) else self.random.choices((1, 2, 3, 4, 5, 6, 7, 13), (2, 3, 3, 4, 2, 2, 2, 1))[0]

    def shape(self, rank=None):
        rank = self.random.choices((0, 1, 2, 3, 4, 5), (1, 3, 6, 5, 3, 0.5))[0] if rank is None else rank
        while True:
            sizes = tuple(self.size() for _ in range(rank))
            if math.prod(sizes) <= 1500:
                return sizes

    def dim(self, value):
        if not value.rank:
            raise Refused
        return self.int(-value.rank, value.rank - 1)

    def float_type(self):
        return self.main if self.chance(0.85) else self.of(*FLOATS)

    def drawn(self, shape, dtype, kind="f", high=None):
        """Text that draws such a tensor, and whether it needs no more than its text (no dtype of its own)."""
        sizes = "(" + "".join(f"{size}, " for size in shape) + ")"
        if kind == "b":
            return f"torch.rand({sizes}) > 0.5"
        if kind == "i":
            low, top = (0, high) if high else (0 if dtype == "uint8" else -4, 9)
            return f"torch.randint({low}, {top}, {sizes}, dtype=torch.{dtype})"
        if kind == "c":
            return f"torch.randn({sizes}, dtype=torch.complex64)"
        text = f"torch.randn({sizes})"
        if self.extreme and self.chance(0.5):
            text = self.of(f"spiked({text})", f"{text} * 1e19", f"{text} * 1e-30", f"torch.zeros({sizes})")
        return text if dtype == "float32" else f"({text}).to(torch.{dtype})"

    def _add(self, name, tensor, origin):
        value = Value(name, tensor, origin)
        self.values.append(value)
        return value

    def attribute(self, line, name):
        exec(line, self.names)
        self.text.attributes[name] = line
        return eval(f"self.{name}", self.names)

    def weight(self, *shape, dtype=None, scale=None):
        """A new parameter."""
        dtype = dtype or self.float_type()
        name = f"p{len(self.text.attributes)}"
        text = self.drawn(shape, dtype) + (f" * {scale}" if scale else "")
        same = [value for value in self.values if value.origin == "parameter" and value.shape == tuple(shape)
                and value.dtype == dtype]
        if same and self.chance(0.3):
            self.attribute(f"self.{name} = {self.of(*same)}", name)  # tied
        else:
            self.attribute(f"self.{name} = torch.nn.Parameter({text}, requires_grad={self.grad and self.chance(0.8)})", name)
        return self._add(f"self.{name}", eval(f"self.{name}", self.names), "parameter")

    def buffer(self, *shape, dtype=None, kind="f", high=None, text=None):
        name = f"b{len(self.text.attributes)}"
        text = text or self.drawn(shape, dtype or (self.float_type() if kind == "f" else "int64"), kind, high)
        # What is in no checkpoint is the same for all members: it may not be drawn.
        fixed = kind == "f" and self.chance(0.15)
        if fixed:
            text = f"torch.linspace(-1, 1, {math.prod(shape)}).reshape({tuple(shape)})"
        tensor = self.attribute(f'self.register_buffer("{name}", {text}{", persistent=False" if fixed else ""})', name)
        return self._add(f"self.{name}", tensor, "buffer")

    def input(self, shape, dtype=None, kind="f", high=None):
        name = f"x{len(self.text.inputs)}"
        dtype = dtype or {"f": self.float_type(), "i": "int64", "b": "bool", "c": "complex64"}[kind]
        text = self.drawn(shape, dtype, kind, high)
        if self.dynamic and shape and shape[0] == self.batch:
            text = text.replace(f"(({self.batch}, ", "((B, ", 1).replace(f", ({self.batch}, ", ", (B, ", 1)
        tensor = eval(text, self.names)
        self.text.inputs[name] = text
        self.names[name] = tensor
        return self._add(name, tensor, "input")

    def index(self, high, shape):
        """int64 in [0, high)."""
        if high < 1:
            raise Refused
        if self.chance(0.7) and len(self.text.inputs) < 6:
            return self.input(shape, "int64", "i", high)
        return self.buffer(*shape, dtype="int64", kind="i", high=high)

    def layer(self, text):
        """A new torch.nn module."""
        name = f"m{len(self.text.attributes)}"
        if self.main != "float32" and "dtype" not in text:
            text += f".to(torch.{self.main})"
        layer = self.attribute(f"self.{name} = {text}", name)
        if not self.grad:
            layer.requires_grad_(False)
            self.text.attributes[name] += ".requires_grad_(False)"
        return f"self.{name}"

    def new(self, rank=None, kind="f", dtype=None, shape=None):
        shape = self.shape(rank) if shape is None else shape
        if kind == "i" and dtype is None:
            dtype = self.random.choices(INTEGERS, (6, 3, 2, 1, 1))[0]
        if self.dynamic and shape and self.chance(0.7):
            shape = (self.batch,) + tuple(shape[1:])
        if len(self.text.inputs) < 4 and self.chance(0.6 if self.text.inputs else 1):
            return self.input(shape, dtype, kind)
        if kind != "f" or self.chance(0.3):
            dtype = dtype or {"f": self.float_type(), "i": "int64", "b": "bool", "c": "complex64"}[kind]
            return self.buffer(*shape, dtype=dtype, kind=kind)
        return self.weight(*shape, dtype=dtype)

    def any(self, kinds="f", rank=None, least=0, most=99, dtype=None, where=None):
        """A value of one of these kinds (f, i, b, c), an old one more often than not, later ones rather."""
        fits = [value for value in self.values
                if value.kind in kinds and (rank is None or value.rank == rank) and least <= value.rank <= most
                and (dtype is None or value.dtype == dtype) and (where is None or where(value))]
        if fits and self.chance(0.85):
            weights = [1 + 3 * (value.origin == "local") + 3 * position / len(fits) for position, value in enumerate(fits)]
            return self.random.choices(fits, weights)[0]
        if rank is None and (least or most < 5):
            rank = self.int(least, min(most, 4))
        value = self.new(rank, self.of(*kinds), dtype)
        if where is not None and not where(value):
            raise Refused
        return value

    def f(self, rank=None, least=0, most=99, dtype=None, where=None):
        return self.any("f", rank, least, most, dtype, where)

    def like(self, value, kinds=None, dtype=None):
        """A value that broadcasts with `value`."""
        def broadcasts(other):
            return all(a == b or 1 in (a, b) for a, b in zip(reversed(other.shape), reversed(value.shape)))
        kinds = kinds or value.kind
        fits = [other for other in self.values if other.kind in kinds and broadcasts(other)
                and (dtype is None or other.dtype == dtype)]
        if fits and self.chance(0.75):
            return self.of(*fits)
        shape = [1 if self.chance(0.15) else size for size in value.shape][self.int(0, value.rank) if self.chance(0.3) else 0:]
        kind = self.of(*kinds)
        return self.new(None, kind, dtype or (value.dtype if kind == value.kind else None), tuple(shape))

    def same(self, value, kind="f", dtype=None):
        """A value of the very same shape."""
        fits = [other for other in self.values if other.kind == kind and other.shape == value.shape
                and (dtype is None or other.dtype == dtype)]
        if fits and self.chance(0.7):
            return self.of(*fits)
        return self.new(None, kind, dtype or (value.dtype if kind == value.kind else None), value.shape)

    def mask(self, value):
        return self.like(value, "b") if self.chance(0.5) else f"({value} > {self.of(0, 0.3, -0.5)})"

    def target(self, kinds="f", **where):
        """A value to write into: rarely one that the caller, or another pass, sees."""
        value = self.any(kinds, **where)
        if value.origin == "buffer" and self.chance(0.6):
            return value
        owned = value.tensor.untyped_storage().data_ptr()
        seen = {other.tensor.untyped_storage().data_ptr() for other in self.values if other.origin != "local"}
        if owned not in seen or (value.origin != "parameter" and self.chance(0.04)):
            return value
        name = f"v{self.count}"
        exec(f"{name} = {value}.clone()", self.names)
        self.text.statements.append((f"{name} = {value}.clone()", [name]))
        self.count += 1
        return self._add(name, self.names[name], "local")

    # Growing.
    def _keep(self, text, before):
        """Runs a statement; its new values are kept when they are fit to be."""
        statement = text[1:] if text.startswith("!") else f"v{self.count} = {text}"
        exec(statement, self.names)
        made = []
        if not text.startswith("!") or statement.startswith(("def ", "with ", "if ")) or f"v{self.count} = " in statement:
            name = f"v{self.count}"
            result = self.names.get(name)
            parts = ([(name, result)] if isinstance(result, torch.Tensor) else
                     [(f"{name}[{i}]", part) for i, part in enumerate(result)] if isinstance(result, (tuple, list)) else [])
            made = [Value(part_name, part) for part_name, part in parts if isinstance(part, torch.Tensor)]
            if not made or any(value.tensor.numel() > LIMIT for value in made):
                raise Refused
            finite = [value.tensor.isfinite().any() or not value.tensor.numel() for value in made if value.kind in "fc"]
            if not self.extreme and not all(finite):
                raise Refused
            self.count += 1
        self.text.statements.append((statement, [str(value) for value in made]))
        self.values += made

    def grow(self):
        """One more statement; False where the template drawn had no use for what there is."""
        before = (dict(self.text.attributes), dict(self.text.inputs), len(self.text.statements), len(self.values), self.count)
        kept = {value: value.tensor.clone() for value in self.values}
        try:
            template = operators.draw(self)
            self._keep(template(self), before)
            return True
        except Refused:
            pass
        except Exception:  # PyTorch's own refusals are of many kinds
            pass
        for name in set(self.text.attributes) - set(before[0]):
            for table in (self.module._parameters, self.module._buffers, self.module._modules, self.module.__dict__):
                table.pop(name, None)
        self.text.attributes, self.text.inputs = before[0], before[1]
        del self.text.statements[before[2]:], self.values[before[3]:]
        self.count = before[4]
        for value, tensor in kept.items():  # a statement that failed half way may have written
            with torch.no_grad():
                if value.tensor.shape == tensor.shape and not torch.equal(value.tensor, tensor):
                    try:
                        value.tensor.data.copy_(tensor)
                    except RuntimeError:
                        pass
        return False


def make(seed, statements=None):
    """A module of some statements, as Text."""
    draft = Draft(seed)
    wanted = statements or draft.random.choices((1, 2, 3, 4, 6, 8, 12), (2, 3, 3, 3, 3, 2, 1))[0]
    tries = 0
    while len(draft.text.statements) < wanted and tries < 60 * wanted:
        draft.grow()
        tries += 1
    local = [str(value) for value in draft.values if value.origin == "local"]
    if not local:
        raise Refused
    used = "\n".join(text for text, _ in draft.text.statements)
    unread = [name for name in local[:-1] if used.count(name) < 2 or used.rindex(name) == used.index(name)]
    outputs = [local[-1], *draft.random.sample(unread, min(4, len(unread))), *[name for name in local if draft.chance(0.15)][:2]]
    buffers = [str(value) for value in draft.values if value.origin in ("buffer", "parameter")]
    if buffers and draft.chance(0.05):
        outputs.append(draft.of(*buffers))
    draft.text.outputs = list(dict.fromkeys(outputs))
    if not draft.text.inputs:
        draft.input((3,))
    return draft.text, draft

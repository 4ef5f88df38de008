"""`compile` and the module that it gives."""
import dataclasses
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.utils import _pytree as pytree

from . import _members
from ._config import Config, Mode, Progress
from ._errors import Error, translated, translating
from ._library import _models, interruptible, ops
from ._program import Program, export
from ._report import Benchmark, Explanation, Proof, benchmark, profile

if TYPE_CHECKING:
    import torch.profiler

Preset = Literal["default", "fast", "debug", "safe"]
_PRESETS = {"default": Config.default, "fast": Config.fast, "debug": Config.debug, "safe": Config.safe}
# A real module's forward is looked up here, not through torch.ops: that costs a microsecond.
_forward = ops.forward.default


def compile(models: Iterable[torch.nn.Module] | torch.nn.Module, example_args: tuple[Any, ...] | torch.Tensor = (),
            example_kwargs: Mapping[str, Any] | None = None, *, n: int | None = None, mode: Mode | None = None,
            config: Config | Preset | None = None, in_dims: Any = None, kwargs_in_dims: Mapping[str, Any] | None = None,
            dynamic_shapes: Any = None, names: Sequence[str] | None = None,
            init: Callable[[torch.nn.Module, int], object] | None = None, progress: Progress | None = None) -> "Wide":
    """N modules of one architecture as one wide model.

    Parameters
    ----------
    models : sequence of torch.nn.Module, or one with `n`
        The members. Their weights are taken by reference, on the CPU; a module may stand there several times.
    example_args : tuple or torch.Tensor
        What one member is called with, without an axis of members. A plan is made for these shapes.
    example_kwargs : dict, optional
        The same by keyword.
    n : int, optional
        So many re-initialised copies of the one module; copy i as after ``torch.manual_seed(seed + i)``.
    mode : str, optional
        As `Config.mode`.
    config : Config or str, optional
        How to build; ``"default"``, ``"fast"``, ``"debug"`` and ``"safe"`` name its presets.
    in_dims : int, None, or a pytree of them, optional
        As in ``torch.vmap``, over the positional arguments: where an argument has its axis of members; None (the default):
        it is the same for all.
    kwargs_in_dims : dict, optional
        The same for keyword arguments, by name.
    dynamic_shapes : optional
        As in ``torch.export.export``.
    names : sequence of str, optional
        Names of the members in messages; ``member0``, … otherwise.
    init : callable, optional
        With `n`: ``init(copy, i)`` initialises copy i in place of its ``reset_parameters()``.
    progress : callable, optional
        Called with a line of text for what is being measured.

    Returns
    -------
    Wide
        Called as a member is; every tensor of the answer is ``[N, ...]``.

    Raises
    ------
    Error
        ``stage`` is ``"usage"``, ``"export"`` (torch.export refuses a model), ``"load"`` (a member is of another
        architecture; ``place`` is its name), ``"capture"``, ``"plan"`` or ``"prove"``.

    Notes
    -----
    Two members are of one architecture where classes, settings and the shapes of their tensors are equal. Where that
    cannot be told by comparison, as for a module with a table of its own, the member is exported and its graph compared.
    """
    config = _config(config, mode)
    if isinstance(example_args, torch.Tensor):
        example_args = (example_args,)
    example_kwargs = dict(example_kwargs or {})
    if isinstance(models, torch.nn.Module):
        if n is None:
            raise Error("usage", "one module is given: say n=, how many re-initialised copies of it, or give a list of members", "n")
        models = _members.reinitialised(models, n, config.seed, init)
        kept_by_us = True
    else:
        if n is not None:
            raise Error("usage", "n= is for one module; a list of members has its own length", "n")
        models, kept_by_us = list(models), False
    if not models:
        raise Error("usage", "no member is given; give a list of at least one module", "models")
    for model in models:
        if not isinstance(model, torch.nn.Module):
            raise Error("usage", f"a member is a {type(model).__name__}; give modules of torch.nn", "models")
    names = _names(names, len(models))
    program = Program(export(models[0], tuple(example_args), example_kwargs, dynamic_shapes, f"member '{names[0]}'"))
    architecture = _Architecture(program, models[0], tuple(example_args), example_kwargs, dynamic_shapes, names[0])
    brought = [architecture.take(model, name) for model, name in zip(models, names)]
    wide = Wide._made(program, names, brought, config, architecture.skeleton)
    wide._architecture = architecture
    # A list of its own modules would keep all weights twice.
    wide._sources = [None if kept_by_us else weakref.ref(model) for model in models]
    del models, brought
    wide._set_in_dims(in_dims, kwargs_in_dims, tuple(example_args), example_kwargs)
    wide._example = wide._example_inputs(tuple(example_args), example_kwargs)
    wide._prepare(wide._example, progress)
    if config.validate:
        proof = wide.verify()
        if not proof.passed:
            worst = next(check for check in proof.checks if not check.passed)
            raise Error("prove", f"member '{worst.member}': {worst.what}: {worst.text}; build with strategy='sequential'", worst.member)
    return wide


def from_files(model: str | os.PathLike[str], checkpoints: Iterable[str | os.PathLike[str]] = (),
               example_args: tuple[Any, ...] | torch.Tensor | None = None, example_kwargs: Mapping[str, Any] | None = None, *,
               mode: Mode | None = None, config: Config | Preset | None = None, in_dims: Any = None,
               kwargs_in_dims: Mapping[str, Any] | None = None, progress: Progress | None = None) -> "Wide":
    """A wide model of files: a program of ``torch.export.save`` and a safetensors checkpoint for each member.

    Parameters
    ----------
    model : path
        The ``.pt2`` file. Nothing in it is executed.
    checkpoints : sequence of paths
        One for each member, or files of ``widebench pack``; none: one member with the program's own weights.
    example_args, example_kwargs : optional
        What one member is called with; without them the plan is made at the first call.
    mode, config, in_dims, kwargs_in_dims, progress
        As in `compile`.

    Returns
    -------
    Wide
        It cannot `unpack()`, as a file holds no class.

    Raises
    ------
    Error
        ``"load"``: a file is no program or checkpoint, or a checkpoint is of another model; ``place`` is the file.
    """
    config = _config(config, mode)
    with translating():  # the library's reader checks the file; what is read of it below is known to be sound
        handle, names, warnings_ = ops.open_files([os.fspath(model)], [os.fspath(one) for one in checkpoints], *_options(config))
    _warn(warnings_)
    try:
        with open(model, "rb") as file:
            program = Program(torch.frombuffer(bytearray(file.read()), dtype=torch.uint8))
    except BaseException:
        ops.destroy(handle)
        raise
    wide = Wide(_handle=handle, _program=program, _names=list(names), _config=config, _skeleton=None)
    args = (example_args,) if isinstance(example_args, torch.Tensor) else example_args
    wide._set_in_dims(in_dims, kwargs_in_dims, args, example_kwargs or {})
    if args is not None:
        wide._example = wide._example_inputs(tuple(args), dict(example_kwargs or {}))
        wide._prepare(wide._example, progress)
    return wide


def _warn(lines):
    import warnings

    for line in lines:
        warnings.warn(line, stacklevel=3)


def _config(config, mode):
    if isinstance(config, str):
        if config not in _PRESETS:
            raise Error("usage", f"config={config!r} does not exist; there are {', '.join(_PRESETS)}", "config")
        config = _PRESETS[config]()
    config = config or Config()
    if mode is not None:
        config = dataclasses.replace(config, mode=mode)
    if config.mode in ("reduce-overhead", "max-autotune") and not ops.uses_tensor_memory():
        _warn(["mode '" + config.mode + "' has no memory plan in this process; call widebench.use_pooled_memory() before"])
    return config


def _options(config):
    return (config.mode, config.tuning, config.seconds, config.cost_file, config.strategy,
            config.seed, config.snapshots)


def _names(names, count):
    names = [f"member{i}" for i in range(count)] if names is None else [str(name) for name in names]
    if len(names) != count or len(set(names)) != count:
        raise Error("usage", f"{len(set(names))} different names for {count} members; give each its own", "names")
    return names


class _Architecture:
    """What every member is held against."""

    def __init__(self, program, model, args, kwargs, dynamic_shapes, name):
        self.program, self.dynamic_shapes, self.name = program, dynamic_shapes, name
        self.args, self.kwargs = args, kwargs
        self.signature = _members.signature(model)
        self.skeleton = _members.skeleton(model)
        # Constants that the trace made up are the file's, the same for all that have this graph.
        self.weights = [name for name in program.weights if name in _members.named_tensors(model)]
        self._first = weakref.ref(model)

    def take(self, model, name):
        """The member's tensors by name, once it is known to be of this architecture."""
        place = f"member '{name}'"
        if model is not self._first():
            own = _members.signature(model)
            if own is None or self.signature is None or own != self.signature:
                self._compare_graphs(model, own, name, place)
        tensors = _members.bring(model, self.weights, place)
        lacking = [weight for weight in self.weights if weight not in tensors]
        if lacking:
            raise Error("load", f"{place} lacks the tensor '{lacking[0]}'; give members of one architecture", name)
        return tensors

    def _compare_graphs(self, model, own, name, place):
        both = own is not None and self.signature is not None
        hint = f" ({_members.first_difference(self.signature, own)})" if both else ""
        data = export(model, self.args, self.kwargs, self.dynamic_shapes, place)
        with translating():
            difference = ops.difference(self.program.data, data, name)
        other = Program(data)
        if not difference and (other.out_spec != self.program.out_spec or other.in_spec != self.program.in_spec):
            difference = "its inputs or outputs are built otherwise"
        if difference:
            raise Error("load", f"{place}: is another architecture than '{self.name}': {difference}{hint}; give members of one architecture", name)


class Wide(torch.nn.Module):
    """N members as one module, made by `compile` or `from_files`.

    Called as a member is, it gives the member's own output structure; every tensor of it is ``[N, ...]``. Outputs are
    ordinary tensors that require no gradient. Calls from several threads wait for each other; two wide models run side
    by side. A process that was forked after the model was made is refused.

    Attributes
    ----------
    names : list of str
        Of the members, in the order of the first axis of outputs.
    config : Config
        How it was built.
    """

    names: list[str]
    config: Config

    def __init__(self, *, _handle, _program, _names, _config, _skeleton):
        super().__init__()
        self._handle, self._program, self.names, self.config = _handle, _program, _names, _config
        self.__dict__["_skeleton"] = _skeleton  # no part of this module
        self._sources, self._architecture, self._example = [None] * len(_names), None, None
        self._mapped, self._moves = [False] * _program.inputs, None
        self._release = weakref.finalize(self, _destroy, _handle, os.getpid())
        _models[_handle] = weakref.ref(self)
        self.eval()

    @classmethod
    def _made(cls, program, names, brought, config, skeleton):
        fqns = list(brought[0])
        tensors = [one[fqn] for one in brought for fqn in fqns]
        with translating():
            handle = ops.create(program.data, "model", names, fqns, tensors, *_options(config))
        return cls(_handle=handle, _program=program, _names=names, _config=config, _skeleton=skeleton)

    # Calling

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """All members on one set of inputs.

        Inputs are shared or have an axis of members, as `in_dims` of `compile` said.

        Raises
        ------
        Error
            ``"run"``: inputs do not fit; ``"stale"``: weights were written, see `refresh`.
        """
        program = self._program
        if len(args) == program.plain and not kwargs and all([isinstance(arg, torch.Tensor) for arg in args]):
            tensors = args
        else:
            tensors = program.flatten(args, kwargs)
        if self._moves is not None:
            tensors = [tensor.movedim(move, 0) if move else tensor for tensor, move in zip(tensors, self._moves)]
        if torch.compiler.is_compiling():
            results = _forward(self._handle, tensors, self._mapped, True)
        else:
            try:
                results = _forward(self._handle, tensors, self._mapped, False)
            except RuntimeError as error:
                results = self._again(error, tensors)
        return results[0] if program.one_tensor else program.unflatten(results, tensors, self._mapped)

    def _again(self, thrown, tensors):
        error = translated(thrown)
        if error is None:
            raise thrown
        if error.stage == "stale" and self.config.stale == "refresh":
            self.refresh()
        elif error.stage != "unbuilt":
            raise error from None
        self._prepare(tensors)
        try:
            return _forward(self._handle, tensors, self._mapped, False)
        except RuntimeError as second:
            raise translated(second) or second from None

    def _prepare(self, tensors, progress=None):
        """Builds for these inputs, unless there is a build."""
        interruptible(lambda: ops.prepare(self._handle, tensors, self._mapped), self._handle, progress)

    def __len__(self) -> int:
        return len(self.names)

    def extra_repr(self) -> str:
        return f"{len(self)} members, mode={self.config.mode!r}"

    # Inputs

    def _set_in_dims(self, in_dims, kwargs_in_dims, args, kwargs):
        if in_dims is None and not kwargs_in_dims:
            return
        if args is None:
            raise Error("usage", "in_dims= of a model of files needs example_args=, to know the arguments", "in_dims")
        dims = []
        for argument, dim in zip(args, _prefix(in_dims, args, "in_dims")):
            dims += _spread(dim, argument)
        for name, argument in kwargs.items():
            dims += _spread((kwargs_in_dims or {}).get(name), argument)
        leaves = pytree.tree_leaves((args, kwargs))
        moves = []
        for leaf, dim in zip(leaves, dims):
            if isinstance(leaf, torch.Tensor):
                moves.append(dim)
            elif dim is not None:
                raise Error("usage", f"in_dims: a {type(leaf).__name__} has no axis of members; say None there", "in_dims")
        self._mapped = [move is not None for move in moves]
        self._moves = [move or 0 for move in moves] if any(moves) else None

    def _example_inputs(self, args, kwargs):
        """One member's example for all: other numbers for each where that is as legal."""
        tensors = self._program.flatten(args, kwargs)
        return [torch.stack([_varied(tensor, i) for i in range(len(self))]) if own else tensor
                for tensor, own in zip(tensors, self._mapped)]

    def _inputs(self, args, kwargs):
        if not args and not kwargs:
            if self._example is None:
                raise Error("usage", "no example was given when the model was made; give inputs", "inputs")
            return self._example
        tensors = self._program.flatten(args, kwargs)
        if self._moves is not None:
            tensors = [tensor.movedim(move, 0) if move else tensor for tensor, move in zip(tensors, self._moves)]
        return tensors

    # What it does

    def plan(self, *args: Any, **kwargs: Any) -> str:
        """The plan for these inputs (the example's where none are given) as text: each node with strategy, layouts, cost."""
        tensors = self._inputs(args, kwargs)
        self._prepare(tensors)
        with translating():
            return ops.plan(self._handle, tensors, self._mapped)

    def verify(self, *args: Any, **kwargs: Any) -> Proof:
        """Proves each member against its own separate run, float64, and for cross-talk.

        Returns
        -------
        Proof
            True where every check passed; ``checks`` and ``notes`` say the rest. Written buffers and random streams begin
            anew.
        """
        tensors = self._inputs(args, kwargs)
        self._prepare(tensors)
        found = []
        interruptible(lambda: found.extend(ops.prove(self._handle, tensors, self._mapped)), self._handle)
        return Proof.of(*found)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What runs wide and how, as an `Explanation` with ``text``, ``rows`` and, in a notebook, a table."""
        tensors = self._inputs(args, kwargs)
        self._prepare(tensors)
        with translating():
            return Explanation.of(ops.facts(self._handle, tensors, self._mapped), ops.plan_rows(self._handle, tensors, self._mapped))

    def benchmark(self, *args: Any, rivals: Sequence[str] = ("eager",), rounds: int = 30, **kwargs: Any) -> Benchmark:
        """Times wide calls beside honest ways to run the members apart, in rounds, each round in an order drawn anew.

        Parameters
        ----------
        rivals : sequence of str
            ``"eager"``: a loop over the modules; ``"vmap"``: ``torch.vmap`` over stacked weights; ``"compile"``: each module
            by ``torch.compile``, a loop over them.
        rounds : int
            How many; each contender's calls in one take at least a millisecond.

        Returns
        -------
        Benchmark
            ``times`` in seconds per pass of all members by contender, ``speedup`` over each rival with its 95 % interval.
        """
        return benchmark(self, self._inputs(args, kwargs), rivals, rounds)

    def profile(self, *args: Any, passes: int = 10, **kwargs: Any) -> "torch.profiler.profile":
        """Some calls under ``torch.profiler``; gives its ``profile`` object, whose ``key_averages().table()`` shows operators."""
        tensors = self._inputs(args, kwargs)
        self._prepare(tensors)
        return profile(self, tensors, passes)

    def reset(self) -> None:
        """Written buffers as loaded, random streams from their seeds."""
        with translating():
            ops.reset(self._handle)

    # Members

    def _index(self, member):
        if isinstance(member, str):
            if member not in self.names:
                raise Error("usage", f"there is no member '{member}'; there are {', '.join(self.names[:8])}", "member")
            return self.names.index(member)
        if not -len(self) <= member < len(self):
            raise Error("usage", f"there is no member {member}; there are {len(self)}", "member")
        return member % len(self)

    def _tensors(self, i):
        with translating():
            return dict(zip(*ops.member_state(self._handle, i)))

    def state_dict(self, member: int | str | None = None, *, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, torch.Tensor]:
        """The state dict of one member, by number or name; of all, each tensor ``[N, ...]``, where none is named.

        Tensors are copies. Written buffers are as the last call left them. Names are those that the graph reads; of tied
        weights each name.
        """
        if member is not None:
            tensors = self._tensors(self._index(member))
            return {name: tensor for name, tensor in self._with_ties(tensors).items() if self._in_state_dict(name)}
        state = destination if destination is not None else {}
        each = [self.state_dict(i) for i in range(len(self))]
        for name in each[0]:
            state[prefix + name] = torch.stack([one[name] for one in each])
        return state

    def _in_state_dict(self, name):
        if self._skeleton is not None:
            return name in self._skeleton.state_dict()
        return self._program.persistent.get(name, True)

    def _with_ties(self, tensors):
        """Also by the names that the graph does not read, since it reads another of the same tensor."""
        if self._skeleton is None:
            return tensors
        by_place, complete = {}, dict(tensors)
        for name, tensor in _members.named_tensors(self._skeleton).items():
            by_place.setdefault(id(tensor), []).append(name)
        for twins in by_place.values():
            known = next((name for name in twins if name in tensors), None)
            for name in twins:
                if known is not None:
                    complete.setdefault(name, tensors[known])
        return complete

    def load_state_dict(self, state_dict: Mapping[str, torch.Tensor], strict: bool = True, assign: bool = False) -> None:
        """The reverse of ``state_dict()``: tensors ``[N, ...]``."""
        for i in range(len(self)):
            self.load_member(i, {name: tensor[i] for name, tensor in state_dict.items()})

    def load_member(self, member: int | str, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Takes a state dict in place of a member's weights, by the plans that there are. Names it lacks stay as they were."""
        i = self._index(member)
        tensors = self._tensors(i)
        weights = self._weights()
        unknown = [name for name in state_dict if name not in self._with_ties(tensors)]
        if unknown:
            raise Error("load", f"member '{self.names[i]}': has '{unknown[0]}', which the model lacks; give a state dict of one member", self.names[i])
        own = {name: tensors[name] for name in weights}
        own.update({name: state_dict[name].detach().clone() for name in weights if name in state_dict})
        self._replace(self.names, [-1 if k == i else k for k in range(len(self))], [own])
        self._sources[i] = None

    def add(self, model: torch.nn.Module | Mapping[str, torch.Tensor], name: str | None = None) -> None:
        """One more member, a module or a state dict, at the end. Plans of before are kept where they fit."""
        name = name or next(f"member{k}" for k in range(len(self), 2 * len(self) + 1) if f"member{k}" not in self.names)
        names = _names([*self.names, name], len(self) + 1)
        self._replace(names, [*range(len(self)), -1], [self._taken(model, name)])
        self.names = names
        self._sources.append(weakref.ref(model) if isinstance(model, torch.nn.Module) else None)
        self._example = None if any(self._mapped) else self._example

    def drop(self, member: int | str) -> None:
        """One member less. Plans of before are kept where they fit."""
        i = self._index(member)
        if len(self) == 1:
            raise Error("usage", "the last member cannot be dropped", "member")
        kept = [k for k in range(len(self)) if k != i]
        names = [self.names[k] for k in kept]
        self._replace(names, kept, [])
        self.names, self._sources = names, [self._sources[k] for k in kept]
        if self._example is not None:
            self._example = [tensor[kept] if own else tensor for tensor, own in zip(self._example, self._mapped)]

    def replace(self, member: int | str, model: torch.nn.Module | Mapping[str, torch.Tensor]) -> None:
        """Another module or state dict in the place of a member. Plans of before are kept where they fit."""
        i = self._index(member)
        self._replace(self.names, [-1 if k == i else k for k in range(len(self))], [self._taken(model, self.names[i])])
        self._sources[i] = weakref.ref(model) if isinstance(model, torch.nn.Module) else None

    def refresh(self) -> None:
        """Takes in the weights of the modules as they are now, by the plans that there are.

        Members whose module is gone, or that came as a state dict, stay as they are.
        """
        models = [source() if source is not None else None for source in self._sources]
        brought = [self._taken(model, name) for model, name in zip(models, self.names) if model is not None]
        self._replace(self.names, [k if model is None else -1 for k, model in enumerate(models)], brought)

    def unpack(self) -> list[torch.nn.Module]:
        """N modules of the members' class, with copies of their weights and buffers.

        Raises
        ------
        Error
            ``"usage"`` for a model of files, which hold no class.
        """
        if self._skeleton is None:
            raise Error("usage", "a model of files has no class to make modules of; take state_dict(i)", "unpack")
        return [_members.with_tensors(self._skeleton, self._tensors(i)) for i in range(len(self))]

    def _weights(self):
        return self._architecture.weights if self._architecture else self._program.weights

    def _taken(self, model, name):
        if isinstance(model, torch.nn.Module):
            if self._architecture is None:
                raise Error("usage", "a model of files takes members as state dicts", "model")
            return self._architecture.take(model, name)
        lacking = [weight for weight in self._weights() if weight not in model]
        if lacking:
            raise Error("load", f"member '{name}' lacks the tensor '{lacking[0]}'; give a state dict of one member", name)
        return {weight: model[weight] for weight in self._weights()}

    def _replace(self, names, kept, brought):
        fqns = list(brought[0]) if brought else []
        tensors = [one[fqn] for one in brought for fqn in fqns]
        with translating():
            ops.replace_members(self._handle, names, kept, fqns, tensors)


def _destroy(handle, process):
    _models.pop(handle, None)
    if os.getpid() == process:
        ops.destroy(handle)


def _varied(tensor, i):
    return tensor.roll(i, 0) if tensor.dim() > 0 and tensor.shape[0] > 1 else tensor


def _prefix(in_dims, args, what):
    if in_dims is None or isinstance(in_dims, int):
        return [in_dims] * len(args)
    if not isinstance(in_dims, (tuple, list)) or len(in_dims) != len(args):
        raise Error("usage", f"{what}={in_dims!r} does not fit {len(args)} arguments; give one entry for each", what)
    return list(in_dims)


def _spread(dim, argument):
    """`dim`, a prefix of the argument's pytree, for each leaf of it."""
    leaves, spec = pytree.tree_flatten(argument)
    if dim is None or isinstance(dim, int):
        return [dim if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
    dims, own = pytree.tree_flatten(dim, is_leaf=lambda leaf: leaf is None)
    if own != spec and len(dims) != len(leaves):
        raise Error("usage", f"in_dims has {own} where the argument is {spec}; give an int or None for each leaf", "in_dims")
    return dims

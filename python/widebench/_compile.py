"""`compile`, `from_files` and `from_bundle`: wide models of modules and of files."""
import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import torch

from . import _members
from ._architecture import Architecture
from ._config import Config, Mode, Progress
from ._errors import Error, checked, path, translating, warn, whole
from ._export import export
from ._library import ops
from ._program import Program
from ._wide import Wide

Preset = Literal["default", "fast", "debug", "safe"]
_PRESETS = {"default": Config.default, "fast": Config.fast, "debug": Config.debug, "safe": Config.safe}


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
        Called as a member is; every tensor of the answer is ``[N, ...]``; a nested one (`torch.nested`)
        where data give members sizes of their own, an `Apart` where even the numbers of axes differ.

    Raises
    ------
    Error
        ``stage`` is ``"usage"``, ``"export"`` (torch.export refuses a model), ``"load"`` (a member is of another
        architecture; ``place`` is its name), ``"run"`` (the example does not fit), ``"capture"``, ``"widen"``, ``"plan"``
        or ``"prove"``.

    Notes
    -----
    A call computes in the types of the members' own forward(); an autocast around it changes nothing.

    While it runs, no member may be called in another thread: torch.export puts tensors without numbers in place of its own.

    Two members are of one architecture where classes, settings and the shapes of their tensors are equal. Where that
    cannot be told by comparison, as for a module with a table of its own, the member is exported and its graph compared.

    Call members that keep what they computed once before, as by ``functools.lru_cache``: into a cache that is still empty
    torch.export puts a tensor without numbers, and the member itself gives such tensors from then on.
    """
    config = _config(config, mode)
    if torch.is_autocast_enabled("cpu"):
        raise Error("usage", "compile() is called under torch.autocast, which torch.export does not record: the wide model would "
                             "compute in other types than its members; call it outside, and put autocast into their forward()", "models")
    example_args, example_kwargs = _example(example_args, example_kwargs)
    if progress is not None and not callable(progress):
        raise Error("usage", f"progress is a {type(progress).__name__}; give a function that takes a line of text", "progress")
    if isinstance(models, torch.nn.Module):
        if n is None:
            raise Error("usage", "one module is given: say n=, how many re-initialised copies of it, or give a list of members", "n")
        if init is not None and not callable(init):
            raise Error("usage", f"init is a {type(init).__name__}; give a function of a copy and its number", "init")
        _members.check_made(models, "the model")
        models = _members.reinitialised(models, whole(n, 1, "n"), config.seed, init)
        kept_by_us = True
    else:
        if n is not None:
            raise Error("usage", "n= is for one module; a list of members has its own length", "n")
        models, kept_by_us = list(checked(models, Iterable, "models", "a list of modules, or one and n=")), False
    if not models:
        raise Error("usage", "no member is given; give a list of at least one module", "models")
    for model in models:
        if not isinstance(model, torch.nn.Module):
            raise Error("usage", f"a member is a {type(model).__name__}; give modules of torch.nn", "models")
    names = _members.names_of(names, len(models))
    _members.check_made(models[0], f"member '{names[0]}'")  # the trace of it would end in words of torch
    trace = export(models[0], example_args, example_kwargs, dynamic_shapes, f"member '{names[0]}'")
    architecture = Architecture(trace, models[0], example_args, example_kwargs, dynamic_shapes, names[0])
    sources, brought = zip(*[architecture.take(model, name, trace if model is models[0] else None) for model, name in zip(models, names)])
    wide = Wide._made(architecture.program, names, brought, config, architecture.skeleton)
    wide._architecture = architecture
    # A list of its own modules would keep all weights twice.
    wide._sources = [None] * len(wide) if kept_by_us else list(sources)
    del models, brought
    wide._set_in_dims(in_dims, kwargs_in_dims, example_args, example_kwargs)
    wide._example = wide._example_inputs(example_args, example_kwargs)
    _build(wide, progress)
    return wide


def from_files(model: str | os.PathLike[str], checkpoints: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] = (),
               example_args: tuple[Any, ...] | torch.Tensor | None = None, example_kwargs: Mapping[str, Any] | None = None, *,
               mode: Mode | None = None, config: Config | Preset | None = None, in_dims: Any = None,
               kwargs_in_dims: Mapping[str, Any] | None = None, progress: Progress | None = None) -> "Wide":
    """A wide model of files: a program of ``torch.export.save`` and a safetensors checkpoint for each member.

    Parameters
    ----------
    model : path
        The ``.pt2`` file. Nothing in it is executed.
    checkpoints : path or sequence of paths
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
    if isinstance(checkpoints, (str, os.PathLike)):
        checkpoints = [checkpoints]
    model, checkpoints = path(model, "model"), [path(one, "checkpoints") for one in checked(checkpoints, Iterable, "checkpoints", "paths")]
    with translating():  # the library's reader checks the file; what is read of it below is known to be sound
        handle, names = ops.open_files([model], checkpoints, *config._options())
    wide = _of_file(handle, model, names, config)
    return _called_with(wide, example_args, example_kwargs, in_dims, kwargs_in_dims, progress)


def from_bundle(folder: str | os.PathLike[str], example_args: tuple[Any, ...] | torch.Tensor | None = None,
                example_kwargs: Mapping[str, Any] | None = None, *, trust_code: bool = False, config: Config | Preset | None = None,
                in_dims: Any = None, kwargs_in_dims: Mapping[str, Any] | None = None) -> "Wide":
    """A wide model as ``wide.save_bundle(folder)`` or ``widebench bundle`` wrote it.

    For the shapes that were planned then, nothing is measured, planned or compiled again.

    Parameters
    ----------
    folder : path
        The bundle.
    example_args, example_kwargs : optional
        What one member is called with; the model is then built for these shapes at once.
    trust_code : bool
        Take its compiled code, which runs in this process: only where you know who made it. Without, code is compiled
        here where there is a compiler, else operators run one by one or tile by tile.
    config, in_dims, kwargs_in_dims
        As in `compile`; mode and seed are the bundle's.

    Returns
    -------
    Wide
        It cannot `unpack()`, as a bundle holds no class.

    Raises
    ------
    Error
        ``"load"``: it is no bundle, or a file in it is not as it was written; ``place`` is the file.
    """
    config = _config(config, None)
    folder, (_, tuning, seconds, cost_file, strategy, _, snapshots) = path(folder, "folder"), config._options()
    with translating():
        handle, names = ops.open_bundle(folder, trust_code, tuning, seconds, cost_file, strategy, snapshots)
    with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as file:
        made = json.load(file)
    config = _config(dataclasses.replace(config, mode=made["mode"], seed=made["seed"]), None)
    wide = _of_file(handle, os.path.join(folder, "model.pt2"), names, config)
    return _called_with(wide, example_args, example_kwargs, in_dims, kwargs_in_dims, None)


def _of_file(handle, model, names, config):
    try:
        with open(model, "rb") as file:
            program = Program(bytearray(file.read()))
    except BaseException:
        ops.destroy(handle)
        raise
    return Wide(_handle=handle, _program=program, _names=list(names), _config=config, _skeleton=None)


def _called_with(wide, args, kwargs, in_dims, kwargs_in_dims, progress):
    wide._warn()
    if args is not None or kwargs:
        args, kwargs = _example(() if args is None else args, kwargs)
    wide._set_in_dims(in_dims, kwargs_in_dims, args, kwargs or {})
    if args is not None:
        wide._example = wide._example_inputs(args, kwargs)
        _build(wide, progress)
    return wide


def _example(args, kwargs):
    args = (args,) if isinstance(args, torch.Tensor) else checked(args, (tuple, list), "example_args", "a tensor or a tuple of arguments")
    return tuple(args), dict(checked(kwargs or {}, Mapping, "example_kwargs", "a dict of arguments by name"))


def _build(wide, progress):
    try:
        wide._prepare(wide._example, progress)
    except Error as error:
        if not wide._take_plain_example(error):
            raise
        wide._prepare(wide._example, progress)
    warn([f"the model writes into its input '{name}'; a wide model leaves the caller's tensors as they are: return what is written, or keep it in "
           "a buffer" for name in ops.written_inputs(wide._handle, wide._example, wide._mapped)])
    if not wide.config.validate:
        return
    proof = wide.verify()
    if not proof.passed:
        worst = next(check for check in proof.checks if not check.passed)
        raise Error("prove", f"member '{worst.member}': {worst.what}: {worst.text}; build with strategy='sequential'", worst.member)


def _config(config, mode):
    if isinstance(config, str):
        if config not in _PRESETS:
            raise Error("usage", f"config={config!r} does not exist; there are {', '.join(_PRESETS)}", "config")
        config = _PRESETS[config]()
    config = checked(config or Config(), Config, "config", "a Config or the name of a preset")
    if mode is not None:
        config = dataclasses.replace(config, mode=mode)
    if config.mode in ("reduce-overhead", "max-autotune") and not ops.uses_tensor_memory():
        warn(["mode '" + config.mode + "' has no memory plan in this process; call widebench.use_pooled_memory() before"])
    return config

"""The module `Wide`: N members as one."""
import functools
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.module import _global_backward_hooks, _global_backward_pre_hooks, _global_forward_hooks, _global_forward_pre_hooks

from ._apart import put_together
from ._config import Config
from ._errors import Error, checked, path, translated, translating, warn, whole
from ._fleet import Fleet
from ._inputs import axes, in_order, varied
from ._library import _models, interruptible, ops
from ._program import only
from ._report import Benchmark, Explanation, Proof, benchmark, profile

if TYPE_CHECKING:
    import torch.profiler

# A real module's forward is looked up here, not through torch.ops: that costs a microsecond.
_forward_many = ops.forward_many.default
_forward = ops.forward.default
# By the number of tensors; outside of torch.compile, which knows operators only, also without the operator's own frame in Python.
_forward_few = {count: getattr(ops, f"forward_{count}").default._op for count in range(1, 5)}
_MOST_TRIES = 20
_now = time.perf_counter
_LOOK_PART, _LONGEST = 100, 0.5  # of the time, one in so many parts is for looking; seconds between looks
_under_dynamo = torch.compiler.is_dynamo_compiling
_Tensor = torch.Tensor
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_TAKEN_OVER = ("forward", "_compiled_call_impl", *_HOOKS)


class _Short:
    """What a call of plain tensors needs: attributes of a module take longer to be found than a kernel runs."""

    __slots__ = ("hooks", "tensors", "run", "look_at", "results", "built", "single")

    def __init__(self, module, program):
        self.hooks = (*(getattr(module, name) for name in _HOOKS), _global_forward_hooks, _global_forward_pre_hooks,
                      _global_backward_hooks, _global_backward_pre_hooks)
        self.tensors = program.plain if program.inputs in _forward_few else -1  # others never go this way
        self.look_at = 0.0  # when a call looks whether modules have other parameters than were taken in
        self.results, self.built = (program.tensors, program.built) if program.built else (-1, None)
        self.single = self.built is only
        self.take(module)

    def take(self, module):
        """As the operators take model and mapped inputs: by the size of an empty tensor."""
        forward = _forward_few.get(len(module._mapped))
        said = module._handle << 4 | sum(own << i for i, own in enumerate(module._mapped))
        self.run = forward and functools.partial(forward, torch.empty((0, said), dtype=torch.bool, device="cpu"))


class Wide(Fleet, torch.nn.Module):
    """N members as one module, made by `compile`, `from_files` or `from_bundle`.

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
        self._sources, self._architecture, self._example, self._plain_example = [None] * len(_names), None, None, False
        self._mapped, self._moves = [False] * _program.inputs, None
        self._short = _Short(self, _program)
        self._changing = threading.RLock()  # held while members change
        self._warned = 0  # warnings that were told
        self._release = weakref.finalize(self, _destroy, _handle, os.getpid())
        _models[_handle] = weakref.ref(self)
        self.eval()

    @classmethod
    def _made(cls, program, names, brought, config, skeleton):
        fqns = list(brought[0])
        tensors = [one[fqn] for one in brought for fqn in fqns]
        with translating():
            handle = ops.create(program.data, "model", names, fqns, tensors, *config._options())
        return cls(_handle=handle, _program=program, _names=names, _config=config, _skeleton=skeleton)

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Most calls, without what torch.nn.Module and forward() do besides, which takes as long as some kernels.
        short = self._short
        if len(args) == short.tensors and not kwargs and not any(short.hooks) and not _under_dynamo():
            for arg in args:
                if type(arg) is not _Tensor:
                    break
            else:
                try:
                    if _now() >= short.look_at:
                        self._look()
                    results = short.run(*args)
                except RuntimeError as error:
                    results = self._again(error, args)
                if len(results) != short.results:
                    return self._structured(results, args)
                return results[0] if short.single else short.built(results)
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """All members on one set of inputs.

        Inputs are shared or have an axis of members, as `in_dims` of `compile` said. They are never written: of a model that does, `compile`
        warns.

        Raises
        ------
        Error
            ``"run"``: inputs do not fit; ``"stale"``: weights were written, see `refresh`.
        """
        program = self._program
        plain = len(args) == program.plain and not kwargs
        for arg in args:
            plain = plain and isinstance(arg, torch.Tensor)
        tensors = args if plain else program.flatten(args, kwargs)
        if self._moves is not None:
            tensors = self._moved(tensors)
        if torch.compiler.is_compiling():
            len(self.names)  # what is compiled for so many members is compiled anew for others
            results = _forward(self._handle, tensors, self._mapped)
        else:
            results = self._results_for(tensors)
        return self._structured(results, tensors)

    def _results_for(self, tensors):
        try:
            if _now() >= self._short.look_at:
                self._look()
            if self._short.run and set(map(type, tensors)) == {_Tensor}:  # a fake one bears no other beside it
                return self._short.run(*tensors)
            return _forward_many(self._handle, tensors, self._mapped)
        except RuntimeError as error:
            return self._again(error, tensors)

    def _look(self):
        """Refuses where a module has another parameter or part than was taken in. Calls look again after so long that it does not show."""
        self._short.look_at, begun = 0.0, time.thread_time()
        for name, source in zip(self.names, self._sources):
            place = source.replaced() if source is not None else None
            if place is not None:
                raise Error("stale", f"member '{name}', '{place}': another one took its place after the wide model took it in; call refresh()")
        self._short.look_at = _now() + min(_LOOK_PART * (time.thread_time() - begun), _LONGEST)

    def _structured(self, results, tensors):
        program = self._program
        if len(results) > program.tensors:
            results = put_together(results, len(self))
        return program.unflatten(results, tensors, self._mapped)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _TAKEN_OVER and "_short" in self.__dict__:  # another one in its place, as libraries do that hook into modules
            self._short.tensors = -1

    def _again(self, thrown, tensors):
        """The call, once what `thrown` says is made good: there is no build yet, or weights were written."""
        for _ in range(_MOST_TRIES):  # other threads may write, refresh or replace meanwhile
            error = thrown if isinstance(thrown, Error) else translated(thrown)
            if error is None and isinstance(thrown, NotImplementedError):  # PyTorch's dispatcher, of other kinds of tensors
                raise Error("run", "an input is no dense tensor, or is one of another library; give a dense torch.Tensor", "inputs") from thrown
            if error is None:
                raise thrown
            if error.stage == "stale" and self.config.stale == "refresh":
                self.refresh()
            elif error.stage != "unbuilt":
                raise error from None
            try:
                self._prepare(tensors)
                return _forward_many(self._handle, tensors, self._mapped)
            except RuntimeError as again:
                thrown = again
        raise error from None

    def _prepare(self, tensors, progress=None):
        """Builds for these inputs, unless there is a build."""
        interruptible(lambda: ops.prepare(self._handle, tensors, self._mapped), self._handle, progress)
        self._warn()

    def _warn(self):
        """Of what loading and building warned of since it was asked last."""
        with translating():
            told = ops.warnings(self._handle)
        fresh, self._warned = told[self._warned:], len(told)
        warn(fresh)

    def __len__(self) -> int:
        return len(self.names)

    def __reduce_ex__(self, protocol: Any) -> Any:  # copy.copy(), copy.deepcopy(), pickle, torch.save()
        raise Error("usage", "a wide model is not copied or pickled; keep state_dict() or unpack(), and compile the members again", "copy")

    def _apply(self, fn: Any, recurse: bool = True) -> "Wide":  # to(), half(), cuda(), … also of a module around
        weights = self._program.weight_dtypes
        for dtype in weights:
            probe = torch.empty(0, dtype=dtype, device="cpu")
            made = fn(probe)
            if made.dtype != dtype or made.device != probe.device:
                raise Error("usage", f"a wide model stays of the dtypes and on the device of its members, not {made.dtype} on {made.device}; "
                                     "convert the members and compile them again", "to")
        return self

    def extra_repr(self) -> str:
        return f"{len(self)} members, mode={self.config.mode!r}"

    # Inputs

    def _set_in_dims(self, in_dims, kwargs_in_dims, args, kwargs):
        if in_dims is None and not kwargs_in_dims:
            return
        if args is None:
            raise Error("usage", "in_dims= of a model of files needs example_args=, to know the arguments", "in_dims")
        moves = axes(in_dims, kwargs_in_dims, *in_order((tuple(args), kwargs), self._program.in_spec))
        self._mapped = [move is not None for move in moves]
        self._moves = [move or 0 for move in moves] if any(moves) else None
        if self._moves:
            self._short.tensors = -1
        self._short.take(self)

    def _example_inputs(self, args, kwargs):
        """One member's example for all: other numbers for each where that is as legal."""
        tensors = self._program.flatten(args, kwargs)
        return [torch.stack([varied(tensor, i) for i in range(len(self))]) if own else tensor
                for tensor, own in zip(tensors, self._mapped)]

    def _take_plain_example(self, error):
        """The example as it was given for each member, where it was another for each: the model may refuse rows in another order (offsets
        of bags, a positive definite matrix). False: it is that already, or the error is another."""
        if self._example is None or self._plain_example or not any(self._mapped) or error.stage in ("stale", "usage", "load", "widen"):
            return False
        self._example = [tensor[:1].expand_as(tensor).contiguous() if own else tensor for tensor, own in zip(self._example, self._mapped)]
        self._plain_example = True
        return True

    def _inputs(self, args, kwargs):
        if not args and not kwargs:
            if self._example is None:
                raise Error("usage", "no example was given when the model was made; give inputs", "inputs")
            return self._example
        tensors = self._program.flatten(args, kwargs)
        return tensors if self._moves is None else self._moved(tensors)

    def _moved(self, tensors):
        """Each with its axis of members in front."""
        for i, (tensor, move) in enumerate(zip(tensors, self._moves)):
            if not -tensor.dim() <= move < max(tensor.dim(), 1):
                raise Error("run", f"inputs: input {i} has {tensor.dim()} axes, and in_dims says that axis {move} is that of members; give one "
                                   "that has it", "inputs")
        return [tensor.movedim(move, 0) if move else tensor for tensor, move in zip(tensors, self._moves)]

    # What it does

    def plan(self, *args: Any, **kwargs: Any) -> str:
        """The plan for these inputs (the example's where none are given) as text: each node with strategy, layouts, cost.

        A last line says so where other work had the machine while strategies were timed: another plan may be faster then.
        """
        tensors = self._inputs(args, kwargs)

        def text():
            self._prepare(tensors)
            with translating():
                return ops.plan(self._handle, tensors, self._mapped)
        return self._of_weights_as_they_are(text)

    def verify(self, *args: Any, **kwargs: Any) -> Proof:
        """Proves each member against its own separate run, float64, and for cross-talk.

        Returns
        -------
        Proof
            True where every check passed; ``checks`` and ``notes`` say the rest. Written buffers and random streams begin
            anew.
        """
        try:
            return self._proof(self._inputs(args, kwargs))
        except Error as error:
            if args or kwargs or not self._take_plain_example(error):
                raise
            return self._proof(self._example)

    def _proof(self, tensors):
        def prove():
            self._prepare(tensors)
            found = []
            interruptible(lambda: found.extend(ops.prove(self._handle, tensors, self._mapped)), self._handle)
            return Proof.of(*found)
        return self._of_weights_as_they_are(prove)

    def _of_weights_as_they_are(self, body):
        """What `body` gives; where weights were written, that is refused, or they are taken in first, as for a call."""
        for _ in range(_MOST_TRIES):
            try:
                self._look()
                return body()
            except Error as error:
                if error.stage != "stale" or self.config.stale != "refresh":
                    raise
                stale = error
            self.refresh()
        raise stale

    def save_bundle(self, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Writes members, plans and compiled code of all shapes that were built as a folder for `from_bundle`.

        Members are written as they were taken in, so that written buffers begin anew. The folder is written whole or not
        at all; what is there is only replaced if it is a bundle and `replace` is set.
        """
        def write():
            with translating():
                ops.write_bundle(self._handle, self._program.data, path(folder, "folder"), replace)
        self._of_weights_as_they_are(write)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What runs wide and how, as an `Explanation` with ``text``, ``rows`` and, in a notebook, a table."""
        tensors = self._inputs(args, kwargs)

        def facts():
            self._prepare(tensors)
            with translating():
                return Explanation.of(ops.facts(self._handle, tensors, self._mapped), ops.plan_rows(self._handle, tensors, self._mapped))
        return self._of_weights_as_they_are(facts)

    def benchmark(self, *args: Any, rivals: Sequence[str] = ("eager",), rounds: int = 30, **kwargs: Any) -> Benchmark:
        """Times wide calls beside honest ways to run the members apart, in rounds, each round in an order drawn anew.

        These are calls: written buffers and random streams go on from where they were, `reset` begins them anew.

        Parameters
        ----------
        rivals : sequence of str
            ``"eager"``: a loop over the modules; ``"vmap"``: ``torch.vmap`` over stacked weights; ``"compile"``: each module
            by ``torch.compile``, a loop over them; ``"vmap compile"``: that ``vmap`` by ``torch.compile``.
        rounds : int
            How many; each contender's calls in one take at least a millisecond.

        Returns
        -------
        Benchmark
            ``times`` in seconds per pass of all members by contender, ``speedup`` over each rival with its 95 % interval.
        """
        rivals = (rivals,) if isinstance(rivals, str) else checked(rivals, Sequence, "rivals", "a list of their names")
        return benchmark(self, self._inputs(args, kwargs), rivals, whole(rounds, 1, "rounds"))

    def profile(self, *args: Any, passes: int = 10, **kwargs: Any) -> "torch.profiler.profile":
        """Some calls under ``torch.profiler``; gives its ``profile`` object, whose ``key_averages().table()`` shows operators.

        Written buffers and random streams go on, as in any call.
        """
        tensors = self._inputs(args, kwargs)
        self._of_weights_as_they_are(lambda: self._prepare(tensors))
        return profile(self, tensors, whole(passes, 1, "passes"))

    def reset(self) -> None:
        """Written buffers as loaded, random streams from their seeds."""
        with translating():
            ops.reset(self._handle)


def _destroy(handle, process):
    _models.pop(handle, None)
    if os.getpid() == process:
        ops.destroy(handle)

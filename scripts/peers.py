#!/usr/bin/env python3
"""The Python ways to run N models of one architecture, measured round by round for `widebench benchmark --peers`.

Works on a folder made by `widebench export`: a graph in JSON or a reference to a .pt2, the members' weights, their inputs,
and the outputs that widebench computed of them. The rivals, all on the same threads in inference mode:

    python_eager         the N modules one after the other
    python_compile       the N modules, each through torch.compile, one after the other
    python_vmap          torch.func.vmap of functional_call over stacked weights
    python_vmap_compile  the same under torch.compile
    python_streams       on a GPU: the N modules, each on a stream of its own
    python_graph         on a GPU: the same recorded into one CUDA Graph, and replayed

Protocol: JSON, one object a line, on standard input and output; what libraries print goes to standard error.

    {"do": "prepare", "folder": DIR, "threads": T, "device": "cpu"|"cuda", "rivals": [NAME, …]}
        -> {"rivals": [{"name", "ok", "reason", "max_abs_err", "build_us", "first_run_us"}, …], "torch": VERSION}
    {"do": "round", "rival": NAME, "runs": K}  -> {"nanoseconds": [one of each of the K runs]}
    {"do": "stop"}                             -> {"stopped": true}, and the end

threads 0 leaves the library's own choice; the device is the CPU where none is named, and of several GPUs the first. A run
on a GPU is over when the GPU has done it. An answer {"error": TEXT} says that a request could not be met. A rival is
checked against the eager loop, and that against the outputs in the folder: a difference there is an error of prepare.
A rival that fails, or whose numbers are wrong, has "ok": false with the reason and cannot be run. build_us is the time from a module to its first result less a later
run: for the compiled rivals, the compile time. Before each round the inputs get other values, outside of what is timed.

    peers.py --check [cpu|cuda]   exit code 0 when Python's torch can be imported, and use a GPU, else 3 with one line
    peers.py             serves requests until stop or the end of its input
"""
from __future__ import annotations

import gc
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from peers_subject import IMPORT_FAILURE, Cpu, Gpu, Run, Subject, Unusable, open_device, torch  # noqa: E402

EXIT_CANNOT_MEASURE = 3
LONGEST_REASON = 300  # characters

# Largest difference allowed, relative to the largest output (or 1): rivals reorder sums and keep other intermediates.
TOLERANCE = {"torch.float64": 1e-9, "torch.float32": 2e-4, "torch.float16": 1e-2, "torch.bfloat16": 8e-2}


# -- the rivals --------------------------------------------------------------------------------------------------------

def one_by_one(modules: list[Any], inputs: list[list[torch.Tensor]]) -> Run:
    pairs = list(zip(modules, inputs, strict=True))
    return lambda: [module(*values) for module, values in pairs]


def eager(subject: Subject) -> Run:
    return one_by_one(subject.modules, subject.inputs)


def compiled(subject: Subject) -> Run:
    # Every member is a module of its own with code of its own, so no recompile limit is shared.
    return one_by_one([torch.compile(module) for module in subject.modules], subject.inputs)


def on_gpu(subject: Subject) -> Gpu:
    if isinstance(subject.device, Gpu):
        return subject.device
    raise Unusable("it needs a GPU: --device cuda")


def on_streams(subject: Subject) -> Run:
    gpu = on_gpu(subject)
    streams = gpu.streams(len(subject.modules))
    calls = [lambda module=module, values=values: module(*values)
             for module, values in zip(subject.modules, subject.inputs, strict=True)]
    return lambda: gpu.side_by_side(calls, streams)


def graphed(subject: Subject) -> Run:
    return on_gpu(subject).record(on_streams(subject))


def stacked_call(subject: Subject) -> tuple[Callable[..., Any], list[Any]]:
    """A function of (weights by fqn, inputs…) under vmap, and its arguments, stacked once."""
    states = [{**dict(module.named_parameters()), **dict(module.named_buffers())} for module in subject.modules]
    weights = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    inputs = [torch.stack([values[k] for values in subject.inputs]) if mapped else subject.inputs[0][k]
              for k, mapped in enumerate(subject.mapped)]
    subject.will_read(values for values, mapped in zip(inputs, subject.mapped, strict=True) if mapped)
    module = subject.modules[0]

    def one(state: dict[str, torch.Tensor], *values: torch.Tensor) -> Any:
        return torch.func.functional_call(module, state, values)

    call = torch.func.vmap(one, in_dims=(0, *(0 if mapped else None for mapped in subject.mapped)),
                           randomness="different")
    return call, [weights, *inputs]


def vmap(subject: Subject) -> Run:
    call, arguments = stacked_call(subject)
    return lambda: call(*arguments)


def vmap_compiled(subject: Subject) -> Run:
    call, arguments = stacked_call(subject)
    fast = torch.compile(call)
    return lambda: fast(*arguments)


RIVALS: dict[str, Callable[[Subject], Run]] = {
    "python_eager": eager, "python_compile": compiled, "python_vmap": vmap, "python_vmap_compile": vmap_compiled,
    "python_streams": on_streams, "python_graph": graphed}
STACKED = {"python_vmap", "python_vmap_compile"}


# -- checking ----------------------------------------------------------------------------------------------------------

def leaves(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def by_member(outputs: Any, members: int, stacked: bool) -> list[list[torch.Tensor]]:
    """[member][K], whatever way the rival gives them."""
    if not stacked:
        return [leaves(one) for one in outputs]
    flat = leaves(outputs)
    return [[leaf[i] for leaf in flat] for i in range(members)]


def difference_of(got: torch.Tensor, expected: torch.Tensor, where: str) -> float:
    """Largest difference. Throws Unusable where it is more than TOLERANCE, or the shapes differ."""
    if got.shape != expected.shape:
        raise Unusable(f"{where} has the shape {list(got.shape)} instead of {list(expected.shape)}")
    if expected.numel() == 0:
        return 0.0
    # Differences of complex numbers are those of their parts.
    one, other = (torch.view_as_real(side) if side.is_complex() else side for side in (got, expected))
    one, other = one.to(torch.float64), other.to(torch.float64)
    same = (one == other) | (one.isnan() & other.isnan())  # infinities have no difference
    difference = torch.where(same, 0.0, (one - other).abs()).max().item()
    finite = torch.where(other.isfinite(), other, 0.0)
    allowed = TOLERANCE.get(str(expected.dtype), 0.0) * max(1.0, finite.abs().max().item())
    if not difference <= allowed:  # not: NaN must not pass
        raise Unusable(f"{where} differs by {difference:.3g}, allowed is {allowed:.3g}")
    return difference


def largest_difference(got: list[list[torch.Tensor]], expected: list[list[torch.Tensor]], members: list[str]) -> float:
    """Over all members and outputs; throws Unusable where one is wrong or they are not as many."""
    worst = 0.0
    for member, ours, theirs in zip(members, got, expected, strict=True):
        if len(ours) != len(theirs):
            raise Unusable(f"member {member} gives {len(ours)} tensors instead of {len(theirs)}")
        for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            worst = max(worst, difference_of(one, other, f"member {member}, output {k}"))
    return worst


def difference_to_file(outputs: Any, subject: Subject) -> float:
    """The eager loop's outputs against those in the folder, which are numbered in pytree order."""
    worst = 0.0
    for member, value in zip(subject.members, outputs, strict=True):
        for k, leaf in enumerate(torch.utils._pytree.tree_leaves(value)):
            if isinstance(leaf, torch.Tensor) and subject.expected:
                key = f"{member}.output.{k}"
                worst = max(worst, difference_of(leaf, subject.expected[key], f"the eager loop's {key}"))
    return worst


# -- serving -----------------------------------------------------------------------------------------------------------

def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, Unusable):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + "…"


def nanoseconds(run: Run, device: Cpu | Gpu) -> int:
    start = time.perf_counter_ns()
    run()
    device.synchronize()
    return time.perf_counter_ns() - start


class Peers:
    """Answers requests; holds the prepared rivals."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.subject: Subject | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "prepare":
            return self.prepare(request)
        if request["do"] == "round":
            return self.round(request["rival"], request["runs"])
        if request["do"] == "stop":
            return {"stopped": True}
        raise Unusable(f"there is no request '{request['do']}'; there are prepare, round and stop")

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("threads", 0) > 0:
            torch.set_num_threads(request["threads"])
        subject = self.subject = Subject(pathlib.Path(request["folder"]), open_device(request.get("device", "cpu")))
        outputs = eager(subject)()
        error = difference_to_file(outputs, subject)  # another model than widebench runs is no rival
        expected = by_member(outputs, len(subject.members), stacked=False)
        reports = [self.prepare_rival(name, subject, expected, error) for name in request["rivals"]]
        gc.collect()
        gc.freeze()
        return {"rivals": reports, "torch": torch.__version__}

    def prepare_rival(self, name: str, subject: Subject, expected: list[list[torch.Tensor]],
                      eager_error: float) -> dict[str, Any]:
        report: dict[str, Any] = {"name": name, "ok": False, "reason": "", "max_abs_err": None, "build_us": None,
                                  "first_run_us": None}
        try:
            if name not in RIVALS:
                raise Unusable(f"there is no rival '{name}'; there are {', '.join(RIVALS)}")
            start = time.perf_counter_ns()
            run = RIVALS[name](subject)
            first = time.perf_counter_ns()
            outputs = run()
            subject.device.synchronize()
            end = time.perf_counter_ns()
            later = min(nanoseconds(run, subject.device) for _ in range(2))
            report["first_run_us"] = (end - first) / 1e3
            report["build_us"] = max(0, end - start - later) / 1e3
            got = by_member(outputs, len(subject.members), name in STACKED)
            error = largest_difference(got, expected, subject.members)
            report["max_abs_err"] = eager_error if name == "python_eager" else error
            report["ok"] = True
            self.runs[name] = run
        except Exception as error:  # whatever a compiler throws is this rival's reason
            report["reason"] = one_line(error)
        return report

    def round(self, name: str, runs: int) -> dict[str, Any]:
        if name not in self.runs:
            raise Unusable(f"the rival '{name}' is not prepared")
        run = self.runs[name]
        self.subject.change_inputs()
        self.subject.device.synchronize()
        gc.disable()
        try:
            return {"nanoseconds": [nanoseconds(run, self.subject.device) for _ in range(runs)]}
        finally:
            gc.enable()


def serve(requests: TextIO, answers: TextIO) -> None:
    peers = Peers()
    with torch.inference_mode():
        for line in requests:
            try:
                request = json.loads(line)
                answer = peers.answer(request)
            except Exception as error:  # the other side decides what it means
                request, answer = {}, {"error": one_line(error)}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
            if request.get("do") == "stop":
                return


def main(arguments: list[str]) -> int:
    if torch is None:
        print(f"Python's torch cannot be imported: {IMPORT_FAILURE}", file=sys.stderr)
        return EXIT_CANNOT_MEASURE
    if arguments[:1] == ["--check"]:
        try:
            open_device(*arguments[1:] or ["cpu"])
        except Unusable as failure:
            print(failure, file=sys.stderr)
            return EXIT_CANNOT_MEASURE
        print(torch.__version__)
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    # Descriptor 1 becomes standard error, so that nothing that a library or compiler prints spoils an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

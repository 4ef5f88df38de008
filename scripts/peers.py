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

import copy
import gc
import json
import os
import pathlib
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

try:
    import torch
    import torch.export.passes
    from safetensors.torch import load_file
    from torch.export.graph_signature import ConstantArgument, InputKind
except ImportError as failure:  # said in one line by check() and by main()
    torch = None
    IMPORT_FAILURE = str(failure)

SCHEMA_VERSION = 1
EXIT_CANNOT_MEASURE = 3
LONGEST_REASON = 300  # characters
MOST_STREAMS = 32  # that PyTorch has of its own; more members take turns

# Largest difference allowed, relative to the largest output (or 1): rivals reorder sums and keep other intermediates.
TOLERANCE = {"torch.float64": 1e-9, "torch.float32": 2e-4, "torch.float16": 1e-2, "torch.bfloat16": 8e-2}

Run = Callable[[], Any]  # does the work of all members once and returns its outputs


class Unusable(Exception):
    """The folder, a rival or a request is not usable; the text says why."""


# -- the device --------------------------------------------------------------------------------------------------------

class Cpu:
    place = "cpu"

    def synchronize(self) -> None:
        """What was asked for is done when the call returns."""


class Gpu:
    place = "cuda:0"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise Unusable(f"Python's torch {torch.__version__} can use no GPU; install one that is built for CUDA 13, and see nvidia-smi")
        torch.backends.cudnn.allow_tf32 = False  # as widebench: float32 is float32

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def streams(self, count: int) -> list[Any]:
        return [torch.cuda.Stream() for _ in range(min(count, MOST_STREAMS))]

    def side_by_side(self, calls: list[Run], streams: list[Any]) -> list[Any]:
        """Each on its stream; all begin after what was asked for before, and what comes next waits for all."""
        current, results = torch.cuda.current_stream(), []
        for stream in streams:
            stream.wait_stream(current)
        for i, call in enumerate(calls):
            with torch.cuda.stream(streams[i % len(streams)]):
                results.append(call())
        for stream in streams:
            current.wait_stream(stream)
        return results

    def record(self, run: Run) -> Run:
        for _ in range(3):  # libraries set themselves up in their first calls
            run()
        self.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = run()

        def replay() -> Any:
            graph.replay()
            return outputs
        return replay


DEVICES: dict[str, Callable[[], Cpu | Gpu]] = {"cpu": Cpu, "cuda": Gpu}


def open_device(name: str) -> Cpu | Gpu:
    if name not in DEVICES:
        raise Unusable(f"there is no device '{name}'; there are {', '.join(DEVICES)}")
    return DEVICES[name]()


# -- the graph ---------------------------------------------------------------------------------------------------------

def to_constant(item: Any, place: str = "cpu") -> Any:
    """A constant argument: JSON's own types, or an object with one key that names the type. Tensors are made at `place`."""
    if not isinstance(item, dict):
        return item
    (kind, value), = item.items()
    if kind in ("dtype", "layout", "memory_format"):
        return getattr(torch, value)
    if kind == "device":
        return torch.device(place)
    if kind == "complex":
        return complex(*value)
    if kind == "float":  # "nan", "inf" or "-inf", which JSON cannot write
        return float(value)
    raise Unusable(f"the graph has an argument of the unknown kind '{kind}'")


def find_overload(name: str) -> Any:
    """"aten.linear.default" -> torch.ops.aten.linear.default"""
    library, _, rest = name.partition(".")
    packet, _, overload = rest.rpartition(".")
    try:
        return getattr(getattr(getattr(torch.ops, library), packet), overload)
    except AttributeError:
        raise Unusable(f"Python's torch has no operator {name}") from None


class GraphReader:
    """Turns the JSON graph into an FX graph that calls ATen's overloads."""

    def __init__(self, document: dict[str, Any], place: str = "cpu"):
        self.document = document
        self.place = place
        self.graph = torch.fx.Graph()
        self.values: dict[str, torch.fx.Node] = {}

    def argument(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self.argument(element) for element in item]
        if isinstance(item, dict) and "value" in item:
            return self.values[item["value"]]
        return to_constant(item, self.place)

    def call(self, entry: dict[str, Any]) -> None:
        overload = find_overload(entry["op"])
        positional, named = [], {}
        for parameter, item in zip(overload._schema.arguments, entry["arguments"], strict=False):
            if parameter.kwarg_only:
                named[parameter.name] = self.argument(item)
                if parameter.name == "device" and item is None and takes_no_tensor(overload):
                    named["device"] = torch.device(self.place)
            else:
                positional.append(self.argument(item))
        node = self.graph.call_function(overload, tuple(positional), named)
        returns = overload._schema.returns
        if len(returns) == 1 and str(returns[0].type) != "List[Tensor]":
            self.values[entry["results"][0]] = node
            return
        for i, name in enumerate(entry["results"]):
            if name is not None:
                self.values[name] = self.graph.call_function(getitem, (node, i))

    def module(self, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
        """One member; `weights` by fqn are copied into it."""
        buffers = {entry["target"]: entry["name"] for entry in self.document["inputs"] if entry["kind"] != "user"}
        for entry in self.document["inputs"]:
            if entry["kind"] == "user":
                self.values[entry["name"]] = self.graph.placeholder("input_" + str(len(self.values)))
        root = nested_module(self.document["inputs"], weights)
        for target, name in buffers.items():
            self.values[name] = self.graph.get_attr(target)
        for entry in self.document["nodes"]:
            self.call(entry)
        results = []
        for entry in self.document["outputs"]:
            if entry["kind"] == "user":
                results.append(self.argument(entry["value"]))
            else:  # a buffer is written at the end, as torch.export's programs do it
                self.graph.call_function(torch.ops.aten.copy_.default,
                                         (self.values[buffers[entry["target"]]], self.argument(entry["value"])))
        self.graph.output(tuple(results))
        return torch.fx.GraphModule(root, self.graph)


def takes_no_tensor(overload: Any) -> bool:
    """So that its results lie where it is told, not where its operands lie."""
    return not any("Tensor" in str(parameter.type) for parameter in overload._schema.arguments)


def getitem(values: Sequence[Any], index: int) -> Any:
    return values[index]


def nested_module(inputs: list[dict[str, Any]], weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    """Modules within modules, as the dots of the fqns say; parameters need no gradient."""
    root = torch.nn.Module()
    for entry in inputs:
        if entry["kind"] == "user":
            continue
        *path, name = entry["target"].split(".")
        owner = root
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, torch.nn.Module())
            owner = owner._modules[part]
        tensor = weights[entry["target"]].clone()
        if entry["kind"] == "parameter":
            owner.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))
        else:
            owner.register_buffer(name, tensor)
    return root


# -- the folder --------------------------------------------------------------------------------------------------------

class Subject:
    """N members, their inputs and what they should give.

    modules    one per member, each with weights of its own
    constants  {K: value} of the inputs that are numbers, strings or None, fixed at export
    inputs     [member][K], constants too
    mapped     [K]: whether input K differs per member
    expected   {"MEMBER.output.K": tensor}, or empty where the folder has no outputs
    read       (tensor, its first values) of every input that a rival reads, stacked ones too

    All tensors lie on the device.
    """

    def __init__(self, folder: pathlib.Path, device: Cpu | Gpu | None = None):
        self.device = device or Cpu()
        document = json.loads((folder / "model.json").read_text())
        if document.get("schema_version") != SCHEMA_VERSION:
            raise Unusable(f"{folder}/model.json has schema_version {document.get('schema_version')}; "
                           f"this script reads {SCHEMA_VERSION}")
        self.members: list[str] = document["members"]
        self.constants: dict[int, Any] = {}
        self.modules = self._modules(folder, document)
        tensors = load_file(folder / document["inputs"], device=self.device.place)
        matches = [re.fullmatch(r"(?:.*\.)?input\.(\d+)", key) for key in tensors]
        numbers = sorted({int(match[1]) for match in matches if match} | set(self.constants))
        self.mapped = [k not in self.constants and f"input.{k}" not in tensors for k in numbers]
        self.inputs = [[self.constants[k] if k in self.constants else
                        tensors[f"{member}.input.{k}" if mapped else f"input.{k}"]
                        for k, mapped in zip(numbers, self.mapped, strict=True)]
                       for member in self.members]
        self.expected = load_file(folder / document["outputs"], device=self.device.place) if "outputs" in document else {}
        self.read: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.random = random.Random(1)
        self.will_read({id(one): one for values in self.inputs for one in values}.values())

    def will_read(self, values: Iterable[Any]) -> None:
        self.read += [(one, one.clone()) for one in values if isinstance(one, torch.Tensor)]

    def change_inputs(self) -> None:
        """Other values in their place: no round may have those of another. Floats times a factor, others by rows."""
        factor, rows = self.random.uniform(0.75, 1.25), self.random.randrange(1 << 20)
        for tensor, first in self.read:
            if tensor.is_floating_point() or tensor.is_complex():
                tensor.copy_(first * factor)
            elif tensor.dim() > 1:
                tensor.copy_(first.roll(rows, 0))

    def _modules(self, folder: pathlib.Path, document: dict[str, Any]) -> list[torch.nn.Module]:
        place = self.device.place
        weights = [load_file(folder / file, device=place) for file in document["weights"]]  # an absolute path stays as it is
        if "graph" in document:
            return [GraphReader(document["graph"], place).module(one) for one in weights]
        program = torch.export.load(folder / document["model"])
        if place != "cpu":
            program = torch.export.passes.move_to_device_pass(program, place)
        specs = [spec for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        self.constants = {k: spec.arg.value for k, spec in enumerate(specs) if isinstance(spec.arg, ConstantArgument)}
        first = program.module()
        modules = []
        for one in weights or [{}]:
            module = copy.deepcopy(first)
            missing = set(one) - set(module.state_dict())
            module.load_state_dict(one, strict=False)
            if missing:
                raise Unusable(f"the program has no tensor {sorted(missing)[0]} of a checkpoint")
            for parameter in module.parameters():
                parameter.requires_grad_(False)
            modules.append(module)
        return modules


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

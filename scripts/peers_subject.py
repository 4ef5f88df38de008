"""What peers.py measures: N members read from a folder of `widebench export`, their inputs, and the device that they lie on."""
from __future__ import annotations

import copy
import json
import pathlib
import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import peers_program

IMPORT_FAILURE = ""
try:
    import torch
    import torch.export.passes
    from safetensors.torch import load_file
    from torch.export.graph_signature import ConstantArgument, InputKind
except ImportError as failure:  # peers.py says so in one line
    torch = None
    IMPORT_FAILURE = str(failure)

SCHEMA_VERSION = 1
MOST_STREAMS = 32  # that PyTorch has of its own; more members take turns

Run = Callable[[], Any]  # does the work of all members once and returns its outputs


class Unusable(Exception):
    """The folder, a rival or a request is not usable; the text says why."""


# -- the device --------------------------------------------------------------------------------------------------------

class Cpu:
    place = "cpu"

    def prepare(self, module: Any) -> None:
        """A module is ready as it is."""

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

    def prepare(self, module: Any) -> None:
        """As nn.LSTM.flatten_parameters() does, once; without it cuDNN packs the weights at every call. And a region of
        torch.autocast("cpu") is one of the GPU."""
        for part in module.modules():
            for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
                if node.target is torch.ops.higher_order.wrap_with_autocast and node.args[0] == "cpu":
                    node.args = ("cuda", *node.args[1:])
                    part.recompile()
                if node.target in RECURRENT:
                    flatten(part, node)

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


# cuDNN's number of each cell that has whole sequences; two weights and perhaps two biases a layer and direction
RECURRENT = {} if torch is None else {torch.ops.aten.rnn_relu.input: 0, torch.ops.aten.rnn_tanh.input: 1,
                                      torch.ops.aten.lstm.input: 2, torch.ops.aten.gru.input: 3}
GATES = (1, 1, 4, 3)


def flatten(part: Any, node: Any) -> None:
    """The weights of one call, in place, into one piece of memory in cuDNN's order."""
    _, _, weights, _, layers, _, _, bidirectional, batch_first = node.args
    if any(not isinstance(one, torch.fx.Node) or one.op != "get_attr" for one in weights):
        return
    tensors = [attribute(part, one.target) for one in weights]
    cell, chains = RECURRENT[node.target], layers * (2 if bidirectional else 1)
    hidden, projected = tensors[0].shape[0] // GATES[cell], tensors[1].shape[1]
    per_chain = len(tensors) // chains
    torch._cudnn_rnn_flatten_weight(tensors, per_chain, tensors[0].shape[1], cell, hidden,
                                    projected if projected != hidden else 0, layers, batch_first, bool(bidirectional))


def attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


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
        # Names of their own: a model's may be those of methods of a module, such as "half".
        names = {target: f"weight_{i}" for i, target in enumerate(buffers)}
        root = module_with(names, self.document["inputs"], weights)
        for target, name in buffers.items():
            self.values[name] = self.graph.get_attr(names[target])
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


def module_with(names: dict[str, str], inputs: list[dict[str, Any]], weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    """All weights in one module, each by its name of `names`; parameters need no gradient."""
    root = torch.nn.Module()
    for entry in inputs:
        if entry["kind"] == "user":
            continue
        tensor = weights[entry["target"]].clone()
        if entry["kind"] == "parameter":
            root.register_parameter(names[entry["target"]], torch.nn.Parameter(tensor, requires_grad=False))
        else:
            root.register_buffer(names[entry["target"]], tensor)
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
            modules = [GraphReader(document["graph"], place).module(one) for one in weights]
            for module in modules:
                self.device.prepare(module)
            return modules
        try:
            program = peers_program.load(folder / document["model"])
        except peers_program.RunsCode as refusal:
            raise Unusable(str(refusal)) from refusal
        if place != "cpu":
            program = torch.export.passes.move_to_device_pass(program, place)
        specs = [spec for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        self.constants = {k: spec.arg.value for k, spec in enumerate(specs) if isinstance(spec.arg, ConstantArgument)}
        first = program.module(check_guards=False)  # of example inputs, which are not read
        modules = []
        for one in weights or [{}]:
            module = copy.deepcopy(first)
            missing = set(one) - set(module.state_dict())
            module.load_state_dict(one, strict=False)
            if missing:
                raise Unusable(f"the program has no tensor {sorted(missing)[0]} of a checkpoint")
            for parameter in module.parameters():
                parameter.requires_grad_(False)
            self.device.prepare(module)
            modules.append(module)
        return modules

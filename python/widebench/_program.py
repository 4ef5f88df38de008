"""What the JSON of an exported program says of its inputs and outputs."""
import ast
import io
import json
import math
import re
import zipfile

import torch
from torch.utils import _pytree as pytree

from ._arguments import as_example, form, parameters_named
from ._errors import Error
from ._inputs import in_order

# torch/_export/serde/schema.py, ScalarType.
_DTYPES = {1: torch.uint8, 2: torch.int8, 3: torch.int16, 4: torch.int32, 5: torch.int64, 6: torch.float16, 7: torch.float32,
           8: torch.float64, 9: torch.complex32, 10: torch.complex64, 11: torch.complex128, 12: torch.bool, 13: torch.bfloat16,
           28: torch.uint16, 29: torch.float8_e4m3fn, 30: torch.float8_e5m2}
_OF_JOINT_GRAPHS = ("loss_output", "gradient_to_parameter", "gradient_to_user_input")  # a step of training: the loss, then gradients

_FUNCTIONS = {"Integer": lambda a: a, "Float": float, "Add": lambda *terms: sum(terms[1:], terms[0]), "Mul": lambda *factors: math.prod(factors),
              "Pow": lambda a, b: a ** b, "FloorDiv": lambda a, b: a // b, "CleanDiv": lambda a, b: a // b, "IntTrueDiv": lambda a, b: a / b,
              "FloatTrueDiv": lambda a, b: a / b, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b, "CeilDiv": lambda a, b: -(-a // b),
              "CeilToInt": lambda a: math.ceil(a), "ToFloat": torch.sym_float, "Max": torch.sym_max, "Min": torch.sym_min}


class _Sizes:
    """Numbers as a program has them, computed from the sizes of inputs. Expressions are data: a few functions, no more."""

    def __init__(self, inputs, tensors):
        self._values = {}
        for meta, tensor in zip(inputs, tensors):
            for size, actual in zip(meta["sizes"], tensor):
                if "as_expr" in size:
                    tree = _tree(size)
                    if isinstance(tree, ast.Call) and tree.func.id == "Symbol":
                        self._values.setdefault(tree.args[0].value, actual)

    def __call__(self, size):
        return self._evaluate(_tree(size)) if "as_expr" in size else _constant(size)

    def knows(self, size):
        """Whether the sizes of inputs say all of it."""
        return "as_expr" not in size or all(
            not isinstance(part, ast.Call) or isinstance(part.func, ast.Name) and (part.args[0].value in self._values if part.func.id == "Symbol" else part.func.id in _FUNCTIONS)
            for part in ast.walk(_tree(size)))

    def _evaluate(self, tree):
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self._evaluate(tree.operand)
        name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""
        if name == "Symbol" and tree.args[0].value in self._values:
            return self._values[tree.args[0].value]
        if name not in _FUNCTIONS:
            raise Error("run", f"the size {ast.unparse(tree)} depends on data; call the wide model outside of torch.compile")
        return _FUNCTIONS[name](*map(self._evaluate, tree.args))


def _tree(size):
    return ast.parse(size["as_expr"]["expr_str"], mode="eval").body


def _constant(argument):
    """What stands in a program for a value that is no tensor. JSON has no words for infinities and nan: they are text."""
    kind, value = next(iter(argument.items()))
    return None if kind == "as_none" else float(value) if kind == "as_float" else value


class Program:
    """What the file says of how it is called.

    Attributes
    ----------
    weights : list of str
        Names of parameters, buffers and tensor constants that the graph has.
    weight_dtypes : set of torch.dtype
        Of these.
    read : set of str
        Names of those that an operator reads: of a tensor with two names, one.
    in_spec, out_spec : TreeSpec
        Of ``(args, kwargs)`` and of what the model returns.
    parameters : inspect.Signature or None
        Of the model's forward, by which a call may be given otherwise than the example.
    """

    def __init__(self, data, out_spec=None):
        self.data = torch.frombuffer(data, dtype=torch.uint8)  # not numpy's way, which torch does without
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            names = [name for name in archive.namelist() if "/models/" in name and name.endswith(".json")]
            name = names[0] if len(names) == 1 else next(name for name in names if name.endswith("/model.json"))
            module = json.loads(archive.read(name))["graph_module"]
            signature = module["module_call_graph"][0]["signature"]
            self.in_spec = pytree.treespec_loads(signature["in_spec"])
            self.out_spec = out_spec or pytree.treespec_loads(signature["out_spec"])
            self.parameters = parameters_named(signature.get("forward_arg_names"))
        except (StopIteration, KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise Error("load", f"this is no program of torch.export.save ({error}); export the model again") from error
        graph, specs = module["graph"], module["signature"]
        tensors = graph["tensor_values"]
        self._numbers = {name: number for kind in ("sym_int_values", "sym_float_values", "sym_bool_values") for name, number in graph.get(kind, {}).items()}
        used = set(re.findall(r'"name": "([^"]+)"', json.dumps([node["inputs"] for node in graph["nodes"]])))
        self.weights, self.weight_dtypes, self.read, self._leaves = [], set(), set(), []
        for spec in specs["input_specs"]:
            kind, value = next(iter(spec.items()))
            if kind == "user_input":
                self._leaves.append(tensors[value["arg"]["as_tensor"]["name"]] if "as_tensor" in value["arg"] else None)
            elif kind == "constant_input":
                self._leaves.append(("constant", _constant(value["value"])))
            else:
                name = value.get(kind + "_name")
                if name is not None and kind != "custom_obj":
                    self.weights.append(name)
                    if value["arg"]["name"] in used:
                        self.read.add(name)
                    self.weight_dtypes.add(_DTYPES.get(tensors[value["arg"]["name"]]["dtype"], torch.float32))
        self.persistent = {spec["buffer"]["buffer_name"]: spec["buffer"]["persistent"] for spec in specs["input_specs"] if "buffer" in spec}
        self._inputs = [leaf for leaf in self._leaves if isinstance(leaf, dict)]
        self._outputs = []  # a tensor's meta, ("size", a function of sizes), or (a constant,)
        sizes = self._sizes([[0] * len(meta["sizes"]) for meta in self._inputs])
        for spec in specs["output_specs"]:
            kind, value = next(iter(spec.items()))
            if kind in _OF_JOINT_GRAPHS:
                self._outputs.append(tensors[value["arg"]["name"]])
            if kind != "user_output":
                continue
            argument = spec["user_output"]["arg"]
            kind, value = next(iter(argument.items()))
            if kind == "as_tensor":
                self._outputs.append(tensors[value["name"]])
            elif kind.startswith("as_sym_"):
                number = self._numbers[value["as_name"]] if "as_name" in value else value
                if not sizes.knows(number):
                    raise Error("load", f"output {len(self._outputs)} of the model is a number that its data decide (.item(), .tolist()), or that is "
                                        "computed in a way not known here; return it as a tensor", f"output.{len(self._outputs)}")
                self._outputs.append(("size", number))
            else:
                self._outputs.append((_constant(argument),))
        if any(next(iter(spec)) in _OF_JOINT_GRAPHS for spec in specs["output_specs"]):  # the tree has no gradients
            self.out_spec = pytree.tree_structure((0,) * len(self._outputs))
        # A call with so many tensors, and nothing else, needs no flattening; -1: every call does.
        self.plain = len(self._leaves) if self.in_spec == pytree.tree_structure((("",) * len(self._leaves), {})) else -1
        self.plain = self.plain if len(self._inputs) == len(self._leaves) else -1
        self.tensors = sum(isinstance(output, dict) for output in self._outputs)  # among the outputs
        self._built = _builder(self.out_spec, len(self._outputs))
        # What builds the answer of results alone; None: sizes or constants are among the outputs.
        self.built = self._built if self.tensors == len(self._outputs) else None

    @property
    def inputs(self):
        """How many tensors a call takes."""
        return len(self._inputs)

    def flatten(self, args, kwargs):
        """The tensors of a call, in order."""
        leaves, spec = pytree.tree_flatten((tuple(args), kwargs))
        if spec != self.in_spec:
            leaves, spec = pytree.tree_flatten(in_order(as_example(tuple(args), kwargs, self.in_spec, self.parameters), self.in_spec))
        if spec != self.in_spec:
            raise Error("run", f"the call is {form(spec)} where the example was {form(self.in_spec)}; call it as the example was given", "inputs")
        tensors = []
        for place, (leaf, wanted) in enumerate(zip(leaves, self._leaves)):
            if isinstance(wanted, dict):
                if not isinstance(leaf, torch.Tensor):
                    raise Error("run", f"input.{place}: is {type(leaf).__name__}, the example had a tensor; give a tensor")
                tensors.append(leaf)
            elif isinstance(wanted, tuple) and not _same_constant(leaf, wanted[1]):
                raise Error("run", f"input.{place}: is {leaf!r}, the graph was traced with {wanted[1]!r}; compile another model for it")
        return tensors

    def call(self, tensors):
        """The reverse of flatten(): args and kwargs of these tensors and of the constants that the graph was traced with."""
        rest = iter(tensors)
        return pytree.tree_unflatten([next(rest) if isinstance(leaf, dict) else leaf[1] if leaf else None for leaf in self._leaves], self.in_spec)

    def unflatten(self, results, tensors, mapped):
        """What the model returns, built of the library's answers."""
        if self.built is None:
            answers, sizes = iter(results), None
            results = []
            for output in self._outputs:
                if isinstance(output, dict):
                    results.append(next(answers))
                elif output[0] == "size":
                    sizes = sizes or self._sizes(_shapes(tensors, mapped))
                    results.append(sizes(output[1]))
                else:
                    results.append(output[0])
        return self._built(results)

    def _sizes(self, shapes):
        return _Sizes(self._inputs, shapes)

    def fake_outputs(self, tensors, mapped, members):
        """Tensors of the shapes that a call gives, under tracing and of tensors without numbers, on the device meta."""
        sizes = self._sizes(_shapes(tensors, mapped))
        device = "meta" if any(tensor.device.type == "meta" for tensor in tensors) else "cpu"
        return [torch.empty([members, *map(sizes, meta["sizes"])], dtype=_DTYPES[meta["dtype"]], device=device)
                for meta in self._outputs if isinstance(meta, dict)]


def _shapes(tensors, mapped):
    return [tensor.shape[1:] if own else tensor.shape for tensor, own in zip(tensors, mapped)]


def only(results):
    """What builds an answer that is one tensor itself."""
    return results[0]


def _builder(spec, leaves):
    """What makes of a list of leaves the tree that `spec` says. One leaf or a tuple, list or dict of them needs no walk."""
    if spec == pytree.tree_structure(""):
        return only
    for made in (tuple, list):
        if spec == pytree.tree_structure(made([""] * leaves)):
            return made
    if spec.type is dict and len(spec.context) == leaves and spec == pytree.tree_structure(dict.fromkeys(spec.context, "")):
        return lambda results: dict(zip(spec.context, results))
    return lambda results: pytree.tree_unflatten(results, spec)


def _same_constant(given, traced):
    if isinstance(traced, float):
        return type(given) is float and repr(given) == repr(traced)  # nan is itself, -0.0 is not 0.0
    return type(given) is type(traced) and given == traced

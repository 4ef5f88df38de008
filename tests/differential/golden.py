"""A case: a module's text becomes members, their inputs, an exported file, what PyTorch's eager mode computes of each member,
and how much of that is rounding."""
import copy
import io
import json
import math
import pathlib
import random
import sys
import types

import safetensors.torch
import torch
from torch.utils._pytree import tree_flatten

import draft
from noise import Noise

PASSES = 3
NOISE = (1, 1, 1, 1, 1, 8)  # runs with chance in the last place, and one with more: what jumps in it stands at an edge
MARGIN = 16  # of what rounding was seen to do in the runs with noise 1

class Unfit(Exception):
    """No case can be made of this module; the message says why, and is counted."""


def load(source, name):
    module = sys.modules[name] = types.ModuleType(name)  # known by name, as strict export and torch.compile look it up
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module


class Members:
    """N members of a module, their inputs in every pass."""

    def __init__(self, source, seed, batch):
        self.random = random.Random(seed + 1)
        self.module = load(source, "module")
        self.count = self.random.choices((4, 3, 2, 1, 5), (10, 2, 2, 1, 1))[0]
        self.sharing = self.random.choices(("distinct", "partly", "equal"), (6, 3, 1))[0]
        self.seed, self.batch, self.batches = seed, batch, [batch] * PASSES
        self.models, self.drawn = [], {}
        for i in range(self.count):
            torch.default_generator.manual_seed(1000 * seed + i)
            self.models.append(self.module.M())
        first = self.models[0].state_dict()
        for name in first:
            if self.sharing == "equal" or (self.sharing == "partly" and self.random.random() < 0.4):
                for model in self.models[1:]:
                    model.state_dict()[name].copy_(first[name])
        inputs = len(self.module.inputs(batch))
        self.shared = [self.random.random() < 0.3 for _ in range(inputs)]

    def inputs(self, i, k):
        """Of member i in pass k; not to be written into."""
        if (i, k) not in self.drawn:
            torch.default_generator.manual_seed(100_000 + 1000 * self.seed + 10 * i + k)
            mine = self.module.inputs(self.batches[k])
            common = mine if i == 0 else self.inputs(0, k)
            self.drawn[i, k] = [theirs if shared else own for own, theirs, shared in zip(mine, common, self.shared)]
        return self.drawn[i, k]


class Call:
    """How a member is run: forward alone, or a loss and its gradients as the signature lists them."""

    def __init__(self, gradients=None):
        self.gradients = gradients  # names of parameters, where there are gradients

    def __call__(self, model, inputs):
        results = model(*inputs)
        if self.gradients is not None:
            loss = results[0]
            parameters = dict(model.named_parameters(remove_duplicate=False))
            results = (loss, *torch.autograd.grad(loss, [parameters[name] for name in self.gradients]))
        return [result.detach().clone() for result in tree_flatten(results)[0]]


def run_passes(model, members, call, i):
    """Outputs and changed buffers of every pass; an exception ends them and is the last entry."""
    torch.default_generator.manual_seed(i)
    generator_state = torch.get_rng_state()
    results = []
    for k in range(PASSES):
        inputs = members.inputs(i, k)
        torch.set_rng_state(generator_state)
        try:
            outputs = call(model, [tensor.clone() for tensor in inputs])
        except Exception as error:  # PyTorch's refusals are of many kinds
            return results + [error]
        generator_state = torch.get_rng_state()
        results.append((outputs, {name: value.clone() for name, value in model.state_dict().items()}))
    return results


def doubled(model):
    model = copy.deepcopy(model)
    return model.double()


def spread(value, others, reference, rounded):
    """Bound on |ours - value| per element: infinite where PyTorch itself, rounding otherwise, gives something else. `others`
    are runs with noise, the last with more of it; `rounded` says whether there was anything to round in them."""
    if not (value.is_floating_point() or value.is_complex()):
        bound = torch.zeros(value.shape, dtype=torch.float64)
        for other in others:
            bound[other != value] = math.inf
        return bound
    if value.is_complex():  # part by part: one may be NaN where the other is a number
        value, *others = (torch.view_as_real(one.resolve_conj()) for one in (value, *others))
        same_kind = reference is not None and reference.is_complex()
        return spread(value, others, torch.view_as_real(reference.resolve_conj()) if same_kind else None, rounded).amax(-1)
    eps, most = torch.finfo(value.dtype).eps, torch.finfo(value.dtype).max
    value = value.to(torch.float64)
    seen = torch.zeros(value.shape, dtype=torch.float64)
    loose = torch.zeros(value.shape, dtype=torch.bool)
    for k, other in enumerate(others):
        other = other.to(torch.float64)
        same = (other == value) | (other.isnan() & value.isnan())
        both = other.isfinite() & value.isfinite()
        far = torch.where(both, (other - value).abs(), 0.0)
        if k < len(others) - 1:
            seen = torch.maximum(seen, far)
        loose |= ~both & ~same
    if not seen.any() and not loose.any() and not far.any():
        # Nothing was rounded on the way, or what was is hidden by chance or by a cast to few bits, and may turn the last of them.
        return eps * torch.nan_to_num(value.abs(), 0.0, 0.0) if rounded else seen
    middle = seen[seen > 0].median() if (seen > 0).any() else torch.tensor(0.0)
    bound = MARGIN * (torch.maximum(seen, middle) + eps * torch.nan_to_num(value.abs(), 0.0, 0.0))
    if reference is not None and reference.shape == value.shape:
        error = (reference.to(torch.float64) - value).abs()
        # Near the largest number the order of a sum decides whether it overflows on the way.
        loose |= (reference.abs() > most / 64) & (reference.abs() < 64 * most) | (value.abs() > most / 64) & value.isfinite()
        bound = bound + torch.where(error.isfinite(), torch.minimum(2 * error, 64 * torch.maximum(seen, middle)), 0.0)
    bound[loose | (far > 8 * bound)] = math.inf
    return bound


class Case:
    def __init__(self, source, seed, batch=3, joint=False, strict=False, form=""):
        self.source, self.seed, self.joint, self.strict, self.form = source, seed, joint, strict, form
        self.members = Members(source, seed, batch)
        self.call = Call()
        self._export()
        self._run()
        self._compare_export()

    def _export(self):
        model, inputs = copy.deepcopy(self.members.models[0]), self.members.inputs(0, 0)
        dynamic = "(B, " in self.source and self.members.batch > 1
        try:
            shapes = tuple({0: torch.export.Dim.AUTO} if "(B, " in line else None for line in self._input_lines()) if dynamic else None
            program = torch.export.export(model, tuple(tensor.clone() for tensor in inputs), dynamic_shapes=shapes, strict=self.strict)
            if self.joint:
                from torch.export.experimental import _export_forward_backward
                program = _export_forward_backward(program)
            if self.form:  # without writes, or in the operators of core ATen
                program = program.run_decompositions({} if self.form == "functional" else None)
        except Exception as error:  # whatever torch.export refuses is no case
            raise Unfit("torch.export refuses: " + (str(error).strip().splitlines() or [type(error).__name__])[0][:100])
        if self.joint:
            names = [spec.target for spec in program.graph_signature.output_specs if spec.kind.name == "GRADIENT_TO_PARAMETER"]
            self.call = Call(names)
        if dynamic and program.range_constraints and all(
                not isinstance(node.meta["val"].shape[0], int) for node, line in zip(self._placeholders(program), self._input_lines()) if "(B, " in line):
            self.members.drawn.clear()
            self.members.batches = [self.members.batch, self.members.random.choice((1, 5, 13)), self.members.batch + 1]
        self.program, self.file = program, io.BytesIO()
        try:  # now: running the program writes into its constants
            torch.export.save(program, self.file)
        except Exception as error:
            raise Unfit(f"torch.export cannot save: {str(error)[:80]}")

    def _input_lines(self):
        return [line.strip() for line in self.source[self.source.index("    return (\n") + 13:].splitlines() if line.strip() not in ("", ")")]

    @staticmethod
    def _placeholders(program):
        users = set(program.graph_signature.user_inputs)
        return [node for node in program.graph.nodes if node.op == "placeholder" and node.name in users]

    def _run(self):
        members = self.members
        # copies: every run starts from the members as they are in their files
        runs = [run_passes(copy.deepcopy(model), members, self.call, i) for i, model in enumerate(members.models)]
        self.raised = min((len(run) - 1 for run in runs if isinstance(run[-1], Exception)), default=None)
        self.reason = next((str(run[-1]) for run in runs if isinstance(run[-1], Exception) and len(run) - 1 == self.raised), "")
        if "leaf Variable that requires grad" in self.reason:
            raise Unfit("refused by autograd, which a pass without gradients does not ask")
        self.passes = PASSES if self.raised is None else self.raised
        self.runs = runs
        if any(state[name].shape != value.shape for run, model in zip(runs, members.models) for name, value in model.state_dict().items()
               for _, state in run[:self.passes]):
            raise Unfit("changes the shape of its state")
        noisy, rounded = [], False
        for run, size in enumerate(NOISE):
            with Noise(run, size) as noise:
                noisy.append([run_passes(copy.deepcopy(model), members, self.call, i) for i, model in enumerate(members.models)])
            rounded |= noise.rounded
            if noise.reads_what_it_writes:
                raise Unfit("writes into memory that it reads")
            if noise.infinite_over_padding:
                raise Unfit("multiplies the zeros of padding by infinities")
            if noise.overflows_on_the_way:
                raise Unfit("a product of matrices overflows on the way")
        self.bounds = [[None] * self.passes for _ in members.models]
        for i, model in enumerate(members.models):
            reference = self._reference(i, model)
            for k in range(self.passes):
                others = [one[i][k] for one in noisy if len(one[i]) > k and not isinstance(one[i][k], Exception)]
                outputs, state = runs[i][k]
                if len(others) < len(NOISE) or any([other.shape for other in one[0]] != [output.shape for output in outputs] for one in others):
                    raise Unfit("sizes or refusals hang on rounding")
                self.bounds[i][k] = (
                    [spread(output, [one[0][j] for one in others], reference[k][0][j] if reference and len(reference) > k else None, rounded)
                     for j, output in enumerate(outputs)],
                    {name: spread(value, [one[1][name] for one in others], None, rounded) for name, value in state.items()})

    def _reference(self, i, model):
        """The member in float64 on the same numbers, where it runs so."""
        members = self.members
        class Doubled:
            batches = members.batches
            @staticmethod
            def inputs(i, k):
                return [tensor.double() if tensor.is_floating_point() else tensor for tensor in members.inputs(i, k)]
        try:
            results = run_passes(doubled(model), Doubled, self.call, i)
        except Exception:  # no reference then
            return None
        return [result for result in results if not isinstance(result, Exception)]

    def _compare_export(self):
        """The exported program itself, run by PyTorch: what it gives otherwise than eager is no fault of a reader of the file."""
        self.may_refuse = False
        if self.joint:
            if self.raised is not None:
                raise Unfit("a step of training that PyTorch refuses: what of it nobody reads is not exported")
            try:  # some kernels of the backward pass refuse what autograd computes
                given = self._interpret()
            except Exception:
                self.may_refuse = True
                return
            self._compare(given, 0, 0)
            self.may_refuse |= len(set(self.members.batches)) > 1  # the backward pass may hold the sizes of the export
            return
        try:
            exported = self.program.module()
        except Exception as error:
            raise Unfit(f"the exported program cannot be run: {str(error)[:80]}")
        for i, model in enumerate(self.members.models):
            tensors = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
            with torch.no_grad():
                for name, tensor in [*exported.named_parameters(remove_duplicate=False), *exported.named_buffers(remove_duplicate=False)]:
                    if name in tensors:
                        tensor.copy_(tensors[name])
            results = run_passes(exported, self.members, self.call, i)
            if self.raised is not None and len(results) > self.passes and not isinstance(results[self.passes], Exception):
                raise Unfit("refused by Python that torch.export leaves out")
            for k in range(self.passes):
                if k >= len(results) or isinstance(results[k], Exception):
                    self.may_refuse = True
                    break
                self._compare(results[k][0], i, k)
                for name, value in results[k][1].items():
                    if name in self.runs[i][k][1] and not agrees(value, self.runs[i][k][1][name], self.bounds[i][k][1][name]):
                        raise Unfit("torch.export's program writes something else than eager")

    def _compare(self, results, i, k):
        for got, value, bound in zip(results, self.runs[i][k][0], self.bounds[i][k][0], strict=True):
            if got.shape != value.shape or got.dtype != value.dtype or not agrees(got, value, bound):
                raise Unfit("torch.export's program gives something else than eager")

    def _interpret(self):
        tensors = {**self.program.state_dict, **self.program.constants}
        users = iter(tensor.clone() for tensor in self.members.inputs(0, 0))
        values = [next(users) if spec.kind.name == "USER_INPUT" else tensors[spec.target].clone()
                  for spec in self.program.graph_signature.input_specs]
        results = torch.fx.Interpreter(self.program.graph_module).run(*values)
        kinds = [spec.kind.name for spec in self.program.graph_signature.output_specs]
        return [result for result, kind in zip(results, kinds) if kind not in ("BUFFER_MUTATION", "PARAMETER_MUTATION", "USER_INPUT_MUTATION")]

    def operators(self):
        found = set()
        for graph in [module.graph for module in self.program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]:
            found |= {str(node.target) for node in graph.nodes if node.op == "call_function"}
        return sorted(name for name in found if name.startswith("aten.") or isinstance(name, str) and name in
                      ("cond", "while_loop", "scan", "map_impl", "associative_scan"))

    def save(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.pt2").write_bytes(self.file.getvalue())
        (folder / "module.py").write_text(self.source)
        for i, model in enumerate(self.members.models):
            safetensors.torch.save_file({name: tensor.detach().contiguous().clone() for name, tensor in model.state_dict().items()},
                                        folder / f"seed{i}.safetensors")
        unstable = False
        for k in range(min(self.passes + 1, PASSES)):
            tensors, about = {}, {"bounds": "per element"}
            for i in range(self.members.count):
                for j, (tensor, shared) in enumerate(zip(self.members.inputs(i, k), self.members.shared)):
                    tensors[f"input.{j}" if shared else f"seed{i}.input.{j}"] = tensor.contiguous().clone()
                if k >= self.passes:
                    about["raised"] = (self.reason.splitlines() or ["an error"])[0][:200]
                    continue
                before = self.members.models[i].state_dict()
                outputs, state = self.runs[i][k]
                bounds, state_bounds = self.bounds[i][k]
                named = [(f"output.{j}", output, bound) for j, (output, bound) in enumerate(zip(outputs, bounds))]
                named += [(f"buffer.{name}", value, state_bounds[name]) for name, value in state.items()
                          if not torch.equal(value.nan_to_num(), before[name].nan_to_num())]
                for name, value, bound in named:
                    tensors[f"seed{i}.{name}"] = value.contiguous().clone()
                    if bound.any():
                        tensors[f"seed{i}.bound.{name}"] = bound.contiguous()
                    unstable |= bool(bound.isinf().any())
            name = f"golden{k or ''}.safetensors"
            try:
                safetensors.torch.save_file(tensors, folder / name, metadata=about)
            except Exception as error:
                raise Unfit(f"safetensors cannot hold it: {str(error)[:80]}")
        (folder / "case.json").write_text(json.dumps({
            "seed": self.seed, "torch": torch.__version__, "operators": self.operators(), "members": self.members.count,
            "sharing": self.members.sharing, "shared_inputs": sum(self.members.shared), "raised": self.raised, "reason": self.reason[:200],
            "may_refuse": self.may_refuse, "unstable": unstable, "batches": self.members.batches, "joint": self.joint, "form": self.form}, indent=1))


def agrees(got, value, bound):
    wide = torch.complex128 if value.is_complex() else torch.float64
    got, value = got.to(wide), value.to(wide)
    near = (got - value).abs() <= bound
    return bool((bound.isinf() | (got == value) | (got.isnan() & value.isnan()) | near).all())


def make_case(seed, folder):
    """Draws module `seed` and writes its case; raises Unfit where there is none."""
    joint = seed % 25 == 7
    try:
        text, drawn = draft.make(seed)
    except draft.Refused:
        raise Unfit("nothing was drawn")
    if joint:
        floats = [name for name in text.outputs if eval(name, drawn.names).is_floating_point() and eval(name, drawn.names).requires_grad]
        if not floats:
            raise Unfit("nothing to train")
        text.statements.append((f"loss = {' + '.join(f'({name}.float() ** 2).mean()' for name in floats)}", ["loss"]))
        text.outputs = ["loss"]
    form = {11: "functional", 13: "core"}.get(seed % 20, "") if not joint else ""
    case = Case(text.source(), seed, drawn.batch, joint, strict=seed % 20 == 3, form=form)
    case.save(folder)
    return case

"""A case: a module's text becomes members, their inputs, an exported file, what PyTorch's eager mode computes of each member,
and how much of that is rounding."""
import copy
import io
import json
import math
import pathlib
import random
import re
import sys
import types

import safetensors.torch
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import draft

PASSES = 3
NOISE = (1, 1, 1, 1, 1, 8)  # runs with chance in the last place, and one with more: what jumps in it stands at an edge
MARGIN = 16  # of what rounding was seen to do in the runs with noise 1

# Operators whose results are exact: what they move was rounded before.
EXACT = re.compile(r"""(clone|copy|_?to_copy|cat|stack|index|gather|where|relu|max|min|amax|amin|maximum|minimum|fmax|fmin|clamp|neg|abs|floor|ceil|round|trunc
|sign|sgn|fill|zero|zeros|ones|full|empty|eye|arange|scalar_tensor|take|masked_\w+|scatter|select\w*|slice\w*|sort|topk|kthvalue|median|mode|roll|flip|repeat|unfold
|threshold|heaviside|\w*_like|new_\w+|constant_pad_nd|reflection_pad\w*|replication_pad\w*|max_pool\w*|adaptive_max_pool\w*|nonzero|unique\w*|tril|triu|diag\w*|cummax
|cummin|nextafter|copysign|alias|detach|view\w*|_unsafe_view|expand|permute|lift\w*|_local_scalar_dense|nan_to_num|embedding|index_(select|put|copy|fill)|rand\w*|bernoulli|uniform|normal
|exponential|_reshape\w*|reshape|split\w*|unbind|chunk|t|transpose|squeeze|unsqueeze|as_strided|resolve_\w+|conj\w*|real|imag|_conj|pixel_\w+|channel_shuffle|col2im|im2col
|hardtanh|searchsorted|bucketize|histc|upsample_nearest\w*|_fft_c2c_none|isfinite|aminmax|frexp|resize\w*|set|record_stream)_?""".replace("\n", ""))
# Operators of many steps, whose rounding is amplified inside. matrix_exp: of one matrix PyTorch's is off by 100 times what it
# is of a batch.
STEPS = re.compile(r"\w*(linalg|matrix|solve|cholesky|inverse|svd|eig|logdet|lstm|gru|rnn)\w*")
# Operators that add up many numbers: rounding of what they read shows in them, however small the sum.
SUMS = re.compile(r"""\w*(mm|mv|dot|addr|conv|sum|mean|var|std|norm|softmax|prod|linalg|attention|lstm|gru|rnn|_cell|fft|pool|bilinear|upsample|grid|embedding_bag|scatter|index_add
|index_reduce|cdist|pdist|cross|matrix|cholesky|solve|inverse|loss|trace|trapz|expm1|log1p|gelu|sub|add|lerp)\w*""".replace("\n", ""))


class Unfit(Exception):
    """No case can be made of this module; the message says why, and is counted."""


class Noise(TorchDispatchMode):
    """Runs PyTorch with every rounding made by chance a little larger or smaller: how far results go apart is how much of them
    is rounding, in the lowest precision on the way."""

    def __init__(self, seed, size):
        super().__init__()
        # Runs in pairs of opposite chance: a sign that rounding decides is another in one of the two.
        self.generator, self.sign = torch.Generator().manual_seed(seed // 2), 1 - 2 * (seed % 2)
        self.size, self.rounded = size, False
        self.reads_what_it_writes = self.infinite_over_padding = False

    def noisy(self, tensor, times=1):
        if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel():
            return None
        return 1 + times * self.size * torch.finfo(tensor.dtype).eps * self.signs(tensor)

    def signs(self, tensor):
        def drawn(dtype):
            return torch.randint(0, 2, tensor.shape, generator=self.generator).mul_(2 * self.sign).sub_(self.sign).to(dtype)

        # A complex product rounds in the size of the number, not of each of its parts.
        return torch.complex(drawn(tensor.real.dtype), drawn(tensor.real.dtype)) if tensor.is_complex() else drawn(tensor.dtype)

    def __torch_dispatch__(self, function, kinds, arguments, named=None):
        named = named or {}
        name = function._schema.name.split("::")[-1]
        writes = function._schema.is_mutable
        exact = (EXACT.fullmatch(name) or function.is_view) and not (name in ("abs", "sgn") and arguments[0].is_complex())
        # What was rounded before may be rounded to the next of few numbers.
        narrows = name == "_to_copy" and self.rounded and named.get("dtype") in (torch.float16, torch.bfloat16) and arguments[0].is_floating_point()
        exact = exact and not (narrows and arguments[0].dtype != named["dtype"])
        moving = [argument for schema, argument in zip(function._schema.arguments, arguments)
                  if schema.name.startswith("running_") and isinstance(argument, torch.Tensor)]
        if writes:  # asked before the noise makes copies of what is read
            self.reads_what_it_writes |= overlaps(function, arguments, named)
        self.infinite_over_padding |= infinite_over_padding(name, arguments)
        if not exact and SUMS.fullmatch(name):
            # Batch norms write running_mean and running_var without saying so.
            read = [not (schema.alias_info and schema.alias_info.is_write) and not schema.name.startswith("running_")
                    for schema in function._schema.arguments]
            arguments = [argument * factor if moves and (factor := self.noisy(argument)) is not None else argument
                         for argument, moves in zip(arguments, read)]
        result = function(*arguments, **named)
        if not exact:
            steps = (400 if name == "linalg_matrix_exp" else 4) if STEPS.fullmatch(name) else 0
            for tensor in [*tree_flatten(result)[0], *moving]:
                if (factor := self.noisy(tensor, max(steps, 1))) is not None:
                    tensor.mul_(factor)
                    if name in ("gelu", "gelu_backward"):  # 1 + erf(x) near -1 keeps the rounding of 1, times what it is a factor of
                        scale = arguments[0].abs() * (1 if name == "gelu" else 1 + arguments[1].abs())
                        tensor.add_(self.size * torch.finfo(tensor.dtype).eps * scale * self.signs(tensor))
                    if steps:  # what cancels inside leaves the rounding of larger numbers
                        largest = torch.nan_to_num(tensor.abs(), 0.0, 0.0, 0.0).max()
                        residue = tensor.abs() <= 16 * torch.finfo(tensor.dtype).eps * largest
                        tensor.add_(self.size * torch.finfo(tensor.dtype).eps * largest * self.signs(tensor))
                        if self.sign > 0:  # or nothing at all is left
                            tensor.masked_fill_(residue, 0.0)
                    self.rounded = True
        return result


def elements(tensor):
    """Where its elements lie in its storage."""
    offsets = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(tensor.shape, tensor.stride()):
        offsets = offsets.unsqueeze(-1) + stride * torch.arange(size)
    return set((offsets + tensor.storage_offset()).flatten().tolist())


def overlaps(function, arguments, named):
    """Whether an operator writes into memory that it reads under another name: what comes out is for PyTorch to say each time."""
    given = dict(zip([argument.name for argument in function._schema.arguments], arguments)) | named
    tensors = [(argument, tensor) for argument in function._schema.arguments for tensor in tree_flatten(given.get(argument.name))[0]
               if isinstance(tensor, torch.Tensor)]
    for written, target in tensors:
        for read, source in tensors:
            if not (written.alias_info and written.alias_info.is_write) or read is written:
                continue
            same = (source.data_ptr(), source.shape, source.stride()) == (target.data_ptr(), target.shape, target.stride())
            if target.untyped_storage().data_ptr() != source.untyped_storage().data_ptr() or (same and not written.is_out):
                continue
            if elements(target) & elements(source):
                return True
    return False


def infinite_over_padding(name, arguments):
    """Whether a convolution multiplies the zeros of its padding by an infinity or NaN: some of ATen's algorithms leave those products
    out, others do not, and which one runs hangs on sizes and processor."""
    backward = name == "convolution_backward"
    if not backward and name != "convolution":
        return False
    # A backward pass and a transposed convolution pad by themselves.
    padding, transposed = arguments[5 if backward else 4], arguments[7 if backward else 6]
    if not backward and not transposed and not any(padding):
        return False
    multiplied = (arguments[0], arguments[2]) if backward else arguments[1:2]  # the gradient and the weights
    return any(isinstance(tensor, torch.Tensor) and not tensor.isfinite().all() for tensor in multiplied)


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
    wide = torch.complex128 if value.is_complex() else torch.float64
    value, eps, most = value.to(wide), torch.finfo(value.dtype).eps, torch.finfo(value.dtype).max
    seen = torch.zeros(value.shape, dtype=torch.float64)
    loose = torch.zeros(value.shape, dtype=torch.bool)
    for k, other in enumerate(others):
        other = other.to(wide)
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
        error = (reference.to(wide) - value).abs()
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

"""PyTorch with every rounding made by chance a little larger or smaller, and what makes a module unfit for it."""
import re

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

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


class Noise(TorchDispatchMode):
    """Runs PyTorch with every rounding made by chance a little larger or smaller: how far results go apart is how much of them
    is rounding, in the lowest precision on the way."""

    def __init__(self, seed, size):
        super().__init__()
        # Runs in pairs of opposite chance: a sign that rounding decides is another in one of the two.
        self.generator, self.sign = torch.Generator().manual_seed(seed // 2), 1 - 2 * (seed % 2)
        self.size, self.rounded = size, False
        self.reads_what_it_writes = self.infinite_over_padding = self.overflows_on_the_way = False

    def noisy(self, tensor, times=1):
        """The tensor with each number rounded otherwise; None where it holds none that rounding could move."""
        if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel():
            return None
        moved = tensor * (1 + times * self.size * torch.finfo(tensor.dtype).eps * self.signs(tensor))
        if not tensor.is_complex():
            return moved
        # A part that is NaN or infinite says nothing of the other one, which is moved by itself.
        parts = torch.view_as_real(tensor.resolve_conj())
        alone = torch.view_as_complex(parts * (1 + times * self.size * torch.finfo(parts.dtype).eps * self.signs(parts)))
        return torch.where(tensor.isfinite(), moved, alone)

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
            arguments = [noisy if moves and (noisy := self.noisy(argument)) is not None else argument
                         for argument, moves in zip(arguments, read)]
        result = function(*arguments, **named)
        self.overflows_on_the_way |= overflows_on_the_way(name, arguments, result)
        if not exact:
            steps = (400 if name == "linalg_matrix_exp" else 4) if STEPS.fullmatch(name) else 0
            for tensor in [*tree_flatten(result)[0], *moving]:
                if (noisy := self.noisy(tensor, max(steps, 1))) is not None:
                    tensor.copy_(noisy)
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


def overflows_on_the_way(name, arguments, result):
    """Whether a product of finite matrices is not finite: whether it is then infinite or NaN hangs on the kernel, as a multiplication that is
    fused with the addition after it does not overflow by itself."""
    if not re.fullmatch(r"\w*(mm|mv|dot|convolution|convolution_backward)", name):
        return False
    tensors = [tensor for tensor in tree_flatten(arguments)[0] if isinstance(tensor, torch.Tensor)]
    results = [tensor for tensor in tree_flatten(result)[0] if isinstance(tensor, torch.Tensor)]
    return all(tensor.isfinite().all() for tensor in tensors) and not all(tensor.isfinite().all() for tensor in results)

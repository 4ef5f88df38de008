"""Templates that need values of some rank, weights, indices or layers: shapes, indexing, reductions, matrices, layers, losses,
control flow and training."""
ALL = []


def add(*functions, weight=1):
    for function in functions:
        ALL.append((None, function, weight))


def texts(lines, weight=1, write=False, **pick):
    """Templates in which {x} is a value as `pick` says, {d} one of its dims, {n} a number."""
    for text in lines.replace("\n", "|").split("|"):
        def function(g, text=text):
            x = g.target("f", **pick) if write else g.any(pick.get("kinds", "f"), **{k: v for k, v in pick.items() if k != "kinds"})
            return ("!" if write else "") + text.format(x=x, d=g.dim(x) if x.rank else 0, e=g.dim(x) if x.rank else 0, n=g.num(),
                                                        s=g.int(0, max(x.shape or (1,)) - 1) if max(x.shape or (1,)) else 0)
        add(function, weight=weight)


# Shapes and views.
texts("""{x}.flatten()|{x}.unsqueeze({d})|{x}.unsqueeze(0)|{x}.unsqueeze(-1)|{x}.squeeze()|{x}.squeeze({d})|{x}.squeeze((0, -1))|{x}.reshape(-1)|{x}.ravel()
{x}.transpose({d}, {e})|{x}.movedim({d}, {e})|{x}.swapaxes({d}, {e})|{x}.flip({d})|{x}.roll({s}, {d})|{x}.roll(2)|{x}.repeat_interleave(2, {d})
{x}.select({d}, 0)|{x}.narrow({d}, 0, 1)|{x}[0]|{x}[-1]|{x}[1:]|{x}[:-1]|{x}[::2]|{x}[..., 0]|{x}[..., None]|{x}[None]|{x}[..., 1:]|{x}[..., ::2]
{x}.unfold({d}, 2, 1)|{x}.diff(dim={d})|{x}.split(2, {d})|{x}.chunk(2, {d})|{x}.unbind({d})|{x}.tensor_split(2, {d})|torch.stack(({x}, {x}), {d})
torch.cat(({x}, {x}), {d})|torch.hstack(({x}, {x}))|torch.vstack(({x}, {x}))|torch.dstack(({x}, {x}))|torch.atleast_2d({x})|torch.atleast_3d({x})
{x}.view(-1)|{x}.view({x}.shape)|{x}.expand(2, *{x}.shape)|{x}.repeat(2, *([1] * {x}.dim()))|torch.tile({x}, (2,))|{x}.swapdims({d}, {e}).contiguous()
torch.fliplr({x}[None])|torch.flipud({x})|torch.column_stack(({x}, {x}))|{x}.view_as({x}.clone())|{x}.reshape(*{x}.shape[::-1])|{x}.unflatten(0, (1, -1))
{x}.permute(*range({x}.dim() - 1, -1, -1))|torch.concat(({x}, {x} * 2), -1)|{x}.argsort(dim={d}, stable=True)|{x}.shape[0] * {x}|{x}.as_strided((2,), (1,))
torch.atleast_1d({x})|{x}.squeeze(0).squeeze(0)|{x}.new_empty(0).sum() + {x}|{x}.numel() * {x}|{x}.expand_as({x})|{x}.to(torch.float64).to({x}.dtype)""",
      least=1)
texts("""{x}.t()|{x}.mT|{x}.T|torch.triu({x})|torch.tril({x}, -1)|{x}.diagonal()|torch.diag({x})|{x}.trace()|torch.rot90({x})|{x}.diagonal(1)
torch.block_diag({x}, {x})|torch.diag_embed({x})|torch.cov({x})|torch.corrcoef({x})|torch.linalg.norm({x})|torch.linalg.matrix_norm({x})
torch.pdist({x}.float())|torch.combinations({x}[0])|torch.cartesian_prod({x}[0], {x}[-1])|torch.trapezoid({x})|torch.cumulative_trapezoid({x})""", rank=2)
texts("""torch.diag({x})|torch.diagflat({x})|torch.outer({x}, {x})|torch.dot({x}, {x})|torch.vander({x}.float(), 3)|torch.vdot({x}, {x})|torch.inner({x}, {x})
torch.meshgrid({x}, {x}, indexing='ij')|torch.cartesian_prod({x}, {x})|torch.histc({x}.float(), 4, -1, 1)|F.one_hot({x}.long().abs() % 5, 5)
torch.combinations({x})|torch.linalg.vander({x}.float())|torch.kron({x}, {x})""", rank=1)
texts("""{x}.permute(2, 0, 1)|{x}.permute(1, 2, 0)|{x}.flatten(1)|{x}.flatten(0, 1)|{x}.movedim(0, 2)|{x}.view({x}.shape[0], -1)|{x}.reshape({x}.shape[0], -1)
{x}.transpose(1, 2)|{x}.mT|{x}[:, 0]|{x}[:, :, 0]|{x}[:, None]|{x}[:, 1:, ::2]|torch.triu({x}, 1)|torch.tril({x})|{x}.diagonal(0, 1, 2)|{x}.mean((0, 1))
{x}.sum((1, 2), keepdim=True)|{x}.amax((0, 2))|{x}.std(1, correction=0)|{x}.var((0, 2), unbiased=False)|{x}.unflatten(1, (1, -1))|torch.rot90({x}, 1, (1, 2))
{x}.norm(dim=(1, 2))|{x}.norm(3, dim=1)|torch.linalg.vector_norm({x}, 2, dim=(0, 1))|torch.linalg.vector_norm({x}, 1, dim=-1)|{x}.narrow(1, 0, 1)""", rank=3)

# Writes, also through views.
texts("""{x}[0] = {n}|{x}[1:] = {x}[:-1] * 2|{x}[..., 0] = 0|{x}[..., 0] += 1|{x}[0] *= 2|{x}[::2] = {n}|{x}[:1].add_(1)|{x}.select(0, 0).fill_({n})
{x}.unsqueeze(0).mul_(2)|{x}.view(-1)[1:].zero_()|{x}.flatten()[0] = 3|{x}.transpose(0, -1).add_(1)|{x}.narrow(0, 0, 1).copy_({x}[-1:])|{x}.t_()
{x}.unsqueeze_(0)|{x}.squeeze_()|{x}.transpose_(0, -1)|{x}.fill_diagonal_({n})|{x}.diagonal().add_(1)|{x}.triu_()|{x}.tril_(1)|{x}[..., -1].clamp_(min=0)
{x}[{x} > 0] = 0|{x}[{x} < 0] *= -1|{x}[({x} > 0) & ({x} < 1)] = 5|{x}.cumsum_({d})|{x}.swapaxes_(0, -1)|{x}[[0]] = {n}|{x}[torch.tensor([0, -1])] = {n}
{x}.resize_as_({x})|{x}.index_fill_({d}, torch.tensor([0]), {n})|{x}.index_add_({d}, torch.tensor([0]), {x}.narrow({d}, 0, 1))
{x}.index_copy_({d}, torch.tensor([0]), {x}.narrow({d}, -1, 1) * 2)|{x}.expand_as({x}).add_(1)|{x}.chunk(2)[0].mul_(3)|{x}.split(1, {d})[0].zero_()
{x}.unbind(0)[0].add_(2)|{x}.squeeze_(0)|{x}[None].neg_()|{x}[..., None][0] = 7|{x}.permute(*range({x}.dim() - 1, -1, -1)).mul_(0.5)|{x}.renorm_(2, 0, 1.0)
{x}.put_(torch.tensor([0, 1]), torch.tensor([1.0, 2.0]).to({x}.dtype))|{x}.real.add_(1)|{x}.movedim(0, -1)[..., 0].sub_(1)|{x}.cumprod_({d})""", least=1, write=True, weight=0.8)


def read_after_write(g):
    """A view made before a write shows it afterwards."""
    x, name = g.target("f", least=1), f"v{g.count}"
    view = g.of("[0]", ".flatten()", ".transpose(0, -1)", "[..., 0]", ".unsqueeze(0)", ".detach()", ".view(-1)", ".expand(2, *{x}.shape)")
    write = g.of("{x}.add_(1)", "{x}.mul_(2)", "{x}[0] = 3", "{x}.relu_()", "{x}.neg_()", "{v}.mul_(2)", "{v}.zero_()")
    return f"!{name} = {x}{view.format(x=x)}\n{write.format(x=x, v=name)}"


def write_buffer(g):
    x = g.any("f", most=3)
    b = g.buffer(*x.shape, dtype=x.dtype)
    return "!" + g.of(f"{b}.add_({x}.detach())", f"{b}.mul_(0.9).add_({x}.detach(), alpha=0.1)", f"{b}.copy_({x}.detach())", f"{b} = {b} + {x}.detach()",
                      f"{b} += 1", f"{b}[...] = {x}.detach()", f"{b}.lerp_({x}.detach(), 0.1)")


def counter(g):
    b = g.buffer(text="torch.zeros((), dtype=torch.int64)", kind="i")
    return f"!{b} += 1\nv{g.count} = {g.f()} * {b}"


add(read_after_write, write_buffer, weight=4)
add(counter, weight=2)

# Indexing.
add(lambda g: f"{(x := g.f(least=1))}[{g.index(x.shape[0], (3,))}]",
    lambda g: f"{(x := g.f(least=2))}[:, {g.index(x.shape[1], (2,))}]",
    lambda g: f"{(x := g.f(least=2))}[{g.index(x.shape[0], (2,))}, {g.index(x.shape[1], (2,))}]",
    lambda g: f"{(x := g.f(least=2))}[{g.index(x.shape[0], (2, 1))}, {g.index(x.shape[1], (3,))}]",
    lambda g: f"{(x := g.f(least=3))}[{g.index(x.shape[0], (2,))}, :, {g.index(x.shape[2], (2,))}]",
    lambda g: f"{(x := g.f(least=1))}.index_select({(d := g.dim(x))}, {g.index(x.shape[d], (3,))})",
    lambda g: f"torch.gather({(x := g.f(least=1))}, {(d := g.dim(x))}, {g.index(x.shape[d], x.shape)})",
    lambda g: f"torch.take_along_dim({(x := g.f(least=1))}, {g.index(x.shape[-1], x.shape)}, -1)",
    lambda g: f"torch.take({(x := g.f(least=1))}, {g.index(x.tensor.numel(), (4,))})",
    lambda g: f"torch.scatter({(x := g.f(least=1))}, 0, {g.index(x.shape[0], (1,) + x.shape[1:])}, {g.num()})",
    lambda g: f"torch.scatter({(x := g.f(least=1))}, -1, {g.index(x.shape[-1], x.shape[:-1] + (1,))}, {g.same(x)})",
    lambda g: f"torch.scatter_add({(x := g.f(least=1))}, {(d := g.dim(x))}, {g.index(x.shape[d], x.shape)}, {g.same(x)})",
    lambda g: f"torch.scatter_reduce({(x := g.f(least=1))}, {(d := g.dim(x))}, {g.index(x.shape[d], x.shape)}, {g.same(x)}, "
              f"{g.of('sum', 'prod', 'amax', 'amin', 'mean')!r}, include_self={g.of(True, False)})",
    lambda g: f"torch.index_add({(x := g.f(least=1))}, {(d := g.dim(x))}, {g.index(x.shape[d], (x.shape[d],))}, {g.same(x)}, alpha={g.of(1, 2)})",
    lambda g: f"torch.index_copy({(x := g.f(least=1))}, 0, torch.randperm({x.shape[0]}) * 0 + torch.arange({x.shape[0]}), {g.same(x)})",
    lambda g: f"torch.index_fill({(x := g.f(least=1))}, {(d := g.dim(x))}, {g.index(x.shape[d], (2,))}, {g.num()})",
    lambda g: f"torch.index_reduce({(x := g.f(least=1))}, 0, {g.index(x.shape[0], (x.shape[0],))}, {g.same(x)}, {g.of('amax', 'amin', 'prod', 'mean')!r})",
    lambda g: f"torch.index_put({(x := g.f(least=1))}, ({g.index(x.shape[0], (2,))},), torch.tensor({g.num()}, dtype={x}.dtype), accumulate=False)",
    lambda g: f"torch.index_put({(x := g.f(rank=1))}, ({g.index(x.shape[0], (3,))},), {g.new(shape=(3,), dtype=x.dtype)}, accumulate=True)",
    lambda g: f"!{(x := g.target(least=1))}[{g.index(x.shape[0], (2,))}] = {g.num()}",
    lambda g: f"!{(x := g.target(least=2))}[:, {g.index(x.shape[1], (1,))}] = {g.num()}",
    lambda g: f"!{(x := g.target(least=1))}.scatter_({(d := g.dim(x))}, {g.index(x.shape[d], x.shape)}, {g.num()})",
    lambda g: f"!{(x := g.target(least=1))}.scatter_add_({(d := g.dim(x))}, {g.index(x.shape[d], x.shape)}, {g.same(x)})",
    lambda g: f"!{(x := g.target(least=1))}.index_add_(0, {g.index(x.shape[0], (x.shape[0],))}, {g.same(x)})",
    lambda g: f"!{(x := g.target(least=1))}.index_put_(({g.index(x.shape[0], (2,))},), torch.tensor(1.0, dtype={x}.dtype), accumulate=True)",
    lambda g: f"!{(x := g.target(least=1))}.scatter_reduce_(0, {g.index(x.shape[0], x.shape)}, {g.same(x)}, 'amax')",
    lambda g: f"torch.searchsorted(torch.linspace(-1, 1, 5), {g.f()}.float())",
    lambda g: f"torch.select_scatter({(x := g.f(least=1))}, {x}[0] * 2, 0, -1)",
    lambda g: f"torch.slice_scatter({(x := g.f(least=1))}, {x}[:1] * 2, 0, 0, 1)",
    lambda g: f"torch.diagonal_scatter({(x := g.f(rank=2))}, {x}.diagonal() + 1)",
    lambda g: f"torch.masked_scatter({(x := g.f())}, {g.mask(x)}, {g.same(x)})",
    lambda g: f"torch.index_select({(x := g.any('i', least=1))}, 0, {g.index(x.shape[0], (2,))})",
    lambda g: f"torch.bincount({g.index(5, (7,))}, minlength=5)",
    lambda g: f"F.one_hot({g.index(5, g.shape(g.int(1, 2)))}, 5)",
    lambda g: f"F.embedding({g.index(7, g.shape(g.int(1, 3)))}, {g.weight(7, 5)}{g.of('', ', padding_idx=1', ', scale_grad_by_freq=False')})",
    lambda g: f"F.embedding_bag({g.index(7, (4, 3))}, {g.weight(7, 5, dtype=g.of('float32', 'float64'))}, mode={g.of('sum', 'mean', 'max')!r})",
    lambda g: f"F.embedding_bag({g.index(7, (6,))}, {g.weight(7, 5, dtype='float32')}, torch.tensor([0, 2, 3]), mode={g.of('sum', 'mean')!r})")

# An index that some member may have out of range: both refuse.
add(lambda g: f"torch.index_select({(x := g.f(least=1))}, 0, {g.input((2,), 'int64', 'i', x.shape[0] + (1 if g.chance(0.5) else 0) or 1)})",
    lambda g: f"{(x := g.f(least=1))}[{g.input((2,), 'int64', 'i', x.shape[0] + (1 if g.chance(0.5) else 0) or 1)} - {g.of(0, 1)}]",
    lambda g: f"F.embedding({g.input((3,), 'int64', 'i', g.of(7, 8))}, {g.weight(7, 5)})",
    lambda g: f"torch.gather({(x := g.f(least=1))}, 0, {g.input(x.shape, 'int64', 'i', x.shape[0] + g.of(0, 1) or 1)})", weight=0.6)

# Sizes and numbers that depend on data.
texts("""{x}[{x} > 0]|{x}[{x} > 0].sum()|torch.masked_select({x}, {x} > 0.2)|torch.masked_select({x}, {x} > 0).mean()|torch.nonzero({x} > 0)
torch.nonzero({x}, as_tuple=True)|torch.nonzero({x} > 0.5).float().sum()|torch.argwhere({x} > 0)|{x} * ({x} > 0).sum().item()|{x} + {x}.sum().item()
torch.unique(({x} > 0).long())|torch.unique(({x} * 2).round(), return_counts=True)|torch.unique_consecutive(({x} > 0).long())|torch.where({x} > 0)
{x}.repeat_interleave(({x}.select(-1, 0) * 0 + 2).long().flatten()[:{x}.shape[0]], 0)|torch.zeros(3) + ({x} > 0).sum().item()
torch.arange(3) * int(({x} > 0).sum())|{x}[{x} > 0] * 2 + 1|{x}[({x} > 0).flatten()[:{x}.shape[0]]]|{x}.max().item() + {x}""", least=1, weight=1.2)
add(lambda g: f"torch.repeat_interleave({(x := g.f(least=1))}, {g.index(3, (x.shape[0],))}, dim=0)",
    lambda g: f"torch.repeat_interleave({(x := g.f(least=1))}, {g.index(3, (x.shape[0],))}, dim=0).sum(0)",
    lambda g: f"!n{g.count} = ({(x := g.f(least=1))} > 0).sum().item()\ntorch._check(n{g.count} >= 0)\nv{g.count} = torch.ones(n{g.count}).cumsum(0)",
    lambda g: f"!n{g.count} = {g.index(3, (1,))}.item()\ntorch._check(n{g.count} >= 0)\ntorch._check(n{g.count} < 3)\nv{g.count} = {g.new(shape=(4, 2))}[n{g.count}]",
    lambda g: f"!n{g.count} = {g.index(3, (1,))}.item()\ntorch._check(n{g.count} >= 0)\ntorch._check(n{g.count} <= 4)\nv{g.count} = {g.new(shape=(4, 2))}[:n{g.count}].sum(0)",
    weight=2)

# Sorting.
texts("""torch.sort({x}, dim={d}, stable=True)|torch.sort({x}, dim={d}, descending=True, stable=True)|torch.argsort({x}, dim={d}, stable=True)|torch.msort({x})
torch.topk({x}, 1, {d})|torch.topk({x}, 1, {d}, largest=False)|torch.kthvalue({x}, 1, {d})|torch.median({x}, {d})|torch.max({x}, {d})|torch.min({x}, {d}, keepdim=True)
torch.mode({x}, {d})|torch.quantile({x}.float(), 0.3)|torch.quantile({x}.float(), torch.tensor([0.1, 0.9]), dim={d})|torch.nanmedian({x}, {d})|torch.topk({x}, 2, {d})[0]
torch.aminmax({x}, dim={d})|torch.nanquantile({x}.float(), 0.5, dim={d})|torch.softmax({x}, {d})|torch.log_softmax({x}, {d})|F.softmin({x}, {d})
torch.softmax({x}, {d}, dtype=torch.float32)|torch.renorm({x}, 2, 0, 1.0)|F.normalize({x}, dim={d})|F.normalize({x}, p=1, dim={d})|torch.logsumexp({x}, {d})
torch.cumulative_trapezoid({x}, dim={d})|torch.gradient({x}, dim={d})|torch.linalg.vector_norm({x}, float('inf'))|torch.argmax({x}, {d}, keepdim=True)
torch.var({x}, {d}, correction=0)|torch.std_mean({x}, dim={d})|torch.var_mean({x}, dim={d}, keepdim=True)|torch.norm({x}, p=1, dim={d})|F.glu({x}, {d})
torch.cosine_similarity({x}, {x} + 1, {d})|torch.bernoulli({x}.sigmoid() * 0)|{x}.sum({d}, dtype=torch.float64)|torch.nanmean({x}, {d})|torch.all({x} > 0, {d})""", least=1)

# Matrices.
add(lambda g: f"F.linear({(x := g.f(least=1))}, {g.weight((o := g.int(1, 6)), x.shape[-1], dtype=x.dtype)}, {g.of(None, g.weight(o, dtype=x.dtype))})", weight=8)
add(lambda g: f"{(x := g.f(least=1))} @ {g.weight(x.shape[-1], g.int(1, 5), dtype=x.dtype)}",
    lambda g: f"torch.matmul({g.weight(3, (x := g.f(least=2)).shape[-2], dtype=x.dtype)}, {x})",
    lambda g: f"torch.mv({(x := g.f(rank=2))}, {g.weight(x.shape[1], dtype=x.dtype)})",
    lambda g: f"torch.mm({(x := g.f(rank=2))}, {g.weight(x.shape[1], 3, dtype=x.dtype)})",
    lambda g: f"torch.bmm({(x := g.f(rank=3))}, {x}.mT)",
    lambda g: f"torch.addmm({g.weight(3, dtype=(x := g.f(rank=2)).dtype)}, {x}, {g.weight(x.shape[1], 3, dtype=x.dtype)}, beta={g.of(1, 0.5)}, alpha={g.of(1, 2)})",
    lambda g: f"torch.addmv({g.weight((x := g.f(rank=2)).shape[0], dtype=x.dtype)}, {x}, {g.weight(x.shape[1], dtype=x.dtype)})",
    lambda g: f"torch.addbmm({g.weight((x := g.f(rank=3)).shape[1], x.shape[1], dtype=x.dtype)}, {x}, {x}.mT)",
    lambda g: f"torch.baddbmm({g.weight((x := g.f(rank=3)).shape[0], x.shape[1], x.shape[1], dtype=x.dtype)}, {x}, {x}.mT, beta=0.5)",
    lambda g: f"torch.addr({g.weight((x := g.f(rank=1)).shape[0], 3, dtype=x.dtype)}, {x}, {g.weight(3, dtype=x.dtype)})",
    lambda g: f"torch.chain_matmul({(x := g.f(rank=2))}, {x}.t(), {x})",
    lambda g: f"torch.linalg.multi_dot(({(x := g.f(rank=2))}, {x}.t(), {x}))",
    lambda g: f"torch.einsum('{g.of('ij,jk->ik', 'ij,jk->ki', 'ij,jk->i', 'ij,jk->')}', {(x := g.f(rank=2))}, {g.weight(x.shape[1], 3, dtype=x.dtype)})",
    lambda g: f"torch.einsum('{g.of('bij,bkj->bik', 'bij,bkj->bk', 'bij,bkj->ik')}', {(x := g.f(rank=3))}, {x})",
    lambda g: f"torch.einsum('...i,ji->...j', {(x := g.f(least=1))}, {g.weight(4, x.shape[-1], dtype=x.dtype)})",
    lambda g: f"torch.einsum('i,j->ij', {(x := g.f(rank=1))}, {g.weight(3, dtype=x.dtype)})",
    lambda g: f"torch.einsum('ii->i', {(x := g.f(rank=2))}[:1, :1])",
    lambda g: f"torch.tensordot({(x := g.f(least=2))}, {g.weight(x.shape[-1], 3, dtype=x.dtype)}, dims=1)",
    lambda g: f"torch.kron({(x := g.f(rank=2))}, {g.weight(2, 2, dtype=x.dtype)})",
    lambda g: f"torch.cross({(x := g.new(shape=(4, 3)))}, {g.same(x)}, dim=-1)",
    lambda g: f"torch.linalg.cross({(x := g.new(shape=(2, 3)))}, {g.same(x)})",
    lambda g: f"torch.cdist({(x := g.f(least=2, most=3))}.float(), {x}.float() + 1{g.of('', ', p=1.0')})",
    lambda g: f"F.bilinear({(x := g.f(rank=2))}, {x}, {g.weight(3, x.shape[1], x.shape[1], dtype=x.dtype)})",
    lambda g: f"F.pairwise_distance({(x := g.f(rank=2))}, {g.same(x)})",
    lambda g: f"F.cosine_similarity({(x := g.f(least=2))}, {g.same(x)})",
    lambda g: f"!torch.mm({(x := g.f(rank=2, dtype='float32'))}, {x}.t(), out={g.target(rank=2, where=lambda v: v.shape == (x.shape[0],) * 2)})", weight=1.5)


def square(g):
    """A well conditioned square matrix, or a stack of them."""
    size = g.int(1, 4)
    x = g.new(shape=(g.int(1, 3),) * g.int(0, 1) + (size, size), dtype=g.of("float32", "float64"))
    return f"({x} @ {x}.mT + 2 * torch.eye({size}, dtype={x}.dtype))"


for text in """linalg.inv({a})|linalg.det({a})|linalg.cholesky({a})|linalg.slogdet({a})|logdet({a})|linalg.solve({a}, {a}.sum(-1, keepdim=True))|linalg.eigvalsh({a})
linalg.matrix_power({a}, 3)|linalg.matrix_exp({a} * 0.1)|linalg.svdvals({a})|linalg.lu_factor({a})|linalg.solve_triangular({a}.tril(), {a}, upper=False)|inverse({a})
linalg.pinv({a})|linalg.matrix_rank({a})|linalg.cond({a})|linalg.qr({a})[1].abs()|linalg.inv_ex({a})|linalg.cholesky_ex({a})|cholesky_solve({a}, torch.linalg.cholesky({a}))
linalg.lstsq({a}, {a}.sum(-1, keepdim=True))[0]|linalg.eigh({a})[0]|triangular_solve({a}, {a}.tril(), upper=False)|cholesky_inverse(torch.linalg.cholesky({a}))
linalg.tensorinv({a}.reshape({a}.shape[-1], -1)[:1, :1], 1)|linalg.matrix_norm({a}, 'nuc')|linalg.diagonal({a})|linalg.ldl_factor({a})|linalg.lu({a})[2]""".replace("\n", "|").split("|"):
    add(lambda g, text=text: "torch." + text.format(a=square(g)), weight=0.8)

# Spectra.
texts("""torch.fft.fft({x}.float())|torch.fft.rfft({x}.float())|torch.fft.irfft(torch.fft.rfft({x}.float()), n={x}.shape[-1])|torch.fft.ifft({x}.float())|torch.fft.fft({x}.float(), dim={d})
torch.fft.fftshift({x})|torch.fft.ifftshift({x})|torch.fft.hfft({x}.float() + 0j)|torch.fft.fft({x}.float(), norm='ortho')|torch.fft.fft({x}.float()).abs()|torch.fft.ihfft({x}.float())
torch.fft.rfft({x}.float(), n=6)|torch.fft.fftn({x}.float())|torch.fft.rfftn({x}.float())""", least=1, weight=0.8)
texts("torch.fft.fft2({x}.float())|torch.fft.rfft2({x}.float())|torch.fft.ifft2({x}.float())|torch.fft.irfft2(torch.fft.rfft2({x}.float()))", least=2, weight=0.6)
add(lambda g: f"torch.stft({g.new(shape=(2, 13), dtype='float32')}, 4, return_complex=True, window=torch.hann_window(4))",
    lambda g: f"torch.istft(torch.stft({g.new(shape=(13,), dtype='float32')}, 4, return_complex=True, window=torch.ones(4)), 4, window=torch.ones(4))",
    lambda g: f"{g.new(shape=(4,), dtype='float32')} * torch.{g.of('hann', 'hamming', 'blackman', 'bartlett')}_window(4)", weight=0.5)

# Made without tensors.
for text in """torch.arange({n})|torch.linspace(0, 1, {n})|torch.eye({n})|torch.zeros({n}, 2)|torch.ones({n})|torch.full((2, {n}), 0.5)|torch.arange(0, {n}, 2).float()
torch.logspace(0, 1, {n})|torch.tril_indices({n}, {n})|torch.triu_indices(2, {n})|torch.tensor([1.0, 2.0, 3.0])|torch.tensor([1, 0, {n}])|torch.scalar_tensor({n}.5)|torch.empty({n}).zero_()""".replace("\n", "|").split("|"):
    add(lambda g, text=text: text.replace("{n}", str(g.int(1, 5))), weight=0.3)


# Convolutions, pooling, padding, resizing.
def conv(g, rank, transposed):
    x = g.f(rank=rank + 2, where=lambda v: min(v.shape) > 0)
    groups = g.of(1, 1, x.shape[1])
    out, kernel = groups * g.int(1, 3), tuple(g.int(1, 3) for _ in range(rank))
    shape = (x.shape[1], out // groups) if transposed else (out, x.shape[1] // groups)
    w = g.weight(*shape, *kernel, dtype=x.dtype)
    b = g.of("None", g.weight(out, dtype=x.dtype))
    more = f", output_padding={g.of(0, 0, 1)}" if transposed else ""
    padding = g.of(0, 1, 1, "'same'") if not transposed else g.of(0, 1)
    stride = 1 if padding == "'same'" else g.of(1, 1, 2)
    return f"F.conv{'_transpose' if transposed else ''}{rank}d({x}, {w}, {b}, stride={stride}, padding={padding}{more}, groups={groups}, dilation={g.of(1, 1, 2)})"


def conv_of_many_channels(g):
    """Of so many as the kernels that work on blocks of channels want."""
    x, inner, out = g.f(rank=4, where=lambda v: min(v.shape) > 0), g.int(16, 34), g.int(16, 34)
    widen, w = g.weight(inner, x.shape[1], 1, 1, dtype=x.dtype), g.weight(out, inner, 3, 3, dtype=x.dtype)
    b = g.of("None", g.weight(out, dtype=x.dtype))
    return f"F.conv2d(F.conv2d({x}, {widen}), {w}, {b}, padding={g.of(1, 1, 2)})"


add(conv_of_many_channels)
for rank in (1, 2, 3):
    add(lambda g, rank=rank: conv(g, rank, False), weight=4)
    add(lambda g, rank=rank: conv(g, rank, True), weight=2.5)
    ranked = dict(rank=rank + 2, weight=0.8)
    texts(f"""F.max_pool{rank}d({{x}}, 2)|F.max_pool{rank}d({{x}}, 3, 1, 1)|F.avg_pool{rank}d({{x}}, 2)|F.avg_pool{rank}d({{x}}, 3, 2, 1, count_include_pad=False)|F.adaptive_avg_pool{rank}d({{x}}, 2)
F.adaptive_max_pool{rank}d({{x}}, 1)|F.max_pool{rank}d({{x}}, 2, return_indices=True)|F.adaptive_avg_pool{rank}d({{x}}, 1)|F.instance_norm({{x}})|F.group_norm({{x}}, 1)|F.dropout{rank}d({{x}}, 0.5, False)
F.interpolate({{x}}, scale_factor=2, mode='nearest')|F.interpolate({{x}}, scale_factor=2, mode='nearest-exact')|F.interpolate({{x}}, scale_factor=0.5)""", **ranked)
texts("""F.max_unpool1d(*F.max_pool1d({x}, 2, return_indices=True), 2)|F.lp_pool1d({x}, 2, 2)|F.interpolate({x}, size=5, mode='linear')|F.pad({x}, (1, 2), mode='reflect')
F.pad({x}, (1, 1), mode='replicate')|F.pad({x}, (1, 1), mode='circular')|F.pad({x}, (1, 0))|F.pad({x}, (1, 1, 2, 0), value=3)|F.pad({x}, (-1, 1))|F.avg_pool1d({x}, 2, ceil_mode=True)""", rank=3)
texts("""F.lp_pool2d({x}, 2, 2)|F.interpolate({x}, scale_factor=2, mode='bilinear')|F.interpolate({x}, size=(3, 5), mode='bilinear', align_corners=True)|F.interpolate({x}, scale_factor=1.5, mode='bicubic')
F.interpolate({x}, size=(2, 2), mode='area')|F.interpolate({x}, scale_factor=0.5, mode='bilinear', antialias=True)|F.pad({x}, (1, 1, 1, 0), mode='reflect')|F.pad({x}, (1, 0, 2, 1), mode='replicate')
F.pad({x}, (1, 1, 1, 1), mode='circular')|F.pixel_unshuffle({x}, 1)|F.channel_shuffle({x}, 1)|F.unfold({x}, 2)|F.max_pool2d({x}, 2, ceil_mode=True)|F.max_pool2d({x}, 2, dilation=2)
F.avg_pool2d({x}, 2, divisor_override=3)|F.local_response_norm({x}, 2)|F.max_unpool2d(*F.max_pool2d({x}, 2, return_indices=True), 2)|{x}.to(memory_format=torch.channels_last) * 2
{x}.contiguous(memory_format=torch.channels_last).relu()|F.adaptive_avg_pool2d({x}, (None, 2))|F.max_pool2d({x}, (1, 2), (2, 1))|F.grid_sample({x}, F.affine_grid({x}.new_zeros({x}.shape[0], 2, 3), (1, 1, 2, 3)).expand({x}.shape[0], 2, 3, 2))""", rank=4)
texts("F.interpolate({x}, scale_factor=2, mode='trilinear')|F.pad({x}, (1, 1, 0, 1, 1, 0), mode='replicate')|F.pad({x}, (1,) * 6, mode='circular')|F.lp_pool3d({x}, 2, 2)|F.pad({x}, (1,) * 6, mode='reflect')", rank=5, weight=0.8)
add(lambda g: f"F.pixel_shuffle({g.new(shape=(2, 4, 3, 2))}, 2)",
    lambda g: f"F.fold({g.new(shape=(2, 8, 4), dtype='float32')}, (3, 3), 2)",
    lambda g: f"F.fractional_max_pool2d({g.new(shape=(1, 2, 5, 5), dtype='float32')}, 2, output_size=2, _random_samples=torch.full((1, 2, 2), 0.3))",
    lambda g: f"F.grid_sample({(x := g.new(shape=(2, 3, 4, 5), dtype='float32'))}, {g.new(shape=(2, 3, 2, 2), dtype='float32')}, mode={g.of('bilinear', 'nearest', 'bicubic')!r}, "
              f"padding_mode={g.of('zeros', 'border', 'reflection')!r}, align_corners={g.of(True, False)})",
    lambda g: f"F.affine_grid({g.new(shape=(2, 2, 3), dtype='float32')}, (2, 1, 3, 4), align_corners={g.of(True, False)})")
for rank in (2, 3, 4, 5):
    add(lambda g, rank=rank: f"F.pad({g.f(rank=rank)}, {tuple(g.int(0, 2) for _ in range(2 * g.int(1, rank)))}, value={g.num()})")


# Norms, attention, recurrent and other layers.
def batch_norm(g):
    x = g.f(least=2, where=lambda v: v.tensor.numel() > 0)
    c = x.shape[1]
    m, v = g.buffer(c, dtype=x.dtype), g.buffer(text=f"torch.rand({c}, dtype=torch.{x.dtype}) + 0.5")
    return (f"F.batch_norm({x}, {m}, {v}, {g.of('None', g.weight(c, dtype=x.dtype))}, {g.of('None', g.weight(c, dtype=x.dtype))}, "
            f"training={g.of(False, False, True)}, momentum=0.1)")


def layer_norm(g):
    x = g.f(least=1)
    w = g.of("None", g.weight(x.shape[-1], dtype=x.dtype))
    return g.of(f"F.layer_norm({x}, ({x.shape[-1]},), {w}, {g.of('None', w)})", f"F.rms_norm({x}, ({x.shape[-1]},), {w})",
                f"F.layer_norm({x}, {x.shape})", f"F.rms_norm({x}, {x.shape})")


def group_norm(g):
    x = g.f(least=3, where=lambda v: v.shape[1] > 0)
    groups = g.of(1, x.shape[1], 2)
    w = g.weight(x.shape[1], dtype=x.dtype)
    return g.of(f"F.group_norm({x}, {groups}, {w}, {w})", f"F.instance_norm({x}, weight={w}, bias={w})")


def attention(g):
    b, h, s, t, d = g.int(1, 3), g.int(1, 2), g.int(1, 4), g.int(1, 5), g.int(2, 4)
    dtype = g.float_type()
    q, k = g.new(shape=(b, h, s, d), dtype=dtype), g.new(shape=(b, h, t, d), dtype=dtype)
    v = g.of(k, g.weight(1, h, t, d, dtype=dtype))
    v = v if v.shape == k.shape else f"{v}.expand({b}, {h}, {t}, {d})"
    mask = g.of("", ", is_causal=True", f", attn_mask={g.input((s, t), kind='b')}", f", attn_mask={g.weight(s, t, dtype=dtype)}", ", scale=0.3")
    return f"F.scaled_dot_product_attention({q}, {k}, {v}{mask})"


def recurrent(g):
    kind, features, hidden = g.of("LSTM", "GRU", "RNN"), g.int(1, 5), g.int(1, 5)
    options = g.of("", ", batch_first=True", ", bidirectional=True", ", num_layers=2", ", bias=False", ", num_layers=2, bidirectional=True, batch_first=True")
    if kind == "LSTM" and hidden > 1 and g.chance(0.2):
        options += ", proj_size=1"
    if kind == "RNN" and g.chance(0.4):
        options += ", nonlinearity='relu'"
    layer = g.layer(f"torch.nn.{kind}({features}, {hidden}{options})")
    x = g.new(shape=(g.int(1, 4), g.int(1, 4), features) if g.chance(0.85) else (3, features), dtype=g.main)
    name = f"v{g.count}"
    return f"!{name} = {layer}({x})\n{name} = ({name}[0], *({name}[1] if isinstance({name}[1], tuple) else ({name}[1],)))"


def cell(g):
    kind, features, hidden = g.of("LSTM", "GRU", "RNN"), g.int(1, 5), g.int(1, 5)
    return f"{g.layer(f'torch.nn.{kind}Cell({features}, {hidden})')}({g.new(shape=(3, features), dtype=g.main)})"


add(batch_norm, layer_norm, weight=5)
add(group_norm, attention, weight=4)
add(recurrent, weight=6)
add(cell, weight=2)
add(lambda g: f"{g.layer(f'torch.nn.Linear({(x := g.f(least=1, dtype=g.main)).shape[-1]}, {g.int(1, 6)})')}({x})", weight=5)
add(lambda g: f"{g.layer(f'torch.nn.BatchNorm{(x := g.f(least=3, most=5, dtype=g.main, where=lambda v: v.tensor.numel())).rank - 2}d({x.shape[1]})')}({x})",
    lambda g: f"{g.layer(f'torch.nn.InstanceNorm2d({(x := g.f(rank=4, dtype=g.main)).shape[1]}, affine=True, track_running_stats=True)')}({x})",
    lambda g: f"{g.layer(f'torch.nn.Embedding(7, {g.int(1, 5)}, padding_idx=0)')}({g.index(7, g.shape(2))})",
    lambda g: f"{g.layer('torch.nn.MultiheadAttention(4, 2, batch_first=True)')}({(x := g.new(shape=(2, 3, 4), dtype=g.main))}, {x}, {x}, need_weights={g.of(True, False)})",
    lambda g: f"{g.layer('torch.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)')}({g.new(shape=(2, 3, 4), dtype=g.main)})",
    lambda g: f"{g.layer('torch.nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0)')}({(x := g.new(shape=(3, 2, 4), dtype=g.main))}, {x})",
    lambda g: f"{g.layer(f'torch.nn.PReLU({(x := g.f(least=2, dtype=g.main)).shape[1]})')}({x})",
    lambda g: f"{g.layer('torch.nn.Bilinear(3, 4, 2)')}({g.new(shape=(2, 3), dtype=g.main)}, {g.new(shape=(2, 4), dtype=g.main)})",
    lambda g: f"{g.layer('torch.nn.EmbeddingBag(7, 3, mode=' + repr(g.of('sum', 'mean')) + ')')}({g.index(7, (3, 2))})",
    lambda g: f"{g.layer(f'torch.nn.Dropout({g.of(0.0, 0.3, 0.5)})')}({g.f(dtype=g.main)})",
    lambda g: f"{g.layer(f'torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear({(x := g.f(least=1, dtype=g.main)).shape[-1]}, 3), dim={g.of(0, 1, -1, -2, None)})')}({x})",
    lambda g: f"{g.layer(f'torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear({(x := g.f(rank=2, dtype=g.main)).shape[-1]}, 3))')}({x})", weight=1.5)
add(lambda g: f"F.prelu({(x := g.f(least=2))}, {g.weight(g.of(1, x.shape[1]), dtype=x.dtype)})",
    lambda g: f"F.dropout({g.f()}, 0.4, training=self.training)",
    lambda g: f"F.alpha_dropout({g.f()}, 0.4, training=self.training)",
    lambda g: f"F.feature_alpha_dropout({g.f(least=2)}, 0.4, training=self.training)", weight=2)
add(lambda g: f"torch.rand_like({g.f()})", lambda g: f"torch.randn_like({g.f()})", lambda g: f"torch.bernoulli({g.f()}.sigmoid())",
    lambda g: f"torch.randint_like({g.f()}, 5)", lambda g: "torch.randn(3, 4)", lambda g: "torch.rand(2)", lambda g: "torch.randperm(5)",
    lambda g: "torch.randint(0, 7, (4,))", lambda g: f"torch.normal({g.f()}, 1.0)", lambda g: f"torch.multinomial({g.f(least=1, most=2)}.softmax(-1), 1)",
    lambda g: f"!{g.target()}.uniform_()", lambda g: f"!{g.target()}.normal_()", lambda g: f"!{g.target()}.bernoulli_(0.5)",
    lambda g: f"!{g.target()}.exponential_()", lambda g: f"F.dropout2d({g.f(rank=4)}, 0.4, self.training)",
    lambda g: f"F.gumbel_softmax({g.f(least=1)}, dim=-1)", weight=0.4)

# Losses whose targets have a range.
REDUCTIONS = ("mean", "sum", "none")
add(lambda g: f"F.cross_entropy({(x := g.f(rank=2))}, {g.index(x.shape[1], (x.shape[0],))}, reduction={g.of(*REDUCTIONS)!r}, label_smoothing={g.of(0.0, 0.1)})",
    lambda g: f"F.cross_entropy({(x := g.f(rank=3))}, {g.index(x.shape[1], (x.shape[0], x.shape[2]))}, ignore_index={g.of(-100, 0)})",
    lambda g: f"F.cross_entropy({(x := g.f(rank=2))}, {x}.detach().softmax(1), weight={g.of('None', f'{g.weight(x.shape[1], dtype=x.dtype)}.abs()')})",
    lambda g: f"F.nll_loss(F.log_softmax({(x := g.f(rank=2))}, 1), {g.index(x.shape[1], (x.shape[0],))}, reduction={g.of(*REDUCTIONS)!r})",
    lambda g: f"F.binary_cross_entropy({(x := g.f())}.sigmoid(), {g.same(x)}.sigmoid(), reduction={g.of(*REDUCTIONS)!r})",
    lambda g: f"F.multi_margin_loss({(x := g.f(rank=2, where=lambda v: 0 not in v.shape))}.float(), {g.index(x.shape[1], (x.shape[0],))})",
    lambda g: f"F.multilabel_margin_loss({(x := g.f(rank=2, where=lambda v: 0 not in v.shape))}.float(), {g.index(x.shape[1], x.shape)})",
    lambda g: f"F.multilabel_soft_margin_loss({(x := g.f(rank=2))}, ({g.same(x)} > 0).to({x}.dtype))",
    lambda g: f"F.margin_ranking_loss({(x := g.f(rank=1))}, {g.same(x)}, {g.same(x)}.sign(), margin=0.1)",
    lambda g: f"F.hinge_embedding_loss({(x := g.f())}, {g.same(x)}.sign())",
    lambda g: f"F.cosine_embedding_loss({(x := g.f(rank=2))}, {g.same(x)}, torch.ones({x.shape[0]}))",
    lambda g: f"F.triplet_margin_loss({(x := g.f(rank=2))}, {g.same(x)}, {x} * 0.5)",
    lambda g: f"F.gaussian_nll_loss({(x := g.f())}, {g.same(x)}, {x} * {x} + 0.5)",
    lambda g: f"F.ctc_loss({g.new(shape=(5, 2, 4), dtype='float32')}.log_softmax(2), {g.index(3, (2, 2))} + 1, (5, 5), (2, 2), reduction={g.of(*REDUCTIONS)!r})",
    lambda g: f"F.kl_div({(x := g.f(rank=2))}.log_softmax(1), {g.same(x)}.softmax(1), reduction='batchmean', log_target=False)", weight=1.2)


# Autocast, control flow, training.
def autocast(g):
    x, name = g.f(least=2, most=3, dtype="float32"), f"v{g.count}"
    w = g.weight(4, x.shape[-1], dtype="float32")
    line = g.of(f"{name} = F.linear({x}, {w})", f"{name} = ({x} @ {w}.t()).softmax(-1)", f"{name} = F.linear({x}, {w}).sum(0)", f"{name} = F.layer_norm(F.linear({x}, {w}), (4,))",
                f"{name} = F.linear(F.linear({x}, {w}).relu(), {w}.t()) + {x}", f"{name} = torch.exp({x} @ {w}.t())")
    return f"!with torch.autocast('cpu', dtype=torch.{g.of('bfloat16', 'bfloat16', 'float16')}{g.of('', '', ', enabled=False')}):\n    {line}"


def modes(g):
    return f"!with torch.{g.of('no_grad', 'enable_grad')}():\n    v{g.count} = {(x := g.f())} * 2 + {g.like(x)}"


STEPS = ("{a}.sin()", "{a} * 2 + 1", "{a}.relu() - {b}", "torch.tanh({a}) * {b}", "{a} + {b}", "{a} * 0.5 - {b}", "{a}.exp().clamp(max=2)", "{a}.abs() + {b} * {b}", "{a}.clone()")


def step(g, a="a", b="b"):
    return g.of(*STEPS).format(a=a, b=b)


def branches(g):
    x = g.f(least=1)
    y, name = g.same(x), f"v{g.count}"
    predicate = g.of(f"{x}.sum() > 0", f"{x}.mean() < {y}.mean()", f"{x}.flatten()[0] > 0", f"({x} > 0).any()")
    return (f"!def true{g.count}(a, b): return {step(g)}\ndef false{g.count}(a, b): return {step(g)}\n"
            f"{name} = cond({predicate}, true{g.count}, false{g.count}, ({x}, {y}))")


def nested_branches(g):
    x, n = g.f(least=1), g.count
    return (f"!def inner{n}(a): return a.cos()\ndef other{n}(a): return a.sin() * 2\n"
            f"def true{n}(a): return cond(a.max() > 1, inner{n}, other{n}, (a,))\ndef false{n}(a): return a - 1\n"
            f"v{n} = cond({x}.sum() > 0, true{n}, false{n}, ({x},))")


def loop(g):
    x, n = g.f(least=0), g.count
    limit = g.of(f"i < {g.int(1, 4)}", "(i < 5) & (a.abs().sum() < 20)", "(a.abs().max() > 0.5) & (i < 6)")
    return (f"!def going{n}(i, a): return {limit}\ndef body{n}(i, a): return i + 1, {g.of('a * 0.5', 'a + 1', 'a.sin()', 'a * 1.5 - 0.1')}\n"
            f"v{n} = while_loop(going{n}, body{n}, (torch.tensor(0), {x}.clone()))")


def rows(g):
    x, n = g.f(least=2, where=lambda v: v.shape[0] > 0), g.count
    y = g.weight(*x.shape[1:], dtype=x.dtype)
    return f"!def row{n}(a, b): return {step(g)}\nv{n} = map_rows(row{n}, {x}, {y})"


def scanned(g):
    x, n = g.f(least=2, where=lambda v: v.shape[0] > 0), g.count
    return (f"!def combine{n}(a, b): return {g.of('a + b', 'a * 0.5 + b', 'torch.tanh(a + b)')}, {g.of('a * b', 'a - b', '(a + b).sin()')}\n"
            f"v{n} = scan(combine{n}, torch.zeros_like({x}[0]), {x}, reverse={g.of(False, False, True)})")


def associative(g):
    x, n = g.f(least=1, where=lambda v: v.shape[0] > 0), g.count
    return f"!def combine{n}(a, b): return {g.of('a + b', 'a * b', 'torch.maximum(a, b)')}\nv{n} = associative_scan(combine{n}, {x})"


def gradients(g):
    parameters = [value for value in g.values if value.origin == "parameter" and value.tensor.requires_grad]
    losses = [value for value in g.values if value.kind == "f" and value.tensor.requires_grad and value.origin == "local"]
    if not parameters or not losses:
        g.grad = True
        x = g.f(least=2)
        w = g.weight(3, x.shape[-1], dtype=x.dtype)
        return f"F.linear({x}, {w})"
    loss = g.of(*losses)
    return f"torch.autograd.grad(({loss} ** 2).mean(), ({', '.join(dict.fromkeys(parameters))},), allow_unused=True, materialize_grads=True, retain_graph=True)"


def training_step(g):
    x = g.new(shape=(g.int(1, 4), g.int(1, 5)), dtype=g.main)
    outs, n = g.int(1, 4), g.count
    g.grad = True
    w, b = g.layer(f"torch.nn.Linear({x.shape[1]}, {outs})"), g.index(outs, (x.shape[0],))
    loss = g.of(f"F.cross_entropy({w}({x}), {b})", f"F.mse_loss({w}({x}).tanh(), torch.zeros({x.shape[0]}, {outs}, dtype={x}.dtype))", f"{w}({x}).relu().sum()")
    return f"!loss{n} = {loss}\ng{n} = torch.autograd.grad(loss{n}, ({w}.weight, {w}.bias))\nv{n} = (loss{n}, {w}.weight - 0.1 * g{n}[0], g{n}[1])"


add(autocast, branches, weight=5)
add(loop, rows, scanned, weight=3)
add(associative, nested_branches, modes, weight=1.5)
add(gradients, weight=6)
add(training_step, weight=5)

"""What modules of the generator may call: control flow as PyTorch says it, without compiling it where it is not exported."""
import torch
from torch._higher_order_ops import associative_scan as _associative_scan, scan as _scan, while_loop as _while_loop
from torch._higher_order_ops.map import map as _map


def cond(predicate, true, false, operands):
    if torch.compiler.is_exporting():
        return torch.cond(predicate, true, false, operands)
    return true(*operands) if bool(predicate) else false(*operands)


def while_loop(condition, body, carried):
    if torch.compiler.is_exporting():
        return _while_loop(condition, body, carried)
    while bool(condition(*carried)):
        carried = tuple(body(*carried))
    return carried


def map_rows(function, rows, *others):
    if torch.compiler.is_exporting():
        return _map(function, rows, *others)
    return torch.stack([function(row, *others) for row in rows])


def scan(combine, initial, rows, reverse=False):
    if torch.compiler.is_exporting():
        return _scan(combine, initial, rows, reverse=reverse)
    carried, results = initial, []
    for row in reversed(rows) if reverse else rows:
        carried, result = combine(carried, row)
        results.append(result)
    return carried, torch.stack(results[::-1] if reverse else results)


def associative_scan(combine, rows):
    if torch.compiler.is_exporting():
        return _associative_scan(combine, rows, 0, combine_mode="generic")
    results = [rows[0]]
    for row in rows[1:]:
        results.append(combine(results[-1], row))
    return torch.stack(results)


def spiked(tensor, values=(float("nan"), float("inf"), -float("inf"), 1e19, -1e19, 1e-30, 0.0)):
    """The same with some of these values at places drawn at random."""
    flat = tensor.reshape(-1)
    for value in values:
        if flat.numel() and torch.rand(()) < 0.5:
            flat[torch.randint(flat.numel(), ())] = value
    return tensor

"""What `Wide` answers about itself, as values."""
import dataclasses
import html
import os
import random
import statistics
import time
from typing import Any, Self

import torch

from . import _svg
from ._errors import Error

_SHOWN = 12  # nodes in a plot
_MOST_BY_OTHERS = 0.1


@dataclasses.dataclass(frozen=True)
class Check:
    """One kind of comparison over all members and outputs.

    Attributes
    ----------
    what, member, text : str
        Which comparison, the worst member, where and the numbers there.
    max_abs, max_rel, tolerance : float
        Largest differences and the bound that held.
    passed : bool
    """

    what: str
    member: str
    text: str
    max_abs: float
    max_rel: float
    tolerance: float
    passed: bool


@dataclasses.dataclass(frozen=True)
class Proof:
    """Whether each member computes what it computes alone. True where it does.

    Attributes
    ----------
    checks : list of Check
    notes : list of str
        What could not be proved, and why.
    """

    checks: list[Check]
    notes: list[str]

    @classmethod
    def of(cls, texts: list[str], numbers: list[float], notes: list[str]) -> Self:
        checks = [Check(*texts[3 * i:3 * i + 3], *numbers[4 * i:4 * i + 3], passed=numbers[4 * i + 3] == 1) for i in range(len(texts) // 3)]
        return cls(checks, list(notes))

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        lines = [f"{'pass' if check.passed else 'FAIL'}  {check.what}: max error {check.max_abs:.3g}" for check in self.checks]
        return "\n".join([*lines, *self.notes])


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What runs wide and how.

    Attributes
    ----------
    facts : dict
        Counts of nodes that run wide, sequential, shared or constant; conversions, schedule, bytes of weights, times.
    rows : list of dict
        For each node: ``op``, ``result``, ``strategy``, ``nanoseconds``, ``measured``, ``module``, the best ``other`` and its
        ``other_nanoseconds``.
    stages : dict
        Text of the graph after each stage, where `Config.snapshots` is on.
    """

    facts: dict[str, Any]
    rows: list[dict[str, Any]]
    stages: dict[str, str]

    @classmethod
    def of(cls, facts: list[str], cells: list[str]) -> Self:
        pairs = dict(zip(facts[::2], facts[1::2]))
        stages = {name.removeprefix("text "): text for name, text in pairs.items() if name.startswith("text ")}
        pairs = {name: text if name == "schedule" else float(text) if "." in text else int(text)
                 for name, text in pairs.items() if not name.startswith("text ")}
        names = ("op", "result", "strategy", "nanoseconds", "measured", "module", "other", "other_nanoseconds")
        rows = []
        for i in range(0, len(cells), len(names)):
            row = dict(zip(names, cells[i:i + len(names)]))
            row.update(nanoseconds=float(row["nanoseconds"]), measured=bool(row["measured"]),
                       other_nanoseconds=float(row["other_nanoseconds"]) if row["other"] else None)
            rows.append(row)
        return cls(pairs, rows, stages)

    @property
    def head(self) -> str:
        facts = self.facts
        return (f"{facts['members']} members: {facts['wide']} operations wide, {facts['sequential']} sequential, {facts['shared']} shared, "
                f"{facts['constant']} constant; {facts['conversions']} layout conversions ({facts['copies']} copies); {facts['schedule']}; "
                f"built in {facts['milliseconds'] / 1000:.2f} s")

    @property
    def text(self) -> str:
        return "\n".join([self.head, *("  " + "  ".join(self._cells(row)) for row in self.rows)])

    @staticmethod
    def _cells(row: dict[str, Any]) -> list[str]:
        cost = f"{row['nanoseconds'] / 1000:.1f} us{'' if row['measured'] else ' estimated'}" if row["nanoseconds"] else ""
        other = f"{row['other']} {row['other_nanoseconds'] / 1000:.1f} us" if row["other"] else ""
        return [f"{row['result']:<16}", f"{row['op'].removeprefix('aten.'):<28}", f"{row['strategy']:<14}", f"{cost:<20}", f"{other:<24}", row["module"]]

    @property
    def svg(self) -> str:
        """The nodes that cost most, a bar each, and a tick for the next best way to run it; empty where no cost is known."""
        costly = sorted((row for row in self.rows if row["nanoseconds"] > 0), key=lambda row: -row["nanoseconds"])[:_SHOWN]
        return _svg.bars("Cost of nodes, and of the next best way",
                         [(f"{row['result']} {row['op'].removeprefix('aten.')}", row["nanoseconds"] / 1000,
                           row["other_nanoseconds"] / 1000 if row["other"] else None, row["measured"]) for row in costly])

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        titles = ("value", "operator", "strategy", "cost", "next best", "module")
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell.strip())}</td>" for cell in self._cells(row)) + "</tr>" for row in self.rows)
        return f"<p>{html.escape(self.head)}</p>{self.svg}<table><tr>{head}</tr>{body}</table>"


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Times of wide calls and of rivals, of the same rounds.

    Attributes
    ----------
    times : dict
        Seconds for a pass of all members, one number a round, by contender.
    others : float
        What part of all processors' time other processes took meanwhile, from 0 to 1. Beyond 0.1 the ratios say little: a
        contender that waits for its second thread waits for them, too.
    """

    times: dict[str, list[float]]
    others: float = 0.0

    @property
    def remark(self) -> str:
        """What speaks against these times, in a line; empty where nothing does."""
        if self.others <= _MOST_BY_OTHERS:
            return ""
        return f"other processes took {100 * self.others:.0f} % of the processors meanwhile: measure again on an idle machine"

    def speedup(self, rival: str) -> tuple[float, float, float]:
        """How many times faster than the rival: median over rounds, and the 95 % interval of that median by bootstrap."""
        ratios = [theirs / ours for ours, theirs in zip(self.times["wide"], self.times[rival])]
        draw = random.Random(0)
        medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(1000))
        return statistics.median(ratios), medians[25], medians[974]

    def __str__(self) -> str:
        width = max(8, *map(len, self.times))
        lines = [f"{'wide':<{width}}  {statistics.median(self.times['wide']) * 1e6:10.1f} us"]
        for rival in self.times:
            if rival != "wide":
                lines.append(f"{rival:<{width}}  {statistics.median(self.times[rival]) * 1e6:10.1f} us   wide is "
                             "{:.2f}x [{:.2f}, {:.2f}]".format(*self.speedup(rival)))
        return "\n".join(lines + [self.remark] * bool(self.remark))

    @property
    def svg(self) -> str:
        """Every round's time of every contender, and its median."""
        return _svg.rounds("Time for a pass of all members, round by round", self.times)

    def _repr_html_(self) -> str:
        rows = [(name, f"{statistics.median(times) * 1e6:.1f} us",
                 "" if name == "wide" else "{:.2f}x [{:.2f}, {:.2f}]".format(*self.speedup(name))) for name, times in self.times.items()]
        head = "".join(f"<th>{title}</th>" for title in ("contender", "median", "wide is faster by"))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"{self.svg}<table><tr>{head}</tr>{body}</table>{html.escape(self.remark)}"


def benchmark(wide, tensors, rivals, rounds):
    apart = [[tensor[i] if own else tensor for tensor, own in zip(tensors, wide._mapped)] for i in range(len(wide))]
    calls = [wide._program.call(one) for one in apart]
    whole = wide._program.call([tensor.movedim(0, move) if move else tensor
                                for tensor, move in zip(tensors, wide._moves or [0] * len(tensors))])
    contenders = {"wide": lambda: wide(*whole[0], **whole[1])}
    modules = wide.unpack() if rivals else []
    for rival in rivals:
        if rival == "eager":
            contenders[rival] = lambda: [module(*args, **kwargs) for module, (args, kwargs) in zip(modules, calls)]
        elif rival == "compile":
            faster = [torch.compile(module) for module in modules]
            contenders[rival] = lambda: [module(*args, **kwargs) for module, (args, kwargs) in zip(faster, calls)]
        elif rival == "vmap":
            contenders[rival] = _vmapped(wide, modules, tensors)
        elif rival == "vmap compile":
            contenders[rival] = torch.compile(_vmapped(wide, modules, tensors))
        else:
            raise Error("usage", f"the rival {rival!r} does not exist; there are eager, compile, vmap and 'vmap compile'", "rivals")
    times = {name: [] for name in contenders}
    draw = random.Random(0)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):  # rivals draw from torch's own generator
        repeats = {}
        for name, call in contenders.items():
            for _ in range(3):
                call()
            repeats[name] = max(1, round(1e-3 / max(_seconds(call, 3), 1e-9)))
        others = _Others()
        for _ in range(rounds):
            for name in draw.sample(list(contenders), len(contenders)):
                times[name].append(_seconds(contenders[name], repeats[name]))
    return Benchmark(times, others.part())


class _Others:
    """How busy other processes have kept the processors since this was made."""

    def __init__(self):
        self._began = self._now()

    @staticmethod
    def _now():
        try:
            with open("/proc/stat") as file:
                user, nice, system, idle, waits, interrupts, soft, stolen = map(int, file.readline().split()[1:9])
        except (OSError, ValueError):  # another system: nothing is known
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        busy = (user + nice + system + interrupts + soft + stolen) / ticks
        return busy, busy + (idle + waits) / ticks, time.process_time()

    def part(self):
        now = self._now()
        if now is None or self._began is None:
            return 0.0
        busy, all_of_it, own = (after - before for after, before in zip(now, self._began))
        rounded = 3 / os.sysconf("SC_CLK_TCK")  # of a short measurement ticks are much
        return min(1.0, max(0.0, (busy - own - rounded) / all_of_it)) if all_of_it > 0 else 0.0


def _seconds(call, repeats):
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def _vmapped(wide, modules, tensors):
    parameters, buffers = torch.func.stack_module_state(modules)
    skeleton = wide._skeleton
    dims = tuple(0 if own else None for own in wide._mapped)

    def one(parameters, buffers, *tensors):
        args, kwargs = wide._program.call(list(tensors))
        return torch.func.functional_call(skeleton, (parameters, buffers), args, kwargs)

    mapped = torch.vmap(one, in_dims=(0, 0, *dims), randomness="different")
    return lambda: mapped(parameters, buffers, *tensors)


def profile(wide, tensors, passes):
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as capture

    args, kwargs = wide._program.call([tensor.movedim(0, move) if move else tensor
                                       for tensor, move in zip(tensors, wide._moves or [0] * len(tensors))])
    with capture(activities=[ProfilerActivity.CPU]) as captured:
        for _ in range(passes):
            wide(*args, **kwargs)
    return captured

"""Of gpu-report: the report as text."""
from __future__ import annotations

import datetime
from typing import Any

from gpu_report_bench import STATES, Bench, Step


def cell(text: Any) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(head: list[str], rows: list[list[Any]]) -> list[str]:
    if not rows:
        return ["(nothing yet)", ""]
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(cell(one) for one in row) + " |" for row in rows), ""]


def ratio(value: float | None, interval: list[float] | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}x" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval and None not in interval else "")


def published_rows(bench: Bench, results: dict[str, dict[str, Any]]) -> list[list[Any]]:
    rows = []
    for name, one in bench.reference["components"].items():
        result = results.get(f"published {name}", {"state": "left", "reason": ""})
        cases = result.get("data") or []
        if not cases:
            rows.append([name, one["n"], "-", f"{one['ratio']:g}x", "", "-", "", f"{result['state']}: {result['reason']}"])
            continue
        for case in cases:
            over, interval = case["over"].get("python_eager") or (None, None)
            reached = "" if over is None else "yes" if over >= one["ratio"] else "no"
            because = (results.get(f"why {name}") or {}).get("data") or {}
            note = case["reason"] or case["disturbed"]
            if reached == "no" and because:
                note = f"bound by {because['bound']}, {100 * because['reached']:.0f} % of the roof"
            rows.append([name, one["n"], ratio(over, interval), f"{one['ratio']:g}x", reached,
                         ratio(case["over_best"], case["over_best_ci"]), case["best"], note or case["verdict"]])
    return rows


def sweep_rows(results: dict[str, dict[str, Any]], begins: str) -> list[list[Any]]:
    rows = []
    for name, result in results.items():
        if not name.startswith(begins + " "):
            continue
        for case in result.get("data") or []:
            others = ", ".join(f"{rival} {ratio(over[0])}" for rival, over in case["over"].items())
            lost = "; ".join(f"{peer['name']}: {peer['reason']}" for peer in case["peers"])
            rows.append([case["key"], f"{case['wide_us'] or 0:.1f} us", ratio(case["over_best"], case["over_best_ci"]), case["best"],
                         others, case["reason"] or case["disturbed"] or lost or case["verdict"]])
    return rows


def report(bench: Bench, steps: list[Step], results: dict[str, dict[str, Any]]) -> str:
    count = {state: sum(result["state"] == state for result in results.values()) for state in STATES}
    device = bench.device
    lines = ["# GPU report", "",
             f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, commit {bench.commit or 'unknown'}, "
             + (f"device {device.get('description')}" if device.get("usable") else f"**no GPU was used**: {device.get('reason')}"),
             "", ", ".join(f"{number} {state}" for state, number in count.items()) + f", of {len(steps)} steps.", ""]
    bad = [[name, result["state"], result["reason"]] for name, result in results.items() if result["state"] == "failed"]
    lines += ["## What failed", "", *table(["step", "state", "reason"], bad)] if bad else []
    lines += ["## Beside the published A100 ratios", "", bench.reference["about"], "",
              *table(["component", "N", "over N eager Python runs [95 %]", "A100, published", "at least that", "over the best rival [95 %]",
                      "best rival", "note"], published_rows(bench, results))]
    below = [case for name, result in results.items() if name.split()[0] in ("published", "sweep", "compiled")
             for case in result.get("data") or [] if case["over_best"] is not None and case["over_best"] < 0.95]
    lines += [f"Below 0.95 of the best rival: {len(below)}" + "".join(f"; {case['key']} {ratio(case['over_best'])}" for case in below), ""]
    for title, begins in (("Sweep", "sweep"), ("Compiled rivals", "compiled")):
        lines += [f"## {title}", "", *table(["case", "wide", "over the best rival [95 %]", "best rival", "over each", "note"],
                                            sweep_rows(results, begins))]
    lines += ["## Captures beside torch.profiler's", "",
              *table(["model", "state", "kernels", "launches a pass", "ours, us a pass", "torch.profiler's", "note"],
                     [[name, result["state"], data.get("kernels", "-"), data.get("launches", "-"), f"{data.get('ours_us', 0):.1f}",
                       f"{data.get('theirs_us', 0):.1f}", result["reason"]]
                      for name, result in results.items() if name.startswith("captures ")
                      for data in [result.get("data") or {}]])]
    found = (results.get("peaks") or {}).get("data") or {}
    if found:
        lines += ["## What the GPU reaches", "",
                  *table(["what", "reached"],
                         [[f"product, {dtype}", f"{flops / 1e12:.2f} TFLOP/s"] for dtype, flops in found["flops"].items()]
                         + [[f"copy of {level['bytes'] / 2**20:.2f} MiB", f"{level['bytes_per_second'] / 1e9:.0f} GB/s"]
                            for level in found["bandwidth"]]
                         + [["a launch, host", f"{found['launch_us']:.2f} us"], ["kernel to kernel", f"{found['gap_us']:.2f} us"],
                            ["kernel to kernel in a graph", f"{found['graph_gap_us']:.2f} us"]])]
    lines += ["## Every step", "", *table(["step", "state", "seconds", "reason"],
                                          [[step.name, result["state"], result["seconds"], result["reason"]] for step in steps
                                           for result in [results[step.name]]])]
    return "\n".join(lines)

#!/usr/bin/env python3
"""A table of Markdown over reports of `widebench runs export -o X.json`: wide beside each rival, and the geometric means.

usage: rivals_table.py REPORT.json...

`apart` is ours, too: N models one after the other by the kernels that wide has. So the best rival is said with and without it.
Ratios are the report's own: medians of ratios within rounds. The interval is that of the least. Where a report has mode eager
beside others (`-c eager,default`), a last line compares them, each by its ratio over the same rival in its own rounds.
"""
import json
import math
import sys

OURS = "apart"
PLAIN = ("eager", "threads")
SLOWER = 0.97


def least(rivals):
    """The rival over which wide gains least: (ratio, low, high, name)."""
    known = [(one["speedup"], *one["speedup_ci95"], name) for name, one in rivals.items() if one.get("speedup")]
    return min(known) if known else None


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def cases(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from json.load(file)["cases"]


def title(case):
    shape = ",".join(f"{name}={size}" for name, size in case["shape"].items())
    return f"{case['subject']} {shape}".strip(), f"{case['n']}", case["mode"]


def over_own_eager(cases):
    """Of each mode but eager, ratios of the cases that were measured in both: {mode: [(ratio, title)]}."""
    by_mode = {}
    for case in cases:
        by_mode.setdefault(case["mode"], {})[json.dumps([case.get(name) for name in ("subject", "shape", "n", "dtype", "strategy")])] = case
    eager = by_mode.pop("eager", {})
    found = {}
    for mode, own in by_mode.items():
        for key in own.keys() & eager.keys():
            ratios = [own[key]["rivals"][name]["speedup"] / eager[key]["rivals"][name]["speedup"]
                      for name in PLAIN if all(one["rivals"].get(name, {}).get("speedup") for one in (own[key], eager[key]))]
            if ratios:
                found.setdefault(mode, []).append((ratios[0], " N=".join(title(own[key])[:2])))
    return found


def main(paths):
    all_cases = list(cases(paths))
    measured = [case for case in all_cases if case.get("rivals") and least(case["rivals"])]
    names = sorted({name for case in measured for name in case["rivals"]}, key=lambda name: (name.startswith("python"), name))
    print("| | N | mode | wide, us | " + " | ".join(f"over {name}" for name in names) + f" | over the best but {OURS} | over the best |")
    print("|" + "---|" * (len(names) + 6))
    best_of_others, best_of_all, best_of_plain = [], [], []
    for case in measured:
        rivals = case["rivals"]
        others = least({name: one for name, one in rivals.items() if name != OURS})
        best = least(rivals)
        plain = least({name: one for name, one in rivals.items() if name in PLAIN})
        for found, ratios in ((others, best_of_others), (best, best_of_all), (plain, best_of_plain)):
            if found:
                ratios.append(found[0])
        cells = [f"{rivals[name]['speedup']:.2f}" if rivals.get(name, {}).get("speedup") else "" for name in names]
        said = ["{0:.2f} [{1:.2f}, {2:.2f}] {3}".format(*one) if one else "" for one in (others, best)]
        print("| " + " | ".join([*title(case), f"{case['wide']['median_us']:.1f}", *cells, *said]) + " |")
    print()
    for what, ratios in (
        (f"the best but {OURS}", best_of_others),
        ("the best", best_of_all),
        (f"the better of {' and '.join(PLAIN)}", best_of_plain),
    ):
        if ratios:
            below = sum(ratio < SLOWER for ratio in ratios)
            print(f"Over {what}: geometric mean {geometric_mean(ratios):.2f} of {len(ratios)} cases, least {min(ratios):.2f}, {below} below {SLOWER}.")
    for mode, ratios in over_own_eager(measured).items():
        below = sorted(one for one in ratios if one[0] < SLOWER)
        print(f"Mode {mode} over our own eager: geometric mean {geometric_mean([ratio for ratio, _ in ratios]):.2f} of {len(ratios)} cases, "
              f"least {min(ratios)[0]:.2f}; below {SLOWER}: {', '.join(f'{name} {ratio:.2f}' for ratio, name in below) or 'none'}.")
    if left := len(all_cases) - len(measured):
        print(f"Not measured: {left} cases.")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])

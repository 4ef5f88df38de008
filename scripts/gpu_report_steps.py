"""Of gpu-report: the steps, each a function of a Bench that gives data, or raises why there are none."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
from collections.abc import Callable
from typing import Any

from gpu_report_bench import CAPTURED_MEMBERS, CAPTURED_PASSES, COMPILED, OUTSIDE, RIVALS, ROOT, SUM_OF_TIMES, UNTIED, Bench, Failed, OutOfTime, Skip, Step


def doctor(bench: Bench) -> Any:
    checks = [check for check in bench.document("doctor", limit=120)["checks"] if check["area"] == "gpu"]
    if not bench.device.get("usable"):
        raise Failed(bench.device.get("reason") or "the program knows no device cuda", checks)
    untraced = [check for check in checks if check["what"] == "tracing" and check["state"] != "ok"]
    if untraced:
        raise Failed(f"no kernel can be traced: {untraced[0]['found']}", checks)
    return checks


def tests(bench: Bench) -> Any:
    data: dict[str, Any] = {}
    for name in ("gpu_test", "cuda_test"):
        program = bench.program.parent / name
        if not program.is_file():
            continue
        report = bench.folder / f"{name}.json"
        done = bench.call(program, f"--gtest_output=json:{report}", limit=420)
        if not report.is_file():
            raise Failed(f"{name}: {done.last_line()}", data)
        cases = [case for suite in json.loads(report.read_text())["testsuites"] for case in suite["testsuite"]]
        failed = [f"{case['classname']}.{case['name']}" for case in cases if case.get("failures")]
        skipped = sum(case["result"] == "SKIPPED" for case in cases)
        data[name] = {"passed": len(cases) - len(failed) - skipped, "failed": failed, "skipped": skipped}
        if done.code != 0 and not failed:
            raise Failed(f"{name}: {done.last_line()}", data)
    if not data:
        raise Skip(f"no gpu_test lies beside {bench.program.name}")
    bad = [name for one in data.values() for name in one["failed"]]
    if bad:
        raise Failed(f"{len(bad)} failed: {', '.join(bad[:5])}", data)
    return data


def kernels_of(capture: dict[str, Any]) -> dict[str, dict[str, float]]:
    """{name: count and microseconds a pass}; copies are named by both sides, each in its own way."""
    passes = max(1, capture["passes"])
    result: dict[str, dict[str, float]] = {}
    for row in capture["kernels"]:
        name = row["name"]
        if row["kind"] in ("memcpy", "memset"):
            name = " ".join(name.split()[: 2 if row["kind"] == "memcpy" else 1])
        one = result.setdefault(name, {"count": 0, "us": 0})
        one["count"] += row["count"] / passes
        one["us"] += row["total_us"] / passes
    return result


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What two captures of the same passes do not agree on; empty where they do."""
    mine, other = kernels_of(ours), kernels_of(theirs)
    if not mine or not other:
        return [f"{'ours' if not mine else 'that of torch.profiler'} has no kernel"]
    problems = [f"only ours has {name}" for name in sorted(mine.keys() - other.keys())]
    problems += [f"only torch.profiler's has {name}" for name in sorted(other.keys() - mine.keys())]
    problems += [f"{name}: {mine[name]['count']:.2f} a pass, torch.profiler's {other[name]['count']:.2f}"
                 for name in sorted(mine.keys() & other.keys()) if abs(mine[name]["count"] - other[name]["count"]) > 0.01]
    sums = [sum(one["us"] for one in kernels.values()) for kernels in (mine, other)]
    if abs(sums[0] / sums[1] - 1) > SUM_OF_TIMES:
        problems.append(f"all kernels: {sums[0]:.1f} us a pass, torch.profiler's {sums[1]:.1f} us")
    return problems


def sizes_of(name: str, preset: str) -> list[str]:
    """["batch=16", …] of a subject in a preset."""
    cases = json.loads((ROOT / "presets" / f"{preset}.json").read_text())["cases"]
    return [f"{size}={number}" for size, number in next(case["shape"] for case in cases if case["subject"] == name).items()]


def captures(name: str) -> Callable[[Bench], Any]:
    """The members apart, one after the other: libtorch calls the same operators from C++ and from Python."""
    def run(bench: Bench) -> Any:
        folder = bench.folder / "captures"
        folder.mkdir(exist_ok=True)
        exported, trace = folder / name, folder / f"{name}.torch.json"
        bench.widebench("export", name, "-n", CAPTURED_MEMBERS, "-o", exported, "--force", "--size", *sizes_of(name, "quick"))
        done = bench.call(bench.python, ROOT / "scripts/gpu-report", "--torch-profile", exported, trace, limit=180)
        if done.code != 0:
            raise Failed(f"torch.profiler: {done.last_line()}")
        ours = bench.document("profile", name, "-p", "quick", "-n", CAPTURED_MEMBERS, "--device", "cuda", "--passes", CAPTURED_PASSES, "--trace",
                              folder / f"{name}.json.gz")
        theirs = bench.document("profile", "--from", trace)["captures"][0]
        eager = next(capture for capture in ours["captures"] if capture["contender"] == "eager")
        sums = [sum(one["us"] for one in kernels_of(one).values()) for one in (eager, theirs)]
        data = {"ours_us": sums[0], "theirs_us": sums[1], "kernels": len(kernels_of(eager)),
                "launches": eager["activity"]["launches"],
                "complete": [capture["completeness"]["because"] for capture in ours["captures"]]}
        problems = differences(eager, theirs)
        problems += [f"{capture['contender']} is incomplete: {why}" for capture in ours["captures"]
                     for why in capture["completeness"]["because"]]
        if problems:
            raise Failed("; ".join(problems)[:600], data)
        return data
    return run


def graphs(name: str) -> Callable[[Bench], Any]:
    """The members apart, launched one by one and as one CUDA Graph: each node has as many kernels here as there."""
    def run(bench: Bench) -> Any:
        found = bench.document("profile", name, "-n", CAPTURED_MEMBERS, "--device", "cuda", "--passes", CAPTURED_PASSES,
                               "--mode", "reduce-overhead", "--rivals", "eager,graph")
        by_name = {capture["contender"]: capture for capture in found["captures"]}
        kernels = {contender: {node["name"]: node["launches"] for node in capture["nodes"]} for contender, capture in by_name.items()}
        data = {contender: sum(count for node, count in nodes.items() if node != OUTSIDE) for contender, nodes in kernels.items()}
        problems = [f"{contender}: {capture['facts'][UNTIED]} of no node" for contender, capture in by_name.items()
                    if UNTIED in capture["facts"]]
        problems += [f"{node}: {count:g} kernels in a graph, {kernels['eager'].get(node, 0):g} launched one by one"
                     for node, count in kernels["graph"].items() if abs(count - kernels["eager"].get(node, 0)) > 0.01]
        if "replayed" not in by_name["wide"]["facts"]:
            problems.append("wide could not be recorded")
        if problems:
            raise Failed("; ".join(problems)[:600], data)
        return data
    return run


def peaks(bench: Bench) -> Any:
    found = bench.document("profile", "mlp", "-n", 4, "--device", "cuda", "--rivals", "none", "--measure-peaks")["roofline"]["peaks"]
    missing = [key for key in ("launch_us", "gap_us", "graph_gap_us") if not found[key] > 0]
    if missing:
        raise Failed(f"not measured: {', '.join(missing)}", found)
    return found


def measured(subject: str, members: int, rivals: str, name: str) -> Callable[[Bench], Any]:
    def run(bench: Bench) -> Any:
        report = bench.folder / "reports" / f"{name.replace(' ', '-')}.json"
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        done = bench.widebench("benchmark", subject, "-n", members, "-p", bench.preset, f"-c={bench.mode}", "--device", "cuda", "--rivals",
                               rivals, "-o", report, "--db", bench.folder / "results.db", limit=400, may_fail=True)
        if not report.is_file():
            raise Failed(done.last_line())
        cases = []
        for case in json.loads(report.read_text())["cases"]:
            # A case that did not end has no times, no plan and no circumstances.
            timed, plan, around = (case.get(key) or {} for key in ("rivals", "plan", "circumstances"))
            cases.append({"key": case["key"], "verdict": case["verdict"], "reason": case["reason"],
                          "wide_us": (case.get("wide") or {}).get("median_us"),
                          "best": case["best_rival"], "over_best": case["speedup_best_rival"],
                          "over_best_ci": case["speedup_best_rival_ci95"],
                          "over": {rival: [one["speedup"], one["speedup_ci95"]] for rival, one in timed.items()},
                          "disturbed": around.get("disturbed") or "",
                          "peers": [peer for peer in plan.get("peers") or [] if not peer["ok"]]})
        bad = [case for case in cases if case["verdict"] not in ("pass", "skipped")]
        if bad:
            raise Failed(f"{bad[0]['key']}: {bad[0]['verdict']}: {bad[0]['reason']}"[:400], cases)
        return cases
    return run


def proved(subjects: list[str], *arguments: str) -> Callable[[Bench], Any]:
    def run(bench: Bench) -> Any:
        done = bench.widebench("test", *subjects, *arguments, "--device", "cuda", "--json", limit=400, may_fail=True)
        try:
            cases = json.loads(done.out)
        except json.JSONDecodeError:
            raise Failed(done.last_line()) from None
        count = {verdict: sum(case["verdict"] == verdict for case in cases) for verdict in ("pass", "fail", "skipped", "error")}
        bad = [{"name": case["subject"], "strategy": case["strategy"], "verdict": case["verdict"],
                "why": case.get("reason") or next((check["text"] for check in case["checks"] if not check["passed"]), "")}
               for case in cases if case["verdict"] in ("fail", "error")]
        data = {"count": count, "bad": bad}
        if bad:
            raise Failed(f"{len(bad)} of {len(cases)}: {bad[0]['name']}: {bad[0]['why']}"[:400], data)
        return data
    return run


def sanitizer(bench: Bench) -> Any:
    tool = shutil.which("compute-sanitizer") or next(
        (path for path in ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer")
         if os.access(path, os.X_OK)), None)
    if not tool:
        raise Skip("there is no compute-sanitizer in PATH nor in /usr/local/cuda")
    program = bench.program.parent / "gpu_test"
    if not program.is_file():
        raise Skip(f"no gpu_test lies beside {bench.program.name}")
    # What cannot be recorded is tried all the same: that the driver refuses it is no error of memory.
    done = bench.call(tool, "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9", program,
                      "--gtest_filter=Gpu.PassesAreRecordedIntoGraphs:Gpu.RivalsRun:Gpu.MeasuringFindsAPlanThatIsRight", limit=420)
    summary = [line for line in (done.out + done.err).splitlines() if "ERROR SUMMARY" in line]
    if done.code != 0:
        raise Failed(summary[-1] if summary else done.last_line())
    return summary[-1] if summary else "no error"


def why(subject: str, members: int, kept: Callable[[str], dict[str, Any] | None], published: float) -> Callable[[Bench], Any]:
    def run(bench: Bench) -> Any:
        result = kept(f"published {subject}")
        if result is None or result["state"] == "left":
            raise OutOfTime  # it is not known yet
        cases = result.get("data") or []
        if not cases:
            raise Skip("it was not measured")
        ratio = (cases[0]["over"].get("python_eager") or [None])[0]
        if ratio is not None and ratio >= published:
            raise Skip(f"{ratio:.1f}x reaches the published {published:g}x")
        found = bench.document("profile", subject, "-n", members, "-p", bench.preset, "--mode", bench.mode, "--device", "cuda",
                               "--rivals", "eager", "--roofline")
        total = found["roofline"]["total"]
        gain = found["comparisons"][0]["gain"]
        return {"bound": total["bound"], "reached": total["fraction"], "roof_us": total["roof_us"],
                "practical_us": total["practical_us"], "time_us": total["time_us"], "gain": gain}
    return run


def all_steps(bench: Bench, kept: Callable[[str], dict[str, Any] | None]) -> list[Step]:
    components = bench.reference["components"]

    def compiled(members: int) -> list[Step]:
        return [Step(step, measured(name, members, COMPILED, step)) for name in (*bench.models, *components)
                for step in [f"compiled {name} N={members}"]]

    steps = [Step("doctor", doctor, needs_gpu=False), Step("tests", tests)]
    steps += [Step(f"captures {name}", captures(name)) for name in bench.captured]
    steps += [Step(f"graphs {name}", graphs(name)) for name in bench.captured]
    steps.append(Step("peaks", peaks))
    for name, one in components.items():
        steps.append(Step(f"published {name}", measured(name, one["n"], RIVALS, f"published {name}")))
    subjects = [name for name in bench.subjects if not bench.only or name in bench.only]
    chunk = 8
    for begin in range(0, len(subjects), chunk):
        part = subjects[begin:begin + chunk]
        steps.append(Step(f"proofs {begin // chunk + 1}", proved(part, "-s", "all")))
    for begin in range(0, len(subjects), 4 * chunk):
        part = subjects[begin:begin + 4 * chunk]
        steps.append(Step(f"proofs of graphs {begin // (4 * chunk) + 1}", proved(part, "--mode", "reduce-overhead")))
    steps.append(Step("sanitizer", sanitizer))
    for members in sorted(bench.members, key=lambda n: (n not in (4, 64), n)):
        for name in (*bench.models, *components):
            if name in components and components[name]["n"] == members:
                continue
            step = f"sweep {name} N={members}"
            steps.append(Step(step, measured(name, members, RIVALS, step)))
        if members == 4:
            steps += compiled(members)
    for name, one in components.items():
        steps.append(Step(f"why {name}", why(name, one["n"], kept, one["ratio"])))
    for members in bench.members:
        if members != 4:
            steps += compiled(members)
    return steps


def torch_profile(folder: str, trace: str) -> int:
    """The members of an exported folder, one after the other on the GPU, as torch.profiler sees them."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import peers
    import torch
    with torch.inference_mode():
        subject = peers.Subject(pathlib.Path(folder), peers.open_device("cuda"))
        run = peers.eager(subject)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
                                    schedule=torch.profiler.schedule(wait=1, warmup=3, active=CAPTURED_PASSES),
                                    on_trace_ready=lambda profile: profile.export_chrome_trace(trace)) as profile:
            for _ in range(4 + CAPTURED_PASSES):
                run()
                subject.device.synchronize()
                profile.step()
    return 0

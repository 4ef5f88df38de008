"""scripts/gpu-report without a GPU and on a made-up one: the whole report, each step's reason, and that a second call goes on.

usage: gpu_report_test.py WIDEBENCH MADE_UP
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import program

WIDEBENCH = MADE_UP = None
ROOT = program.HERE.parents[1]
SCRIPT = ROOT / "scripts" / "gpu-report"


def load():
    loader = importlib.machinery.SourceFileLoader("gpu_report", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_report", loader))
    sys.modules["gpu_report"] = module
    loader.exec_module(module)
    return module


gpu_report = load()
import gpu_report_bench  # noqa: E402
import gpu_report_steps  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def call(self, program_path, *arguments, code, python=sys.executable):
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), XDG_DATA_HOME=str(self.folder / "data"),
                           OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([sys.executable, SCRIPT, "--program", program_path, "--python", python, "-o", self.folder / "out",
                               *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=800, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr, (self.folder / "out/report.md").read_text(encoding="utf-8")

    def program_that(self, text):
        path = self.folder / "program"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path


class Reports(Case):
    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU here")
    def test_without_a_gpu_every_step_has_its_reason(self):
        text, report = self.call(WIDEBENCH, code=3)
        self.assertIn("**no GPU was used**", report)
        steps = [line for line in report.split("## Every step")[1].splitlines() if line.startswith("| ") and "| step |" not in line]
        self.assertGreater(len(steps), 100)
        for line in steps:
            self.assertRegex(line, r"\| (skipped|failed) \| [0-9.]+ \| .{20,} \|$")
        for name in json.loads(gpu_report_bench.REFERENCE.read_text())["components"]:
            self.assertIn(f"| {name} |", report)
        self.assertEqual(len(steps), sum(line.startswith(("skipped", "failed")) for line in text.splitlines()))

    def test_on_a_made_up_gpu_and_once_more(self):
        python = self.folder / "python"
        python.write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT}/tests/peers/on_made_up_cuda.py \"$@\"\n")
        python.chmod(0o755)
        arguments = ("--subjects", "mlp,linear", "--members", "32", "-p", "ci")  # linear is published at 32: one sweep less
        _, report = self.call(MADE_UP, *arguments, code=1, python=python)
        self.assertIn("device Made-up GPU", report)
        self.assertRegex(report, r"\| doctor \| passed \|")
        self.assertRegex(report, r"\| peaks \| (passed|failed) \|")
        self.assertRegex(report, r"\| proofs 1 \| passed \|")
        self.assertRegex(report, r"\| proofs of graphs 1 \| passed \|")
        self.assertRegex(report, r"\| published linear \| passed \|")
        self.assertRegex(report, r"\| graphs mlp \| passed \|")
        self.assertRegex(report, r"\| sweep mlp N=32 \| passed \|")
        self.assertRegex(report, r"\| compiled linear N=32 \| (passed|failed) \|")
        self.assertRegex(report, r"\| sanitizer \| skipped \|")
        self.assertRegex(report, r"\| why linear \| (passed|skipped|failed) \|")
        self.assertRegex(report, r"\| captures mlp \| failed \|")  # torch.profiler sees no made-up kernel: told, and gone on
        self.assertRegex(report, r"\| tests \| skipped \| [0-9.]+ \| no gpu_test lies beside widebench \|")
        self.assertIn("| linear | 32 |", report)
        steps = self.folder / "out/steps"
        before = {file.name: file.stat().st_mtime_ns for file in steps.iterdir()}
        text, _ = self.call(MADE_UP, *arguments, code=1, python=python)
        again = {line.split(":")[0].split(None, 1)[1].replace(" ", "-") + ".json" for line in text.splitlines()
                 if line.startswith(("passed", "failed", "skipped", "left"))}
        self.assertTrue(all((steps / name).is_file() for name in again), again)
        for name, when in before.items():
            if name not in again and name != "of.txt":
                self.assertEqual((steps / name).stat().st_mtime_ns, when, name)
        for name in ("doctor.json", "proofs-1.json", "published-linear.json", "captures-mlp.json"):
            self.assertNotIn(name, again)

    def test_without_time_all_is_left(self):
        text, report = self.call(MADE_UP, "--subjects", "mlp", "--members", "8", "--minutes", "0.01", code=1)
        self.assertIn("call it again to go on", text)
        self.assertRegex(report, r"\| captures mlp \| left \|")

    def test_a_program_that_does_not_answer_costs_no_report(self):
        _, report = self.call(self.program_that("exit 1\n"), code=3)
        self.assertIn("the program does not answer", report)


class Steps(Case):
    def bench(self, text="exit 0\n"):
        return gpu_report.Bench(gpu_report.read_options(["--program", str(self.program_that(text)), "-o", str(self.folder)]))

    def test_a_carried_program_finds_the_libtorch_of_python(self):
        bench = self.bench('case "$LD_LIBRARY_PATH" in */torch/lib:*/nvidia/cu13/lib*) exit 0 ;; esac\nexit 127\n')
        (self.folder / "site/nvidia/cu13/lib").mkdir(parents=True)
        python = self.folder / "python"
        python.write_text(f"#!/bin/sh\necho {self.folder}/site/torch\n")
        python.chmod(0o755)
        bench.python = str(python)
        gpu_report.let_it_find_libtorch(bench)
        self.assertEqual(bench.call(bench.program, "--version").code, 0)

    def test_a_carried_program_brings_what_the_machine_lacks(self):
        bench = self.bench('[ -e "${LD_LIBRARY_PATH##*:}/liblacks.so.1" ]\n')
        for name in ("liblacks.so.1", "libhas.so.1"):
            (self.folder / name).touch()
        tools = self.folder / "tools"
        tools.mkdir()
        for name, text in (("ldd", "printf '\\tliblacks.so.1 => not found\\n\\tlibhas.so.1 => /lib/libhas.so.1 (0x1)\\n'"), ("python", "echo /torch")):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        bench.python = str(tools / "python")
        bench.environment["PATH"] = f"{tools}:{os.environ['PATH']}"
        gpu_report.let_it_find_libtorch(bench)
        self.assertEqual([file.name for file in (self.folder / "libraries").iterdir()], ["liblacks.so.1"])
        self.assertEqual(bench.call(bench.program, "--version").code, 0)

    def test_a_build_is_carried_in_less_than_50_megabytes(self):
        if not (pathlib.Path(WIDEBENCH).parent / "gpu_test").is_file():
            self.skipTest("gpu_test is not built")
        carried = self.folder / "carried"
        done = subprocess.run([ROOT / "scripts/carry", carried, WIDEBENCH], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {file.name for file in carried.iterdir()}
        self.assertLessEqual({"widebench", "gpu_test", "cuda_test", "libwide_cuda.so", "libwide_cuda_run.so", "libfmt.so.9"}, names)
        self.assertFalse([name for name in names if "torch" in name or "window" in name])
        self.assertLess(sum(file.stat().st_size for file in carried.iterdir()), 50 << 20)
        self.assertEqual(subprocess.run([carried / "widebench", "--version"], stdout=subprocess.DEVNULL, check=False).returncode, 0)
        (self.folder / "other").mkdir()
        (self.folder / "other/mine.txt").touch()
        done = subprocess.run([ROOT / "scripts/carry", self.folder / "other", WIDEBENCH], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertTrue((self.folder / "other/mine.txt").exists())

    def test_tests_beside_the_program_are_counted_with_and_without_the_sanitizer(self):
        bench = self.bench()
        bench.device = {"usable": True}
        answer = {"testsuites": [{"testsuite": [{"classname": "Gpu", "name": "Runs", "result": "COMPLETED"}, {"classname": "Gpu", "name": "Skips", "result": "SKIPPED"},
                                                {"classname": "Gpu", "name": "Breaks", "result": "COMPLETED", "failures": [{}]}]}]}
        (self.folder / "answer.json").write_text(json.dumps(answer))
        (self.folder / "gpu_test").write_text(f'#!/bin/sh\ncp {self.folder}/answer.json "${{1#--gtest_output=json:}}"; exit 1\n')
        (self.folder / "gpu_test").chmod(0o755)
        result = gpu_report.done_step(gpu_report_bench.Step("tests", gpu_report_steps.tests), bench)
        self.assertEqual((result["state"], result["reason"]), ("failed", "1 failed: Gpu.Breaks"))
        self.assertEqual(result["data"], {"gpu_test": {"passed": 1, "failed": ["Gpu.Breaks"], "skipped": 1}})
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{self.folder}:{before}"
        for code, state in ((0, "passed"), (9, "failed")):
            (self.folder / "compute-sanitizer").write_text(f"#!/bin/sh\necho '========= ERROR SUMMARY: {code} errors'; exit {code}\n")
            (self.folder / "compute-sanitizer").chmod(0o755)
            result = gpu_report.done_step(gpu_report_bench.Step("sanitizer", gpu_report_steps.sanitizer), bench)
            self.assertEqual(result["state"], state)
            self.assertIn(f"ERROR SUMMARY: {code} errors", result["reason"] or result["data"])

    def test_what_is_not_proved_is_named(self):
        case = {"subject": "linear", "strategy": "stacked", "verdict": "fail", "reason": "", "checks": [{"passed": False, "text": "1 is not 2"}]}
        (self.folder / "answer.json").write_text(json.dumps([{**case, "verdict": "pass", "checks": []}, case]))
        bench = self.bench(f"cat {self.folder}/answer.json; exit 1\n")
        bench.device = {"usable": True}
        result = gpu_report.done_step(gpu_report_bench.Step("proofs 1", gpu_report_steps.proved(["linear"], "-s", "all")), bench)
        self.assertEqual((result["state"], result["reason"]), ("failed", "1 of 2: linear: 1 is not 2"))

    def test_a_graph_whose_kernels_are_of_other_nodes_is_told(self):
        def capture(contender, facts=None, **launches):
            return {"contender": contender, "facts": facts or {}, "nodes": [{"name": name, "launches": count} for name, count in launches.items()]}
        wide = capture("wide", {"replayed": "a CUDA Graph"}, mm=1)
        for captures, words in (([wide, capture("eager", mm=4), capture("graph", mm=4)], ""),
                                ([wide, capture("eager", mm=4), capture("graph", mm=3)], "mm: 3 kernels in a graph, 4 launched one by one"),
                                ([wide, capture("eager", mm=4), capture("graph", {gpu_report_bench.UNTIED: "4 of 4: no ids"}, mm=4)], "graph: 4 of 4: no ids of no node"),
                                ([capture("wide", mm=1), capture("eager", mm=4), capture("graph", mm=4)], "wide could not be recorded")):
            (self.folder / "answer.json").write_text(json.dumps({"captures": captures}))
            bench = self.bench(f"cat {self.folder}/answer.json\n")
            bench.device = {"usable": True}
            result = gpu_report.done_step(gpu_report_bench.Step("graphs mlp", gpu_report_steps.graphs("mlp")), bench)
            self.assertEqual((result["state"], result["reason"]), ("failed" if words else "passed", words))

    def test_what_hangs_is_ended_and_told(self):
        bench = self.bench("sleep 60 & sleep 60\n")
        bench.device = {"usable": True}
        begun = time.monotonic()
        result = gpu_report.done_step(gpu_report_bench.Step("one", lambda bench: bench.widebench("doctor", limit=1)), bench)
        self.assertEqual(result["state"], "failed")
        self.assertIn("took longer than 1 s", result["reason"])
        self.assertLess(time.monotonic() - begun, 30)

    def test_whatever_a_step_meets_costs_itself_alone(self):
        bench = self.bench("echo '{'; exit 0\n")
        bench.device = {"usable": True}
        result = gpu_report.done_step(gpu_report_bench.Step("one", lambda bench: bench.document("doctor")), bench)
        self.assertEqual(result["state"], "failed")

    def test_results_of_another_build_are_not_kept(self):
        kept = gpu_report.Kept(self.folder, "a")
        kept.put("one two", {"state": "passed"})
        self.assertEqual(gpu_report.Kept(self.folder, "a").get("one two"), {"state": "passed"})
        self.assertIsNone(gpu_report.Kept(self.folder, "b").get("one two"))

    def test_a_case_that_did_not_end_has_its_verdict(self):
        case = {"key": "linear/n=32", "verdict": "timeout", "reason": "30 s were over", "best_rival": "", "speedup_best_rival": None,
                "speedup_best_rival_ci95": None, "rivals": None, "plan": None, "circumstances": None, "wide": None}
        (self.folder / "case.json").write_text(json.dumps({"cases": [case]}))
        bench = self.bench(f'while [ "$1" != -o ]; do shift; done; cp {self.folder}/case.json "$2"; exit 3\n')
        bench.device = {"usable": True}
        result = gpu_report.done_step(gpu_report_bench.Step("one", gpu_report_steps.measured("linear", 32, "eager", "one")), bench)
        self.assertEqual(result["reason"], "linear/n=32: timeout: 30 s were over")

    def test_only_what_needs_a_reason_is_asked_for_one(self):
        bench = self.bench()
        bench.device = {"usable": True}
        for over, state in ((9.5, "skipped"), (None, "failed")):
            published = {"state": "passed", "data": [{"over": {"python_eager": [over, None]}}]}
            step = gpu_report_bench.Step("why linear", gpu_report_steps.why("linear", 32, lambda _, kept=published: kept, 8.8))
            self.assertEqual(gpu_report.done_step(step, bench)["state"], state)


class Captures(unittest.TestCase):
    @staticmethod
    def capture(passes=10, **kernels):
        return {"passes": passes, "kernels": [{"name": name, "kind": "kernel", "count": count * passes, "total_us": us * passes}
                                              for name, (count, us) in kernels.items()]}

    def test_equal_ones_have_no_difference(self):
        ours = self.capture(gemm=(4, 100), relu=(4, 8))
        self.assertEqual(gpu_report_steps.differences(ours, self.capture(20, gemm=(4, 101), relu=(4, 8))), [])

    def test_names_counts_and_times_are_compared(self):
        ours = self.capture(gemm=(4, 100), relu=(4, 8))
        for other, words in ((self.capture(gemm=(4, 100)), "only ours has relu"),
                             (self.capture(gemm=(4, 100), relu=(4, 8), add=(1, 0.1)), "only torch.profiler's has add"),
                             (self.capture(gemm=(4, 100), relu=(5, 8)), "relu: 4.00 a pass, torch.profiler's 5.00"),
                             (self.capture(gemm=(4, 103), relu=(4, 8)), "all kernels: 108.0 us a pass"),
                             (self.capture(), "torch.profiler has no kernel")):
            with self.subTest(words):
                self.assertIn(words, "; ".join(gpu_report_steps.differences(ours, other)))

    def test_copies_are_named_alike(self):
        def copied(name):
            return {"passes": 1, "kernels": [{"name": name, "kind": "memcpy", "count": 1, "total_us": 2}]}
        self.assertEqual(gpu_report_steps.differences(copied("Memcpy DtoD"), copied("Memcpy DtoD (Device -> Device)")), [])


if __name__ == "__main__":
    MADE_UP = sys.argv.pop()
    WIDEBENCH = sys.argv.pop()
    unittest.main(verbosity=2)

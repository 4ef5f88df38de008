"""`benchmark`, `test` and `export` on built-in subjects: strategies, refusals, folders for other programs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import CORPUS, read_safetensors, run

PROGRAM = sys.argv.pop()


class Benchmark(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def benchmark(self, *arguments):
        done = run(PROGRAM, "benchmark", *arguments, "-p", "ci", "--db", self.folder / "r.db", "--json")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return done.returncode, json.loads(done.stdout), done.stderr

    def test_strategies_are_cases_of_their_own(self):
        code, report, text = self.benchmark("conv2d", "-n", "2,4", "-s", "auto", "grouped", "sequential")
        self.assertEqual(code, 0)
        found = {(case["strategy"], case["n"]): case["verdict"] for case in report["cases"]}
        self.assertEqual(set(found), {(s, n) for s in ("auto", "grouped", "sequential") for n in (2, 4)})
        self.assertEqual(set(found.values()), {"pass"})
        for case in report["cases"]:
            if case["strategy"] != "auto":
                self.assertIn(case["strategy"], {node["strategy"] for node in case["plan"]["strategies"]})
        self.assertRegex(report["tool"]["git_commit"], "^([0-9a-f]{40}(-dirty)?|sources-[0-9a-f]{16})$")
        for case in report["cases"]:
            self.assertEqual(case["circumstances"]["regime"], "hot")
            self.assertIn("passes after they were timed", [check["what"] for check in case["checks"]])
        if any("disturbed" in case["circumstances"] for case in report["cases"]):
            self.skipTest("other work took the machine: what wins is not known, and not said")
        by_name = {entry["strategy"]: entry for entry in report["summary"]["strategies"]}
        self.assertEqual(by_name["grouped"]["contests"], 2)
        self.assertEqual(by_name["grouped"]["fastest"] + by_name["sequential"]["fastest"], 2)
        self.assertEqual(len(report["summary"]["crossovers"]), 3)
        for words in ("by strategy", "wide pays from N ="):
            self.assertIn(words, text)

    def test_axes_of_the_command_line(self):
        code, report, _ = self.benchmark("linear", "-n", "2", "--dtype", "float32,float64", "--shape", "batch=2,3",
                                         "--rivals", "eager", "-c=eager,reduce-overhead")
        self.assertEqual(code, 0)
        found = {(case["dtype"], case["shape"]["batch"], case["mode"]) for case in report["cases"]}
        self.assertEqual(len(found), 8)
        for case in report["cases"]:
            self.assertEqual(list(case["rivals"]), ["eager"])
        for wrong in ("batch", "=3", "batch=", "batch=x", "batch=-1", "batch=1,,2"):
            done = run(PROGRAM, "benchmark", "linear", "--shape", wrong, "--db", self.folder / "r.db")
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("--shape takes NAME=SIZE", done.stderr)

    def test_what_another_program_had_is_held_against_a_model(self):
        corpus = CORPUS / "resblock"
        golden = corpus / "golden.safetensors"
        wrong = self.folder / "wrong.safetensors"
        data = bytearray(golden.read_bytes())
        length = int.from_bytes(data[:8], "little")
        begin, end = json.loads(data[8:8 + length])["seed1.output.0"]["data_offsets"]
        data[8 + length + begin:8 + length + end] = bytes(end - begin)
        wrong.write_bytes(data)
        model = ("--model", corpus / "model.pt2", "--weights", *sorted(corpus.glob("seed*.safetensors")))
        for expected, verdict, code in ((golden, "pass", 0), (wrong, "fail", 5)):
            done = run(PROGRAM, "benchmark", *model, "--expect", expected, "-p", "ci", "--db", self.folder / "r.db", "--json")
            self.assertEqual(done.returncode, code, done.stderr)
            case, = json.loads(done.stdout)["cases"]
            self.assertEqual(case["verdict"], verdict)
            self.assertIn("expected outputs", [check["what"] for check in case["checks"]])
            done = run(PROGRAM, "test", *model, "--expect", expected, "--json")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(json.loads(done.stdout)[0]["verdict"], verdict)
        done = run(PROGRAM, "test", "mlp", "--expect", golden)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--expect needs --model", done.stderr)

    def test_a_strategy_that_cannot_run_is_skipped_with_its_reason(self):
        code, report, text = self.benchmark("mlp", "-n", "2", "-s", "auto", "grouped")
        self.assertEqual(code, 0)
        auto, grouped = report["cases"]
        self.assertEqual((auto["verdict"], grouped["verdict"]), ("pass", "skipped"))
        self.assertIn("grouped", grouped["reason"])
        self.assertIn("skipped: ", text)

    def test_what_cannot_be_proved_is_not_measured(self):
        code, report, _ = self.benchmark("dropout", "-n", "2", "-s", "independent", "shared_mask")
        self.assertEqual(code, 0)
        independent, shared = report["cases"]
        self.assertEqual((independent["verdict"], shared["verdict"]), ("pass", "skipped"))
        self.assertIn("shared_mask", shared["reason"])
        self.assertIsNone(shared["speedup"])
        done = run(PROGRAM, "test", "dropout", "-n", "2", "-s", "shared_mask", "--json")
        self.assertEqual(json.loads(done.stdout)[0]["verdict"], "skipped", done.stdout)

    def test_proofs_of_several_strategies(self):
        done = run(PROGRAM, "test", "conv2d", "mlp", "-n", "2", "-s", "grouped", "sequential", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {(entry["subject"], entry["strategy"]): entry["verdict"] for entry in json.loads(done.stdout)}
        self.assertEqual(set(found), {(name, s) for name in ("conv2d", "mlp") for s in ("grouped", "sequential")})
        self.assertEqual(found["conv2d", "grouped"], "pass")
        self.assertIn("skipped", done.stderr if found["mlp", "grouped"] == "skipped" else "skipped")

    def test_an_exported_folder_runs_and_agrees(self):
        folder = self.folder / "out"
        done = run(PROGRAM, "export", "resblock", "-n", "3", "--size", "batch=2,channels=4", "-o", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads((folder / "model.json").read_text())
        self.assertEqual(document["shape"]["channels"], 4)
        self.assertEqual(len(document["members"]), 3)
        inputs, outputs = (read_safetensors(folder / document[key]) for key in ("inputs", "outputs"))
        self.assertEqual(len(inputs), 3)
        self.assertEqual(len(outputs), 3)
        used = {entry["target"] for entry in document["graph"]["inputs"] if entry["kind"] != "user"}
        self.assertEqual(set(read_safetensors(folder / document["weights"][0])), used)
        for wrong in (["--size", "batch"], ["--size", "batch=x"], ["--size", "nonsense=3"]):
            self.assertEqual(run(PROGRAM, "export", "mlp", *wrong, "-o", folder).returncode, 2)

    def test_python_rivals_are_measured_in_the_same_rounds(self):
        python = os.environ.get("WIDEBENCH_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            self.skipTest("Python has no torch here")
        preset = self.folder / "peers.json"  # no compiled ones: those take minutes
        preset.write_text(json.dumps({
            "schema_version": 1, "name": "peers", "timeout_seconds": 300,
            "defaults": {"n": [3], "rivals": ["eager", "python_eager", "python_vmap"],
                         "stopping": {"min_rounds": 5, "max_seconds": 1, "warmup_seconds": 0.1}},
            "cases": [{"subject": "mlp", "kind": "zoo", "shape": {}}]}))
        done = run(PROGRAM, "--preset", preset, "--db", self.folder / "r.db", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        case, = json.loads(done.stdout)["cases"]
        self.assertEqual(set(case["rivals"]), {"eager", "python_eager", "python_vmap"})
        self.assertEqual([peer["ok"] for peer in case["plan"]["peers"]], [True, True])
        self.assertEqual(case["rivals"]["python_eager"]["samples"], case["rounds"])
        self.assertGreater(case["rivals"]["python_eager"]["median_us"], 0)
        vmap = case["rivals"]["python_vmap"]
        if "disturbed" in case["circumstances"]:
            self.assertIsNone(vmap["speedup_ci95"])
        else:
            self.assertEqual(len(vmap["speedup_ci95"]), 2)


if __name__ == "__main__":
    unittest.main()

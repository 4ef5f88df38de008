"""`--device cuda` from the command line to the files, on a made-up GPU (tests/made_up_gpu).

usage: gpu_test.py WIDEBENCH MADE_UP SCHEMA
"""
import collections
import gzip
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

import program

PROGRAM = SCHEMA = None
MODEL = program.CORPUS / "mlp"
NAME = "Made-up GPU"


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.environment = {}
        self.set("XDG_CACHE_HOME", self.folder / "cache")
        self.set("XDG_DATA_HOME", self.folder / "data")

    def set(self, name, value):
        before = os.environ.get(name)
        os.environ[name] = str(value)
        self.addCleanup(lambda: os.environ.pop(name) if before is None else os.environ.__setitem__(name, before))

    def done(self, *arguments, code=0):
        done = program.run(PROGRAM, *arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def json(self, *arguments):
        return json.loads(self.done(*arguments, "--json").stdout)


class Profile(Case):
    def assert_complete(self, capture):
        """But for times, which another program may have disturbed."""
        because = [reason for reason in capture["completeness"]["because"] if "longer while it was captured" not in reason]
        self.assertEqual(because, [])

    def profile(self, *arguments):
        trace = self.folder / "t.json"
        done = self.done("profile", *arguments, "--device", "cuda", "--trace", trace, "--json")
        return done.stderr, json.loads(done.stdout), json.loads(trace.read_text())

    def events(self, trace, kind):
        return [event for event in trace["traceEvents"] if event["ph"] == "X" and event["args"].get("kind") == kind]

    def test_every_kernel_is_of_a_launch_a_node_and_a_pass(self):
        text, document, trace = self.profile("mlp", "-n", "4", "--rivals", "eager,streams")
        self.assertIn(f"on {NAME}", text)
        self.assertEqual([capture["contender"] for capture in document["captures"]], ["wide", "eager", "streams"])
        for capture in document["captures"]:
            with self.subTest(capture["contender"]):
                badge = capture["completeness"]
                self.assert_complete(capture)
                self.assertEqual(badge["dropped"], 0)
                self.assertEqual(capture["facts"]["device"], NAME)
                if badge["complete"]:
                    self.assertIn(f"{capture['contender']} is complete: {badge['launches']} launches", text)
                names = {row["name"] for row in capture["kernels"]}
                self.assertTrue(any("addmm" in name or "linear" in name or "mm" in name for name in names), names)
                spent = capture["activity"]
                parts = sum(spent[key] for key in ("busy_us", "host_wait_us", "kernel_wait_us", "other_us"))
                self.assertAlmostEqual(parts, spent["wall_us"], delta=1e-6 * spent["wall_us"])
                parts = sum(spent[key] for key in ("in_nodes_us", "before_nodes_us", "between_nodes_us", "after_nodes_us"))
                self.assertAlmostEqual(parts, spent["wall_us"], delta=1e-6 * spent["wall_us"])
                self.assertAlmostEqual(sum(node["wall_us"] for node in capture["nodes"]), spent["in_nodes_us"],
                                       delta=1e-3 * spent["wall_us"])
        if jsonschema:
            jsonschema.Draft202012Validator(json.loads(pathlib.Path(SCHEMA).read_text())).validate(trace)
        self.assertEqual({one["name"] for one in trace["deviceProperties"]}, {NAME})
        launches = {(event["pid"] // 100, event["args"]["correlation"]): event for event in self.events(trace, "runtime")}
        kernels = self.events(trace, "kernel")
        in_nodes = 0
        for kernel in kernels:
            launch = launches[kernel["pid"] // 100, kernel["args"]["correlation"]]
            self.assertLessEqual(launch["ts"], kernel["ts"])
            if kernel["name"] == "widebench_sentinel":
                self.assertNotIn("pass", kernel["args"])
                continue
            self.assertIn("pass", kernel["args"])
            in_nodes += "node" in kernel["args"]
        self.assertGreater(in_nodes, 0)

    def test_kernels_of_a_member_are_known(self):
        _, _, trace = self.profile("mlp", "-n", "4", "-s", "sequential", "--rivals", "eager")
        for pid in (0, 1):
            members = {kernel["args"]["member"] for kernel in self.events(trace, "kernel")
                       if kernel["pid"] // 100 == pid and "node" in kernel["args"]}
            self.assertEqual(members, {0, 1, 2, 3})

    def test_launches_and_runtime_calls_lie_in_the_host_steps(self):
        _, _, trace = self.profile("mlp", "-n", "4", "--rivals", "none")
        steps = self.events(trace, "node") + self.events(trace, "pass")
        launches = [launch for launch in self.events(trace, "runtime") if "pass" in launch["args"]]
        self.assertGreater(len(launches), 0)
        for launch in launches:
            self.assertTrue(any((step["pid"], step["tid"]) == (launch["pid"], launch["tid"]) and step["ts"] <= launch["ts"]
                                and launch["ts"] + launch["dur"] <= step["ts"] + step["dur"] + 1e-3 for step in steps), launch)

    def test_the_gain_is_explained(self):
        # Which schedule is the fastest is chance on a GPU that is made up.
        text, document, _ = self.profile("resblock", "-n", "4", "-s", "wide")
        comparison, = document["comparisons"]
        gain = comparison["gain"]
        causes = sum(gain[key] for key in ("launches_removed_us", "idle_recovered_us", "kernel_efficiency_us",
                                           "layout_copies_us", "residual_us"))
        self.assertAlmostEqual(causes, gain["rival_us"] - gain["wide_us"], delta=1e-3 * gain["rival_us"])
        self.assertLess(comparison["wide_launches"], comparison["rival_launches"])
        self.assertIn("launches gone", text)

    def test_a_replayed_pass_is_one_launch(self):
        _, document, _ = self.profile("mlp", "-n", "4", "-s", "sequential", "--mode", "reduce-overhead", "--rivals",
                                      "eager,graph")
        wide, eager, graph = document["captures"]
        self.assertEqual(wide["facts"]["replayed"], "a CUDA Graph")
        for capture in (wide, graph):
            self.assert_complete(capture)
            self.assertGreater(capture["completeness"]["kernels"], capture["completeness"]["launches"])
        self.assertLess(wide["activity"]["launches"], eager["activity"]["launches"])

    def kernels_of_nodes(self, trace, pid):
        """{(node, first member): the names of its kernels, copies and fills in a pass}, "" for those of none."""
        events = [event for kind in ("kernel", "memcpy", "memset") for event in self.events(trace, kind)]
        passes = {event["args"]["pass"] for event in events if "pass" in event["args"] and event["pid"] // 100 == pid}
        found = collections.defaultdict(list)
        for event in sorted(events, key=lambda event: event["ts"]):
            if event["pid"] // 100 == pid and event["args"].get("pass") == max(passes):
                found[event["args"].get("node", ""), event["args"]["member"]].append(event["name"])
        return dict(found)

    def test_kernels_of_a_replayed_pass_are_of_the_nodes_that_they_are_of_otherwise(self):
        """But for its inputs, which are copied to where the recording reads them, a replayed pass is the same work."""
        for subject in ("mlp", "resblock"):
            with self.subTest(subject):
                arguments = (subject, "-n", "3", "-s", "sequential", "--rivals", "eager,graph")
                _, _, plain = self.profile(*arguments)
                text, document, replayed = self.profile(*arguments, "--mode", "reduce-overhead")
                self.assertNotIn("of no node", text)
                wide, before = self.kernels_of_nodes(replayed, 0), self.kernels_of_nodes(plain, 0)
                self.assertEqual({of: names for of, names in wide.items() if of[0]}, {of: names for of, names in before.items() if of[0]})
                self.assertGreater(len([of for of in wide if of[0]]), 3)
                self.assertEqual(self.kernels_of_nodes(replayed, 2), self.kernels_of_nodes(replayed, 1))
                self.assertEqual(document["captures"][2]["contender"], "graph")
                for capture in document["captures"]:
                    self.assert_complete(capture)
                    self.assertNotIn("work of CUDA Graphs of no node", capture["facts"])
                self.assertGreater(sum(node["work_us"] for node in document["captures"][0]["nodes"] if node["node"] is not None), 0)

    def test_a_plan_that_was_measured_is_recorded_anew(self):
        text, document, _ = self.profile("mlp", "-n", "4", "--mode", "reduce-overhead", "--rivals", "none")
        self.assertEqual(document["captures"][0]["facts"]["replayed"], "a CUDA Graph")
        self.assertNotIn("of no node", text)

    def test_changes_of_layout_in_a_recording_are_told_from_the_nodes(self):
        plan = self.folder / "plan.json"  # one for both, which are measured apart
        self.done("plan", "resblock", "-n", "4", "-s", "grouped", "--device", "cuda", "-o", plan)
        arguments = ("resblock", "-n", "4", "--plan", plan, "--rivals", "none")
        _, plain, _ = self.profile(*arguments)
        _, replayed, trace = self.profile(*arguments, "--mode", "reduce-overhead")
        def changed(document):
            return {node["name"] for node in document["captures"][0]["nodes"] if node["conversion_us"] > 0}
        self.assertEqual(changed(replayed), changed(plain))
        self.assertTrue(changed(plain))
        self.assertTrue(any(event["args"].get("conversion") for event in self.events(trace, "kernel") + self.events(trace, "memcpy")))

    def test_why_kernels_of_a_graph_are_of_no_node_is_told(self):
        for fault, why in (("old", "the driver does not say which node of the graph each is"), ("taken", "another profiler")):
            with self.subTest(fault):
                self.set("MADE_UP_GPU", fault)
                text, document, trace = self.profile("mlp", "-n", "2", "-s", "sequential", "--mode", "reduce-overhead", "--rivals", "none")
                self.assertRegex(text, f"wide: kernels, copies and fills of its CUDA Graph that are of no node: ([0-9]+) of \\1: .*{why}")
                self.assertEqual(document["captures"][0]["facts"]["replayed"], "a CUDA Graph")
                self.assert_complete(document["captures"][0])
                self.assertEqual({of[0] for of in self.kernels_of_nodes(trace, 0)}, {""})

    def test_the_roofline_has_what_the_gpu_reached(self):
        text, document, _ = self.profile("mlp", "-n", "4", "--rivals", "none", "--roofline")
        peaks = document["roofline"]["peaks"]
        self.assertEqual(peaks["device"], NAME)
        for key in ("launch_us", "gap_us", "graph_gap_us"):
            self.assertGreaterEqual(peaks[key], 0, key)
        self.assertGreater(peaks["launch_us"], 0)
        self.assertGreater(peaks["graph_gap_us"], 0)
        self.assertEqual(set(peaks["flops"]), {"float32", "float64", "float16", "bfloat16"})
        self.assertTrue(all(flops > 0 for flops in peaks["flops"].values()))
        self.assertGreater(len(peaks["bandwidth"]), 2)
        self.assertIn(NAME, text)
        stored, = (self.folder / "cache/widebench/peaks").glob("*Made_up_GPU*.json")
        self.assertEqual(json.loads(stored.read_text())["gap_us"], peaks["gap_us"])

    def test_captures_are_kept_and_read_again(self):
        database = self.folder / "r.db"
        self.done("profile", "mlp", "-n", "2", "-p", "ci", "--device", "cuda", "--keep", "--db", database)
        again = self.json("profile", "--from", "1", "--db", database)
        wide = again["captures"][0]
        self.assertEqual(wide["facts"]["device"], NAME)
        self.assert_complete(wide)
        self.assertGreater(sum(node["work_us"] for node in wide["nodes"]), 0)
        packed = self.folder / "t.json.gz"
        self.done("runs", "export", "1", "-o", packed, "--db", database)
        self.assertTrue(self.events(json.loads(gzip.decompress(packed.read_bytes())), "kernel"))
        report = json.loads(self.done("runs", "export", "1", "-o", "-", "--db", database).stdout)
        self.assertEqual(report["cases"][0]["device"], "cuda")

    def test_a_users_model(self):
        _, document, _ = self.profile("--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL))
        for capture in document["captures"]:
            self.assert_complete(capture)

    def test_lost_records_are_told(self):
        self.set("MADE_UP_GPU", "drops")
        done = self.done("profile", "mlp", "-n", "2", "--device", "cuda", code=3)
        self.assertIn("dropped 3 records", done.stderr)

    def test_kernels_without_records_are_told(self):
        self.set("MADE_UP_GPU", "silent")
        text, document, _ = self.profile("mlp", "-n", "2", "--rivals", "none")
        self.assertFalse(document["captures"][0]["completeness"]["complete"])
        self.assertRegex(text, "wide is incomplete: [0-9]+ of [0-9]+ launches have no kernel record")

    def test_memory_is_the_gpus(self):
        _, document, _ = self.profile("mlp", "-n", "2", "--rivals", "none")
        self.assertGreater(document["captures"][0]["memory"]["peak_bytes"], document["captures"][0]["memory"]["at_start_bytes"])

    def test_a_user_who_may_not_trace_is_told_what_to_do(self):
        self.set("MADE_UP_GPU", "denied")
        done = self.done("profile", "mlp", "-n", "2", "--device", "cuda", code=3)
        self.assertIn("may not profile the GPU", done.stderr)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", done.stderr)
        self.assertFalse((self.folder / "t.json").exists())


class Runs(Case):
    def test_run_computes_what_pytorch_computed(self):
        done = self.done("run", "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL), "--inputs",
                         MODEL / "golden.safetensors", "--outputs", self.folder / "o.safetensors", "--expect", MODEL / "golden.safetensors", "--device", "cuda")
        self.assertIn("all 4 outputs are as expected", done.stdout)

    def test_test_proves_a_model(self):
        done = self.done("test", "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL), "--device", "cuda")
        self.assertIn("0 failed", done.stdout)

    def test_benchmark_takes_the_rivals_of_a_gpu(self):
        report = self.folder / "r.json"
        self.done("benchmark", "mlp", "-n", "2", "-p", "ci", "--device", "cuda", "-o", report, "--db", self.folder / "r.db")
        case, = json.loads(report.read_text())["cases"]
        self.assertEqual((case["device"], case["verdict"]), ("cuda", "pass"), case)
        self.assertLessEqual({"eager", "streams", "graph"}, set(case["rivals"]))

    def test_peak_memory_is_the_gpus(self):
        """That of tensors there, and not of the process, which has more than 100 MB."""
        peaks = []
        for count in ("2", "16"):
            report = self.folder / f"{count}.json"
            self.done("benchmark", "linear", "-n", count, "-p", "ci", "--device", "cuda", "--rivals", "eager", "-o", report, "--db", self.folder / "r.db")
            case, = json.loads(report.read_text())["cases"]
            self.assertEqual(case["verdict"], "pass", case)
            peaks.append(case["peak_memory_bytes"])
        self.assertGreater(peaks[0], 0)
        self.assertGreater(peaks[1], 4 * peaks[0])
        self.assertLess(peaks[1], 100e6)

    def test_peers_are_asked_for_the_gpu(self):
        python = self.folder / "python"
        python.write_text(f"#!/bin/sh\nexec {sys.executable} {program.HERE.parent}/peers/on_made_up_cuda.py \"$@\"\n")
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        self.set("WIDEBENCH_PYTHON", python)
        if subprocess.run([python, program.HERE.parents[1] / "scripts/peers.py", "--check", "cuda"], check=False,
                          stdout=subprocess.DEVNULL).returncode != 0:
            self.skipTest("Python has no torch")
        report = self.folder / "r.json"
        self.done("benchmark", "mlp", "-n", "2", "-p", "ci", "--device", "cuda", "--peers", "--rivals", "eager", "-o", report,
                  "--db", self.folder / "r.db")
        case, = json.loads(report.read_text())["cases"]
        peers = {peer["name"]: peer for peer in case["plan"]["peers"]}
        self.assertEqual(set(peers), {"python_eager", "python_compile", "python_vmap", "python_vmap_compile",
                                      "python_streams", "python_graph"})
        for name in ("python_eager", "python_vmap", "python_streams", "python_graph"):
            self.assertTrue(peers[name]["ok"], peers[name])
        self.assertLessEqual({"python_streams", "python_graph"}, set(case["rivals"]))

    def test_doctor_sees_it(self):
        checks = {check["what"]: check for check in self.json("doctor")["checks"] if check["area"] == "gpu"}
        self.assertEqual(checks["device"]["found"], NAME)
        self.assertEqual(checks["tracing"]["found"], "a test kernel was launched and seen")
        self.assertEqual(checks["libtorch"]["state"], "ok")


if __name__ == "__main__":
    SCHEMA = sys.argv.pop()
    PROGRAM = sys.argv.pop()
    del sys.argv[1]
    unittest.main(verbosity=2)

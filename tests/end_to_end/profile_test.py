"""`profile` and `doctor` from outside: every node, names, times that add up, files for other programs.

usage: profile_test.py WIDEBENCH SCHEMA KINETO
"""
import gzip
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

import program

WIDEBENCH = SCHEMA = KINETO = None
ATTEMPTS = 5  # of a run whose times another program may have disturbed


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        # Costs and peaks of its own: what other runs measured is not to be seen.
        cls.cache = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(cls.folder / "cache")
        cls.trace = cls.folder / "t.json"
        cls.text, cls.document = cls.profile("resblock", "-n", "8", "--trace", cls.trace, "--roofline", "--svg",
                                             cls.folder / "r.svg")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()
        os.environ.pop("XDG_CACHE_HOME")
        if cls.cache is not None:
            os.environ["XDG_CACHE_HOME"] = cls.cache

    @classmethod
    def profile(cls, *arguments, code=0, threads=1):
        done = program.run(WIDEBENCH, "profile", *arguments, "--json", threads=threads)
        if done.returncode != code:
            raise AssertionError(f"profile {arguments} ended with {done.returncode}: {done.stderr}")
        return done.stderr, json.loads(done.stdout) if code == 0 else None

    def capture(self, contender):
        return next(capture for capture in self.document["captures"] if capture["contender"] == contender)

    def test_every_node_appears(self):
        wide, eager = self.capture("wide"), self.capture("eager")
        for capture in (wide, eager):
            for node in capture["nodes"]:
                if node["node"] is None or node.get("at_build"):
                    continue
                with self.subTest(contender=capture["contender"], node=node["name"]):
                    self.assertGreater(node["total_us"], 0)
                    self.assertIn(node["name"], self.text)

    def test_node_times_add_up_to_the_pass(self):
        for threads in (1, 2):
            with self.subTest(threads=threads):
                document = self.document if threads == 1 else self.profile("resblock", "-n", "8", threads=threads)[1]
                for attempt in range(ATTEMPTS):
                    shares = []
                    for capture in document["captures"]:
                        wall = capture["activity"]["wall_us"]
                        shares.append(sum(node["wall_us"] for node in capture["nodes"]) / wall)
                        self.assertAlmostEqual(shares[-1], capture["activity"]["nodes_over_wall"], places=6)
                    if all(0.95 <= share <= 1.05 for share in shares):
                        break
                    self.assertLess(attempt, ATTEMPTS - 1, f"nodes take {shares} of the passes")
                    document = self.profile("resblock", "-n", "8", threads=threads)[1]

    def test_nodes_and_the_executor_are_all_of_the_pass(self):
        for capture in self.document["captures"]:
            spent = capture["activity"]
            parts = sum(spent[key] for key in ("in_nodes_us", "before_nodes_us", "between_nodes_us", "after_nodes_us"))
            self.assertAlmostEqual(parts, spent["wall_us"], delta=1e-6 * spent["wall_us"])
        for words in ("executor, before the first node", "executor, between nodes", "executor, after the last node"):
            self.assertIn(words, self.text)

    def test_every_moment_of_a_pass_has_a_name(self):
        """Also of the shortest passes: what is no node is the executor's, and says where."""
        trace = self.folder / "mlp.json"
        self.profile("mlp", "-n", "4", "--rivals", "eager,threads", "--trace", trace, threads=2)
        events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
        for passing in (event for event in events if event["args"]["kind"] == "pass"):
            inner = sorted((event["ts"], event["ts"] + event["dur"]) for event in events
                           if (event["pid"], event["tid"]) == (passing["pid"], passing["tid"])
                           and event["args"]["kind"] in ("node", "conversion", "member", "annotation")
                           and event["args"].get("pass") == passing["args"]["pass"])
            reached = passing["ts"]
            for start, end in inner:
                self.assertLessEqual(start, reached + 1e-4)
                reached = max(reached, end)
            self.assertAlmostEqual(reached, passing["ts"] + passing["dur"], places=3)

    def test_a_convolution_is_work(self):
        for capture in self.document["captures"]:
            kernels = {row["name"]: row["share"] for row in capture["kernels"]}
            convolutions = sum(share for name, share in kernels.items() if "conv" in name)
            self.assertGreater(convolutions, 0.3, kernels)
            self.assertNotIn("aten::empty", kernels)

    def test_what_was_folded_is_compared_with_what_it_was_folded_into(self):
        comparison, = self.document["comparisons"]
        parts = {part["name"] for node in comparison["nodes"] for part in node["rival_parts"]}
        self.assertTrue(any("batch_norm" in name for name in parts), parts)
        for node in comparison["nodes"]:
            if node["rival_parts"]:
                self.assertGreater(node["wide"]["wall_us"], 0, node["name"])

    def test_idle_and_busy_add_up(self):
        for capture in self.document["captures"]:
            spent = capture["activity"]
            parts = sum(spent[key] for key in ("busy_us", "host_wait_us", "kernel_wait_us", "other_us"))
            self.assertAlmostEqual(parts, spent["wall_us"], delta=1e-3 * spent["wall_us"])

    def test_the_gain_is_split(self):
        comparison, = self.document["comparisons"]
        self.assertTrue(comparison["aligned"])
        gain = comparison["gain"]
        causes = ("launches_removed_us", "idle_recovered_us", "kernel_efficiency_us", "layout_copies_us", "residual_us")
        self.assertAlmostEqual(sum(gain[cause] for cause in causes), gain["gained_us"], delta=1e-6 * gain["rival_us"])
        for words in ("launches removed", "idle recovered", "kernel efficiency", "layout copies", "residual"):
            self.assertIn(words, self.text)

    def test_the_trace_names_nodes_members_and_threads(self):
        trace = json.loads(self.trace.read_text())
        if jsonschema:
            jsonschema.Draft202012Validator(json.loads(pathlib.Path(SCHEMA).read_text())).validate(trace)
        events = trace["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        named = {event["name"] for event in slices}
        for node in self.capture("eager")["nodes"]:
            if node["node"] is not None:
                self.assertIn(node["name"], named)
        self.assertLessEqual({f"member {i}" for i in range(8)}, named)
        labels = {event["args"].get("name") for event in events if event["ph"] == "M"}
        self.assertLessEqual({"wide", "eager", "main"}, labels)
        self.assertTrue(any(event["ph"] == "C" for event in events), "no memory counter")

    def test_roofline(self):
        roofline = self.document["roofline"]
        self.assertGreater(roofline["peaks"]["flops"]["float32"], 1e9)
        self.assertGreater(len(roofline["nodes"]), 3)
        for node in roofline["nodes"]:
            self.assertIn(node["bound"], ("-", "host dispatch", "launch", "fill", "memory", "arithmetic", "layout copies"))
        svg = (self.folder / "r.svg").read_text()
        self.assertTrue(svg.startswith("<svg") or svg.startswith("<?xml"))
        self.assertNotIn("<script", svg)
        self.assertEqual(len(list((self.folder / "cache/widebench/peaks").iterdir())), 1)

    def test_a_second_run_takes_the_peaks_from_disk(self):
        file, = (self.folder / "cache/widebench/peaks").iterdir()
        # Such as nobody doubts: nothing is above this roof, whatever else the machine does.
        peaks = json.loads(file.read_text())
        peaks["doubts"] = []
        peaks["flops"] = {dtype: 1e13 for dtype in peaks["flops"]}
        for level in peaks["bandwidth"]:
            level["bytes_per_second"] = 1e13
        file.write_text(json.dumps(peaks))
        before = file.read_bytes()
        self.profile("mlp", "-n", "2", "--roofline")
        self.assertEqual(file.read_bytes(), before)

    def test_doubtful_peaks_are_measured_again(self):
        file, = (self.folder / "cache/widebench/peaks").iterdir()
        peaks = json.loads(file.read_text())
        peaks["doubts"] = ["other processes kept 2.0 CPUs busy while it was measured"]
        peaks["launch_us"] = 123456789
        file.write_text(json.dumps(peaks))
        _, document = self.profile("mlp", "-n", "2", "--roofline")
        self.assertLess(document["roofline"]["peaks"]["launch_us"], 1e6)
        self.assertLess(json.loads(file.read_text())["launch_us"], 1e6)

    def test_against_a_trace_of_torch_profiler(self):
        both = self.folder / "both.json.gz"
        text, document = self.profile("mlp", "-n", "2", "--against", KINETO, "--trace", both)
        self.assertEqual([capture["contender"] for capture in document["captures"]],
                         ["wide", "eager", pathlib.Path(KINETO).name])
        self.assertEqual(len(document["comparisons"]), 2)
        self.assertIn("aten::addmm", {row["name"] for row in document["difference"]})
        self.assertIn("aten::addmm", text)
        trace = json.loads(gzip.decompress(both.read_bytes()))
        starts = {}
        for event in trace["traceEvents"]:
            if event["ph"] == "X":
                starts[event["pid"]] = min(event["ts"], starts.get(event["pid"], event["ts"]))
        self.assertEqual(len(starts), 3)
        self.assertLess(max(starts.values()) - min(starts.values()), 60e6, "the captures lie too far apart to be seen")

    def test_against_an_earlier_capture(self):
        _, document = self.profile("resblock", "-n", "8", "--rivals", "none", "--against", self.trace)
        self.assertTrue(document["comparisons"][0]["aligned"])
        changes = {row["change"] for row in document["difference"]}
        self.assertLessEqual(changes, {"same", "slower", "faster", "more", "fewer", "added", "removed"})

    def test_kept_captures_are_explained_again_without_capturing(self):
        database = self.folder / "kept.db"
        _, first = self.profile("mlp", "-n", "4", "--db", database, "--label", "first", "--roofline")
        text, again = self.profile("--from", first["run"], "--db", database, "--roofline")
        self.assertEqual({**again, "run": first["run"]}, first)
        self.assertIn("why wide is", text)
        model = program.CORPUS / "mlp"
        self.profile("--model", model / "model.pt2", "--weights", *program.seeds(model), "--rivals", "none", "--db", database)
        _, compared = self.profile("--from", "latest", "--against", "latest~1", "--db", database)
        self.assertEqual([capture["contender"] for capture in compared["captures"]], ["wide", "run 1"])
        shown = program.run(WIDEBENCH, "runs", "show", "1", "--db", database)
        self.assertIn("capture of eager", shown.stdout)
        packed = self.folder / "kept.json.gz"
        self.assertEqual(program.run(WIDEBENCH, "runs", "export", "1", "-o", packed, "--db", database).returncode, 0)
        trace = json.loads(gzip.decompress(packed.read_bytes()))
        if jsonschema:
            jsonschema.Draft202012Validator(json.loads(pathlib.Path(SCHEMA).read_text())).validate(trace)
        report = json.loads(program.run(WIDEBENCH, "runs", "export", "1", "-o", "-", "--db", database).stdout)
        case, = report["cases"]
        self.assertEqual((case["verdict"], case["speedup"], case["captures"]), ("skipped", None, ["eager", "wide"]))
        self.assertEqual(case["samples"]["microseconds"], [])

    def test_a_users_model(self):
        model = program.CORPUS / "mlp"
        _, document = self.profile("--model", model / "model.pt2", "--weights", *program.seeds(model), "--rivals",
                                   "eager,threads", "--mode", "reduce-overhead")
        self.assertEqual(document["n"], 4)
        self.assertEqual([capture["contender"] for capture in document["captures"]], ["wide", "eager", "threads"])
        self.assertEqual(document["captures"][0]["facts"]["mode"], "reduce-overhead")

    def test_faults_are_one_line(self):
        bad = self.folder / "bad.json"
        bad.write_text("{}")
        for arguments, word in ((("nothing",), "nothing"), ((), "built-in subject"), (("mlp", "--against", bad), "bad.json"),
                                (("mlp", "--against", self.folder / "absent.json"), "absent.json"),
                                (("mlp", "--trace", self.folder / "no/t.json"), "no/t.json")):
            with self.subTest(word):
                text, _ = self.profile(*arguments, code=2)
                self.assertIn(word, text.splitlines()[-1])


class Doctor(unittest.TestCase):
    AREAS = {"cpu", "gpu", "compilers", "display", "storage"}

    def test_says_what_is_there_and_what_to_do(self):
        done = program.run(WIDEBENCH, "doctor", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        checks = json.loads(done.stdout)["checks"]
        self.assertEqual({check["area"] for check in checks}, self.AREAS)
        for check in checks:
            with self.subTest(check["what"]):
                self.assertIn(check["state"], ("ok", "absent", "warning"))
                if check["state"] == "absent":
                    self.assertTrue(check["remedy"], "absent without a remedy")
                if check["state"] == "ok":
                    self.assertTrue(check["found"])
        text = program.run(WIDEBENCH, "doctor").stdout
        for check in checks:
            self.assertIn(check["what"], text)

    def test_the_libcupti_is_that_of_libtorch(self):
        checks = {check["what"]: check for check in json.loads(program.run(WIDEBENCH, "doctor", "--json").stdout)["checks"]}
        if checks["libwide_cuda.so"]["state"] != "ok":
            self.skipTest("libwide_cuda.so is not built here")
        found = re.fullmatch(r"(\S+), version (\d+)", checks["libcupti"]["found"])
        self.assertTrue(found, checks["libcupti"])
        self.assertTrue(pathlib.Path(found[1]).exists())
        self.assertGreaterEqual(int(found[2]), 130000)


if __name__ == "__main__":
    KINETO = sys.argv.pop()
    SCHEMA = sys.argv.pop()
    WIDEBENCH = sys.argv.pop()
    unittest.main(verbosity=2)

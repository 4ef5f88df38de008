"""Plans measured, saved, loaded, overridden and judged.

usage: plan_test.py WIDEBENCH
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

import program

WIDEBENCH = None
MODEL = program.CORPUS / "mlp"


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # A cost book of its own: what other runs measured is not to be seen.
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")
        self.addCleanup(lambda: os.environ.pop("XDG_CACHE_HOME") if before is None
                        else os.environ.__setitem__("XDG_CACHE_HOME", before))
        self.plan = self.folder / "plan.json"

    def command(self, *arguments, code=0):
        done = program.run(WIDEBENCH, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def model(self):
        return "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL)

    def run_golden(self, *extra, code=0):
        golden = MODEL / "golden.safetensors"
        return self.command("run", *self.model(), "--inputs", golden, "--outputs", self.folder / "out.safetensors",
                            "--expect", golden, *extra, code=code)

    def test_a_saved_plan_runs_again(self):
        self.command("plan", *self.model(), "-o", self.plan)
        plan = json.loads(self.plan.read_text())
        self.assertEqual(plan["members"], len(program.seeds(MODEL)))
        self.assertGreater(len(plan["nodes"]), 0)
        self.run_golden("--plan", self.plan)

    def test_a_plan_of_compiled_groups_runs_without_a_compiler(self):
        before = self.command("plan", "ada_layer_norm_zero_single", "-n", "3", "--mode", "default", "-s", "group=compiled",
                              "-o", self.plan)
        self.assertIn("compiled", self.plan.read_text(), before.stdout)
        os.environ["WIDEBENCH_CC"] = "none"
        self.addCleanup(os.environ.pop, "WIDEBENCH_CC")
        done = self.command("plan", "ada_layer_norm_zero_single", "-n", "3", "--mode", "default", "--plan", self.plan,
                            "--json")
        self.assertEqual(done.stderr.count("cannot run here"), 1, done.stderr)
        self.assertIn("WIDEBENCH_CC", done.stderr)
        strategies = {node["strategy"] for node in json.loads(done.stdout)["nodes"]}
        self.assertIn("tiles", strategies)
        self.assertNotIn("compiled", strategies)

    def costs(self):
        """The cost book, as if nothing else had run on the machine."""
        costs, = (self.folder / "cache/widebench/costs").iterdir()
        costs.write_text(costs.read_text().replace("~\n", "\n"))
        return costs

    def test_a_second_plan_measures_nothing(self):
        first = json.loads(self.command("plan", "resblock", "-n", "4", "--json").stdout)
        self.assertTrue(any(node["measured"] for node in first["nodes"]) or "one after" in first["schedule"])
        costs = self.costs()
        before = costs.read_bytes()
        again = json.loads(self.command("plan", "resblock", "-n", "4", "--json").stdout)
        self.assertEqual(costs.read_bytes(), before)
        self.assertEqual(again["schedule"], first["schedule"])

    def test_what_was_timed_beside_other_work_is_timed_again(self):
        self.command("plan", *self.model())
        costs = self.costs()
        costs.write_text("".join(line + "~\n" if number else line + "\n" for number, line in enumerate(costs.read_text().splitlines())))
        self.assertEqual(self.command("trace", *self.model()).stderr, "")
        before = costs.read_text()
        self.command("plan", *self.model())
        self.assertNotEqual(costs.read_text(), before)

    def test_a_measured_plan_is_right(self):
        self.run_golden("--tune")

    def test_conversions_say_what_they_cost(self):
        plan = json.loads(self.command("plan", "resblock", "-n", "4", "-s", "conv2d=grouped", "--json").stdout)
        self.assertGreaterEqual(len(plan["conversions"]), 2)
        for one in plan["conversions"]:
            self.assertGreater(one["us"], 0)

    def test_one_node_is_overridden_by_name(self):
        text = self.command("trace", "mlp", "-n", "3", "--after", "optimize").stdout
        value = next(line.split()[0] for line in text.splitlines() if "aten.linear" in line)
        plan = json.loads(self.command("plan", "mlp", "-n", "3", "-s", f"{value}=sequential", "--json").stdout)
        self.assertEqual([node["strategy"] for node in plan["nodes"]].count("sequential"), 1)
        done = self.command("plan", "mlp", "-s", "%nothing=sequential", code=2)
        self.assertIn("%nothing", done.stderr)

    def test_trace_shows_the_graph_that_is_planned(self):
        def shapes(text):
            return [line.partition("=")[0] for line in text.splitlines() if line.startswith("%")]

        for sizes in ([], ["-p", "quick"]):
            planned = shapes(self.command("plan", "mlp", "-n", "3", *sizes, "--seconds", "0").stdout)
            self.assertGreater(len(planned), 1)
            traced = shapes(self.command("trace", "mlp", "-n", "3", *sizes, "--after", "optimize").stdout)
            self.assertEqual(traced, planned)

    def test_plans_that_do_not_fit_are_refused(self):
        self.command("plan", *self.model(), "-o", self.plan)
        plan = json.loads(self.plan.read_text())
        for change, word in (({"members": 99}, "99"), ({"schema_version": 7}, "version 7"), ({"nodes": []}, "another"),
                             ({"schedule": {"chunk": 0, "workers": 1, "threads": 0}}, "chunk"), ({"rest": 3}, "rest")):
            self.plan.write_text(json.dumps(plan | change))
            done = self.run_golden("--plan", self.plan, code=2)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.plan.write_text("{")
        self.assertIn("no valid JSON", self.run_golden("--plan", self.plan, code=2).stderr)

    def test_regret_tries_every_plan(self):
        result = json.loads(self.command("plan", "linear", "-n", "4", "--regret", "--json").stdout)[0]
        self.assertTrue(result["complete"])
        self.assertGreater(result["plans"], 4)
        self.assertGreater(result["auto_us"], 0)
        self.assertLessEqual(result["best_us"], result["auto_us"])

    def test_regret_finds_a_bad_choice(self):
        self.command("plan", "conv1d", "-n", "8")
        costs = self.costs()
        lines = costs.read_text().splitlines()
        alone = [line for line in lines if line.startswith("schedule ") and " 1/1/0\t" in line]
        self.assertEqual(len(alone), 1, lines)
        costs.write_text("\n".join(line.split("\t")[0] + "\t1" if line in alone else line for line in lines) + "\n")
        result = json.loads(self.command("plan", "conv1d", "-n", "8", "--regret", "--json").stdout)[0]
        self.assertIn("one after the other", result["auto"])
        self.assertGreater(result["auto_us"], 1.5 * result["best_us"])
        self.assertNotEqual(result["auto"], result["best"])


if __name__ == "__main__":
    WIDEBENCH = sys.argv.pop(1)
    unittest.main(verbosity=2)

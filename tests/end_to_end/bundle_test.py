"""Bundles: made once, run where there is no compiler, trusted or not.

usage: bundle_test.py WIDEBENCH
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import program

WIDEBENCH = None
MODEL = program.CORPUS / "resblock"
GOLDEN = MODEL / "golden.safetensors"


class Bundles(unittest.TestCase):
    made = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.original = pathlib.Path(folder.name) / "fleet.wide"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment("XDG_CACHE_HOME", str(self.folder / "here"))
        self.bundle = self.folder / "fleet.wide"
        if Bundles.made is None:
            made = self.command("bundle", "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL), "--inputs", GOLDEN,
                                "-s", "group=compiled", "--seconds", "1", "-o", self.original, "--json")
            Bundles.made = json.loads(made.stdout)
        shutil.copytree(self.original, self.bundle)

    def environment(self, name, value):
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if before is None else os.environ.__setitem__(name, before))

    def elsewhere(self):
        """As on a machine without a compiler, where nothing was run before."""
        self.environment("XDG_CACHE_HOME", str(self.folder / "elsewhere"))
        self.environment("WIDEBENCH_CC", "none")

    def command(self, *arguments, code=0):
        done = program.run(WIDEBENCH, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def run_golden(self, *extra):
        return self.command("run", "--model", self.bundle, "--inputs", GOLDEN, "--expect", GOLDEN, "--outputs",
                            self.folder / "out.safetensors", *extra)

    def strategies(self, *extra):
        plan = json.loads(self.command("plan", "--model", self.bundle, "--inputs", GOLDEN, "--json", *extra).stdout)
        return plan, {node["strategy"] for node in plan["nodes"]}

    def test_what_is_made(self):
        self.assertEqual(self.made["members"], len(program.seeds(MODEL)))
        self.assertEqual(self.made["mode"], "default")
        self.assertEqual(self.made["plans"], 1)
        self.assertGreater(self.made["kernels"], 0)
        # Before anything is read or planned.
        self.assertIn("is there already", self.command("bundle", "--model", self.folder / "none.pt2", "-o", self.bundle, code=2).stderr)
        self.assertIn("is a bundle already", self.command("bundle", "--model", self.bundle, "-o", self.folder / "b", code=2).stderr)

    def test_trusted_it_runs_its_code_without_a_compiler(self):
        self.elsewhere()
        self.assertEqual(self.run_golden("--trust").stderr, "")
        plan, strategies = self.strategies("--trust")
        self.assertIn("compiled", strategies)
        self.assertLess(plan["tuning_ms"], 1000)
        self.assertFalse((self.folder / "elsewhere/widebench/costs").exists(), "something was measured")

    def test_untrusted_it_runs_without_its_code(self):
        self.elsewhere()
        self.assertIn("--trust", self.run_golden().stderr)
        self.assertNotIn("compiled", self.strategies()[1])

    def test_its_code_is_what_was_written(self):
        file = next((self.bundle / "code").iterdir())
        file.write_bytes(file.read_bytes()[:-1] + b"x")
        self.assertIn(file.name, self.command("run", "--model", self.bundle, "--trust", "--inputs", GOLDEN, "--outputs",
                                              self.folder / "out.safetensors", code=2).stderr)
        self.run_golden()  # it is not even read

    def test_other_commands_take_it(self):
        self.command("test", "--model", self.bundle)
        self.assertIn("leave --mode out", self.command("test", "--model", self.bundle, "--mode", "eager", code=2).stderr)
        self.assertIn("--weights", self.command("test", "--model", self.bundle, "--weights", *program.seeds(MODEL), code=2).stderr)
        self.command("export", "--model", self.bundle, "--inputs", GOLDEN, "-o", self.folder / "out")
        exported = json.loads((self.folder / "out/model.json").read_text())
        self.assertEqual((len(exported["weights"]), exported["model"]), (len(program.seeds(MODEL)), str(self.bundle / "model.pt2")))
        done = self.command("benchmark", "--model", self.bundle, "--inputs", GOLDEN, "-p", "ci", "--db", self.folder / "r.db", "--json")
        self.assertEqual(json.loads(done.stdout)["cases"][0]["subject"], "fleet.wide")


if __name__ == "__main__":
    WIDEBENCH = sys.argv.pop(1)
    unittest.main()

"""What a user's model is run on: inputs from a file and how they are numbered, made-up ones, and those that it refuses.

usage: inputs_test.py WIDEBENCH
"""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

import program

try:
    import safetensors.torch
    import torch
except ImportError:  # of the profile `full`
    torch = None

WIDEBENCH = sys.argv.pop()
MODEL = program.CORPUS / "mlp"


class Inputs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def changed(self, change, model=MODEL):
        """The model with its graph changed."""
        members = program.read_archive(model / "model.pt2")
        place, = [name for name in members if name.endswith("models/model.json")]
        document = json.loads(members[place])
        change(document["graph_module"])
        return program.write_archive(self.folder / "changed.pt2", members | {place: json.dumps(document).encode()})

    def with_constant(self):
        """Called as f(3, x)."""
        def change(module):
            inputs, specs = module["graph"]["inputs"], module["signature"]["input_specs"]
            at = next(i for i, spec in enumerate(specs) if "user_input" in spec)
            inputs.insert(at, {"as_int": 3})
            specs.insert(at, {"constant_input": {"name": "n", "value": {"as_int": 3}}})
        return self.changed(change)

    def run_model(self, model, inputs):
        return program.run(WIDEBENCH, "run", "--model", model, "--weights", *program.seeds(MODEL), "--inputs", inputs,
                           "--outputs", self.folder / "out.safetensors", "--expect", MODEL / "golden.safetensors")

    def renumbered(self, number):
        tensors = program.read_safetensors(MODEL / "golden.safetensors")
        inputs = {name.replace("input.0", f"input.{number}"): value for name, value in tensors.items() if "input" in name}
        return program.write_safetensors(self.folder / f"in{number}.safetensors", inputs)

    def test_constants_have_numbers_like_tensors_and_old_files_are_read(self):
        model = self.with_constant()
        for number in (1, 0):
            done = self.run_model(model, self.renumbered(number))
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_model(model, self.renumbered(2))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("input.1'", done.stderr)

    def test_exported_folders_use_the_same_numbers(self):
        model = self.with_constant()
        done = program.run(WIDEBENCH, "export", "--model", model, "--weights", *program.seeds(MODEL), "-o",
                           self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = program.read_safetensors(self.folder / "out" / "inputs.safetensors")
        self.assertEqual({name.split(".", 1)[1] for name in names}, {"input.1"})

    def test_made_up_inputs_are_like_the_exporters(self):
        folder = program.CORPUS / "hf_bert"
        done = program.run(WIDEBENCH, "export", "--model", folder / "model.pt2", "--weights", *program.seeds(folder),
                           "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        tensors = program.read_safetensors(self.folder / "out" / "inputs.safetensors")
        ids = [struct.unpack(f"<{len(data) // 8}q", data) for name, (dtype, _, data) in tensors.items()
               if name.endswith("input.0") and dtype == "I64"]
        self.assertEqual(len(ids), 4)
        self.assertGreater(max(map(max, ids)), 1)
        self.assertEqual(len({tuple(sorted(one)) for one in ids}), 1)
        self.assertGreater(len(set(ids)), 1)

    def test_refused_made_up_inputs_are_no_failure(self):
        def change(module):
            for node in module["graph"]["nodes"]:
                if node["target"] == "torch.ops.aten.relu.default":
                    node["target"] = "torch.ops.aten.cholesky.default"
        model = self.changed(change)
        weights = ["--weights", *program.seeds(MODEL)]
        done = program.run(WIDEBENCH, "test", "--model", model, *weights)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("skipped: the model alone refuses the inputs that were made up for it", done.stdout)
        self.assertIn("give --inputs", done.stdout)
        done = program.run(WIDEBENCH, "benchmark", "--model", model, *weights, "-p", "ci", "--db",
                           self.folder / "r.db", "--json")
        self.assertEqual(json.loads(done.stdout)["cases"][0]["verdict"], "skipped", done.stderr)
        done = program.run(WIDEBENCH, "test", "--model", model, *weights, "--inputs", MODEL / "golden.safetensors")
        self.assertEqual(done.returncode, 2, done.stderr)

    @unittest.skipIf(torch is None, "safetensors and torch are not installed")
    def test_packed_programs_keep_the_constants_in_which_they_differ(self):
        class Scaled(torch.nn.Linear):
            def __init__(self, by):
                super().__init__(3, 3)
                self.table = torch.full((3,), float(by))  # lifted by torch.export
                self.register_buffer("shift", -self.table, persistent=False)

            def forward(self, x):
                return super().forward(x) * self.table + self.shift

        x, modules = torch.randn(2, 3), [Scaled(by) for by in (1, 2, 3)]
        files, packed = [self.folder / f"scaled{i}.pt2" for i in range(3)], self.folder / "packed"
        for module, file in zip(modules, files):
            torch.export.save(torch.export.export(module, (x,)), file)
        safetensors.torch.save_file({"input.0": x}, self.folder / "x")
        for command in (["pack", *files, "-o", packed],
                        ["run", "--model", files[0], "--weights", packed, "--inputs", self.folder / "x", "--outputs", self.folder / "y"]):
            done = program.run(WIDEBENCH, *command)
            self.assertEqual(done.returncode, 0, done.stderr)
        answers = safetensors.torch.load_file(self.folder / "y")
        for i, module in enumerate(modules):
            torch.testing.assert_close(answers[f"scaled{i}.output.0"], module(x).detach())

    def test_benchmark_takes_inputs(self):
        def benchmark(inputs):
            return program.run(WIDEBENCH, "benchmark", "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL),
                               "--inputs", inputs, "-p", "ci", "--db", self.folder / "r.db", "--json")
        done = benchmark(MODEL / "golden.safetensors")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([case["verdict"] for case in json.loads(done.stdout)["cases"]], ["pass"])
        done = benchmark(self.folder / "none.safetensors")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("none.safetensors: no such file", done.stderr)
        done = benchmark(self.renumbered(5))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("lacks 'seed0.input.0'", json.loads(done.stdout)["cases"][0]["reason"])


if __name__ == "__main__":
    unittest.main()

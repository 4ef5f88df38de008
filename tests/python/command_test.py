"""The console command, as the build tree has it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import safetensors.torch
from support import torch, widebench

FAST = "fast"


class Command(unittest.TestCase):
    def setUp(self):
        self.script = pathlib.Path(widebench.__file__).parents[1] / "bin" / "widebench"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ran(self, *words, **environment):
        return subprocess.run([sys.executable, self.script, *words], capture_output=True, text=True, env={**os.environ, **environment})

    def test_runs_the_program(self):
        done = self.ran("info", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["version"], widebench.__version__)
        done = self.ran("unpack", "nowhere.safetensors", "-o", "x")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("nowhere.safetensors", done.stderr)

    def test_packed_files(self):
        corpus = pathlib.Path(os.environ["CORPUS"]) / "mlp"
        seeds, packed = sorted(corpus.glob("seed*.safetensors")), self.folder / "packed.safetensors"
        self.assertEqual(self.ran("pack", *seeds, "-o", packed).returncode, 0)
        wide = widebench.from_files(corpus / "model.pt2", [packed], config=FAST)
        self.assertEqual(wide.names, [seed.stem for seed in seeds])
        x = torch.randn(4, 64)
        self.assertTrue(torch.equal(wide(x), widebench.from_files(corpus / "model.pt2", seeds, config=FAST)(x)))

    def test_imports_no_torch(self):
        done = self.ran("--version", PYTHONPROFILEIMPORTTIME="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, r"\| *torch$")

    def test_refusals(self):
        package = self.folder / "widebench"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "_built_with.py").write_text('VERSION = "0"\nTORCH = "1.13.0"\n')
        done = self.ran("info", PYTHONPATH=str(self.folder))
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
        self.assertIn("was built with torch 1.13.0", done.stderr)
        (package / "_built_with.py").write_text(f'TORCH = "{torch.__version__}"\n')
        done = self.ran("info", PYTHONPATH=str(self.folder))
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
        self.assertIn("install widebench again", done.stderr)
        self.assertIn("not installed", subprocess.run([sys.executable, "-I", self.script], capture_output=True, text=True).stderr)

    def test_the_seed_of_a_bundle(self):
        """Its own unless another is given, 0 too."""
        class Noisy(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 3)

            def forward(self, x):
                y = self.linear(x)
                return y + torch.rand_like(y)

        x = torch.randn(2, 4)
        widebench.compile([Noisy(), Noisy()], (x,), config=widebench.Config.fast(seed=5), names=["a", "b"]).save_bundle(self.folder / "fleet")
        safetensors.torch.save_file({"input.0": x}, self.folder / "in.safetensors")

        def answer(*seed):
            done = self.ran("run", "--model", self.folder / "fleet", "--inputs", self.folder / "in.safetensors", "--outputs",
                            self.folder / "out.safetensors", *seed)
            self.assertEqual(done.returncode, 0, done.stderr)
            return safetensors.torch.load_file(self.folder / "out.safetensors")["a.output.0"]

        own = answer()
        self.assertTrue(torch.equal(own, answer("--seed", "5")))
        self.assertFalse(torch.equal(own, answer("--seed", "0")))


if __name__ == "__main__":
    unittest.main()

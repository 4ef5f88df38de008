"""`--device cuda` where there is no GPU.

usage: without_gpu_test.py WIDEBENCH
"""
import os
import sys
import unittest

import gpu_test
import program
from gpu_test import MODEL


@unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU here")
class WithoutAGpu(gpu_test.Case):
    """Exit code 3 and one line that says what is missing; nothing is measured or written."""

    COMMANDS = (("profile", "mlp", "-n", "2"), ("benchmark", "mlp", "-n", "2", "-p", "ci", "--peers"),
                ("benchmark", "mlp", "-n", "2", "-p", "ci"), ("--preset", "ci"), ("plan", "mlp", "-n", "2"),
                ("run", "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL), "--inputs",
                 MODEL / "golden.safetensors", "--outputs", "/dev/null"),
                ("test", "--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL)), ("test", "mlp"), ("gui", "mlp"))

    def test_every_command_says_so(self):
        for command in self.COMMANDS:
            with self.subTest(command[0]):
                done = self.done(*command, "--device", "cuda", code=3)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertRegex(done.stderr, "^error: .*(no NVIDIA driver|the driver|libwide_cuda)")
                self.assertEqual(done.stdout, "")
                self.assertFalse((self.folder / "data").exists())

    def test_auto_takes_the_cpu(self):
        document = self.json("profile", "mlp", "-n", "2")
        self.assertEqual(document["captures"][0]["facts"]["device"], "cpu")


if __name__ == "__main__":
    gpu_test.PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)

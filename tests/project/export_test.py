"""Runs the lines of Python that README gives for exporting a model and its checkpoints, then the program on the result."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from repository import ROOT

try:
    import safetensors.torch
    import torch
except (ImportError, OSError) as error:
    print(f"SKIPPED: Python's torch cannot be imported ({error}); scripts/setup --profile full installs it")
    sys.exit(77)


class Export(unittest.TestCase):
    def test_export_and_run(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
        lines = next(block for block in blocks if "torch.export.save" in block)
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names = {}
            exec(compile(lines, "README.md", "exec"), names)  # the README's own words, not a file of someone else
            checkpoints = sorted(name for name in os.listdir(".") if name.startswith("seed"))
            self.assertGreater(len(checkpoints), 1)
            golden = {f"{name.removesuffix('.safetensors')}.output.0": member(*names["example"]).detach()
                      for name, member in zip(checkpoints, names["members"])}
            command = [os.environ["WIDEBENCH"], "run", "--model", "model.pt2", "--weights", *checkpoints,
                       "--inputs", "inputs.safetensors", "--outputs", "outputs.safetensors", "--expect",
                       "golden.safetensors"]
            safetensors.torch.save_file(golden, "golden.safetensors")
            self.check(command, 0)
            self.assertEqual(set(safetensors.torch.load_file("outputs.safetensors")), set(golden))
            # The comparison is a real one: a changed golden value is seen.
            next(iter(golden.values())).view(-1)[3] += 1
            safetensors.torch.save_file(golden, "golden.safetensors")
            self.check(command, 5)

    def check(self, command, expected):
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, expected, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()

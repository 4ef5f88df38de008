"""Runs the lines of Python that README gives for the package."""
import contextlib
import io
import pathlib
import re
import unittest

from support import torch, widebench  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_lines_run(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
        lines = next(block for block in blocks if "widebench.compile" in block)
        torch.manual_seed(0)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(lines, "README.md", "exec"), names)  # the README's own words
        self.assertTrue(names["wide"].verify())


if __name__ == "__main__":
    unittest.main()

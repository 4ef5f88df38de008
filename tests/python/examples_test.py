"""Each script of examples/ runs and says what its README says, numbers apart."""
import pathlib
import re
import subprocess
import sys
import unittest

from support import torch, widebench  # noqa: F401

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def words(text):
    return re.sub(r"\s+", " ", re.sub(r"-?\d+(\.\d+)?", "#", text)).strip()


class Examples(unittest.TestCase):
    def test_each(self):
        readme = (EXAMPLES / "README.md").read_text()
        scripts = sorted(EXAMPLES.glob("*.py"))
        self.assertGreater(len(scripts), 3)
        for script in scripts:
            with self.subTest(script.name):
                shown = re.search(rf"    \$ python {script.name}\n(.*?)\n\n", readme + "\n\n", flags=re.S)
                self.assertIsNotNone(shown, f"README.md does not show {script.name}")
                result = subprocess.run([sys.executable, script], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(words(result.stdout), words(shown[1]))


if __name__ == "__main__":
    unittest.main()

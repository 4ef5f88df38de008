"""Each script of examples/ runs and says what its README says, numbers apart; each notebook runs from its first cell to its last."""
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import ran_as_program, tools, torch, widebench  # noqa: F401

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def words(text):
    text = re.sub(r"^other processes took .*$", "", text, flags=re.M)  # said on a busy machine only
    return re.sub(r"\s+", " ", re.sub(r"-?\d+(\.\d+)?", "#", text)).strip()


def cells_of(notebook):
    document = json.loads(notebook.read_text())
    return document, [cell for cell in document["cells"] if cell["cell_type"] == "code"]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Examples(Case):
    def test_each(self):
        readme = (EXAMPLES / "README.md").read_text()
        scripts = sorted(EXAMPLES.glob("*.py"))
        self.assertGreater(len(scripts), 3)
        for script in scripts:
            with self.subTest(script.name):
                shown = re.search(rf"    \$ python {script.name}\n(.*?)\n\n", readme + "\n\n", flags=re.S)
                self.assertIsNotNone(shown, f"README.md does not show {script.name}")
                printed, code = ran_as_program(script, self.folder)
                self.assertEqual(code, 0, printed)
                self.assertEqual(words(printed), words(shown[1]))
        page = (self.folder / "sweep_report.html").read_text()
        self.assertEqual((page.count("<svg"), page.count("<h2>")), (2, 3))


class Notebooks(Case):
    def test_notebooks(self):
        """Cells in order, the last expression of each shown as a notebook would show it."""
        notebooks = sorted(EXAMPLES.glob("*.ipynb"))
        self.assertGreater(len(notebooks), 0)
        readme = (EXAMPLES / "README.md").read_text()
        for notebook in notebooks:
            self.assertIn(f"({notebook.name})", readme)
            names, shown = {}, []
            for cell in cells_of(notebook)[1]:
                with self.subTest(notebook.name, cell=cell["id"]):
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), "keep no outputs in the repository")
                    tree = ast.parse("".join(cell["source"]))
                    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
                    exec(compile(tree, notebook.name, "exec"), names)  # as the reader would
                    if last is not None:
                        value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
                        shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
            self.assertTrue(any("<svg" in one for one in shown))

    def test_notebooks_by_nbconvert(self):
        python, environment = tools()
        if not python:
            self.skipTest("nbconvert is not installed; scripts/setup --tests --profile full does that")
        for notebook in sorted(EXAMPLES.glob("*.ipynb")):
            with self.subTest(notebook.name):
                result = subprocess.run([python, "-m", "nbconvert", "--to", "html", "--execute", notebook, "--output-dir", self.folder],
                                        capture_output=True, text=True, cwd=self.folder, env=environment)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("<svg", (self.folder / f"{notebook.stem}.html").read_text())


if __name__ == "__main__":
    unittest.main()

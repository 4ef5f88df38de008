"""The public names have types and words: every parameter, every answer, every docstring."""
import inspect
import os
import pathlib
import subprocess
import sys
import unittest

import typed_use
from support import tools, torch, widebench


def public():
    """(name, function) of all that users call."""
    for name in widebench.__all__:
        thing = getattr(widebench, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.ismodule(thing):
            yield from ((f"{name}.{part}", getattr(thing, part)) for part in thing.__all__)
        else:
            yield from of_class(thing)
    explained = widebench.compile([torch.nn.Linear(2, 2)], torch.randn(1, 2), config="fast")
    for answer in (explained.explain(), explained.verify(), explained.verify().checks[0], explained.benchmark(rivals=(), rounds=2)):
        yield from of_class(type(answer))


def of_class(cls):
    parts = [(base, name, part) for base in cls.__mro__ if base.__module__.startswith("widebench.") for name, part in vars(base).items()]
    for base, name, part in parts:
        function = part.fget if isinstance(part, property) else part.__func__ if isinstance(part, (classmethod, staticmethod)) else part
        if inspect.isfunction(function) and (not name.startswith("_") or name in ("__init__", "__len__", "__bool__")):
            if "dataclass" not in (inspect.getdoc(function) or "") and function.__qualname__.startswith(base.__name__):
                yield f"{cls.__name__}.{name}", function


class Typing(unittest.TestCase):
    def test_annotations(self):
        seen = 0
        for name, function in public():
            signature = inspect.signature(function)
            own = [p for p in signature.parameters.values() if p.name not in ("self", "cls") and not p.name.startswith("_")]
            with self.subTest(name):
                self.assertEqual([p.name for p in own if p.annotation is p.empty], [])
                if name != "Wide.__init__" and not name.endswith("__init__"):
                    self.assertIsNot(signature.return_annotation, inspect.Signature.empty)
            seen += 1
        self.assertGreater(seen, 50)

    def test_docstrings(self):
        for name, function in public():
            if "__" not in name and not name.endswith((".of", ".head", ".text", ".passed")):
                with self.subTest(name):
                    self.assertGreater(len(inspect.getdoc(function) or ""), 10)
        for function in (widebench.compile, widebench.from_files):
            text = inspect.getdoc(function)
            for parameter in inspect.signature(function).parameters:
                self.assertRegex(text, rf"(?m)^([\w, ]*, )?{parameter}(, [\w, ]+)?( :|$)", function.__name__)
            for section in ("Parameters", "Returns", "Raises"):
                self.assertIn(f"{section}\n{'-' * len(section)}", text)

    def test_use(self):
        typed_use.main()

    def test_marker(self):
        self.assertTrue((pathlib.Path(widebench.__file__).parent / "py.typed").is_file())


class Mypy(unittest.TestCase):
    def test_use(self):
        python, _ = tools()
        if not python:
            self.skipTest("mypy is not installed; scripts/setup --tests --profile full does that")
        packages = pathlib.Path(widebench.__file__).parents[1]
        place = {} if packages.name == "site-packages" else {"MYPYPATH": str(packages)}  # an installed one is found without
        kept = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "widebench/mypy")  # torch's types: 6 s
        done = subprocess.run([python, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(kept),
                               "--python-executable", sys.executable, typed_use.__file__],
                              capture_output=True, text=True, env={**os.environ, **place})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()

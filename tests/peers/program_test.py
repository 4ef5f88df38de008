"""scripts/peers_program.py: nothing of a .pt2 runs where PyTorch reads it."""
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests" / "corpus" / "minigpt_dynamic" / "model.pt2"

sys.path.insert(0, str(ROOT / "scripts"))
import peers_program  # noqa: E402
import peers_subject  # noqa: E402

if peers_program.torch is None or peers_subject.IMPORT_FAILURE:
    print(f"SKIPPED: {peers_subject.IMPORT_FAILURE}; scripts/setup --profile full installs Python's torch")
    sys.exit(77)

import torch  # noqa: E402

SYMBOL = '"expr_str": "Symbol(\''


class Hostile(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.trace = self.folder / "was_run"
        self.addCleanup(lambda: self.assertFalse(self.trace.exists(), "code of the file was run"))

    def changed(self, part, change):
        path = self.folder / f"changed{len(list(self.folder.iterdir()))}.pt2"
        changes = 0
        with zipfile.ZipFile(MODEL) as source, zipfile.ZipFile(path, "w") as copy:
            for entry in source.infolist():
                data = source.read(entry)
                after = change(data) if part in entry.filename else data
                changes += after != data
                copy.writestr(entry.filename, after)
        self.assertEqual(changes, 1)
        return path

    def in_graph(self, change):
        def of(data):
            document = json.loads(data)
            change(document["graph_module"])
            return json.dumps(document).encode()
        return self.changed("models/model.json", of)

    def replaced(self, old, new):
        return self.changed("models/model.json", lambda data: data.replace(old.encode(), new.encode()))

    def with_operator(self, name):
        return self.in_graph(lambda module: module["graph"]["nodes"][0].update(target=name))

    def with_type(self, text):
        return self.in_graph(lambda module: module["module_call_graph"][0]["signature"].update(in_spec=text))

    def pickle(self):
        class Runs:
            def __reduce__(reduced):
                return os.mkdir, (str(self.trace),)
        file = io.BytesIO()
        torch.save(((Runs(),), {}), file)
        return file.getvalue()

    def test_what_is_taken_out(self):
        path = self.changed("sample_inputs", lambda _: self.pickle())
        self.assertIsNotNone(peers_program.load(path).module(check_guards=False))
        path = self.in_graph(lambda module: module.setdefault("guards_code", []).append(f"__import__('os').mkdir({str(self.trace)!r})"))
        self.assertIsNotNone(peers_program.load(path).module(check_guards=False))
        self.assertFalse(self.trace.exists())
        torch.export.load(self.changed("sample_inputs", lambda _: self.pickle()))
        self.assertTrue(self.trace.exists(), "PyTorch's reader runs it no more: this test shows nothing")
        self.trace.rmdir()

    def refused(self, path, what):
        with self.assertRaisesRegex(peers_program.RunsCode, f"may: {what}.*; export the model again, or leave Python's ways out"):
            peers_program.load(path)

    def test_texts_of_sizes(self):
        for text in ("__import__('os').mkdir('x')", "sympify('x')", "S('x')", "Symbol('__import__(1)')", "().__class__", "[x for x in (1,)]", "f'{1}'", "lambda: 1"):
            with self.subTest(text):
                self.refused(self.replaced(SYMBOL, json.dumps({"expr_str": text + " + "})[1:-2] + "Symbol('"), "the size")

    def test_operators(self):
        for name in ("torch.os.mkdir", "torch.ops.load_library", "torch.ops.load_library.__call__", "torch.ops.import_module.__call__", "_operator.call",
                     "torch.hub.load", "builtins.exec"):
            with self.subTest(name):
                self.refused(self.with_operator(name), "the operator")

    def test_types_among_inputs(self):
        def named(key, value):
            return json.dumps([1, {"type": "collections.defaultdict", "context": json.dumps({key: value}), "children_spec": []}])
        for text in (named("default_factory_module", "os"), named("__enum__", True), named("default_factory_name", "breakpoint"),
                     named("default_factory_module", "os").replace("factory_module", "factory\\\\u005fmodule"),
                     named("__enum__", True).replace("__enum__", "_\\\\u005fenum__")):
            with self.subTest(text):
                self.refused(self.with_type(text), "a type")

    def test_pickled_weights_are_no_program_of_a_subject(self):
        path = self.changed("model_weights_config.json", lambda data: data.replace(b'"use_pickle": false', b'"use_pickle": true'))
        self.refused(path, "a pickle among the weights")
        (self.folder / "model.json").write_text(json.dumps({"schema_version": 1, "members": [], "model": str(path), "weights": [],
                                                            "inputs": str(ROOT / "tests/corpus/mlp/golden.safetensors")}))
        with self.assertRaisesRegex(peers_subject.Unusable, "a pickle among the weights"):
            peers_subject.Subject(self.folder, peers_subject.Cpu())


if __name__ == "__main__":
    unittest.main()

"""Sample traces against trace.schema.json; and that the schema refuses what is wrong."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: this Python has no jsonschema")
    sys.exit(77)

WRITER, SCHEMA = sys.argv[1:3]


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([WRITER, cls.folder.name], check=True)
        schema = json.loads(pathlib.Path(SCHEMA).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)
        cls.traces = {name: json.loads((pathlib.Path(cls.folder.name) / f"{name}.json").read_text())
                      for name in ("cpu", "gpu")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_samples_are_valid(self):
        for name, trace in self.traces.items():
            with self.subTest(name):
                self.validator.validate(trace)

    def test_faults_are_found(self):
        def kernel(trace):
            return next(event for event in trace["traceEvents"] if event.get("cat") == "kernel")

        faults = {
            "no base": lambda trace: trace.pop("baseTimeNanoseconds"),
            "negative duration": lambda trace: kernel(trace).update(dur=-1),
            "text for a time": lambda trace: kernel(trace).update(ts="1"),
            "kernel without stream": lambda trace: kernel(trace)["args"].pop("stream"),
            "unknown category": lambda trace: kernel(trace).update(cat="gpu"),
            "no badge": lambda trace: trace["widebench"]["captures"][0].pop("completeness"),
        }
        for name, spoil in faults.items():
            with self.subTest(name):
                trace = copy.deepcopy(self.traces["gpu"])
                spoil(trace)
                self.assertFalse(self.validator.is_valid(trace))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

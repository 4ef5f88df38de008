"""Expected outputs that are not what the model gives: exit code 5 or 2, and where.

usage: wrong_numbers_test.py WIDEBENCH
"""
import json
import struct
import sys
import unittest

import failures_test
import program
from failures_test import MODEL


class WrongNumbers(failures_test.Case):
    """--expect with one element changed."""

    def changed_golden(self, member, index, value):
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        dtype, shape, data = golden[f"{member}.output.0"]
        data = bytearray(data)
        place = index[0] * shape[1] + index[1]
        data[4 * place:4 * place + 4] = struct.pack("<f", value)
        golden[f"{member}.output.0"] = (dtype, shape, bytes(data))
        return program.write_safetensors(self.folder / "golden.safetensors", golden)

    def test_one_element(self):
        for value in (1000.0, float("nan"), float("inf")):
            with self.subTest(value):
                done = self.run_program(expect=self.changed_golden("seed2", (3, 17), value))
                self.assertEqual(done.returncode, 5, done.stderr)
                for word in ("seed2", "output 0", "[3, 17]"):
                    self.assertIn(word, done.stderr)
                for other in ("seed0", "seed1", "seed3"):
                    self.assertNotIn(other, done.stderr)

    def test_a_small_change(self):
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        _, _, data = golden["seed1.output.0"]
        value = struct.unpack("<f", data[:4])[0]
        path = self.changed_golden("seed1", (0, 0), value + 0.01)
        self.assertEqual(self.run_program(expect=path).returncode, 5)
        self.assertEqual(self.run_program(expect=path, extra=["--atol", "0.1"]).returncode, 0)

    def test_an_output_more(self):
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        golden["seed2.output.1"] = golden["seed2.output.0"]
        path = program.write_safetensors(self.folder / "more.safetensors", golden)
        done = self.run_program(expect=path)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("seed2.output.1", done.stderr)

    def test_json(self):
        done = self.run_program(expect=self.changed_golden("seed2", (3, 17), 1000.0), extra=["--json"])
        self.assertEqual(done.returncode, 5)
        wrong = [one for one in json.loads(done.stdout)["expectations"] if not one["agrees"]]
        self.assertEqual([(one["member"], one["output"], one["worst"]) for one in wrong], [("seed2", 0, [3, 17])])


if __name__ == "__main__":
    failures_test.WIDEBENCH = sys.argv.pop(1)
    unittest.main()

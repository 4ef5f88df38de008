"""What is written and where: nothing over what is read or is there already, and faults of places are found before the work.

usage: written_files_test.py WIDEBENCH
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import failures_test
import program
from failures_test import MODEL


class Written(failures_test.Case):
    def test_folder_of_the_outputs_is_missing(self):
        shutil.rmtree(self.results)
        done = self.run_program()
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(str(self.results), done.stderr)

    def test_what_is_written_is_none_of_what_is_read(self):
        weights = []
        for seed in program.seeds(MODEL):
            weights.append(shutil.copy(seed, self.folder))
        before = pathlib.Path(weights[1]).read_bytes()
        for option in ("--outputs", "--buffers"):
            outputs = [] if option == "--outputs" else ["--outputs", self.results / "outputs.safetensors"]
            done = program.run(failures_test.WIDEBENCH, "run", "--model", MODEL / "model.pt2", "--weights", *weights, "--inputs",
                               MODEL / "golden.safetensors", *outputs, option, weights[1])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(weights[1], done.stderr)
        self.assertEqual(pathlib.Path(weights[1]).read_bytes(), before)

    def test_no_command_writes_over_a_history(self):
        database = self.folder / "r.db"
        done = program.run(failures_test.WIDEBENCH, "benchmark", "linear", "-n", "2", "-p", "ci", "--db", database)
        self.assertEqual(done.returncode, 0, done.stderr)
        copy = shutil.copy(database, self.folder / "r.db.old")
        before = pathlib.Path(copy).read_bytes()
        of_model = ["--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL)]
        for place in (copy, f"{copy}-wal", f"{copy}-shm"):
            for command in (["run", *of_model, "--inputs", MODEL / "golden.safetensors", "--outputs"], ["plan", *of_model, "-o"],
                            ["profile", *of_model, "--passes", "1", "--trace"], ["pack", *program.seeds(MODEL), "--force", "-o"],
                            ["benchmark", "linear", "-n", "2", "-p", "ci", "--db", database, "-o"], ["runs", "export", "latest", "--db", database, "-o"]):
                done = program.run(failures_test.WIDEBENCH, *command, place)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), f"{command[0]} {place}: {done.stderr}")
                self.assertIn("SQLite database", done.stderr)
        self.assertEqual(pathlib.Path(copy).read_bytes(), before)
        self.assertFalse(pathlib.Path(f"{copy}-wal").exists())

    def test_no_command_writes_over_what_it_reads(self):
        model = shutil.copy(MODEL / "model.pt2", self.folder)
        weights = [shutil.copy(seed, self.folder) for seed in program.seeds(MODEL)]
        inputs = shutil.copy(MODEL / "golden.safetensors", self.folder)
        read = ["--model", model, "--weights", *weights, "--inputs", inputs]
        bundle, packed = self.folder / "a.wide", self.folder / "packed.safetensors"
        for making in (["bundle", *read, "-o", bundle], ["pack", *weights, "-o", packed]):
            self.assertEqual(program.run(failures_test.WIDEBENCH, *making).returncode, 0)
        of_bundle = ["--model", bundle, "--inputs", inputs]
        attempts = [(["plan", *read, "-o"], one) for one in (model, weights[1], inputs)]
        attempts += [(["profile", *read, "--passes", "1", option], weights[0]) for option in ("--trace", "--svg")]
        attempts += [(["run", *of_bundle, "--outputs"], bundle / name) for name in ("members.safetensors", "model.pt2", "bundle.json", "new")]
        attempts += [(["plan", *of_bundle, "-o"], bundle / "members.safetensors"),
                     (["benchmark", "--model", model, "--weights", weights[0], "-n", "1", "--db", self.folder / "r.db", "-o"], weights[0])]
        preset = self.folder / "own.json"
        preset.write_text(json.dumps({"schema_version": 1, "name": "own", "defaults": {"n": [1]},
                                      "cases": [{"subject": "mlp", "kind": "zoo", "shape": {"batch": 1}}]}))
        attempts += [(["benchmark", "--model", bundle, "-n", "1", "--db", self.folder / "r.db", "-o"], bundle / "bundle.json"),
                     (["benchmark", "mlp", "-p", preset, "--db", self.folder / "r.db", "-o"], preset)]
        for command, file in attempts:
            before = pathlib.Path(file).read_bytes() if os.path.exists(file) else None
            done = program.run(failures_test.WIDEBENCH, *command, file)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("is read; name another file", done.stderr)
            self.assertEqual(pathlib.Path(file).read_bytes() if os.path.exists(file) else None, before)
        stem = pathlib.Path(weights[0]).stem
        os.rename(packed, self.folder / f"{stem}.safetensors")
        done = program.run(failures_test.WIDEBENCH, "unpack", self.folder / f"{stem}.safetensors", "--member", stem, "-o", self.folder, "--force")
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_full_disk_behind_standard_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([failures_test.WIDEBENCH, "info", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("standard output", done.stderr)

    def test_standard_output_is_no_file_to_write(self):
        text = self.folder / "text"
        read = ["--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL)]
        sizes = self.folder / "own.json"
        sizes.write_text(json.dumps({"schema_version": 1, "name": "own", "defaults": {"n": [1]},
                                     "cases": [{"subject": "mlp", "kind": "zoo", "shape": {"batch": 1}}]}))
        for command in (["run", *read, "--inputs", MODEL / "golden.safetensors", "--outputs"], ["plan", *read, "--seconds", "1", "-o"],
                        ["profile", *read, "--passes", "1", "--trace"], ["--preset", sizes, "--db", self.folder / "r.db", "--json"]):
            for name in ("/dev/stdout", text):
                with open(text, "w", encoding="utf-8") as output:
                    done = subprocess.run([failures_test.WIDEBENCH, *command, name], stdout=output, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn("standard output", done.stderr)
                self.assertTrue(os.path.islink("/dev/stdout"))

    def test_what_a_link_leads_to_is_written(self):
        target, link = self.folder / "target.safetensors", self.results / "outputs.safetensors"
        target.write_bytes(b"before")
        link.symlink_to(target)
        self.assertEqual(self.run_program().returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(len(program.read_safetensors(target)), 4)
        target.unlink()  # also where nothing is there yet
        self.assertEqual(self.run_program().returncode, 0)
        self.assertEqual((link.is_symlink(), len(program.read_safetensors(target))), (True, 4))
        target.unlink()
        target.symlink_to(link)
        done = self.run_program()
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("leads to itself", done.stderr)
        done = program.run(failures_test.WIDEBENCH, "plan", "mlp", "-n", "2", "--seconds", "0", "-o", link)
        self.assertIn(f"{link}: ", done.stderr)

    def test_an_export_replaces_nothing_unasked(self):
        out = self.folder / "exported"
        export = ["export", "mlp", "-n", "2", "-o", out]
        self.assertEqual(program.run(failures_test.WIDEBENCH, *export).returncode, 0)
        before = {file.name: file.read_bytes() for file in out.iterdir()}
        (out / "model.json").unlink()
        done = program.run(failures_test.WIDEBENCH, "export", "mlp", "-n", "2", "--seed", "1", "-o", out)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("--force", done.stderr)
        self.assertEqual({file.name: file.read_bytes() for file in out.iterdir()}, {name: data for name, data in before.items() if name != "model.json"})
        self.assertEqual(program.run(failures_test.WIDEBENCH, *export, "--force").returncode, 0)
        model = program.CORPUS / "mlp"
        inputs = out / "inputs.safetensors"
        inputs.write_bytes((model / "golden.safetensors").read_bytes())
        done = program.run(failures_test.WIDEBENCH, "export", "--model", model / "model.pt2", "--weights", *program.seeds(model), "--inputs", inputs, "-o", out, "--force")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is read", done.stderr)
        self.assertEqual(inputs.read_bytes(), (model / "golden.safetensors").read_bytes())

    def test_folders_are_looked_for_before_the_work(self):
        model, there = program.CORPUS / "mutating_buffer", self.results / "o.safetensors"
        done = program.run(failures_test.WIDEBENCH, "run", "--model", model / "model.pt2", "--weights", *program.seeds(model), "--inputs", model / "golden.safetensors",
                           "--outputs", there, "--buffers", self.folder / "nowhere" / "b.safetensors")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("nowhere", done.stderr)
        self.assertFalse(there.exists())

    def test_a_closed_standard_output_is_told(self):
        for command in (["test", "mlp"], ["plan", "mlp"], ["trace", "mlp"], ["--version"]):
            done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", failures_test.WIDEBENCH, *command], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("standard output", done.stderr)


if __name__ == "__main__":
    failures_test.WIDEBENCH = sys.argv.pop(1)
    unittest.main()

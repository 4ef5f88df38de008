"""Files and command lines with one thing wrong each: exit code 2, one line that names file and place, nothing written.

usage: failures_test.py WIDEBENCH
"""
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import program

WIDEBENCH = None
MODEL = program.CORPUS / "mlp"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "results"
        self.results.mkdir()

    def run_program(self, model=MODEL / "model.pt2", weights=None, inputs=None, expect=None, extra=()):
        weights = program.seeds(MODEL) if weights is None else weights
        weights = ["--weights", *weights] if weights else []
        expect = ["--expect", expect] if expect else []
        return program.run(WIDEBENCH, "run", "--model", model, *weights, "--inputs", inputs or MODEL / "golden.safetensors",
                           "--outputs", self.results / "outputs.safetensors", *expect, *extra)

    def refused(self, *words, **files):
        """Exit code 2, one line on standard error with all the words, nothing written."""
        done = self.run_program(**files)
        self.assertEqual(done.returncode, 2, done.stderr + done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        for word in words:
            self.assertIn(str(word), done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(list(self.results.iterdir()), [])

    def archive(self, change, name="changed.pt2"):
        """A copy of the model whose members `change` has edited; it gets {name: bytes} with the root folder cut off."""
        members = program.read_archive(MODEL / "model.pt2")
        root = next(iter(members)).split("/")[0]
        members = {member.removeprefix(root + "/"): data for member, data in members.items()}
        change(members)
        return program.write_archive(self.folder / name, {f"{root}/{member}": data for member, data in members.items()})

    def edited(self, member, before, after):
        def change(members):
            self.assertIn(before, members[member])
            members[member] = members[member].replace(before, after, 1)
        return self.archive(change)

    def checkpoint(self, change):
        tensors = program.read_safetensors(MODEL / "seed0.safetensors")
        change(tensors)
        return [program.write_safetensors(self.folder / "changed.safetensors", tensors)]

    def shared_input(self):
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        return program.write_safetensors(self.folder / "inputs.safetensors", {"input.0": golden["seed0.input.0"]})


class Files(Case):
    def test_a_rebuilt_archive_is_fine(self):
        """The changes below are the only reason for a refusal."""
        done = self.run_program(model=self.archive(lambda members: None), weights=self.checkpoint(lambda tensors: None),
                                inputs=self.shared_input())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.results / "outputs.safetensors").is_file())

    def test_missing(self):
        for role in ("model", "weights", "inputs"):
            with self.subTest(role):
                path = self.folder / f"there_is_no_{role}"
                self.refused(path, **{role: [path] if role == "weights" else path})

    def test_directory(self):
        for role in ("model", "weights", "inputs"):
            with self.subTest(role):
                path = self.folder / f"{role}_folder"
                path.mkdir()
                self.refused(path, "directory", **{role: [path] if role == "weights" else path})

    def test_empty(self):
        for role in ("model", "weights", "inputs"):
            with self.subTest(role):
                path = self.folder / f"empty_{role}"
                path.touch()
                self.refused(path, **{role: [path] if role == "weights" else path})

    def test_text_file_as_model(self):
        path = self.folder / "notes.pt2"
        path.write_text("this is no archive\n" * 100)
        self.refused(path, model=path)

    def test_truncated(self):
        data = (MODEL / "model.pt2").read_bytes()
        path = self.folder / "truncated.pt2"
        for length in (3, 100, len(data) // 2, len(data) - 20, len(data) - 1):
            with self.subTest(length):
                path.write_bytes(data[:length])
                self.refused(path, model=path)
        weights = (MODEL / "seed0.safetensors").read_bytes()
        path = self.folder / "truncated.safetensors"
        for length in (7, 20, len(weights) - 1):
            with self.subTest(length):
                path.write_bytes(weights[:length])
                self.refused(path, weights=[path])

    def flipped(self, member, size):
        data = bytearray((MODEL / "model.pt2").read_bytes())
        data[program.data_position(MODEL / "model.pt2", member) + size // 2] ^= 0x10
        path = self.folder / "flipped.pt2"
        path.write_bytes(data)
        return path

    def test_flipped_bit_in_every_member(self):
        """Also in the weights that checkpoints replace, and in what nothing reads."""
        members = program.read_archive(MODEL / "model.pt2")
        checked = 0
        for member, data in members.items():
            path = self.flipped(member, len(data))
            with self.subTest(member):
                self.refused(path, member.split("/", 1)[1], model=path)
                if "/weights/" in member:
                    self.refused(path, member.split("/", 1)[1], model=path, weights=[], inputs=self.shared_input())
            checked += 1
        self.assertGreaterEqual(checked, 10)

    def test_weights_with_a_missing_tensor(self):
        weights = self.checkpoint(lambda tensors: tensors.pop("fc1.bias"))
        self.refused(weights[0], "fc1.bias", MODEL / "model.pt2", weights=weights)

    def test_weights_with_an_extra_tensor(self):
        weights = self.checkpoint(lambda tensors: tensors.update({"fc9.bias": ("F32", [2], bytes(8))}))
        self.refused(weights[0], "fc9.bias", MODEL / "model.pt2", weights=weights)

    def test_weights_with_a_misshapen_tensor(self):
        def change(tensors):
            dtype, shape, data = tensors["fc1.weight"]
            tensors["fc1.weight"] = (dtype, shape[::-1], data)
        weights = self.checkpoint(change)
        self.refused(weights[0], "fc1.weight", "[64, 128]", "[128, 64]", weights=weights)

    def test_weights_of_another_dtype(self):
        def change(tensors):
            _, shape, data = tensors["fc1.weight"]
            tensors["fc1.weight"] = ("F16", shape, data[:len(data) // 2])
        weights = self.checkpoint(change)
        self.refused(weights[0], "fc1.weight", "float16", "float32", weights=weights)

    def test_checkpoint_of_another_model(self):
        other = program.CORPUS / "resblock" / "seed0.safetensors"
        self.refused(other, MODEL / "model.pt2", weights=[other])
        self.refused(other, weights=[MODEL / "seed0.safetensors", other])

    def test_safetensors_header_of_2_to_the_63(self):
        path = self.folder / "huge.safetensors"
        path.write_bytes(struct.pack("<Q", 1 << 63) + b"{}" + bytes(64))
        self.refused(path, "header", weights=[path])
        self.refused(path, "header", inputs=path)

    def test_unknown_operator(self):
        path = self.edited("models/model.json", b"torch.ops.aten.relu.default", b"torch.ops.my_library.relu.default")
        self.refused(path, "my_library.relu.default", "relu", model=path)

    def test_operator_of_no_kind(self):
        path = self.edited("models/model.json", b"torch.ops.aten.relu.default", b"builtins.print")
        self.refused(path, "builtins.print", model=path)

    def test_pickled_weights(self):
        path = self.edited("data/weights/model_weights_config.json", b'"use_pickle": false', b'"use_pickle": true')
        self.refused(path, "pickle", model=path)

    def test_archive_of_torch_2_6(self):
        """Before torch 2.8, torch.export.save wrote other members: serialized_exported_program.json beside pickles."""
        members = {"version": b"6.1", "serialized_exported_program.json": b'{"graph_module": {}}',
                   "serialized_state_dict.pt": b"\x80\x02}.", "serialized_constants.pt": b"\x80\x02}.",
                   "serialized_example_inputs.pt": b"\x80\x02}."}
        path = program.write_archive(self.folder / "old.pt2", members)
        self.refused(path, "torch 2.7 or older", model=path)

    def test_missing_member(self):
        path = self.archive(lambda members: members.pop("data/weights/weight_2"))
        self.refused(path, "weight_2", model=path)

    def test_compressed_members(self):
        path = self.folder / "compressed.pt2"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in program.read_archive(MODEL / "model.pt2").items():
                archive.writestr(name, data)
        self.refused(path, model=path)

    def test_missing_input(self):
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        golden.pop("seed2.input.0")
        path = program.write_safetensors(self.folder / "inputs.safetensors", golden)
        self.refused(path, "seed2.input.0", inputs=path)

    def test_misshapen_input(self):
        path = program.write_safetensors(self.folder / "inputs.safetensors", {"input.0": ("F32", [4, 65], bytes(4 * 4 * 65))})
        self.refused(path, "input.0", "[4, 65]", "[4, 64]", inputs=path)

    def test_expectation_that_is_not_there(self):
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        golden.pop("seed3.output.0")
        path = program.write_safetensors(self.folder / "golden.safetensors", golden)
        self.refused(path, "seed3.output.0", expect=path)

    def test_expectations_of_nobody_are_named(self):
        weights = [MODEL / "seed0.safetensors", MODEL / "seed2.safetensors"]
        golden = program.read_safetensors(MODEL / "golden.safetensors")
        inputs = program.write_safetensors(self.folder / "inputs.safetensors", {name: value for name, value in golden.items() if ".input." in name})
        done = self.run_program(weights=weights, inputs=inputs, expect=MODEL / "golden.safetensors")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not compared, as no member is named so: outputs of seed1, seed3", done.stdout)

    def test_a_folder_that_is_no_bundle(self):
        (self.folder / "model").mkdir()
        self.refused(self.folder / "model", "bundle", model=self.folder / "model")

    def test_a_profile_that_keeps_nothing_needs_no_home(self):
        bare = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
        done = subprocess.run([WIDEBENCH, "profile", "mlp", "-n", "2", "--passes", "1", "--rivals", "none", "--trace", self.folder / "t.json"],
                              env=bare, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_tolerances_that_are_no_numbers(self):
        for option in ("--rtol", "--atol"):
            self.refused(option, "nan", expect=MODEL / "golden.safetensors", extra=[option, "nan"])

    def test_values_that_are_empty(self):
        self.refused("--expect", "empty", extra=["--expect", ""])
        self.refused("--plan", "empty", extra=["--plan", ""])
        for command in (["--preset", ""], ["--preset", "ci", "--json", ""], ["runs", "pin", "latest", "--as", ""], ["benchmark", "mlp", "--model", ""]):
            done = program.run(WIDEBENCH, *command)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn("empty", done.stderr)

    def test_options_that_would_have_no_effect(self):
        weights = ["--weights", *program.seeds(MODEL)]
        model = ["--model", MODEL / "model.pt2", *weights]
        for command in (["test", "mlp", *weights], ["test", "mlp", "--inputs", MODEL / "golden.safetensors"], ["test", *model, "-n", "7"],
                        ["test", *model, "--dtype", "float64"], ["test", *model, "--plan", "p.json", "-s", "grouped"], ["trace", "mlp", *weights],
                        ["trace", *model, "--plan", "p.json", "--tune"], ["plan", "mlp", *weights], ["plan", *model, "-n", "9"], ["plan", *model[:2], "-p", "ci"],
                        ["profile", *model, "-n", "9"], ["profile", *model, "--dtype", "float64"], ["run", *model, "--inputs", "i", "--outputs", "o", "--rtol", "0"],
                        ["benchmark", "mlp", "--rivals", "eager,eager"], ["benchmark", "mlp", "--device", "cpu,auto"], ["test", "mlp", "--seed", "-1"],
                        ["trace", "mlp", "--seed", "18446744073709551616"], *([command, *model[:2], *model[:2], "-n", "3"] for command in ("plan", "test", "trace"))):
            done = program.run(WIDEBENCH, *command)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), (command, done.stderr))

    def test_a_dash_is_no_file(self):
        weights = [*program.seeds(MODEL)]
        for command in (["run", "--model", MODEL / "model.pt2", "--weights", *weights, "--inputs", MODEL / "golden.safetensors", "--outputs", "-"],
                        ["pack", *weights, "-o", "-"]):
            done = subprocess.run([WIDEBENCH, *command], capture_output=True, text=True, cwd=self.folder, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn("-: this is written to files only", done.stderr)
        self.assertFalse((self.folder / "-").exists())

    def test_few_open_files_are_called_so(self):
        for most in range(4, 24):
            done = subprocess.run(["sh", "-c", f'ulimit -n {most}; exec "$0" benchmark mlp -n 2 -p ci --db "$1"', WIDEBENCH, self.folder / "r.db"],
                                  capture_output=True, text=True, timeout=60, check=False)
            if done.returncode == 0:
                break
            self.assertNotIn("memory", done.stderr, most)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_strategy_that_runs_nothing_proves_nothing(self):
        for words in (["linear", "-s", "grouped"], ["mlp", "-s", "conv=sequential"], ["--model", MODEL / "model.pt2", "--weights", *program.seeds(MODEL), "-s", "winograd_2x2"]):
            done = program.run(WIDEBENCH, "test", *words)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn("skipped: no operation here runs by the strategy", done.stdout)
        done = self.run_program(extra=["-s", "winograd_2x2"])
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertIn("no operation here runs by the strategy winograd_2x2", done.stderr)

    def test_a_compiler_that_fails_is_no_fault_of_ours(self):
        environment = dict(os.environ, WIDEBENCH_CC="/bin/false", XDG_CACHE_HOME=str(self.folder / "cache"))
        model = program.CORPUS / "resblock"  # it has a group
        done = subprocess.run([WIDEBENCH, "run", "--model", model / "model.pt2", "--weights", *program.seeds(model), "--inputs", model / "golden.safetensors",
                               "--outputs", self.results / "o", "--mode", "default", "-s", "compiled"], capture_output=True, text=True, env=environment,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("wide.group: /bin/false failed", done.stderr)

    def test_memory_that_runs_out_is_no_bug(self):
        done = subprocess.run([WIDEBENCH, "export", "mlp", "-n", "1", "-o", self.results / "much", "--size", "batch=999999999"], capture_output=True,
                              text=True, timeout=60, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33)))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
        self.assertRegex(done.stderr, r"memory ran out \(\d+ bytes at once were wanted\); take fewer members or smaller sizes")

    def test_a_deleted_working_directory_is_said(self):
        gone = self.folder / "gone"
        gone.mkdir()
        done = subprocess.run(["/bin/sh", "-c", 'rmdir "$PWD"; exec "$0" --version', WIDEBENCH], cwd=gone, capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "error: the working directory was deleted; change to one that is there\n")

    def test_the_history_on_a_full_disk_can_be_read(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no file system may be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)

        def runs(*arguments):
            return subprocess.run([WIDEBENCH, *arguments, "--db", disk / "r.db"], capture_output=True, text=True, timeout=60, check=False)
        runs("benchmark", "mlp", "-n", "2", "-p", "ci", "--rivals", "eager", "--quiet")
        with open(disk / "fill", "wb", buffering=0) as fill, self.assertRaises(OSError):
            while True:
                fill.write(bytes(4096))
        listed = runs("runs", "list")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertIn("mlp", listed.stdout)
        deleted = runs("runs", "delete", "1")
        self.assertEqual(deleted.returncode, 2)
        self.assertIn("the disk is full", deleted.stderr)

    def test_a_pipe_is_no_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for arguments in (["runs", "list", "--db", pipe], ["pack", pipe, pipe, "-o", self.results / "packed.safetensors"],
                          ["profile", "--from", pipe], ["runs", "list", "--db", "/dev/zero"]):
            done = subprocess.run([WIDEBENCH, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("/dev/zero" if "/dev/zero" in arguments else str(pipe), done.stderr)

    def test_a_self_test_ends_at_a_signal(self):
        for signal_ in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([WIDEBENCH, "gate", "--self-test", "--trials", "100000"], stdout=subprocess.DEVNULL) as process:
                time.sleep(1)
                process.send_signal(signal_)
                self.assertIn(process.wait(5), (128 + signal_, -signal_))  # the latter before it has looked out for signals

    def test_json_error(self):
        path = self.folder / "missing.pt2"
        done = self.run_program(model=path, extra=["--json"])
        self.assertEqual(done.returncode, 2)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["stage"], "load")
        self.assertIn(str(path), error["message"])
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    WIDEBENCH = sys.argv.pop(1)
    unittest.main()

"""`widebench pack` and `unpack`: what comes out is what went in, byte for byte, and what cannot be packed is refused.

usage: pack_test.py WIDEBENCH
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import program

WIDEBENCH = None
MODEL = program.CORPUS / "mlp"

try:
    import safetensors
    import torch
except ImportError:
    safetensors = None


def metadata(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]]).get("__metadata__", {})


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.packed = self.folder / "packed.safetensors"

    def ran(self, *words):
        """What it said; with --json the document."""
        done = program.run(WIDEBENCH, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "--json" in words:
            return json.loads(done.stdout)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def refused(self, *words, say=()):
        """Exit code 2, one line on standard error with all that it must say, no new file."""
        before = sorted(self.folder.rglob("*"))
        done = program.run(WIDEBENCH, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in say:
            self.assertIn(str(word), done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def checkpoint(self, name, **tensors):
        return program.write_safetensors(self.folder / f"{name}.safetensors", tensors)

    def round_trip(self, files, *options):
        """Files by what they hold: packed, and unpacked into a folder that is given back."""
        self.ran("pack", *files, "-o", self.packed, *options)
        self.ran("unpack", self.packed, "-o", self.folder / "out")
        for file in files:
            self.assertEqual((self.folder / "out" / file.name).read_bytes(), file.read_bytes(), file)
        return program.read_safetensors(self.packed)


# Every element type of the format, with bit patterns that arithmetic would not keep: quiet and signalling NaN with
# payloads, negative zero, denormals.
SPECIAL = {
    "f16": ("F16", [4], struct.pack("<4H", 0x7e01, 0xfd55, 0x8000, 0x0001)),
    "bf16": ("BF16", [4], struct.pack("<4H", 0x7fc1, 0xff95, 0x8000, 0x0001)),
    "f32": ("F32", [2, 2], struct.pack("<4I", 0x7fc12345, 0xffa00001, 0x80000000, 1)),
    "f64": ("F64", [2], struct.pack("<2Q", 0x7ff4000000000123, 1 << 63)),
    "c64": ("C64", [1], struct.pack("<2I", 0x7fa00001, 0x80000000)),
    "f8": ("F8_E4M3", [3], b"\x7f\xff\x80"), "f8_5": ("F8_E5M2", [3], b"\x7d\xfe\x80"),
    "flag": ("BOOL", [3], b"\0\1\1"), "u8": ("U8", [2], b"\xff\0"), "i8": ("I8", [2], b"\x80\x7f"),
    "i16": ("I16", [1], b"\0\x80"), "u16": ("U16", [1], b"\xff\xff"), "i32": ("I32", [1], b"\0\0\0\x80"),
    "u32": ("U32", [1], b"\xff" * 4), "i64": ("I64", [], b"\xff" * 8), "u64": ("U64", [], b"\xff" * 8),
    "scalar": ("F32", [], struct.pack("<I", 0x7f800001)), "none": ("F32", [0], b""), "none_of_many": ("I64", [3, 0, 5], b""),
    "wéird name/with.dots ": ("U8", [1], b"x"),
}


class RoundTrip(Case):
    def test_corpus(self):
        """The models of this repository; all others go through the same code in the tests of formats."""
        def one(folder):
            with tempfile.TemporaryDirectory() as out:
                out = pathlib.Path(out)
                files = program.seeds(folder)
                for words in (["pack", *files, "-o", out / "packed.safetensors"], ["unpack", out / "packed.safetensors", "-o", out / "back"]):
                    done = program.run(WIDEBENCH, *words)
                    if done.returncode != 0:
                        return done.stderr
                wrong = [file.name for file in files if (out / "back" / file.name).read_bytes() != file.read_bytes()]
                return f"other bytes: {wrong}" if wrong else None

        folders = [model.parent for model in sorted(program.CORPUS.glob("*/model.pt2"))]
        for folder in folders:
            with self.subTest(folder.name):
                self.assertIsNone(one(folder))
        self.assertGreater(len(folders), 5)

    def test_every_type(self):
        alike = [self.checkpoint(f"m{i}", **SPECIAL) for i in range(3)]
        stored = self.round_trip(alike)
        self.assertEqual(stored, {name: (dtype, shape, data) for name, (dtype, shape, data) in SPECIAL.items()})
        self.assertEqual(json.loads(metadata(self.packed)["widebench.once"]), sorted(SPECIAL, key=str.encode))

    def test_every_type_stacked(self):
        def other(data, i):
            return data if i == 0 else data[::-1] if data != data[::-1] else data

        files = [self.checkpoint(f"m{i}", **{name: (dtype, shape, other(data, i) if dtype != "BOOL" else data)
                                             for name, (dtype, shape, data) in SPECIAL.items()}) for i in range(3)]
        stored = self.round_trip(files, "--stack-all")
        each = [program.read_safetensors(file) for file in files]
        for name, (dtype, shape, _) in SPECIAL.items():
            self.assertEqual(stored[name], (dtype, [3, *shape], b"".join(one[name][2] for one in each)))
        self.assertEqual(json.loads(metadata(self.packed)["widebench.once"]), [])

    def test_one_bit_apart(self):
        data = bytearray(1 << 16)
        a = self.checkpoint("a", w=("F32", [128, 128], bytes(data)), same=("F32", [2], bytes(8)))
        data[-1] ^= 0x80
        b = self.checkpoint("b", w=("F32", [128, 128], bytes(data)), same=("F32", [2], bytes(8)))
        stored = self.round_trip([a, b])
        self.assertEqual((stored["w"][1], stored["same"][1]), ([2, 128, 128], [2]))

    def test_one_member_and_none_of_its_tensors(self):
        stored = self.round_trip([self.checkpoint("only", w=("F32", [2], bytes(8)))])
        self.assertEqual(stored["w"][1], [1, 2])
        self.packed.unlink()
        (self.folder / "out" / "only.safetensors").unlink()
        self.assertEqual(self.round_trip([self.checkpoint("a"), self.checkpoint("b")]), {})

    def test_files_of_any_make(self):
        """Headers with spaces, metadata, another order and another padding come back as they were."""
        def write(name, text, data):
            path = self.folder / f"{name}.safetensors"
            path.write_bytes(struct.pack("<Q", len(text)) + text + data)
            return path

        first = write("a", b'{ "__metadata__" : {"format":"pt","\xc3\xa9":"\\u0001"},\n "b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},'
                           b'"a":{"data_offsets":[0,3],"dtype":"U8","shape":[3,1]}}', b"AAAbb")
        second = write("b", b'{"a":{"dtype":"U8","shape":[3,1],"data_offsets":[2,5]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   ', b"BBaaa")
        stored = self.round_trip([first, second])
        self.assertEqual(stored["a"], ("U8", [2, 3, 1], b"AAAaaa"))

    def test_names_from_folders(self):
        files = []
        for name in ("one", "two"):
            (self.folder / name).mkdir()
            files.append(program.write_safetensors(self.folder / name / "model.safetensors", {"w": ("U8", [1], name[:1].encode())}))
        self.ran("pack", *files, "-o", self.packed)
        self.ran("unpack", self.packed, "-o", self.folder / "new" / "out")
        for file in files:
            self.assertEqual((self.folder / "new" / "out" / file.parent.name / file.name).read_bytes(), file.read_bytes())

    def test_packed_again_and_one_member(self):
        files = [self.checkpoint(f"m{i}", w=("U8", [1], bytes([i])), same=("U8", [1], b"x")) for i in range(4)]
        self.ran("pack", *files[:3], "-o", self.packed)
        more = self.folder / "more.safetensors"
        said = self.ran("pack", self.packed, files[3], "-o", more, "--json")
        self.assertEqual((said["members"], said["stacked"], said["once"]), (["m0", "m1", "m2", "m3"], 1, 1))
        said = self.ran("unpack", more, "-o", self.folder / "out", "--member", "m2", "--member", "m3", "--json")
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["m2.safetensors", "m3.safetensors"])
        self.assertEqual(len(said["files"]), 2)
        self.assertEqual((self.folder / "out" / "m3.safetensors").read_bytes(), files[3].read_bytes())
        self.refused("unpack", more, "-o", self.folder / "x", "--member", "m9", say=["m9", "m0, m1"])

    def test_programs(self):
        """A .pt2 is a member by its state dict."""
        for name in ("mlp", "tied_linears", "mutating_buffer"):
            folder = program.CORPUS / name
            out = self.folder / name
            self.ran("pack", folder / "model.pt2", "-o", out)
            self.ran("unpack", out, "-o", self.folder / "out", "--force")
            stored = program.read_safetensors(self.folder / "out" / "model.safetensors")
            self.assertEqual({name: one[:2] for name, one in stored.items()},
                             {name: one[:2] for name, one in program.read_safetensors(folder / "seed0.safetensors").items()})

    @unittest.skipIf(safetensors is None, "safetensors and torch are not installed")
    def test_by_the_reference(self):
        """The reference's own reader sees stacked tensors, and its own writer's files come back."""
        from safetensors.torch import load_file, save_file

        each = [{"w": torch.randn(3, 5), "half": torch.randn(4).bfloat16(), "steps": torch.tensor(7), "mask": torch.tensor([True, False])}
                for _ in range(3)]
        files = [self.folder / f"m{i}.safetensors" for i in range(3)]
        for file, tensors in zip(files, each):
            save_file(tensors, file, {"format": "pt"})
        self.round_trip(files)
        stacked = load_file(self.packed)
        self.assertTrue(torch.equal(stacked["w"], torch.stack([one["w"] for one in each])))
        self.assertTrue(torch.equal(stacked["half"], torch.stack([one["half"] for one in each])))
        self.assertEqual(stacked["steps"].tolist(), 7)
        with safetensors.safe_open(self.packed, "pt") as file:
            self.assertEqual([one["name"] for one in json.loads(file.metadata()["widebench.members"])], ["m0", "m1", "m2"])
            self.assertEqual(json.loads(file.metadata()["widebench.once"]), ["mask", "steps"])


class Weights(Case):
    """A packed file where checkpoints are taken."""

    def test_run_and_benchmark(self):
        golden, outputs = MODEL / "golden.safetensors", self.folder / "outputs.safetensors"
        self.ran("pack", *program.seeds(MODEL)[:3], "-o", self.packed)
        for weights in ([self.packed], [self.packed, program.seeds(MODEL)[3]]):
            self.ran("run", "--model", MODEL / "model.pt2", "--weights", *weights, "--inputs", golden, "--outputs", outputs, "--expect", golden)
        self.assertEqual({name.split(".")[0] for name in program.read_safetensors(outputs)}, {f"seed{i}" for i in range(4)})
        self.ran("test", "--model", MODEL / "model.pt2", "--weights", self.packed)

        def benchmark(*words):
            done = program.run(WIDEBENCH, "benchmark", "--model", MODEL / "model.pt2", "-p", "ci", "--db", self.folder / "r.db", "--json", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [(case["n"], case["plan"]["checkpoints"]) for case in json.loads(done.stdout)["cases"]], done.stderr

        self.assertEqual(benchmark("--weights", self.packed)[0], [(3, 3)])
        cases, said = benchmark("--weights", self.packed, program.seeds(MODEL)[3], "-n", "2,4,5")
        self.assertEqual(cases, [(2, 2), (4, 4), (5, 4)])
        self.assertIn("of 5 members 4 have a checkpoint", said)

    def test_refused(self):
        self.ran("pack", *program.seeds(MODEL)[:2], "-o", self.packed)
        run = ["run", "--model", MODEL / "model.pt2", "--inputs", MODEL / "golden.safetensors", "--outputs", self.folder / "o", "--weights"]
        self.refused(*run, self.packed, program.seeds(MODEL)[1], say=["'seed1'", "packed"])
        other = self.folder / "other.safetensors"
        self.ran("pack", *program.seeds(program.CORPUS / "resblock"), "-o", other)
        self.refused(*run, other, say=[other, "member 'seed0'", "model.pt2"])

    def test_export(self):
        """Members of a packed file get a file each, for programs that know nothing of it."""
        self.ran("pack", *program.seeds(MODEL)[:2], "-o", self.packed)
        self.ran("export", "--model", MODEL / "model.pt2", "--weights", self.packed, "-o", self.folder / "out")
        document = json.loads((self.folder / "out" / "model.json").read_text())
        for i, file in enumerate(document["weights"]):
            self.assertEqual(program.read_safetensors(self.folder / "out" / file), program.read_safetensors(program.seeds(MODEL)[i]))
        self.assertEqual(document["members"], ["seed0", "seed1"])


class Refusals(Case):
    def test_other_members(self):
        a = self.checkpoint("a", w=("F32", [2, 3], bytes(24)), b=("F32", [2], bytes(8)))
        for name, tensors, words in (
                ("lacks", {"w": ("F32", [2, 3], bytes(24))}, ["lacks 'b'"]),
                ("has", {"w": ("F32", [2, 3], bytes(24)), "b": ("F32", [2], bytes(8)), "c": ("F32", [2], bytes(8))}, ["has 'c'"]),
                ("shape", {"w": ("F32", [3, 2], bytes(24)), "b": ("F32", [2], bytes(8))}, ["'w'", "float32[3, 2]", "float32[2, 3]"]),
                ("dtype", {"w": ("F32", [2, 3], bytes(24)), "b": ("BF16", [2], bytes(4))}, ["'b'", "bfloat16[2]", "float32[2]"]),
                ("scalar", {"w": ("F32", [2, 3], bytes(24)), "b": ("F32", [], bytes(4))}, ["'b'", "float32[]"])):
            with self.subTest(name):
                other = self.checkpoint(name, **tensors)
                self.refused("pack", a, other, "-o", self.packed, say=[f"{other}: ", a, *words])

    def test_files(self):
        a = self.checkpoint("a", w=("F32", [1], bytes(4)))
        (self.folder / "folder").mkdir()
        (self.folder / "text.safetensors").write_text("no checkpoint at all")
        (self.folder / "cut.safetensors").write_bytes(a.read_bytes()[:-1])
        (self.folder / "zip.pt").write_bytes(b"PK\3\4" + bytes(100))
        for name in ("folder", "text.safetensors", "cut.safetensors", "zip.pt", "nowhere"):
            with self.subTest(name):
                self.refused("pack", a, self.folder / name, "-o", self.packed, say=[self.folder / name])
                self.refused("unpack", self.folder / name, "-o", self.folder / "out", say=[self.folder / name])
        self.refused("unpack", a, "-o", self.folder / "out", say=[a, "not a packed file"])
        self.refused("pack", a, "-o", self.folder / "none" / "packed", say=[self.folder / "none" / "packed"])
        self.refused("unpack", self.folder / "folder", "-o", self.folder / "out", say=["directory"])

    def test_names(self):
        a = self.checkpoint("a", w=("F32", [1], bytes(4)))
        b = self.checkpoint("b", w=("F32", [1], b"1234"))
        self.ran("pack", a, b, "-o", self.packed)
        self.refused("pack", self.packed, a, "-o", self.folder / "twice", say=["'a'", "rename"])
        (self.folder / "...safetensors").write_bytes(a.read_bytes())
        self.refused("pack", self.folder / "...safetensors", "-o", self.folder / "up", say=["'..'"])
        (self.folder / "new\nline.safetensors").write_bytes(a.read_bytes())
        self.refused("pack", self.folder / "new\nline.safetensors", "-o", self.folder / "line", say=["control"])
        bad = os.fsencode(self.folder) + b"/\xff.safetensors"
        with open(bad, "wb") as file:
            file.write(a.read_bytes())
        done = subprocess.run([WIDEBENCH, "pack", bad, "-o", self.folder / "utf"], capture_output=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"UTF-8", done.stderr)

    def test_nothing_is_replaced_unasked(self):
        files = [self.checkpoint(name, w=("U8", [1], name.encode())) for name in "ab"]
        self.packed.write_text("precious")
        self.refused("pack", *files, "-o", self.packed, say=[self.packed, "--force"])
        self.assertEqual(self.packed.read_text(), "precious")
        self.ran("pack", *files, "-o", self.packed, "--force")
        out = self.folder / "out"
        out.mkdir()
        (out / "b.safetensors").write_text("precious")
        self.refused("unpack", self.packed, "-o", out, say=[out / "b.safetensors", "--force"])
        self.assertEqual((out / "b.safetensors").read_text(), "precious")
        self.assertFalse((out / "a.safetensors").exists())
        self.ran("unpack", self.packed, "-o", out, "--force")
        self.assertEqual((out / "b.safetensors").read_bytes(), files[1].read_bytes())
        (self.folder / "link").symlink_to("nowhere")
        self.refused("pack", *files, "-o", self.folder / "link", say=["--force"])
        self.refused("unpack", self.packed, "-o", files[0], say=[files[0]])
        self.ran("pack", *files, "-o", files[0], "--force")  # read before it is written
        self.assertEqual(program.read_safetensors(files[0])["w"], ("U8", [2, 1], b"ab"))
        self.ran("pack", files[1], "-o", "/dev/null")

    def test_packed_files_that_lie(self):
        files = [self.checkpoint(name, w=("U8", [2], name.encode() * 2), same=("U8", [1], b"x")) for name in "ab"]
        self.ran("pack", *files, "-o", self.packed)
        true = metadata(self.packed)
        header = json.loads(true["widebench.headers"])[0]
        list_of = lambda *names: json.dumps([{"name": name, "header": 0} for name in names])  # noqa: E731
        for name, changes, word in (
                ("newer", {"widebench.packed": "2"}, "version"),
                ("no members", {"widebench.members": "[]"}, "no member"),
                ("three members", {"widebench.members": list_of("a", "b", "c")}, "3 members"),
                ("twice", {"widebench.members": list_of("a", "a")}, "twice"),
                ("up", {"widebench.members": list_of("a", "../b")}, "below a folder"),
                ("absolute", {"widebench.members": list_of("a", "/tmp/b")}, "below a folder"),
                ("empty", {"widebench.members": list_of("a", "")}, "empty"),
                ("nul", {"widebench.members": list_of("a", "b\0")}, "control"),
                ("number", {"widebench.members": "3"}, "widebench.members"),
                ("deep", {"widebench.members": "[" * 5000}, "widebench.members"),
                ("no list", {"widebench.once": None}, "widebench.once"),
                ("other once", {"widebench.once": '["w", "z"]'}, "'z'"),
                ("none once", {"widebench.once": "[]"}, "'same'"),
                ("no header", {"widebench.headers": "[]"}, "header"),
                ("other header", {"widebench.headers": json.dumps([header.replace("[2]", "[1,2]")])}, "header"),
                ("header of others", {"widebench.headers": json.dumps([header.replace('"w"', '"v"')])}, "header"),
                ("huge header", {"widebench.headers": json.dumps([header.replace("[2]", "[4611686018427387904]")])}, "header"),
                ("header that is none", {"widebench.headers": '["x"]'}, "header"),
                ("header number", {"widebench.members": '[{"name":"a","header":-1},{"name":"b","header":0}]'}, "header")):
            with self.subTest(name):
                lie = self.folder / "lie.safetensors"
                changed = {key: value for key, value in {**true, **changes}.items() if value is not None}
                tensors = program.read_safetensors(self.packed)
                program.write_safetensors(lie, tensors)
                data = lie.read_bytes()
                size = struct.unpack("<Q", data[:8])[0]
                text = json.dumps({**json.loads(data[8:8 + size]), "__metadata__": changed}).encode()
                lie.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
                self.refused("unpack", lie, "-o", self.folder / "out", say=[lie, word])
                if name in ("newer", "up"):
                    self.refused("pack", lie, "-o", self.folder / "again", say=[lie, word])

    def test_interrupted(self):
        """A process that is killed while it writes leaves neither half a file nor a temporary one."""
        large = [self.checkpoint(f"m{i}", w=("U8", [40 << 20], os.urandom(1 << 20) * 40)) for i in range(3)]
        begin = time.monotonic()
        self.ran("pack", *large, "-o", self.packed)
        whole = time.monotonic() - begin
        self.packed.unlink()
        for i in range(8):
            child = subprocess.Popen([WIDEBENCH, "pack", *large, "-o", self.packed, "--force"], stdout=subprocess.DEVNULL)
            time.sleep(whole * (0.3 + 0.09 * i))
            child.send_signal((signal.SIGKILL, signal.SIGINT)[i % 2])
            child.wait()
            there = {path.name for path in self.folder.iterdir()} - {path.name for path in large}
            self.assertLessEqual(there, {"packed.safetensors"})
            if there:
                self.assertEqual(self.packed.stat().st_size, sum(path.stat().st_size for path in large) + self.overhead())

    def overhead(self):
        """Bytes of the packed file that are none of tensors, less those of three checkpoints."""
        return struct.unpack("<Q", self.packed.read_bytes()[:8])[0] + 8 - sum(
            struct.unpack("<Q", path.read_bytes()[:8])[0] + 8 for path in self.folder.glob("m?.safetensors"))


if __name__ == "__main__":
    WIDEBENCH = sys.argv.pop(1)
    unittest.main()

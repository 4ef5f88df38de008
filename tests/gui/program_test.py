"""program_test.py PROGRAM: the window from outside: pictures, faults, a machine without a display."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PROGRAM = sys.argv.pop(1)
XVFB = shutil.which("xvfb-run")


def pixels(path):
    """Width, height and the decompressed rows of a PNG of 4 bytes a pixel."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(packed)


class Window(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, display=True):
        environment = {**os.environ, "LIBGL_ALWAYS_SOFTWARE": "1", "XDG_CONFIG_HOME": f"{self.folder}/config",
                       "XDG_CACHE_HOME": f"{self.folder}/cache"}
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            environment.pop(name, None)
        command = [XVFB, "-a", "-s", "-screen 0 1600x1000x24"] if display else []
        return subprocess.run([*command, PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=120)

    def picture(self, *arguments):
        file = self.folder / "window.png"
        result = self.run_program("--screenshot", str(file), *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return pixels(file)

    def test_no_display(self):
        for arguments in ((), ("gui",)):
            result = self.run_program(*arguments, display=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("$DISPLAY", result.stderr)
            self.assertIn("widebench --preset ci", result.stderr)

    def test_pictures(self):
        for panel in ("models", "graph", "strategies"):
            for theme in ("dark", "light"):
                width, height, rows = self.picture("--demo", "--open", panel, "--theme", theme, "--window-size", "960x600")
                self.assertEqual((width, height), (960, 600))
                self.assertGreater(len(set(rows[i:i + 64] for i in range(0, len(rows), 64))), 200)  # something is drawn

    def test_pictures_do_not_change(self):
        self.assertEqual(self.picture("--demo", "--open", "strategies"), self.picture("--demo", "--open", "strategies"))

    def test_large(self):
        width, height, _ = self.picture("--demo", "--window-size", "2560x1440", "--scale", "200")
        self.assertEqual((width, height), (2560, 1440))

    def test_faults(self):
        for arguments, words in ((("--open", "nowhere"), "there is no panel 'nowhere'"),
                                 (("--window-size", "big"), "WIDTHxHEIGHT"),
                                 (("--screenshot", "/proc/none.png", "--demo"), "cannot be written")):
            result = self.run_program(*arguments) if "--screenshot" in arguments else self.run_program("--screenshot", "x.png", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)
        result = self.run_program("gui", "no_such_model.pt2")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no_such_model.pt2", result.stderr)

    def test_commands_do_not_load_the_window(self):
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libglfw", libraries)
        self.assertNotIn("libGL", libraries)

    def test_first_picture_is_quick(self):
        begun = time.monotonic()
        self.picture("--open", "models")
        self.assertLess(time.monotonic() - begun, 20)  # a second on an idle machine, Xvfb's start included


if not XVFB:
    print("SKIPPED: xvfb is not installed; scripts/setup --tests installs it")
    sys.exit(77)
unittest.main(verbosity=2)

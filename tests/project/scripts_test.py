"""The scripts on machines that this one is not: no root, no network, an install cut short. Fakes stand in for tools."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from repository import ROOT

# A Python whose venv holds a pip that does what PIP says: succeed, fail, or die in the midst.
FAKE_PYTHON = """#!/bin/bash
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" "$3/lib/python3.11/site-packages/torch" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/python3" ;;
  "-m pip install "*) echo one >>"$CALLS"; echo "pip's last words" >&2
    case "$PIP" in fail) exit 1 ;; die) kill -KILL $PPID; sleep 1 ;; esac ;;
  "-m pip download "*) [ -z "$NO_SOURCE" ] || { echo "no such hash" >&2; exit 1; }
    mkdir -p "${@: -1}/s/imgui_bundle-1" && tar -czf "${@: -1}/imgui_bundle-1.tar.gz" -C "${@: -1}/s" imgui_bundle-1 ;;
esac
"""
# CMake for the window's libraries: only the folder that comes of it. What configures and builds the tree is noted.
FAKE_CMAKE = """#!/bin/bash
echo "cmake $*" >>"$CALLS.build"
for word; do case "$word" in -DCMAKE_INSTALL_PREFIX=*) mkdir -p "${word#*=}/lib"; esac; done
"""
FAKE_DPKG_QUERY = """#!/bin/bash
[ -z "$ABSENT" ] || exit 0
awk '/^\\[debian/ { on = 1; next } /^\\[/ { on = 0 } on && NF && !/^#/ { print "installed " $1 " 99:9" }' "$LOCK"
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        tree = self.folder / "tree"
        shutil.copytree(ROOT / "scripts", tree / "scripts")
        shutil.copy(ROOT / "dependencies.lock", tree)
        shutil.copytree(ROOT / "cmake/window", tree / "cmake/window")
        self.tree, self.lock = tree, tree / "dependencies.lock"
        (self.folder / "bin").mkdir()
        self.fake("python3", FAKE_PYTHON)
        self.fake("cmake", FAKE_CMAKE)
        self.fake("ninja", '#!/bin/sh\necho "ninja $*" >>"$CALLS.build"\n')
        self.fake("dpkg-query", FAKE_DPKG_QUERY)
        self.fake("pkg-config", '#!/bin/sh\n[ -z "$ABSENT" ]\n')
        self.fake("id", "#!/bin/sh\necho 1000\n")
        self.fake("sudo", "#!/bin/sh\nexit 1\n")
        # The scripts look in /usr/bin first; the copy looks among the fakes.
        lib = tree / "scripts/lib.sh"
        lib.write_text(lib.read_text().replace("/usr/bin/python3 ", f"{self.folder}/bin/python3 "))

    def fake(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run_setup(self, *arguments, script="setup", **environment):
        environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{self.folder}/cache",
                       "HOME": str(self.folder), "LOCK": str(self.lock), "CALLS": f"{self.folder}/calls", **environment}
        return subprocess.run([self.tree / "scripts" / script, *arguments], env=environment, capture_output=True, text=True)

    def installed(self):
        return sorted(path.name for path in (self.folder / "cache/widebench").glob("deps-*"))

    def test_no_root(self):
        """Without root the very command to run is printed, with every package, and nothing is installed."""
        result = self.run_setup("--tests", ABSENT="1")
        self.assertEqual(result.returncode, 2, result.stderr)
        command = next(line for line in result.stderr.splitlines() if "apt-get install" in line)
        self.assertIn("sudo apt-get update && sudo apt-get install -y --no-install-recommends ", command)
        for package in ("cmake", "g++", "libzip-dev", "python3-venv", "clang-tidy-16"):
            self.assertIn(f" {package}", command)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.installed(), [])

    def test_bad_network(self):
        """What pip said is shown, nothing half-made is left, and the next run tries again."""
        result = self.run_setup(PIP="fail")
        self.assertEqual(result.returncode, 2)
        self.assertIn("pip's last words", result.stderr)
        self.assertIn("try again", result.stderr)
        self.assertEqual(self.installed(), [])
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(len(self.installed()), 1)

    def test_interrupted_install(self):
        """A set-up killed in the midst leaves only a partial folder, which the next one clears away."""
        self.assertNotEqual(self.run_setup(PIP="die").returncode, 0)
        self.assertTrue(all(name.endswith(".partial") for name in self.installed()), self.installed())
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertRegex(" ".join(self.installed()), r"^deps-[0-9a-f]{12}-cpu$")

    def test_lock_changes(self):
        """Another lock is another folder; the old one stays for who goes back to it."""
        self.assertEqual(self.run_setup().returncode, 0)
        self.lock.write_text(self.lock.read_text().replace("numpy==", "numpy==9"))
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(len(self.installed()), 2)
        self.assertEqual(self.run_setup("--profile", "full").returncode, 0)
        self.assertEqual(len([name for name in self.installed() if name.endswith("-full")]), 1)

    def windows(self):
        return sorted(path.name for path in (self.folder / "cache/widebench").glob("window-*"))

    def test_window(self):
        """The window's libraries are built once, keyed by how they are built; a failure says how to go without."""
        result = self.run_setup(NO_SOURCE="1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such hash", result.stderr)
        self.assertIn("WIDEBENCH_WINDOW=off", result.stderr)
        self.assertEqual(self.windows(), [])
        self.assertEqual(self.run_setup(NO_SOURCE="1", WIDEBENCH_WINDOW="off").returncode, 0)
        self.assertEqual(self.run_setup("--no-window", NO_SOURCE="1").returncode, 0)
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(len(self.windows()), 1)
        recipe = self.tree / "cmake/window/CMakeLists.txt"
        recipe.write_text(recipe.read_text() + "# changed")
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(len(self.windows()), 2)

    def test_run(self):
        """A command builds the program alone; the window and its libraries come once one is asked for, and then stay."""
        program = self.tree / "build/release/bin/widebench"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "$@"\n')
        program.chmod(0o755)
        calls = self.folder / "calls.build"

        def built(*arguments, **environment):
            calls.write_text("")
            result = self.run_setup(*arguments, script="run", **environment)
            self.assertEqual((result.returncode, result.stdout), (0, " ".join(arguments) + "\n"), result.stderr)
            return calls.read_text()

        for arguments in (["--preset", "ci"], ["--preset=ci"], ["info"], ["--help"], ["--db", "r.db", "--preset", "ci"]):
            with self.subTest(arguments):
                text = built(*arguments)
                self.assertRegex(text, r"(?m)^ninja .* widebench$")
                self.assertNotIn("install", text)
                self.assertEqual(self.windows(), [])
        for arguments in ([], ["gui", "mlp"], ["--db", "r.db"]):
            with self.subTest(arguments):
                self.assertRegex(built(*arguments, WIDEBENCH_WINDOW="off"), r"(?m)^ninja .* widebench window$")
                self.assertEqual(self.windows(), [])
        text = built("gui")
        self.assertIn("-DWINDOW_ROOT=", text)
        self.assertEqual(len(self.windows()), 1)
        self.assertRegex(built("info"), r"(?m)^ninja .* widebench$")
        (self.tree / "build/release/build.ninja").write_text("")
        self.assertNotIn("cmake", built("info"), "what is installed already is configured as before")

    def test_quiet(self):
        """With all in place nothing is printed and nothing is installed again."""
        self.assertEqual(self.run_setup().returncode, 0)
        again = self.run_setup()
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "", ""))
        self.assertEqual((self.folder / "calls").read_text(), "one\n")


if __name__ == "__main__":
    unittest.main()

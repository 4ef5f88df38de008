"""Formatting, clang-tidy and headers that compile alone. CMake says by environment: BUILD_FOLDER, LIBTORCH_INCLUDE, CXX."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
import unittest

from repository import FOLDERS, ROOT, failures, files, without_libtorch

BUILD_FOLDER = pathlib.Path(os.environ.get("BUILD_FOLDER", ROOT / "build/release"))
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "widebench"
LIBTORCH_INCLUDE = os.environ.get("LIBTORCH_INCLUDE", "")
WINDOW_INCLUDE = os.environ.get("WINDOW_INCLUDE", "")
CXX = os.environ.get("CXX", "c++")


def tool(name):
    """A tool of the release in dependencies.lock: another release formats and warns otherwise."""
    found = shutil.which(name)
    if not found:
        print(f"SKIPPED: {name} is not installed; scripts/setup --tests installs it")
        sys.exit(77)
    return found


def digest(command, folder, *more):
    """Hash of what a compile command sees, comments included, since NOLINT is one."""
    seen = hashlib.sha256(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    for text in more:
        seen.update(text)
    return seen.hexdigest()


class Style(unittest.TestCase):
    def none_fails(self, command, paths, advice=""):
        self.assertGreater(len(paths), 0)
        found = failures(command, paths)
        if found:
            self.fail("\n".join([f"{len(found)} of {len(paths)} files", *found, advice]))

    def test_format(self):
        clang_format = tool("clang-format-14")
        self.none_fails(lambda path: [clang_format, "--dry-run", "-Werror", path], files(".cpp", ".h"),
                        "run clang-format-14 -i on these")

    def test_tidy(self):
        clang_tidy = tool("clang-tidy-16")
        commands = {os.path.relpath(entry["file"], ROOT): entry
                    for entry in json.loads((BUILD_FOLDER / "compile_commands.json").read_text())}
        # Sources that see libtorch take half a minute each.
        ours = [str(path) for path in files(".cpp") if path.parts[0] in FOLDERS and str(path) in commands
                and "/torch/include" not in commands[str(path)]["command"]]
        self.assertGreater(len(ours), 0)
        # One empty file for each that passed, named by the hash of all that was looked at; other clones profit too.
        passed = CACHE / "clang-tidy"
        passed.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([clang_tidy, "--version"], capture_output=True, check=True).stdout
        config = (ROOT / ".clang-tidy").read_bytes()

        def stamp(path):
            command = shlex.split(commands[path]["command"])
            command = command[:command.index("-o")] + ["-E", "-C", "-P", ROOT / path]
            return passed / digest(command, commands[path]["directory"], path.encode(), config, version)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            stamps = dict(zip(ours, pool.map(stamp, ours)))
        changed = [path for path in ours if not stamps[path].exists()]
        if changed:
            check = f'"$0" --quiet "-p={BUILD_FOLDER}" --extra-arg=-Wno-unknown-warning-option "$1" && touch "$2"'
            self.none_fails(lambda path: ["sh", "-c", check, clang_tidy, path, stamps[path]], changed)
        for path in stamps.values():
            path.touch()
        for path in passed.iterdir():
            if path.stat().st_mtime < time.time() - 30 * 86400:
                path.unlink(missing_ok=True)

    def headers_compile_alone(self, headers, *flags):
        made = BUILD_FOLDER / "headers"
        made.mkdir(exist_ok=True)
        ccache = [shutil.which("ccache")] if shutil.which("ccache") else []
        sources = {}
        for path in headers:
            sources[path] = made / ("_".join(path.with_suffix(".cpp").parts))
            sources[path].write_text(f'#include "{path}"\n')
        self.none_fails(lambda path: [*ccache, CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror",
                                      "-Wno-missing-field-initializers", *flags, "-I", ROOT, "-c", sources[path],
                                      "-o", sources[path].with_suffix(".o")], headers)

    def test_headers(self):
        self.headers_compile_alone([path for path in files(".h") if path.parts[0] in FOLDERS and without_libtorch(path)])

    def test_headers_with_libtorch(self):
        self.headers_compile_alone([path for path in files(".h") if path.parts[0] in FOLDERS and path.parts[0] != "gui"
                                    and not without_libtorch(path)],
                                   "-isystem", LIBTORCH_INCLUDE,
                                   "-isystem", os.path.join(LIBTORCH_INCLUDE, "../../nvidia/cu13/include"))

    def test_headers_of_the_window(self):
        if not WINDOW_INCLUDE:
            print("SKIPPED: the window's libraries are not installed; scripts/setup builds them")
            sys.exit(77)
        self.headers_compile_alone([path for path in files(".h") if path.parts[0] == "gui"], "-isystem", WINDOW_INCLUDE)


if __name__ == "__main__":
    unittest.main()

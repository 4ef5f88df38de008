"""Formatting, clang-tidy and headers that compile alone. CMake says by environment: BUILD_FOLDER, LIBTORCH_INCLUDE, CXX."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time
import unittest

from repository import FOLDERS, JOBS, ROOT, failures, files, without_libtorch

BUILD_FOLDER = pathlib.Path(os.environ.get("BUILD_FOLDER", ROOT / "build/release"))
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "widebench"
LIBTORCH_INCLUDE = os.environ.get("LIBTORCH_INCLUDE", "")
WINDOW_INCLUDE = os.environ.get("WINDOW_INCLUDE", "")
CXX = os.environ.get("CXX", "c++")


def skip(why):
    """Ends the program as ctest takes for a skipped test; unittest would call an exit a failure."""
    print("SKIPPED:", why, flush=True)
    os._exit(77)


def tool(name):
    """A tool of the release in dependencies.lock: another release formats and warns otherwise."""
    found = shutil.which(name)
    if not found:
        skip(f"{name} is not installed; scripts/setup --tests installs it")
    return found


def without_precompiled(command):
    """A compile command as arguments, without the header that CMake precompiles: sources include what they need."""
    arguments = shlex.split(command)
    for i in reversed(range(len(arguments))):
        if arguments[i] == "-include" and arguments[i + 1].endswith("cmake_pch.hxx"):
            del arguments[i:i + 2]
    return [argument for argument in arguments if argument != "-Winvalid-pch"]


def included(path):
    """What a file of ours includes, itself and by other files of ours; and those files, the first too."""
    names, ours, left = set(), set(), [str(path)]
    while left:
        name = left.pop()
        if name in ours:
            continue
        ours.add(name)
        found = re.findall(r'^#include [<"]([^>"]+)[>"]', (ROOT / name).read_text(), re.MULTILINE)
        found = [os.path.relpath(other, ROOT) if os.path.isabs(other) else other for other in found]
        found = [f"include/{other}" if other.startswith("wide/") else other for other in found]
        names.update(found)
        left.extend(other for other in found if (ROOT / other).is_file())
    return names, ours


def digest(command, folder, *more):
    """Hash of what a compile command sees, comments included, since NOLINT is one."""
    seen = hashlib.sha256(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    for text in more:
        seen.update(text)
    return seen.hexdigest()


def of_our_files(path, arguments, *more):
    """Hash of a compile command and all files of ours that it sees; nothing where it sees one that a build made."""
    seen = hashlib.sha256(" ".join(map(str, arguments)).replace(str(BUILD_FOLDER), "").replace(str(ROOT), "").encode())
    for text in more:
        seen.update(text)
    for name in sorted(included(path)[1]):
        text = (ROOT / name).read_bytes()
        quoted = re.findall(r'^\s*#\s*include "([^"]+)"', text.decode(), re.MULTILINE)
        if any(not (ROOT / other).is_file() for other in quoted):
            return None
        seen.update(name.encode() + b"\0" + text)
    return seen.hexdigest()


def forget_old(passed):
    for path in passed.iterdir():
        if path.stat().st_mtime < time.time() - 30 * 86400:
            path.unlink(missing_ok=True)


class Style(unittest.TestCase):
    def none_fails(self, command, paths, advice=""):
        self.assertGreater(len(paths), 0)
        found = failures(command, paths)
        if found:
            self.fail("\n".join([f"{len(found)} of {len(paths)} files", *found, advice]))

    def test_format(self):
        clang_format = tool("clang-format-14")
        passed = CACHE / "clang-format"
        passed.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([clang_format, "--version"], capture_output=True, check=True).stdout
        rules = b"".join(str(path).encode() + (ROOT / path).read_bytes() for path in files() if path.name == ".clang-format")
        stamps = {path: passed / hashlib.sha256(version + rules + path.suffix.encode() + str(path.parent).encode() + (ROOT / path).read_bytes()).hexdigest()
                  for path in files(".cpp", ".h")}
        self.assertGreater(len(stamps), 0)
        changed = [path for path in stamps if not stamps[path].exists()]
        if changed:
            done = subprocess.run([clang_format, "--dry-run", "-Werror", *changed], cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr + "run clang-format-14 -i on these")
        for path in stamps.values():
            path.touch()
        forget_old(passed)

    def is_ours(self, path):
        together = re.fullmatch(r"(.*)/CMakeFiles/[^/]+/Unity/unity_\d+_cxx\.cxx", os.path.relpath(ROOT / path, BUILD_FOLDER))
        return pathlib.Path(together.group(1) if together else path).parts[0] in FOLDERS

    def test_tidy(self):
        clang_tidy = tool("clang-tidy-16")
        commands = {}
        for entry in json.loads((BUILD_FOLDER / "compile_commands.json").read_text()):
            arguments = without_precompiled(entry.pop("command"))
            commands[os.path.relpath(entry["file"], ROOT)] = {**entry, "arguments": arguments}
        database = BUILD_FOLDER / "tidy" / "compile_commands.json"
        database.parent.mkdir(exist_ok=True)
        database.write_text(json.dumps(list(commands.values())))
        # Sources that see libtorch take half a minute each. Several of one target are compiled as one (see
        # cmake/WidebenchTogether.cmake), and looked at as one: .clang-tidy has what is shown for files included.
        ours = [path for path, entry in commands.items() if self.is_ours(path)
                and not any("/torch/include" in argument for argument in entry["arguments"])]
        seen = {name for path in ours for name in included(path)[1]}
        missed = [str(path) for path in files(".cpp") if without_libtorch(path) and str(path) not in seen]
        self.assertEqual(missed, [], "not in the compile database")
        self.assertGreater(len(ours), 0)
        # One empty file for each that passed, named by the hash of all that was looked at; other clones profit too.
        passed = CACHE / "clang-tidy"
        passed.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([clang_tidy, "--version"], capture_output=True, check=True).stdout
        config = (ROOT / ".clang-tidy").read_bytes()

        def stamp(path):
            command = commands[path]["arguments"]
            command = command[:command.index("-o")] + ["-E", "-C", "-P", ROOT / path]
            return passed / digest(command, commands[path]["directory"], path.encode(), config, version)

        # To preprocess all takes half a minute. What passed and is made of the same files of ours, by the same command, on a
        # system with the same packages, is not looked at again.
        system = pathlib.Path("/var/lib/dpkg/status")
        system = config + version + system.read_bytes() + (ROOT / "dependencies.lock").read_bytes() if system.is_file() else None
        known = {path: of_our_files(path, commands[path]["arguments"], system) for path in ours} if system else {}
        known = {path: passed / key for path, key in known.items() if key}
        left = [path for path in ours if path not in known or not known[path].exists()]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            stamps = dict(zip(left, pool.map(stamp, left)))
        changed = [path for path in left if not stamps[path].exists()]
        if changed:
            options = f'--quiet "-p={database.parent}" "--config-file={ROOT}/.clang-tidy" --extra-arg=-Wno-unknown-warning-option'
            check = f'"$0" {options} "$1" && touch "$2"'
            self.none_fails(lambda path: ["sh", "-c", check, clang_tidy, path, stamps[path]], changed)
        for path in [*stamps.values(), *known.values()]:
            path.touch()
        forget_old(passed)

    def headers_compile_alone(self, headers, *flags, precompiled=""):
        made = BUILD_FOLDER / "headers"
        made.mkdir(exist_ok=True)
        flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", *flags, "-I", ROOT]
        # One empty file for each that passed, named by the hash of it, of ours that it includes, and of who compiled it.
        passed = CACHE / "headers"
        passed.mkdir(parents=True, exist_ok=True)
        # Clang reads of a precompiled header what it needs, GCC all of it; it comes with clang-tidy-16.
        compiler = tool("clang++-16") if precompiled else CXX
        version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
        lock = (ROOT / "dependencies.lock").read_bytes()

        def stamp(path):
            seen = hashlib.sha256(version + lock + " ".join([str(path), *map(str, flags)]).replace(str(ROOT), "").encode())
            for name in sorted(included(path)[1]):
                seen.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
            return passed / seen.hexdigest()

        stamps = {path: stamp(path) for path in headers}
        changed = [path for path in headers if not stamps[path].exists()]
        if changed and precompiled:
            whole = made / (re.sub(r"\W", "_", precompiled) + ".h")
            whole.write_text(f"#include <{precompiled}>\n")
            subprocess.run([compiler, *flags, "-fpch-instantiate-templates", "-x", "c++-header", whole, "-o", f"{whole}.pch"], check=True)
            flags = [*flags, "-include-pch", f"{whole}.pch"]
        sources = {}
        for path in changed:
            sources[path] = made / ("_".join(path.with_suffix(".cpp").parts))
            sources[path].write_text(f'#include "{path}"\n')
        if changed:
            self.none_fails(lambda path: ["sh", "-c", '"$@" && touch "$0"', stamps[path], compiler, *flags, "-I", ROOT / "include",
                                          "-fsyntax-only", sources[path]], changed)
        for path in stamps.values():
            path.touch()
        forget_old(passed)

    def test_headers(self):
        self.headers_compile_alone([path for path in files(".h") if path.parts[0] in FOLDERS and without_libtorch(path)])

    def test_headers_with_libtorch(self):
        headers = [path for path in files(".h") if path.parts[0] in FOLDERS and path.parts[0] != "gui"
                   and not without_libtorch(path)]
        flags = ["-isystem", LIBTORCH_INCLUDE, "-isystem", os.path.join(LIBTORCH_INCLUDE, "../../nvidia/cu13/include")]
        # One that includes any header of ATen sees nearly all of the standard library and of ATen by it: these take it
        # precompiled. The others are compiled as they are.
        with_aten = [path for path in headers if any(name.startswith(("ATen/", "c10/", "torch/")) for name in included(path)[0])]
        self.headers_compile_alone(with_aten, *flags, precompiled="ATen/ATen.h")
        self.headers_compile_alone([path for path in headers if path not in with_aten], *flags)

    def test_headers_of_the_window(self):
        if not WINDOW_INCLUDE:
            skip("the window's libraries are not installed; scripts/setup builds them")
        self.headers_compile_alone([path for path in files(".h") if path.parts[0] == "gui"], "-isystem", WINDOW_INCLUDE)


if __name__ == "__main__":
    unittest.main()

"""Rules of the repository that need no compiler: documents, sizes, names, calls that are not made."""
import json
import pathlib
import re
import unittest

from repository import FOLDERS, ROOT, files

# A call is banned for a reason and, where there is one, allowed in a single file.
BANNED_CALLS = {
    r"\b(stod|stof|stold|strtod|strtof|atof)\s*\(": "depends on the locale; use std::from_chars",
    r"\b(system|popen)\s*\(": "runs a shell; use posix_spawn with an argument list",
    r"\btorch::load\b|\bpickle_load\b|\bUnpickler\b": "unpickling runs code from a file",
    r"\bjit::load\b|\bimport_ir_module\b": "TorchScript is code; only the file behind --trust loads it",
    r"\bAOTIModelPackageLoader\b": "runs native code from a file",
    r"\b(tmpnam|mktemp|strcpy|strcat|sprintf|gets)\s*\(": "unsafe; the C++ library has better",
}
SETLOCALE = r"\bsetlocale\s*\("  # tests set one, to see that it changes nothing
TRUSTED = {r"\bjit::load\b|\bimport_ir_module\b": re.compile(r"^core/frontend/[a-z_]*(torchscript|trusted)[a-z_]*\.cpp$")}
MEBIBYTE = 1 << 20
GENERATED = {"build_commit.h", "functions_text.inc", "source_digest.h"}  # what the build writes
# Which folder may include which, from the bottom up. A folder without an entry of its own is part of the one it lies in;
# "core" is all rooms of core.
MAY_INCLUDE = {
    "include/wide": set(),
    "formats": set(),
    "processes": {"formats"},
    "profiler": {"formats", "processes"},
    "results": {"formats", "profiler"},
    "core/native": {"formats", "processes"},
    "core/aten": {"formats"},
    "core/ir": {"core/aten", "formats"},
    "core/eager": {"core/aten", "core/ir", "formats"},
    "core/strategy": {"core/aten", "core/eager", "core/ir", "core/native", "formats"},
    "core/frontend": {"core/aten", "core/eager", "core/ir", "formats"},
    "core/passes": {"core/aten", "core/eager", "core/ir", "core/strategy", "formats"},
    "core/plan": {"core/ir", "core/strategy", "formats"},
    "core/run": {"core/aten", "core/eager", "core/ir", "core/native", "core/plan", "core/strategy", "formats"},
    "core/tune": {"core/aten", "core/ir", "core/plan", "core/run", "core/strategy", "formats", "processes"},
    "core/model": {"core/aten", "core/eager", "core/frontend", "core/ir", "core/native", "core/passes", "core/plan", "core/run", "core/strategy", "core/tune", "formats"},
    "core/bundle": {"core/aten", "core/frontend", "core/model", "core/native", "core/tune", "formats"},
    "core/prove": {"core/aten", "core/eager", "core/ir", "core/model", "core/passes", "core/strategy", "formats"},
    "core/api": {"core/aten", "core/bundle", "core/frontend", "core/model", "core/prove", "core/run", "core/tune", "formats", "include/wide"},
    "primitives": {"core/aten", "core/eager", "core/ir", "core/native", "core/strategy"},
    "python/binding": {"include/wide"},
    "cuda": {"core", "profiler"},
    "presets": {"formats", "processes", "profiler", "results"},
    "presets/zoo": {"core", "formats"},
    "app/capture": {"core", "formats", "processes", "profiler"},
    "app": {"app/capture", "core", "cuda", "formats", "presets", "presets/zoo", "primitives", "processes", "profiler", "results"},
    "app/cli": {"app", "app/capture", "core", "formats", "presets", "presets/zoo", "processes", "profiler", "results"},
    "gui/views": {"app", "formats", "presets", "processes", "profiler", "results"},
    "gui": {"app", "formats", "gui/views", "presets", "processes", "profiler", "results"},
}


def code_only(text):
    """C++ text without its comments and the contents of its literals; lines stay where they are."""
    token = re.compile(r'\'(?:\\.|[^\'\\\n])\'|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', flags=re.S)
    return token.sub(lambda match: "\n" * match.group().count("\n"), text)


def room(path):
    """The entry of MAY_INCLUDE that a file belongs to, if any."""
    return next((str(parent) for parent in path.parents if str(parent) in MAY_INCLUDE), None)


def allowed(there, rooms):
    """What of `rooms` lets a folder include from `there`: its name, or that of the folder above it."""
    return next((name for name in (there, str(pathlib.Path(there).parent)) if name in rooms), None)


class Layout(unittest.TestCase):
    def test_includes(self):
        """Each folder includes only what lies below it, as MAY_INCLUDE and its README say, and no entry is idle."""
        seen, wrong = {name: set() for name in MAY_INCLUDE}, []
        for path in files(".cpp", ".h"):
            if path.parts[0] not in FOLDERS:
                continue
            for own, public in re.findall(r'^\s*#\s*include\s+(?:"([^"]+)"|<(wide/[^>]+)>)', (ROOT / path).read_text(), re.MULTILINE):
                name = own or f"include/{public}"
                there = room(pathlib.Path(name))
                if there is None:
                    self.assertIn(name, GENERATED, f"{path} includes it; name files by their path from the top")
                elif there != room(path):
                    seen[room(path)].add(allowed(there, MAY_INCLUDE[room(path)]) or there)
                    if not allowed(there, MAY_INCLUDE[room(path)]):
                        wrong.append(f"{path} includes {name}: {room(path)} may include {sorted(MAY_INCLUDE[room(path)])}")
        self.assertEqual(wrong, [])
        self.assertEqual({name: sorted(rooms) for name, rooms in seen.items()},
                         {name: sorted(rooms) for name, rooms in MAY_INCLUDE.items()}, "take what is no longer included out of the table")
        below = set()
        for name, rooms in MAY_INCLUDE.items():
            self.assertLessEqual(rooms, below, f"{name} may include what is not below it")
            below.add("core" if name.startswith("core/") else name)
            below.add(name)
            places = ", ".join(f"`{other}`" for other in sorted(rooms)) or "nothing of ours"
            self.assertIn(f"\nMay include: {places}.\n", (ROOT / name / "README.md").read_text(), f"{name}/README.md")

    def test_readmes(self):
        """Every folder at the top and every one that holds C++; those below tests/ are described in tests/README.md."""
        folders = {path.parents[len(path.parents) - 2] for path in files() if len(path.parts) > 1}
        folders |= {path.parent for path in files(".cpp", ".h") if path.parts[0] in FOLDERS}
        missing = [str(folder) for folder in folders
                   if not folder.name.startswith(".") and not (ROOT / folder / "README.md").is_file()]
        self.assertEqual(sorted(missing), [], "folders without a README.md")
        text = (ROOT / "tests/README.md").read_text()
        undescribed = {path.parts[1] for path in files() if path.parts[0] == "tests" and len(path.parts) > 2
                       and f"`{path.parts[1]}/`" not in text}
        self.assertEqual(sorted(undescribed), [], "folders that tests/README.md does not describe")

    def test_all_run(self):
        """Every file of tests is in a CMakeLists.txt, and where that names classes or single tests of a file, all of them."""
        left_out = []
        for path in files(".py", ".cpp"):
            if path.parts[0] != "tests" or not path.stem.endswith("_test"):
                continue
            folder = path.parent if (ROOT / path.parent / "CMakeLists.txt").exists() else path.parent.parent
            listed = (ROOT / folder / "CMakeLists.txt").read_text()
            words = set(re.findall(r"\w+", listed))
            if path.suffix == ".cpp":
                patterns = re.findall(r"[\w/.*]*_test\.cpp|[\w/]*\*[\w.]*\.cpp", listed)
                if not any(path.relative_to(folder).match(pattern.lstrip("/")) for pattern in patterns):
                    left_out.append(str(path))
                continue
            name = path.stem.removesuffix("_test")
            if not {path.stem, name, name.capitalize()} & words:
                left_out.append(str(path))
            classes = re.findall(r"^class (\w+)\((?:unittest\.TestCase|Case)\):\n((?:(?: .*)?\n)*)", (ROOT / path).read_text(), re.MULTILINE)
            tests = {name: set(re.findall(r"^    def test_(\w+)", body, re.MULTILINE)) for name, body in classes}
            tests = {name: names for name, names in tests.items() if names}
            if words & set(tests):
                left_out += [f"{path}: {name}" for name in tests if name not in words]
            if ".test_${" in listed and folder.name == "project":
                left_out += [f"{path}: test_{test}" for names in tests.values() for test in names - words]
        self.assertEqual(sorted(left_out), [], "tests that no CMakeLists.txt names; they never run")

    def test_documents(self):
        for name in ("README.md", "LICENSE", "THIRD_PARTY.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
                     "docs/README.md", "docs/gpu.md", "scripts/README.md", "cmake/README.md"):
            with self.subTest(name):
                self.assertGreater((ROOT / name).stat().st_size, 100)
        self.assertIn("Apache License", (ROOT / "LICENSE").read_text()[:200])

    def test_links(self):
        broken = []
        for path in files(".md"):
            for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", (ROOT / path).read_text()):
                if not (ROOT / path.parent / target).exists():
                    broken.append(f"{path} -> {target}")
        self.assertEqual(broken, [])

    def test_sizes(self):
        sizes = {path: (ROOT / path).stat().st_size for path in files()}
        self.assertEqual([str(path) for path, size in sizes.items() if size > 20 * MEBIBYTE], [])
        self.assertLess(sum(sizes.values()), 20 * MEBIBYTE)

    def test_banned_calls(self):
        found = []
        for path in files(".cpp", ".h"):
            text = code_only((ROOT / path).read_text())
            banned = dict(BANNED_CALLS)
            if path.parts[0] != "tests":
                banned[SETLOCALE] = "the program's output must not depend on the locale"
            for pattern, reason in banned.items():
                if pattern in TRUSTED and TRUSTED[pattern].match(str(path)):
                    continue
                for match in re.finditer(pattern, text):
                    found.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()} {reason}")
        self.assertEqual(found, [])

    def test_machine_paths(self):
        path_of_one_machine = re.compile("/" + "(root|work|home/(?!someone/)[a-z]+)/")  # "someone" is nobody
        found = []
        for path in files():
            data = (ROOT / path).read_bytes()
            if b"\0" not in data[:4096]:
                for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
                    if path_of_one_machine.search(line):
                        found.append(f"{path}:{number}: {line.strip()[:100]}")
        self.assertEqual(found, [])

    def test_licences(self):
        listed = (ROOT / "THIRD_PARTY.md").read_text()
        section, missing = None, []
        for line in (ROOT / "dependencies.lock").read_text().splitlines():
            if line.startswith("["):
                section = line
            elif section and line and not line.startswith((" ", "#")):
                name = re.match(r"[\w.+-]+", line).group()
                if f"`{name}`" not in listed:
                    missing.append(name)
        self.assertEqual(missing, [], "packages of dependencies.lock without a line in THIRD_PARTY.md")

    def test_lock(self):
        text = (ROOT / "dependencies.lock").read_text()
        wheels = text[text.index("\n[pip cpu]\n"):].replace("\\\n", " ").splitlines()
        wheels = [line for line in wheels if line and not line.startswith("[")]
        self.assertIn("torch==2.11.0", [line.split()[0] for line in wheels])
        for line in wheels:
            self.assertRegex(line, r"^[a-z0-9-]+==[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+$")

    def test_json(self):
        for path in files(".json"):
            with self.subTest(str(path)):
                json.loads((ROOT / path).read_text())


if __name__ == "__main__":
    unittest.main()

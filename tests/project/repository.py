"""What the tests of this folder share: the files of the repository and how to run a check over them in parallel."""
import concurrent.futures
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = int(os.environ.get("JOBS") or os.cpu_count())  # at the same time
FOLDERS = ("app", "core", "cuda", "formats", "gui", "include", "presets", "primitives", "processes", "profiler", "python",
           "results")  # our C++; tests beside it


def without_libtorch(path):
    return path.parts[0] in ("formats", "processes", "profiler", "results", "presets") and path.parts[1] != "zoo"


def files(*suffixes):
    """Tracked files and new ones that git does not ignore, as paths relative to ROOT; all of them without a suffix."""
    listed = subprocess.run(["git", "-C", ROOT, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    paths = sorted(pathlib.Path(name) for name in listed.split("\0") if name)
    return [path for path in paths
            if (ROOT / path).is_file() and (not suffixes or path.suffix in suffixes)]


def failures(command, paths):
    """Runs command(path) for each path, some at a time, from ROOT; the outputs of those that fail."""
    def check(path):
        result = subprocess.run(command(path), cwd=ROOT, capture_output=True, text=True)
        return "" if result.returncode == 0 else f"{path}:\n{result.stdout}{result.stderr}"

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return [text for text in pool.map(check, paths) if text]

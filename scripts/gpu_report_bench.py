"""Of gpu-report: the program and what it is asked, what a step is and how it ends, and where results are kept."""
from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "scripts" / "a100_reference.json"
MODELS = ("mlp", "resblock", "minigpt", "vit", "unet")  # beside the components
CAPTURED = ("mlp", "resblock", "minigpt")
CAPTURED_MEMBERS, CAPTURED_PASSES = 4, 10
MEMBERS = (4, 8, 16, 32, 64)
RIVALS = "eager,streams,graph,python_eager,python_vmap,python_streams,python_graph"
COMPILED = "eager,python_eager,python_compile,python_vmap_compile"
SUM_OF_TIMES = 0.02  # two captures of the same kernels may differ by this much
UNTIED, OUTSIDE = "work of CUDA Graphs of no node", "outside of nodes"  # as the program has them
MARGIN = 10          # seconds that no step is begun in
STATES = ("passed", "failed", "skipped", "left")  # left: not begun, or cut off by the end of the time


class Skip(Exception):
    """The step cannot be done here; the text says why."""


class Failed(Exception):
    """The step was done, and what it shows is not good. `data` goes into the report all the same."""

    def __init__(self, reason: str, data: Any = None):
        super().__init__(reason)
        self.data = data


class OutOfTime(Exception):
    pass


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str

    def last_line(self) -> str:
        lines = [line for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1].strip()[:300] if lines else f"it ended with code {self.code}"


@dataclasses.dataclass
class Step:
    name: str
    run: Callable[[Bench], Any]
    needs_gpu: bool = True


class Bench:
    """The program, where results lie, and how much time is left."""

    def __init__(self, options: argparse.Namespace):
        self.program = pathlib.Path(options.program).resolve()
        self.python = options.python
        self.folder = pathlib.Path(options.output).resolve()
        self.mode = options.mode
        self.preset = self.with_time_for_python(options.preset)
        self.members = options.members
        self.end = float("inf")  # set when the steps begin
        self.environment = {**os.environ, "WIDEBENCH_PYTHON": self.python}
        self.reference = json.loads(REFERENCE.read_text())
        if options.subjects:
            known = self.reference["components"]
            self.reference["components"] = {name: known[name] for name in options.subjects if name in known}
        self.models = [name for name in MODELS if not options.subjects or name in options.subjects]
        self.captured = [name for name in CAPTURED if not options.subjects or name in options.subjects]
        self.device: dict[str, Any] = {}
        self.commit = ""
        self.subjects: list[str] = []
        self.only = options.subjects

    def with_time_for_python(self, name: str) -> str:
        """The preset as a file of its own: a Python rival imports torch and compiles before its first round."""
        file = ROOT / "presets" / f"{name}.json"
        if not file.is_file():
            return name
        preset = json.loads(file.read_text())
        preset["timeout_seconds"] = preset.get("timeout_seconds", 60) + 240
        self.folder.mkdir(parents=True, exist_ok=True)
        longer = self.folder / f"{name}.json"
        longer.write_text(json.dumps(preset))
        return str(longer)

    def left(self) -> float:
        return self.end - time.monotonic()

    def call(self, *arguments: Any, limit: float = 300, environment: dict[str, str] | None = None) -> Done:
        """Runs it in a process group of its own, which ends with it. Only what ends in time gives an answer."""
        allowed = min(limit, self.left())
        if allowed <= 0:
            raise OutOfTime
        process = subprocess.Popen([str(one) for one in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="backslashreplace", start_new_session=True,
                                   env={**self.environment, **(environment or {})})
        try:
            out, err = process.communicate(timeout=allowed)
        except subprocess.TimeoutExpired:
            if allowed < limit:
                raise OutOfTime from None
            raise Failed(f"{pathlib.Path(str(arguments[0])).name} {arguments[1] if len(arguments) > 1 else ''} "
                         f"took longer than {limit:.0f} s") from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            process.stdout.close()
            process.stderr.close()
        return Done(process.returncode, out, err)

    def widebench(self, *arguments: Any, limit: float = 300, may_fail: bool = False) -> Done:
        done = self.call(self.program, *arguments, limit=limit)
        if done.code != 0 and not may_fail:
            raise Failed(done.last_line())
        return done

    def document(self, *arguments: Any, limit: float = 300) -> Any:
        return json.loads(self.widebench(*arguments, "--json", limit=limit).out)


class Kept:
    """One file for each step that was done; of another build or GPU there are none."""

    def __init__(self, folder: pathlib.Path, key: str):
        self.folder = folder / "steps"
        mark = self.folder / "of.txt"
        if mark.is_file() and mark.read_text() != key:
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(key)

    def file(self, name: str) -> pathlib.Path:
        return self.folder / f"{name.replace(' ', '-')}.json"

    def get(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads(self.file(name).read_text())
        except (OSError, json.JSONDecodeError):
            return None

    def put(self, name: str, result: dict[str, Any]) -> None:
        unfinished = self.file(name).with_suffix(".new")
        unfinished.write_text(json.dumps(result, indent=1))
        unfinished.replace(self.file(name))


def done_step(step: Step, bench: Bench) -> dict[str, Any]:
    begun = time.monotonic()
    result: dict[str, Any] = {"state": "passed", "reason": ""}
    try:
        if step.needs_gpu and not bench.device.get("usable"):
            raise Skip(bench.device.get("reason") or "there is no GPU")
        if bench.left() < MARGIN:
            raise OutOfTime
        result["data"] = step.run(bench)
    except Skip as skip:
        result.update(state="skipped", reason=str(skip))
    except Failed as failure:
        result.update(state="failed", reason=str(failure), data=failure.data)
    except OutOfTime:
        result.update(state="left", reason="the time was over")
    except Exception as error:  # whatever an answer lacks costs this step alone
        result.update(state="failed", reason=f"{type(error).__name__}: {error}"[:400])
    result["seconds"] = round(time.monotonic() - begun, 1)
    return result


def key_of(program: pathlib.Path, device: dict[str, Any]) -> str:
    digest = hashlib.sha256(program.read_bytes())
    return f"{digest.hexdigest()[:16]} {device.get('description') or 'no GPU'}"


# Only in the folder where it was built does a program know where libtorch lies.
def let_it_find_libtorch(bench: Bench) -> None:
    if bench.call(bench.program, "--version", limit=120).code == 0:
        return
    where = bench.call(bench.python, "-c", "import importlib.util as i; print(i.find_spec('torch').submodule_search_locations[0])", limit=120)
    torch = pathlib.Path(where.out.strip() or "/")
    brought = bench.folder / "libraries"  # of those beside the program what this machine lacks, and no other
    brought.mkdir(exist_ok=True)
    folders = [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib")), brought]
    bench.environment["LD_LIBRARY_PATH"] = ":".join([*map(str, folders), os.environ.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    for _ in range(3):  # what is brought may lack something in turn
        for line in bench.call("ldd", bench.program, limit=60).out.splitlines():
            name = line.split()[0] if line.strip().endswith("not found") else ""
            if name and (bench.program.parent / name).is_file() and not (brought / name).exists():
                (brought / name).symlink_to(bench.program.parent / name)

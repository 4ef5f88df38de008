"""What the tests of this folder share. Importing it skips the test where the package cannot be imported."""
import os
import pathlib
import runpy
import subprocess
import sys
import traceback

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's starts its threads when it is imported; see ran_as_program()
try:
    import torch

    import widebench
except (ImportError, OSError) as error:
    print(f"SKIPPED: the package or Python's torch cannot be imported ({error}); scripts/setup --profile full installs torch")
    sys.exit(77)


def net(width=32, activation=torch.nn.ReLU):
    return torch.nn.Sequential(torch.nn.Linear(16, width), activation(), torch.nn.Linear(width, 4)).eval()


def tools():
    """The Python of [pip tools] in dependencies.lock, or None, and an environment in which it sees this one's packages."""
    library = pathlib.Path(__file__).parents[2] / "scripts/lib.sh"
    folder = subprocess.run(["bash", "-c", f'. "{library}" && tools_folder'], capture_output=True, text=True).stdout.strip()
    python = pathlib.Path(folder) / "bin/python3"
    paths = [path for path in sys.path if path.endswith("-packages") or path == str(pathlib.Path(widebench.__file__).parents[1])]
    return (str(python) if python.exists() else None), {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def nets(n, **settings):
    return [net(**settings) for _ in range(n)]


def close(test, got, expected):
    test.assertEqual(got.shape, expected.shape)
    test.assertEqual(got.dtype, expected.dtype)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def same_as_modules(test, wide, modules, *inputs):
    """Each member's answer is its module's own."""
    with torch.no_grad():
        answers = wide(*inputs)
        for i, module in enumerate(modules):
            close(test, answers[i], module(*inputs))


def ran_as_program(script, folder):
    """What `python script` prints in `folder`, and its exit status, in a fork of this process, which has torch imported.

    This process must have computed nothing yet: the threads that libgomp would go on with are not forked.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("this process has threads")
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        with open(out, encoding="utf-8") as stream:
            text = stream.read()
        return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        os.dup2(into, 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        os.chdir(folder)
        sys.argv, sys.path[0] = [str(script)], str(script.parent)
        runpy.run_path(str(script), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)

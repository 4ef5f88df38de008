"""ordinary_test.py GUI_TEST MODEL...: exports models of ordinary size and takes each the whole way through the window; 77 (skipped) without torch."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError:
        print("SKIPPED: Python has no torch here; scripts/setup --profile full installs it")
        sys.exit(77)
    program, *models = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        only = [word for model in models for word in ("--only", model)]
        subprocess.run([sys.executable, ROOT / "scripts/ordinary_models.py", folder, "--members", "2", *only], check=True)
        command = [sys.executable, pathlib.Path(__file__).with_name("under_xvfb.py"), program, *(f"ordinary/{model}" for model in models)]
        sys.exit(subprocess.run(command, env={**os.environ, "WIDEBENCH_TEST_MODELS": folder}).returncode)

"""under_xvfb.py PROGRAM [ARGUMENT…]: runs it on a display that nobody sees; 77 (skipped) where there is no Xvfb."""
import os
import shutil
import subprocess
import sys
import tempfile

xvfb = shutil.which("xvfb-run")
if not xvfb:
    print("SKIPPED: xvfb is not installed; scripts/setup --tests installs it")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "LIBGL_ALWAYS_SOFTWARE": "1", "XDG_CONFIG_HOME": f"{folder}/config", "XDG_CACHE_HOME": f"{folder}/cache",
                   "XDG_DATA_HOME": f"{folder}/data"}
    environment.pop("WAYLAND_DISPLAY", None)
    command = [xvfb, "-a", "-s", "-screen 0 1600x1000x24", *sys.argv[1:]]
    sys.exit(subprocess.run(command, env=environment).returncode)

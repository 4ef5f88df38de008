"""under_xvfb.py PROGRAM [ARGUMENT…]: runs it on a display that nobody sees; 77 (skipped) where there is no Xvfb."""
import subprocess
import sys
import tempfile

from display import Display, skip_without_server

skip_without_server()
with tempfile.TemporaryDirectory() as folder, Display() as display:
    sys.exit(subprocess.run(sys.argv[1:], env=display.environment(folder)).returncode)

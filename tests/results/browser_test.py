#!/usr/bin/env python3
"""Looks at an HTML report in headless Chromium: it opens from disk, asks for nothing, shows its plots.

usage: browser_test.py REPORT.html SCREENSHOT.png

Exit codes: 0 as it should be, 1 not so, 77 no Chromium here (skipped).
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def browse(browser, *arguments):
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                   f"--user-data-dir={profile}", "--window-size=1200,1000", "--virtual-time-budget=2000", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def main(arguments):
    report, screenshot = (pathlib.Path(argument).resolve() for argument in arguments)
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("SKIPPED: no Chromium; apt-get install chromium to have reports looked at")
        return 77
    dumped = browse(browser, "--dump-dom", "--enable-logging=stderr", report.as_uri())
    faults = []
    if dumped.returncode != 0:
        faults.append(f"Chromium ended with {dumped.returncode}: {dumped.stderr[-500:]}")
    for line in dumped.stderr.splitlines():
        if "CONSOLE" in line or "Refused" in line or "net::ERR" in line:
            faults.append(line)
    svgs = len(re.findall(r"<svg[ >]", dumped.stdout))
    if svgs < 3:
        faults.append(f"{svgs} plots are in the page, 3 or more were expected")
    if not re.search(r"<h2>Reproduce</h2>", dumped.stdout):
        faults.append("the page was not read to its end")
    browse(browser, f"--screenshot={screenshot}", report.as_uri())
    if not screenshot.is_file() or screenshot.stat().st_size < 10_000:
        faults.append("the screenshot is empty")
    print("\n".join(faults) or f"{svgs} plots, no request, no complaint; {screenshot}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

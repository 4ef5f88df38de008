"""Prints the tests that failed, each with the end of its output, from the reports that ctest wrote: the last lines of a
log are what people see first.

    failures.py build/release/tests.xml build/sanitize/tests.xml
"""
import pathlib
import sys
import xml.etree.ElementTree

LINES = 25  # of the output of each


def failures(report):
    """(name, output) of each failed test in ctest's JUnit file `report`; empty where there is no such file."""
    if not pathlib.Path(report).exists():
        return []
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    return [(case.get("name"), case.findtext("system-out") or "") for case in cases if case.find("failure") is not None]


for path in sys.argv[1:]:
    for name, output in failures(path):
        print(f"\nfailed: {name} ({path})")
        print("\n".join("  " + line[:300] for line in output.strip().splitlines()[-LINES:]))

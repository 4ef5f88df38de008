"""Runs test classes of this folder, several at once, each in a process forked from one that has torch imported: that takes 4 s.

usage: run.py REPORT.xml FILE.CLASS…     REPORT.xml: what report.py reads of a shard, each test by its name

A class alone: python members_test.py Members.
"""
import contextlib
import importlib
import os
import pathlib
import sys
import time
import traceback
import unittest
import xml.etree.ElementTree as tree

import support
import torch._dynamo  # noqa: F401  what torch.export imports when it is first called

SECONDS = 600  # for a class
AT_ONCE = min(2, len(os.sched_getaffinity(0)))
SKIPPED = 77


def printable(text):
    """Without what XML cannot hold."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


class Result(unittest.TextTestResult):
    """Beside the text, what report.py needs of each test."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.suite, self.case, self.begun = tree.Element("testsuite"), None, 0.0

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        name, method = type(test).__name__, test._testMethodName
        self.case = tree.SubElement(self.suite, "testcase", name=method, classname=f"python.{name}", status="run")

    def stopTest(self, test):
        super().stopTest(test)
        self.case.set("time", f"{time.monotonic() - self.begun:.3f}")

    def failed(self, test, error):
        tree.SubElement(self.case, "failure", message=printable(self._exc_info_to_string(error, test)))

    def addError(self, test, error):
        super().addError(test, error)
        if self.case is None:  # in setUpClass
            self.case = tree.SubElement(self.suite, "testcase", name=str(test), classname="python", status="run", time="0")
        self.failed(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.failed(subtest, error)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        tree.SubElement(self.case, "failure", message="it was expected to fail")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        tree.SubElement(self.case, "skipped", message=printable(reason))


def run(name, report):
    """In the child: its exit status."""
    file, test_class = name.split(".")
    module = importlib.import_module(file)
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(getattr(module, test_class))
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(tests)
    tree.ElementTree(result.suite).write(report)
    return 0 if result.wasSuccessful() and result.testsRun else 1


def start(name, folder):
    """Forks a child for a class; its output goes to a file of its own."""
    (folder / f"{name}.xml").unlink(missing_ok=True)
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)  # with what it starts it is ended as one
        output = os.open(folder / f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = run(name, folder / f"{name}.xml")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(report, names):
    folder = pathlib.Path(report).with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    running = {}
    try:
        codes = run_all(folder, list(names), running)
    finally:
        for child in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, 9)
    whole = tree.Element("testsuites")
    for name, code in codes.items():
        written = folder / f"{name}.xml"
        if written.exists():
            whole.append(tree.parse(written).getroot())
        else:  # it died, or lacks what all its tests need
            case = tree.SubElement(tree.SubElement(whole, "testsuite"), "testcase", name=name, classname="python", status="run", time="0")
            said = printable(output_of(folder, name))
            if code == SKIPPED:
                tree.SubElement(case, "skipped", message=said.strip().removeprefix("SKIPPED: "))
            else:
                tree.SubElement(case, "failure", message=f"ended with {code}\n{said}")
    tree.ElementTree(whole).write(report)
    return 1 if any(code not in (0, SKIPPED) for code in codes.values()) else 0


def output_of(folder, name):
    return (folder / f"{name}.txt").read_text(errors="replace")


def run_all(folder, left, running):
    """Exit statuses by name. `running` holds, all the time, what runs: (name, when it began) by child."""
    codes = {}
    while left or running:
        while left and len(running) < AT_ONCE:
            name = left.pop(0)
            running[start(name, folder)] = name, time.monotonic()
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            name, _ = running.pop(child)
            codes[name] = os.waitstatus_to_exitcode(status)
            print(output_of(folder, name), flush=True)
            print(f"{name}: ended with {codes[name]}", flush=True)
            continue
        for child, (name, begun) in running.items():
            if time.monotonic() - begun > SECONDS:
                print(f"{name}: took longer than {SECONDS} s", flush=True)
                os.killpg(child, 9)
        time.sleep(0.05)
    return codes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

"""What ctest reports, with the tests of a shard one by one: a shard is a process that runs many (see CMakeLists.txt).

    report.py close SECONDS SHARDS TESTS.XML…    puts what googletest wrote in the folder SHARDS, and the other files, into
                                                 the first of ctest's JUnit files, says what was skipped and why, and
                                                 ends with a line that counts; exit status 1 where no test was run
    report.py failures TESTS.XML…                each test that failed, with the end of its output
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

LINES = 25  # of the output of each failure


def single_tests(shard, written):
    """The tests of a shard as ctest would have reported each, out of googletest's file."""
    for case in tree.parse(written).getroot().iter("testcase"):
        if case.get("status") == "notrun":
            continue
        one = tree.Element("testcase", name=f"{case.get('classname')}.{case.get('name')}", classname=shard, status="run",
                           time=case.get("time", "0"))
        failures = [failure.get("message") or failure.text or "" for failure in case.findall("failure")]
        skipped = case.find("skipped")
        if failures:
            one.set("status", "fail")
            tree.SubElement(one, "failure", message="Failed")
        elif skipped is not None:
            one.set("status", "notrun")
            tree.SubElement(one, "skipped", message=(skipped.get("message") or skipped.text or "").strip())
        tree.SubElement(one, "system-out").text = "\n".join(failures)
        yield one


def merge(report, others, shards):
    """Writes `report` anew, with single tests for shards. A shard that died stays, with the test that ran last."""
    suite = tree.parse(report).getroot()
    for other in others:
        suite.extend(tree.parse(other).getroot().iter("testcase"))
    for case in list(suite.iter("testcase")):
        name, failed = case.get("name"), case.find("failure") is not None
        written = pathlib.Path(shards, f"{name}.xml")
        singles = list(single_tests(name, written)) if written.exists() and written.stat().st_size else []
        suite.extend(singles)
        if failed and not any(one.find("failure") is not None for one in singles):
            begun = re.findall(r"^\[ RUN      \] (\S+)", case.findtext("system-out") or "", re.MULTILINE)
            if begun:
                case.set("name", f"{name}, ended in {begun[-1]}")
        elif singles:
            suite.remove(case)
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("skipped", str(sum(case.get("status") in ("notrun", "disabled") for case in cases)))
    suite.set("disabled", "0")
    tree.ElementTree(suite).write(report, encoding="UTF-8", xml_declaration=True)
    return suite


def reason(case):
    """Why a test was skipped: the line of its output that says so, else what googletest wrote."""
    output = case.findtext("system-out") or ""
    said = re.search(r"SKIPPED: (.+)|: Skipped\n(.+)|skipped '(.+)'", output)
    if said:
        return next(text for text in said.groups() if text)
    message = case.find("skipped").get("message") if case.find("skipped") is not None else ""
    lines = [line for line in message.splitlines() if not re.search(r"\.cpp:\d+$", line)]
    return lines[0] if lines else "no reason given"


def close(seconds, shards, *reports):
    report, *others = [path for path in reports if pathlib.Path(path).exists()] or sys.exit("scripts/test: no test was run")
    suite = merge(report, others, shards)
    skipped = collections.defaultdict(list)
    for case in suite.iter("testcase"):
        if case.get("status") in ("notrun", "disabled"):
            skipped[reason(case)].append(case.get("name"))
    for why, names in skipped.items():
        print(f"skipped, {why}: {', '.join(names[:4])}{' and more' if len(names) > 4 else ''}")
    tests, failed, left_out = (int(suite.get(what)) for what in ("tests", "failures", "skipped"))
    print(f"scripts/test: {tests - failed - left_out} passed, {failed} failed, {left_out} skipped in {seconds} s")
    return 0 if tests else 1


def failures(reports):
    for report in reports:
        if not pathlib.Path(report).exists():
            continue
        for case in tree.parse(report).getroot().iter("testcase"):
            if case.find("failure") is None:
                continue
            print(f"\nfailed: {case.get('name')} ({report})")
            output = (case.findtext("system-out") or "").strip()
            print("\n".join("  " + line[:300] for line in output.splitlines()[-LINES:]))


if __name__ == "__main__":
    if sys.argv[1] == "close":
        sys.exit(close(*sys.argv[2:]))
    else:
        failures(sys.argv[2:])

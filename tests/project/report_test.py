"""tests/report.py: tests that share a process are counted, skipped and named one by one."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

from repository import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import report  # noqa: E402

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="6" failures="2" disabled="0" skipped="1" time="5">
  <testcase name="core.1of3" classname="core.1of3" time="1" status="fail"><failure message="Failed"/>
    <system-out>[ RUN      ] A.Holds</system-out></testcase>
  <testcase name="core.2of3" classname="core.2of3" time="1" status="fail"><failure message="SEGFAULT"/>
    <system-out>[ RUN      ] B.Ends
[       OK ] B.Ends (3 ms)
[ RUN      ] B.Dies
</system-out></testcase>
  <testcase name="core.3of3" classname="core.3of3" time="1" status="fail"><failure message="Failed"/>
    <system-out>[ RUN      ] C.Holds
[       OK ] C.Holds (3 ms)
a leak was found at the end</system-out></testcase>
  <testcase name="Formats.Alone" classname="Formats.Alone" time="1" status="run"><system-out>fine</system-out></testcase>
  <testcase name="gui.looks" classname="gui.looks" time="1" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>SKIPPED: xvfb is not installed</system-out></testcase>
</testsuite>"""
FIRST = """<testsuites tests="4"><testsuite name="A">
  <testcase name="Holds" status="run" result="completed" time="0.1" classname="A"/>
  <testcase name="Breaks/0" status="run" result="completed" time="0.1" classname="P/A">
    <failure message="a_test.cpp:7&#x0A;1 is not 2" type=""/><failure message="a_test.cpp:9&#x0A;nor 3" type=""/></testcase>
  <testcase name="Lacks" status="run" result="skipped" time="0" classname="A"><skipped message="/a_test.cpp:5&#x0A;no GPU"/></testcase>
  <testcase name="DISABLED_Never" status="notrun" result="suppressed" time="0" classname="A"/>
</testsuite></testsuites>"""
THIRD = """<testsuites tests="1"><testsuite name="C">
  <testcase name="Holds" status="run" result="completed" time="0.1" classname="C"/></testsuite></testsuites>"""


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.xml = self.folder / "tests.xml"
        self.xml.write_text(CTEST)
        (self.folder / "core.1of3.xml").write_text(FIRST)
        (self.folder / "core.3of3.xml").write_text(THIRD)

    def printed(self, call, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            call(*arguments)
        return text.getvalue()

    def test_singles(self):
        """Single tests are counted, whatever a shard says; one that died, or failed after its tests, fails itself."""
        lines = self.printed(report.close, "7", self.folder, self.xml, self.folder / "none.xml").splitlines()
        self.assertIn("skipped, no GPU: A.Lacks", lines)
        self.assertIn("skipped, xvfb is not installed: gui.looks", lines)
        self.assertEqual(lines[-1], "scripts/test: 3 passed, 3 failed, 2 skipped in 7 s")
        failed = self.printed(report.failures, [self.xml, self.folder / "none.xml"])
        for text in ("failed: P/A.Breaks/0 (", "  1 is not 2", "  nor 3", "failed: core.2of3, ended in B.Dies (",
                     "failed: core.3of3, ended in C.Holds (", "  a leak was found"):
            self.assertIn(text, failed)
        self.assertNotIn("A.Holds", failed)

    def test_two_files(self):
        """What ctest ran apart is counted with the rest; no test at all is no success."""
        apart = self.folder / "timing.xml"
        apart.write_text("""<testsuite><testcase name="Speed" classname="Speed" time="1" status="fail">
                            <failure message="Failed"/><system-out>4 is not below 3</system-out></testcase></testsuite>""")
        lines = self.printed(report.close, "7", self.folder, self.xml, apart).splitlines()
        self.assertEqual(lines[-1], "scripts/test: 3 passed, 4 failed, 2 skipped in 7 s")
        self.assertIn("4 is not below 3", self.printed(report.failures, [self.xml]))
        apart.write_text("<testsuite/>")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(report.close("7", self.folder, apart), 1)


if __name__ == "__main__":
    unittest.main()

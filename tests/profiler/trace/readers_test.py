"""The sample traces in HolisticTraceAnalysis. Skipped where it is not installed: pip install HolisticTraceAnalysis, and
set WIDEBENCH_TRACE_PYTHON to that Python.

usage: readers_test.py WRITER
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

WRITER = None
PYTHON = os.environ.get("WIDEBENCH_TRACE_PYTHON")


class Readers(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        subprocess.run([WRITER, temporary.name], check=True)

    @unittest.skipIf(importlib.util.find_spec("hta") is None, "HolisticTraceAnalysis is not installed")
    def test_holistic_trace_analysis(self):
        from hta.trace_analysis import TraceAnalysis
        analysis = TraceAnalysis(trace_files={0: str(self.folder / "gpu.json")}, trace_dir=str(self.folder))
        row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        self.assertAlmostEqual(row["idle_time(us)"] + row["compute_time(us)"] + row["non_compute_time(us)"],
                               row["kernel_time(us)"], delta=1)
        kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
        self.assertGreater(len(kinds), 0)
        self.assertIn("gemm", set(kernels["name"]))


if __name__ == "__main__":
    if PYTHON and "WIDEBENCH_TRACE_CHILD" not in os.environ:
        os.execve(PYTHON, [PYTHON, "-W", "ignore", *sys.argv], dict(os.environ, WIDEBENCH_TRACE_CHILD="1"))
    WRITER = sys.argv[1]
    result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if len(result.skipped) == result.testsRun else 0)

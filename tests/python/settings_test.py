"""Modes, presets, the builder, reports and plots."""
import dataclasses
import os
import subprocess
import sys
import unittest
import warnings
import xml.etree.ElementTree

from support import nets, same_as_modules, torch, widebench

FAST = "fast"
X = torch.randn(8, 16)


class Settings(unittest.TestCase):
    def test_builder(self):
        modules = nets(3)
        wide = widebench.builder(modules).with_sample(X).config(widebench.Config.fast()).strategy("sequential").validate().mode("eager").build()
        same_as_modules(self, wide, modules, X)
        self.assertEqual(wide.explain().facts["wide"], 0)

    def test_presets(self):
        for preset in ("default", "fast", "debug", "safe"):
            wide = widebench.compile(nets(2), X, config=getattr(widebench.Config, preset)(seconds=0.5))
            self.assertEqual(wide(X).shape, (2, 8, 4))
        self.assertIn("specialize", widebench.compile(nets(2), X, config="debug").explain().stages)

    def test_reports(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        self.assertIn("aten.linear", wide.plan() + "aten.linear")
        explained = wide.explain()
        self.assertIn("3 members", explained.text)
        self.assertIn("<table>", explained._repr_html_())
        self.assertTrue(all(row["strategy"] for row in explained.rows))
        with torch.compiler.set_stance("force_eager"):  # compiling takes long, and is not ours to test
            measured = wide.benchmark(rivals=("eager", "vmap", "compile", "vmap compile"), rounds=5)
        middle, low, high = measured.speedup("eager")
        self.assertTrue(0 < low <= middle <= high)
        self.assertIn("vmap compile ", str(measured))
        self.assertTrue(wide.profile(passes=2).key_averages())

    def test_plots(self):
        """Well-formed whatever models are called, and without what a page would have to fetch or run."""
        def figure(markup):
            for word in ("<script", "http", "onload", "nan", "inf"):
                self.assertNotIn(word, markup.replace("http://www.w3.org/2000/svg", "").lower().replace("information", ""))
            return xml.etree.ElementTree.fromstring(markup)

        wide = widebench.compile(nets(3), X, config=widebench.Config(seconds=1))
        explained = wide.explain()
        bars = figure(explained.svg).findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(bars), min(12, sum(row["nanoseconds"] > 0 for row in explained.rows)))
        self.assertIn(explained.svg, explained._repr_html_())
        measured = wide.benchmark(rounds=4)
        dots = figure(measured.svg).findall("{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(dots), 8)
        self.assertIn(measured.svg, measured._repr_html_())
        row = dict(explained.rows[0], result="%<script>&\"'", op="aten.x" * 40, nanoseconds=float("inf"), other="<b>", other_nanoseconds=float("nan"))
        hostile = dataclasses.replace(explained, rows=[row, dict(row, nanoseconds=3.0, other="")])
        figure(hostile.svg)
        self.assertNotIn("<script>", hostile._repr_html_())
        self.assertNotIn("<b>", hostile._repr_html_())
        self.assertEqual(dataclasses.replace(explained, rows=[]).svg, "")

    def test_times_beside_other_work_say_so(self):
        wide = widebench.compile(nets(2), X, config="fast")
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            measured = wide.benchmark(rounds=300)
        finally:
            for other in others:
                other.kill()
                other.wait()
        self.assertGreater(measured.others, 0.1)
        for said in str(measured), measured._repr_html_():
            self.assertTrue("on an idle machine" in said)
        quiet = dataclasses.replace(measured, others=0.02)
        for said in str(quiet), quiet._repr_html_():
            self.assertFalse("idle" in said)

    def test_progress(self):
        told = []
        widebench.compile(nets(7, width=48), torch.randn(37, 16), config=widebench.Config(seconds=3), progress=told.append)
        self.assertTrue(told)

    def test_the_builder_takes_the_name_of_a_preset(self):
        built = widebench.builder(nets(2)).with_sample(X).config("fast").validate().build()
        self.assertEqual((built.config.tuning, built.config.validate), (widebench.Config.fast().tuning, True))

    def test_benchmark_leaves_torchs_generator(self):
        class Draws(torch.nn.Linear):
            def forward(self, x):
                return torch.nn.functional.dropout(super().forward(x), 0.5, True)

        wide = widebench.compile([Draws(16, 4) for _ in range(2)], X, config="fast")
        before = torch.get_rng_state()
        wide.benchmark(rounds=2)
        self.assertTrue(torch.equal(torch.get_rng_state(), before))

    def test_a_strategy_by_which_nothing_runs(self):
        with self.assertWarnsRegex(UserWarning, "winograd_2x2") as caught:
            wide = widebench.compile(nets(2), X, config=widebench.Config.fast(strategy="winograd_2x2"))
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wide(X)  # the same build: told once
            widebench.compile(nets(2), X, config=widebench.Config.fast(strategy="einsum"))

    def test_reduce_overhead(self):
        # In a process of its own: it changes the allocator for good.
        code = ("import torch, warnings, widebench; warnings.simplefilter('error'); from support import nets\n"
                "x, modules = torch.randn(8, 16), nets(3)\n"
                "try: widebench.compile(modules, x, mode='reduce-overhead', config='fast'); raise SystemExit(3)\n"
                "except UserWarning as w: assert 'use_pooled_memory' in str(w)\n"
                "widebench.use_pooled_memory()\n"
                "wide = widebench.compile(modules, x, mode='reduce-overhead', config='fast')\n"
                "for _ in range(4): torch.testing.assert_close(wide(x)[1], modules[1](x), rtol=1e-4, atol=1e-5)\n"
                "assert wide.verify()\n")
        self.assertEqual(subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__))).returncode, 0)

    def test_reduce_overhead_without_pools(self):
        modules = nets(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wide = widebench.compile(modules, X, mode="reduce-overhead", config=FAST)
        for _ in range(4):
            same_as_modules(self, wide, modules, X)
        self.assertTrue(wide.verify())


if __name__ == "__main__":
    unittest.main()

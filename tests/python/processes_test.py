"""Threads, forks, data loaders, Ctrl-C and the import."""
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import unittest
import warnings

from support import nets, same_as_modules, torch, widebench
from widebench._library import ops

FAST = "fast"
X = torch.randn(8, 16)


def _in_child(wide, x, queue):
    try:
        wide(x)
        queue.put("ran")
    except widebench.Error as error:
        queue.put(str(error))


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.full((16,), float(i))


class Processes(unittest.TestCase):
    def test_threads(self):
        modules = [nets(3), nets(4, width=24)]
        wides = [widebench.compile(some, X, config=FAST) for some in modules]
        expected = [wide(X) for wide in wides]
        wrong = []

        def run(k):
            for _ in range(200):
                if not torch.equal(wides[k % 2](X), expected[k % 2]):
                    wrong.append(k)

        threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_compiled_at_the_same_time(self):
        """torch.export alone does not bear it, nor a thread that traced and has ended."""
        modules, wides = [nets(2, width=width) for width in (8, 16, 24, 32)], {}
        threads = [threading.Thread(target=lambda k: wides.update({k: widebench.compile(modules[k], X, config=FAST)}), args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for k, some in enumerate(modules):
            same_as_modules(self, wides[k], some, X)

    def test_lock_is_released(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        ticks = []
        thread = threading.Thread(target=lambda: ops.seconds_per_pass(wide._handle, [X], [False], 20000))
        thread.start()
        while thread.is_alive():
            ticks.append(time.perf_counter())
            time.sleep(0.001)
        self.assertGreater(len(ticks), 5)

    def test_fork(self):
        wide = widebench.compile(nets(2), X, config=FAST)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_in_child, args=(wide, X, queue))
        child.start()
        answer = queue.get(timeout=60)
        child.join(60)
        self.assertIn("forked", answer)
        self.assertIn("spawn", answer)
        self.assertEqual(child.exitcode, 0)
        wide(X)

    def test_data_loader(self):
        wide = widebench.compile(nets(2), X, config=FAST)
        seen = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for batch in torch.utils.data.DataLoader(Images(), batch_size=8, num_workers=2):
                seen += wide(batch).shape[1]
        self.assertEqual(seen, 24)

    def test_interrupt(self):
        code = ("import os, signal, threading, time, torch, widebench\n"
                "from support import nets\n"
                "def stop():\n"
                "    started.wait(); os.kill(os.getpid(), signal.SIGINT)\n"
                "started = threading.Event(); threading.Thread(target=stop, daemon=True).start()\n"
                "make = lambda: [torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.GELU()) for _ in range(6)]).eval()\n"
                "                for _ in range(16)]\n"
                "begin = time.time()\n"
                "try: widebench.compile(make(), torch.randn(8, 8, 24, 24), config=widebench.Config(seconds=60), progress=lambda what: started.set())\n"
                "except KeyboardInterrupt: print('cancelled'); raise SystemExit(0)\n"
                "raise SystemExit(3)\n")
        result = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True, timeout=200)
        self.assertEqual((result.returncode, result.stdout.strip()), (0, "cancelled"), result.stderr)

    def test_without_numpy(self):
        """Torch's wheel does not ask for it."""
        code = ("import sys; sys.modules['numpy'] = None\n"
                "import torch, widebench; from support import nets\n"
                "x, modules = torch.randn(8, 16), nets(3)\n"
                "wide = widebench.compile(modules, x, config='fast')\n"
                "torch.testing.assert_close(wide(x)[1], modules[1](x), rtol=1e-4, atol=1e-5)\n"
                "assert wide.verify() and wide.explain().text and wide.benchmark(rounds=2).svg\n")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_import(self):
        code = ("import time, torch; begin = time.perf_counter(); import widebench; print(time.perf_counter() - begin)\n"
                "assert not widebench._library.ops.uses_tensor_memory()")
        for _ in range(3):  # on a busy machine
            took = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
            if took < 0.3:
                break
        self.assertLess(took, 0.3)


if __name__ == "__main__":
    unittest.main()

"""How much memory `compile` takes beside the modules: `python memory_test.py MEMBERS LAYERS WIDTH BATCH` prints it for linear layers,
with `images` behind for convolutions of images of 14x14, with `folded` for such with batch norms.

`python memory_test.py gpt fast` prints it of eight models of scripts/ordinary_models.py by this name, with this configuration.

`python memory_test.py ROUNDS` prints what so many rounds of making, calling and deleting a wide model leave behind.
"""
import ctypes
import gc
import io
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from support import same_as_modules, torch, widebench
from widebench import _compile
from widebench._library import ops

sys.path.append(str(pathlib.Path(__file__).parents[2] / "scripts"))
try:
    import ordinary_models
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name + ":"))


def forget_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError as error:
        raise unittest.SkipTest(f"the peak of this process cannot be reset: {error}") from error


def modules_of(members, layers, width):
    return [torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).eval() for _ in range(members)]


def images_of(members, layers, width):
    """Convolutions that could run by transformed weights, which are larger."""
    return [torch.nn.Sequential(*[torch.nn.Conv2d(width, width, 3, padding=1) for _ in range(layers)]).eval() for _ in range(members)]


def folded_images_of(members, layers, width):
    """Convolutions into whose weights a batch norm is folded."""
    layer = lambda: (torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width))
    return [torch.nn.Sequential(*[part for _ in range(layers) for part in layer()]).eval() for _ in range(members)]


KINDS = {"linear": modules_of, "images": images_of, "folded": folded_images_of}


def resident():
    """Bytes, without what the C library keeps of what was freed."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return status("VmRSS")


def measure(members, layers, width, batch, config, make=modules_of):
    """Peak and what stays, in weights of all members; the wide model, its modules and an input."""
    x = torch.randn(batch, width) if make is modules_of else torch.randn(batch, width, 14, 14)
    with torch.no_grad():
        modules = make(members, layers, width)
        widebench.compile(modules_of(2, 1, 8), torch.randn(1, 8), config="fast")  # what loading and exporting take once
        modules[0](x)
    weights = sum(p.nbytes for module in modules for p in module.parameters())
    before = resident()  # else what is free already would serve
    forget_peak()
    wide = widebench.compile(modules, x, config=config)
    peak = (status("VmHWM") - before) / weights
    gc.collect()
    return peak, (status("VmRSS") - before) / weights, wide, modules, x


def measure_ordinary(name, config):
    """The same of eight models of scripts/ordinary_models.py."""
    make, sample = ordinary_models.MODELS[name]
    inputs = sample()
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    with torch.no_grad():
        modules = [make().eval() for _ in range(8)]
        widebench.compile(modules_of(2, 1, 8), torch.randn(1, 8), config="fast")
        modules[0](*inputs)
    weights = sum(p.nbytes for module in modules for p in module.parameters())
    before = resident()
    forget_peak()
    wide = widebench.compile(modules, inputs, config=config)
    peak = (status("VmHWM") - before) / weights
    gc.collect()
    return peak, (status("VmRSS") - before) / weights, wide, modules, inputs


def growth(one_round, rounds, pieces=9):
    """Bytes a round after a warm-up: the median slope between any two of the pieces' ends, which a jump or two do not move."""
    ends = []
    for _ in range(pieces):
        for _ in range(max(1, rounds // pieces)):
            one_round()
        ends.append(resident())
    ends = ends[1:]
    return statistics.median((b - a) / (j - i) for (i, a), (j, b) in itertools.combinations(enumerate(ends), 2)) / max(1, rounds // pieces)


class Rounds:
    """Makes, calls and deletes a wide model of two members, whose weights are 99 KB in all."""

    def __init__(self, folder):
        self.modules, self.x = modules_of(2, 3, 64), torch.randn(3, 64)
        program = torch.export.export(self.modules[0], (self.x,))
        self.model = pathlib.Path(folder) / "model.pt2"
        torch.export.save(program, self.model)
        self.kept = _compile.export(self.modules[0], (self.x,), {}, None, "member 0")

    def from_file(self):
        with torch.no_grad():
            widebench.from_files(self.model, [], self.x, config="fast")(self.x)

    def compile(self):
        with torch.no_grad():
            widebench.compile(self.modules, self.x, config="fast")(self.x)

    def compile_exported(self):
        """torch.export grows by itself."""
        with unittest.mock.patch.object(_compile, "export", lambda *_: self.kept._replace(data=bytearray(self.kept.data))):
            self.compile()

    def export(self):
        torch.export.save(torch.export.export(self.modules[0], (self.x,)), io.BytesIO())


class Memory(unittest.TestCase):
    def test_rounds_leave_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            rounds = Rounds(folder)
            for one_round in (rounds.from_file, rounds.compile_exported):
                self.assertLess(growth(one_round, 99), 4096, one_round.__name__)

    def test_refreshed_ones_leave_nothing(self):
        modules, x = modules_of(3, 2, 512), torch.randn(8, 512)
        gc.collect()
        alive, sizes = ops.models_alive(), []
        for i in range(40):
            wide = widebench.compile(modules, x, config="fast")
            wide(x)
            wide.refresh()
            wide(x)
            del wide
            gc.collect()
            if i in (19, 39):
                sizes.append(status("VmRSS"))
        self.assertEqual(ops.models_alive(), alive)
        self.assertLess(sizes[1] - sizes[0], 5 << 20)

    def judge(self, config):
        peak, after, wide, modules, x = measure(8, 6, 768, 16, config)
        same_as_modules(self, wide, modules, x)
        self.assertLess(peak, 1.3)
        self.assertLess(after, 1.3)
        wide.replace(3, modules_of(1, 6, 768)[0])
        wide.refresh()
        wide.state_dict(5)
        self.assertTrue(wide.verify())

    def test_estimated(self):
        self.judge("fast")

    def test_modules_that_go_leave_nothing(self):
        *_, wide, modules, x = measure(8, 6, 768, 16, widebench.Config.fast(strategy="einsum"))  # packs nothing
        size = sum(p.nbytes for module in modules for p in module.parameters())
        before = resident()
        modules.clear()
        self.assertGreater(before - resident(), 0.9 * size)
        wide(x)

    def test_few_layers(self):
        for layers in (1, 3):
            peak, after, wide, modules, x = measure(8, layers, 1024, 16, "fast")
            same_as_modules(self, wide, modules, x)
            self.assertLess(peak, 1.3, f"{layers} layers")
            self.assertLess(after, 1.3, f"{layers} layers")

    def test_convolutions(self):
        for layers, width, make in ((6, 192, images_of), (8, 256, folded_images_of)):
            peak, after, wide, modules, x = measure(8, layers, width, 1, "fast", make)
            same_as_modules(self, wide, modules, x)
            self.assertLess(peak, 1.3, make.__name__)
            self.assertLess(after, 1.3, make.__name__)

    def test_transformer(self):
        """Small weights, and a graph of many nodes, of which tracing leaves much."""
        peak, _, wide, modules, inputs = measure_ordinary("gpt", "fast")
        self.assertLess(peak, 1.3)
        same_as_modules(self, wide, modules, *inputs)

    def test_measured(self):
        self.judge(widebench.Config(seconds=5))

    def test_what_measuring_took_is_free_for_others(self):
        modules = [torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3)).eval() for _ in range(8)]
        x = torch.randn(8, 8, 80, 80)
        answer, threads = 8 * 8 * 16 * 76 * 76 * 4, torch.get_num_threads()
        torch.set_num_threads(1)  # those beside the one that plans may end a little after it
        try:
            wide = widebench.compile(modules, x, config=widebench.Config(seconds=1))
        finally:
            torch.set_num_threads(threads)
        before = status("VmRSS")
        resident()
        self.assertLess(before - status("VmRSS"), 0.1 * answer)
        self.assertEqual(wide(x).nbytes, answer)


if __name__ == "__main__":
    if len(sys.argv) in (5, 6):  # each in a process of its own: what one frees would serve the other
        for name in ("fast", "default"):
            subprocess.run([sys.executable, *sys.argv[:5], *(sys.argv[5:] or ["linear"]), name], check=True)
    elif len(sys.argv) == 7:
        kind, config = sys.argv[5:]
        peak, after, wide, *_ = measure(*map(int, sys.argv[1:5]), config, KINDS[kind])
        print(f"{config}: {peak:.2f} times the weights at the peak, {after:.2f} afterwards; {wide.explain().facts['schedule']}")
    elif len(sys.argv) == 3 and sys.argv[1] in ordinary_models.MODELS:
        peak, after, wide, *_ = measure_ordinary(*sys.argv[1:])
        print(f"{sys.argv[1]}, {sys.argv[2]}: {peak:.2f} times the weights at the peak, {after:.2f} afterwards; {wide.explain().facts['schedule']}")
    elif len(sys.argv) == 2 and sys.argv[1].isdigit():
        with tempfile.TemporaryDirectory() as folder:
            rounds = Rounds(folder)
            for one_round in (rounds.from_file, rounds.compile_exported, rounds.compile, rounds.export):
                print(f"{one_round.__name__}: {growth(one_round, int(sys.argv[1])):.0f} bytes a round")
    else:
        unittest.main()

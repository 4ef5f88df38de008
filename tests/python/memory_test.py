"""How much memory `compile` takes beside the modules: `python memory_test.py MEMBERS LAYERS WIDTH BATCH` prints it."""
import gc
import sys
import unittest

from support import same_as_modules, torch, widebench


def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name + ":"))


def forget_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def modules_of(members, layers, width):
    return [torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).eval() for _ in range(members)]


def measure(members, layers, width, batch, config):
    """Peak and what stays, in weights of all members; the wide model, its modules and an input."""
    x = torch.randn(batch, width)
    with torch.no_grad():
        modules = modules_of(members, layers, width)
        widebench.compile(modules_of(2, 1, 8), torch.randn(1, 8), config="fast")  # what loading and exporting take once
        modules[0](x)
    gc.collect()
    weights = sum(p.nbytes for module in modules for p in module.parameters())
    before = status("VmRSS")
    forget_peak()
    wide = widebench.compile(modules, x, config=config)
    peak = (status("VmHWM") - before) / weights
    gc.collect()
    return peak, (status("VmRSS") - before) / weights, wide, modules, x


class Memory(unittest.TestCase):
    def judge(self, config):
        try:
            forget_peak()
        except OSError as error:
            self.skipTest(f"the peak of this process cannot be reset: {error}")
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

    def test_measured(self):
        self.judge(widebench.Config(seconds=5))


if __name__ == "__main__":
    if len(sys.argv) == 5:
        for name in ("fast", "default"):
            peak, after, wide, *_ = measure(*map(int, sys.argv[1:]), name)
            print(f"{name}: {peak:.2f} times the weights at the peak, {after:.2f} afterwards; {wide.explain().facts['schedule']}")
            del wide, _
    else:
        unittest.main()

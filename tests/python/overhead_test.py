"""What a call from Python adds to the pass within it: `python overhead_test.py figures` prints it for some models."""
import sys
import time
import unittest

from support import nets, torch, widebench
from widebench._library import ops

CALLS = 40
# Seconds of known_work() where the limit holds, a quiet core of about 2020: on a slower one, or beside others, a call may take as much longer.
REFERENCE = 0.00050


class TwoOfEach(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x, y):
        return self.a(x), self.b(y)


def fleets():
    return {
        "one linear layer, 2 members": ([torch.nn.Linear(8, 8) for _ in range(2)], (torch.randn(4, 8),)),
        "one linear layer, 64 members": ([torch.nn.Linear(8, 8) for _ in range(64)], (torch.randn(4, 8),)),
        "two inputs and outputs, 2 members": ([TwoOfEach() for _ in range(2)], (torch.randn(4, 8), torch.randn(4, 8))),
        "a net, 8 members": (nets(8), (torch.randn(8, 16),)),
    }


def known_work():
    tree = {}
    for i in range(2_000):
        tree.setdefault(str(i * 1664525 % 512), []).append((i, i / 3))
    sorted(sum(b for _, b in values) for values in tree.values())


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def microseconds(modules, inputs, turns=400):
    """Per call: from Python less the same pass within the library, by the fastest twentieth of turns of each; and how slow Python is then."""
    wide = widebench.compile([module.eval() for module in modules], inputs, config="fast")
    tensors, mapped = list(inputs), [False] * len(inputs)

    def calls():
        for _ in range(CALLS):
            wide(*inputs)

    outside, inside, known = [], [], []
    for _ in range(turns):
        outside.append(seconds(calls) / CALLS)
        inside.append(ops.seconds_per_pass(wide._handle, tensors, mapped, CALLS))
        known.append(seconds(known_work))
    fastest = [sorted(times)[turns // 20] for times in (outside, inside, known)]
    return 1e6 * (fastest[0] - fastest[1]), max(1, fastest[2] / REFERENCE)


class Overhead(unittest.TestCase):
    def test_of_a_call(self):
        for name, (modules, inputs) in fleets().items():
            with self.subTest(name):
                taken, slowness = microseconds(modules, inputs)
                self.assertLess(taken, 10 * slowness)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] == ["figures"]:
        for name, (modules, inputs) in fleets().items():
            taken, slowness = microseconds(modules, inputs)
            print(f"{name}: {taken:.1f} us, where Python takes {slowness:.2f} times as long as it should")
    else:
        unittest.main()

"""torch.cuda where there is no GPU: the CPU, counted. A graph is what was recorded, run again into the same memory."""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

REAL = torch.cuda


class Graph(TorchDispatchMode):
    def __init__(self, cuda):
        super().__init__()
        self.cuda, self.steps = cuda, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        self.steps.append((func, args, kwargs or {}, results))
        return results

    def replay(self):
        self.cuda.replays += 1
        for func, args, kwargs, results in self.steps:
            for before, now in zip(tree_leaves(results), tree_leaves(func(*args, **kwargs)), strict=True):
                if before.data_ptr() != now.data_ptr():
                    before.copy_(now)


class Stream:
    def wait_stream(self, other):
        pass


class MadeUpCuda:
    """Stands in the place of torch.cuda."""

    def __init__(self, available=True):
        self.available, self.synchronized, self.replays, self.on = available, 0, 0, []

    def is_available(self):
        return self.available

    def synchronize(self, device=None):
        self.synchronized += 1

    def Stream(self):
        return Stream()

    def current_stream(self):
        return Stream()

    @contextlib.contextmanager
    def stream(self, stream):
        self.on.append(stream)
        yield

    def CUDAGraph(self):
        return Graph(self)

    @contextlib.contextmanager
    def graph(self, graph):
        with graph:
            yield

    def __getattr__(self, name):  # what PyTorch itself asks of torch.cuda
        return getattr(REAL, name)

"""What goes by the call: the memory of its inputs, and the state that the call before left."""
import copy
import itertools
import unittest

from torch.utils import _pytree as pytree

from support import same_as_modules, torch, widebench

FAST = "fast"


class Scaled(torch.nn.Module):
    """A function of a product with weights."""

    def __init__(self, function):
        super().__init__()
        self.w, self.function = torch.nn.Parameter(torch.randn(4, 6)), function

    def forward(self, x):
        return self.function(x * self.w)


class Calls(unittest.TestCase):
    def test_state_that_is_no_buffer(self):
        """A tensor attribute that the model writes: the next call goes on from there, of every member."""
        class Cache(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.k, self.cache, self.calls = torch.nn.Linear(4, 4), torch.zeros(8, 4), torch.zeros((), dtype=torch.int64)

            def forward(self, x, place):
                self.cache.index_copy_(0, place, self.k(x))
                self.cache[:, 1].mul_(0.5)
                self.calls.add_(1)
                return x @ self.cache.T, self.calls * 1

        modules = [Cache() for _ in range(3)]
        inputs = [(torch.randn(1, 4), torch.tensor([place])) for place in range(3)]
        for mode in ("eager", "default"):
            with torch.no_grad():
                alone = copy.deepcopy(modules)
                wide = widebench.compile(modules, inputs[0], config=widebench.Config.fast(mode=mode))
                self.assertTrue(wide.verify())
                for given in inputs:
                    for own, expected in zip(wide(*given), zip(*[module(*given) for module in alone])):
                        torch.testing.assert_close(own, torch.stack(expected))
        self.assertEqual(modules[0].cache.abs().max(), 0)

    def test_one_norm_under_two_names(self):
        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.layer = torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4)
                self.again = self.norm

            def forward(self, x):
                return self.again(self.layer(self.norm(x)))

        modules, x = [Twice() for _ in range(2)], torch.randn(6, 4)
        wide = widebench.compile(copy.deepcopy(modules), x, config=FAST)
        with torch.no_grad():
            for _ in range(2):
                wide(x), [module(x) for module in modules]
        for member, module in enumerate(modules):
            torch.testing.assert_close(wide.state_dict(member), dict(module.state_dict()))

    def test_statistics_of_batches(self):
        """Of none, of which PyTorch takes none, and by the operator whose schema does not say that it writes them."""
        class Norm(torch.nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.layer, self.norm = torch.nn.BatchNorm1d(3), norm

            def forward(self, x):
                return self.norm(self.layer, x)

        native = lambda of, x: torch.native_batch_norm(x, of.weight, of.bias, of.running_mean, of.running_var, True, 0.1, 1e-5)
        for norm, x in ((lambda of, x: of(x), torch.randn(0, 3)), (lambda of, x: of(x), torch.randn(0, 3, 4)), (native, torch.randn(6, 3))):
            modules = [Norm(norm) for _ in range(3)]
            for module in modules:
                module.layer.running_mean.normal_()
            wide = widebench.compile(copy.deepcopy(modules), x, config=FAST)
            with torch.no_grad():
                own, expected = wide(x), [module(x) for module in modules]
            for member, module in enumerate(modules):
                torch.testing.assert_close([leaf[member] for leaf in pytree.tree_leaves(own)], pytree.tree_leaves(expected[member]))
                torch.testing.assert_close(wide.state_dict(member), dict(module.state_dict()))

    def test_a_written_view_that_cannot_be(self):
        """view of what lies otherwise is refused, as the module refuses it."""
        def viewed(y):
            y.view(-1).add_(1)
            return y

        modules = [Scaled(viewed) for _ in range(3)]
        x, turned = torch.randn(4, 6), torch.randn(6, 4).t()
        wide = widebench.compile(modules, x, config=FAST)
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(wide(x), torch.stack([module(x) for module in modules]))
                with self.assertRaisesRegex(RuntimeError, "view size is not compatible"):
                    modules[0](turned)
                with self.assertRaisesRegex(widebench.Error, "view size is not compatible"):
                    wide(turned)

    def test_writes_into_a_view_or_a_copy(self):
        """reshape of what lies otherwise is a copy: what is written there is lost, as it is in the module."""
        def flattened(y):
            y.clone().flatten()[1:].pow_(2)
            z = y.clone()
            z.flatten()[1:].pow_(2)
            return z

        def read_later(y):
            z = y * 2
            flat = z.reshape(-1)
            z.add_(1)
            return flat, z

        def in_order(y):
            z = y.contiguous()
            z.mul_(3)
            return y, z

        def rectified(y):
            return torch.relu_(y.contiguous()) + y

        x, turned = torch.randn(4, 6), torch.randn(6, 4).t()
        for function, example in itertools.product((flattened, read_later, in_order, rectified), (x, turned)):
            modules = [Scaled(function) for _ in range(3)]
            with torch.no_grad():
                shared = widebench.compile(modules, example, config=FAST)
                mapped = widebench.compile(modules, example, in_dims=0, config=FAST)
                for given in (x, turned, x + 1, turned + 1):
                    expected = [module(given) for module in modules]
                    for own in (shared(given), mapped(given.expand(3, 4, 6))):
                        for member, values in enumerate(expected):
                            torch.testing.assert_close([leaf[member] for leaf in pytree.tree_leaves(own)], pytree.tree_leaves(values))

    def test_a_model_that_is_traced_once(self):
        traces = []

        class Once(torch.nn.Linear):
            def forward(self, x):
                if torch.compiler.is_exporting():
                    traces.append(x)
                    if len(traces) > 1:
                        raise ValueError("only once")
                y = super().forward(x)
                return torch.relu_(y.contiguous()) + y

        modules = [Once(6, 4) for _ in range(3)]
        with self.assertWarnsRegex(UserWarning, "second time .only once.*strides"):
            wide = widebench.compile(modules, torch.randn(5, 6), config=FAST)
        same_as_modules(self, wide, modules, torch.randn(5, 6))

    def test_memory_of_an_intermediate(self):
        """as_strided of a result reads it as the example's, or not at all."""
        class Windows(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(6, 4))

            def forward(self, x):
                return (x * self.w).as_strided((3, 4), (1, 4))

        modules = [Windows() for _ in range(3)]
        x, turned = torch.randn(6, 4), torch.randn(4, 6).t()
        for example, other in ((x, turned), (turned, x)):
            wide = widebench.compile(modules, example, config=FAST)
            for _ in range(2):
                with torch.no_grad():
                    torch.testing.assert_close(wide(example), torch.stack([module(example) for module in modules]))
                with self.assertRaisesRegex(widebench.Error, "lies in memory otherwise"):
                    wide(other)

    def test_memory_of_an_input(self):
        """as_strided of an input reads its memory: as the example's, or not at all."""
        class Windows(torch.nn.Module):
            def __init__(self, offset):
                super().__init__()
                self.w, self.offset = torch.nn.Parameter(torch.randn(3, 4)), offset

            def forward(self, x):
                return x.as_strided((3, 4), (1, 4), self.offset) * self.w

        class Weights(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(3, 4))

            def forward(self, x):
                return x * self.w.as_strided((4,), (2,))

        x, big = torch.randn(6, 4), torch.randn(12, 4)
        for example, offset, others in ((x, None, (torch.randn(4, 6).t(), big[::2])), (x, 2, (torch.randn(4, 6).t(), big[3:9])),
                                        (torch.randn(4, 6).t(), None, (x, big[:6]))):
            modules = [Windows(offset) for _ in range(3)]
            with torch.no_grad():
                wide = widebench.compile(modules, example, config=FAST)
                for _ in range(2):
                    torch.testing.assert_close(wide(example), torch.stack([module(example) for module in modules]))
                    for other in others:
                        with self.assertRaisesRegex(widebench.Error, "lies in memory otherwise"):
                            wide(other)
                if offset is None:
                    moved = example + 1
                    torch.testing.assert_close(wide(moved), torch.stack([module(moved) for module in modules]))
        modules = [Weights() for _ in range(3)]
        torch.testing.assert_close(widebench.compile(modules, x, config=FAST)(x), torch.stack([module(x) for module in modules]).detach())
        modules[1].w = torch.nn.Parameter(torch.randn(4, 3).t())
        with self.assertRaisesRegex(widebench.Error, "another architecture"):
            widebench.compile(modules, x, config=FAST)
        for before in (big[::2], big[3:9]):  # what lies around it is no input
            with self.assertRaisesRegex(widebench.Error, "memory around"):
                widebench.compile([Windows(0) for _ in range(2)], before, config=FAST)

    def test_draws_go_by_the_strides_of_each_call(self):
        class Noise(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.randn(5))

            def forward(self, x):
                return torch.nn.functional.dropout(x + torch.rand_like(x), 0.5) * self.w

        modules, x = [Noise() for _ in range(3)], torch.randn(4, 5)
        wide = widebench.compile(modules, x, config=FAST)
        with torch.no_grad():
            for given in (x, torch.randn(5, 4).t(), x):
                wide.reset()
                own = wide(given)
                for member, module in enumerate(modules):
                    torch.manual_seed(member)
                    torch.testing.assert_close(own[member], module(given))


if __name__ == "__main__":
    unittest.main()

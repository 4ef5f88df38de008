"""Members that come, go and change; their state."""
import functools
import os
import signal
import threading
import unittest
import unittest.mock

from support import close, net, nets, same_as_modules, torch, widebench
from widebench import _architecture

FAST = "fast"
X = torch.randn(8, 16)


class Keeps(torch.nn.Module):
    """Keeps what it made of its weights at the first call, as LeViT does, and has a parameter without numbers, as DINOv3."""

    def __init__(self):
        super().__init__()
        self.weight, self.none, self.kept = torch.nn.Parameter(torch.randn(4)), torch.nn.Parameter(torch.randn(4, 0)), {}

    def forward(self, x):
        if "twice" not in self.kept:
            self.kept["twice"] = self.weight * 2
        return torch.cat([x * self.kept["twice"] + torch.tensor([1.0, 2.0, 3.0, 4.0]) * torch.tensor(3.0), self.none.sum(1)], -1)


def with_a_tensor_in_a_closure():
    own = torch.randn(4)
    module = net()
    module.forward = lambda x: x * own
    return module


class KeepsElsewhere(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))

    @functools.lru_cache
    def twice(self):
        return self.weight * 2

    def forward(self, x):
        return x * self.twice()


SCALE = torch.tensor([1.0, 2.0, 3.0, 4.0])


class ReadsAGlobal(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))

    def forward(self, x):
        return x * self.weight * SCALE


class Members(unittest.TestCase):
    @staticmethod
    def change(module):
        """New weights, and what was made of the old ones is forgotten."""
        for weight in module.parameters():
            weight.add_(1)
        getattr(module, "kept", {}).clear()
        KeepsElsewhere.twice.cache_clear()

    @torch.no_grad()
    def test_tensors_that_are_no_parameters(self):
        """Each member has its own, though the trace knows them as constants."""
        for make in (Keeps, KeepsElsewhere, with_a_tensor_in_a_closure):
            modules, x = [make().eval() for _ in range(3)], torch.randn(4)
            other = make().eval()
            for module in [*modules, other]:
                module(x)
            wide = widebench.compile(modules, x, config=FAST)
            same_as_modules(self, wide, modules, x)
            wide.load_state_dict(wide.state_dict())
            wide.load_member(1, wide.state_dict(1))
            wide.refresh()
            same_as_modules(self, wide, modules, x)
            wide.add(other)
            wide.replace(0, other)
            same_as_modules(self, wide, [other, *modules[1:], other], x)
            for ask in (wide.unpack, lambda: wide.replace(0, wide.state_dict(0))):
                with self.assertRaisesRegex(widebench.Error, "no parameter and no buffer"):
                    ask()
            wide = widebench.compile(modules, x, config=FAST)
            for module in modules:
                self.change(module)
            for module in modules[1:]:
                module(x)
            if make is Keeps:
                with self.assertRaisesRegex(widebench.Error, "'member0': is another architecture.*kept from earlier calls"):
                    wide.refresh()
            modules[0](x)
            wide.refresh()
            same_as_modules(self, wide, modules, x)
        once = Keeps().eval()
        once(x)
        wide = widebench.compile([once, once], x, config=FAST)
        same_as_modules(self, wide, wide.unpack(), x)

    @torch.no_grad()
    def test_globals_are_traced_once(self):
        modules, x = [ReadsAGlobal().eval() for _ in range(3)], torch.randn(4)
        with unittest.mock.patch.object(_architecture, "export", side_effect=AssertionError("a second trace")):
            wide = widebench.compile(modules, x, config=FAST)
        same_as_modules(self, wide, modules, x)
        wide.replace(0, wide.state_dict(1))
        same_as_modules(self, wide, [modules[1], *modules[1:]], x)

    def test_part_of_a_module(self):
        modules = nets(3)
        outer = torch.nn.Sequential(widebench.compile(modules, X, config=FAST), torch.nn.Linear(4, 2))
        state = {name: tensor.clone() for name, tensor in outer.state_dict().items()}
        before = outer(X)
        state["0.0.weight"][1] += 1
        outer.load_state_dict(state)
        close(self, outer[0](X)[0], modules[0](X))
        self.assertFalse(torch.equal(outer(X)[1], before[1]))
        close(self, outer(X)[2], before[2])
        with self.assertRaisesRegex(RuntimeError, "0.nothing"):
            outer.load_state_dict({**state, "0.nothing": torch.zeros(1)})
        with self.assertRaisesRegex(RuntimeError, "Missing.*0.0.bias"):
            outer.load_state_dict({name: tensor for name, tensor in state.items() if name != "0.0.bias"})
        with self.assertRaisesRegex(RuntimeError, "size mismatch for 0.0.bias"):
            outer.load_state_dict({**state, "0.0.bias": torch.zeros(3)})

    def test_state_that_does_not_fit_changes_nothing(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        state, before = wide.state_dict(), wide(X)
        other = {name: tensor + 1 for name, tensor in state.items()}
        for bad, word in (({}, "0.bias|0.weight"), ({**other, "more": torch.zeros(3)}, "more"), ({n: t[:2] for n, t in other.items()}, r"\[2, 32"),
                          ({n: t[:, :1] for n, t in other.items()}, r"\[3, 1"), ({n: t.double() for n, t in other.items()}, "float64|Double|double")):
            with self.assertRaisesRegex(widebench.Error, word) as caught:
                wide.load_state_dict(bad)
            self.assertEqual(caught.exception.stage, "load")
            self.assertTrue(torch.equal(wide(X), before))
        wide.load_state_dict({"0.bias": other["0.bias"], "more": torch.zeros(3)}, strict=False)
        with torch.no_grad():
            modules[2][0].bias.add_(1)
        close(self, wide(X)[2], modules[2](X))

    def test_state_within_a_module_over_weights_that_were_written(self):
        modules = nets(3)
        around = torch.nn.ModuleDict({"first": torch.nn.Linear(2, 2), "wide": widebench.compile(modules, X, config=FAST)})
        state = around.state_dict()
        with torch.no_grad():
            modules[1][0].weight.mul_(2)
        around.load_state_dict(state)
        self.assertTrue(torch.equal(around["wide"].state_dict(1)["0.weight"], state["wide.0.weight"][1]))
        for name in state:
            state[name] = state[name].double()
        with self.assertRaisesRegex(RuntimeError, "wide.*float64"):
            around.load_state_dict(state)

    def test_a_state_dict_with_none(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        state = wide.state_dict(0)
        state["0.weight"] = None
        for load in (lambda: wide.load_member(0, state), lambda: wide.add(state)):
            with self.assertRaisesRegex(widebench.Error, "0.weight"):
                load()

    def test_members_that_are_traced_under_autocast(self):
        class Listed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.added = torch.nn.Linear(16, 4), [torch.arange(4.0)]

            def forward(self, x):
                return self.linear(x) + self.added[0]

        modules = [Listed() for _ in range(3)]
        wide = widebench.compile(modules[:2], X, config=FAST)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            wide.add(modules[2])
            wide.refresh()
        same_as_modules(self, wide, modules, X)

    def test_no_conversion_is_left_out_silently(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        before = wide(X)
        for convert in (lambda m: m.half(), lambda m: m.double(), lambda m: m.to("meta"), lambda m: m.to(torch.bfloat16)):
            for model in (wide, torch.nn.Sequential(wide)):
                with self.assertRaisesRegex(widebench.Error, "compile them again"):
                    convert(model)
        self.assertIs(wide.to("cpu").float().cpu(), wide)
        self.assertTrue(torch.equal(wide(X), before))

    def test_add_drop_replace(self):
        modules = nets(4)
        wide = widebench.compile(modules[:3], X, config=widebench.Config(seconds=2))
        wide.add(modules[3])
        same_as_modules(self, wide, modules, X)
        wide.drop("member1")
        modules.pop(1)
        same_as_modules(self, wide, modules, X)
        modules[2] = net()
        wide.replace(2, modules[2])
        same_as_modules(self, wide, modules, X)
        self.assertEqual(wide.names, ["member0", "member2", "member3"])
        with torch.no_grad():  # also of members that stayed
            modules[0][0].weight.add_(1)
        self.assertRaisesRegex(widebench.Error, "member0", wide, X)

    def test_replacing_measures_nothing(self):
        wide = widebench.compile(nets(5), torch.randn(9, 16), config=widebench.Config(seconds=3))
        before = [(row["op"], row["strategy"]) for row in wide.explain().rows]
        wide.replace(1, net())
        explained = wide.explain()
        self.assertEqual([(row["op"], row["strategy"]) for row in explained.rows], before)
        self.assertLess(explained.facts["tuning_milliseconds"], 100)

    def test_state_of_tied_weights_by_either_name(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
                self.b.weight = self.a.weight

            def forward(self, x):
                return self.b(self.a(x).relu())

        x = torch.randn(3, 4)
        for name, other in (("a.weight", "b.weight"), ("b.weight", "a.weight")):
            modules = [Tied() for _ in range(3)]
            wide = widebench.compile(modules[:2], x, config="fast")
            state = modules[2].state_dict()
            wide.load_member(0, {name: state[name]})
            modules[0].load_state_dict({name: state[name]}, strict=False)
            torch.testing.assert_close(wide(x)[0], modules[0](x))
            del state[other]
            wide.replace(1, state)
            torch.testing.assert_close(wide(x)[1], modules[2](x))

    def test_a_member_that_shares_less(self):
        """A layer was the same for all; the plan for that cannot run now, which is told."""
        first, *others = modules = nets(3)
        for other in others:
            other[0].load_state_dict(first[0].state_dict())
        wide = widebench.compile(modules, X, config=FAST)
        modules[1] = net()
        wide.replace(1, modules[1])
        with self.assertWarnsRegex(UserWarning, "does not fit these members, another is made"):
            wide(X)
        same_as_modules(self, wide, modules, X)

    def test_a_state_dict_is_copied(self):
        module, other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        wide = widebench.compile([module], torch.ones(2, 4), config="fast")
        wide.add(other.state_dict())
        expected = wide(torch.ones(2, 4))
        with torch.no_grad():
            other.weight.mul_(2)
        self.assertTrue(torch.equal(wide(torch.ones(2, 4)), expected))

    def test_verify_after_ctrl_c(self):
        """What was cancelled is over."""
        modules = [torch.nn.Sequential(*[torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(8)]) for _ in range(6)]
        wide = widebench.compile(modules, torch.randn(4, 16, 32, 32), config="fast")
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                wide.verify()
        self.assertTrue(wide.verify())

    def test_members_change_whole_beside_a_thread_that_refreshes(self):
        modules, failures, done = nets(4), [], threading.Event()
        wide = widebench.compile(modules, X, config=FAST)

        def refresh():
            try:
                while not done.is_set():
                    wide.refresh()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=refresh)
        thread.start()
        for _ in range(40):
            modules = [*modules[1:], net()]
            wide.add(modules[-1])
            wide.drop(0)
        done.set()
        thread.join()
        self.assertEqual(failures, [])
        same_as_modules(self, wide, modules, X)

    def test_members_change_whole_or_not_at_all_at_ctrl_c(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST, names=["a", "b", "c"])
        for i in range(100):
            timer = threading.Timer(0.0002 * (i % 10), signal.raise_signal, (signal.SIGINT,))
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                while True:
                    wide.add(modules[0], "d")
                    wide.drop("d")
            timer.join()
            self.assertEqual(len(wide(X)), len(wide.names))
            if "d" in wide.names:
                wide.drop("d")
        same_as_modules(self, wide, modules, X)

    def test_calls_beside_another_thread_that_replaces(self):
        modules = nets(3)
        x = torch.randn(8, 16)
        wide = widebench.compile(modules, x, config=widebench.Config.fast(stale="refresh"))
        failures, done = [], threading.Event()

        def call():
            while not done.is_set():
                try:
                    wide(x)
                except Exception as error:
                    failures.append(error)
                    return

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for i in range(30):
            wide.replace(0, modules[0])
            with torch.no_grad():
                modules[i % 3][0].weight.mul_(1.01)
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        torch.testing.assert_close(wide(x), torch.stack([module(x) for module in modules]).detach())

    def test_state(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        for i, module in enumerate(modules):
            state = wide.state_dict(i)
            self.assertEqual(set(state), set(module.state_dict()))
            for name, tensor in module.state_dict().items():
                self.assertTrue(torch.equal(state[name], tensor))
        same_as_modules(self, wide, wide.unpack(), X)
        other = net()
        wide.load_member(1, other.state_dict())
        modules[1] = other
        same_as_modules(self, wide, modules, X)
        whole = wide.state_dict()
        self.assertEqual(whole["0.weight"].shape, (3, 32, 16))
        fresh = widebench.compile(nets(3), X, config=FAST)
        fresh.load_state_dict(whole)
        same_as_modules(self, fresh, modules, X)

    def test_written_buffers(self):
        def model():
            return torch.nn.Sequential(torch.nn.Linear(16, 6), torch.nn.BatchNorm1d(6)).train()

        modules = [model() for _ in range(3)]
        wide = widebench.compile(modules, X, config=FAST)
        for _ in range(2):
            got = wide(X)
            expected = [module(X) for module in modules]
        for i, module in enumerate(modules):
            close(self, got[i], expected[i].detach())
            close(self, wide.state_dict(i)["1.running_mean"], module[1].running_mean)
            close(self, wide.unpack()[i][1].running_var, module[1].running_var)

    def test_members_begin_anew_alike(self):
        class Counts(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                self.count.add_(1)
                return self.layer(x), self.count * 1

        modules, x = [Counts() for _ in range(3)], torch.randn(2, 4)
        wide = widebench.compile(modules, x, config=FAST)
        wide(x), wide(x)
        for load in (lambda: wide.load_member(1, {"layer.bias": torch.ones(4)}),
                     lambda: wide.load_state_dict({"layer.bias": torch.ones(3, 4)}, strict=False)):
            load()
            for _ in range(2):
                self.assertEqual(wide(x)[1].tolist(), [1, 1, 1])
                wide.reset()

    def test_state_dicts_lack_what_is_not_kept(self):
        class Rotates(torch.nn.Module):
            def __init__(self, first):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.register_buffer("angles", first + torch.arange(4.0), persistent=False)

            def forward(self, x):
                return self.layer(x) * self.angles.cos()

        x = torch.randn(2, 4)
        for first, refused in ((0, False), (1, True)):
            modules = [Rotates(first * i) for i in range(3)]
            wide = widebench.compile(modules, x, config=FAST)
            if refused:
                with self.assertRaisesRegex(widebench.Error, "each member has its own 'angles'"):
                    wide.add(modules[1].state_dict())
                continue
            wide.add(modules[1].state_dict())
            wide.replace(0, modules[2].state_dict())
            torch.testing.assert_close(wide(x), torch.stack([modules[i](x) for i in (2, 1, 2, 1)]).detach())

    def test_tied_and_constant(self):
        class Tied(torch.nn.Module):
            def __init__(self, seed):
                super().__init__()
                self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
                self.b.weight = self.a.weight
                self.shift = torch.full((16,), float(seed))  # an attribute, no parameter

            def forward(self, x):
                return self.b(self.a(x)) + self.shift + torch.tensor([1.0])

        modules = [Tied(i).eval() for i in range(3)]
        wide = widebench.compile(modules, X, config=FAST)
        same_as_modules(self, wide, modules, X)
        unpacked = wide.unpack()
        same_as_modules(self, wide, unpacked, X)
        self.assertIs(unpacked[1].a.weight, unpacked[1].b.weight)
        self.assertEqual(set(wide.state_dict(0)), set(modules[0].state_dict()))


if __name__ == "__main__":
    unittest.main()

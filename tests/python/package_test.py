"""What users of the package call."""
import copy
import dataclasses
import gc
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import xml.etree.ElementTree

from support import close, net, nets, same_as_modules, torch, widebench
from widebench._library import ops

FAST = "fast"
X = torch.randn(8, 16)


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor


torch.export.register_dataclass(Output, serialized_type_name="package_test.Output")


@dataclasses.dataclass
class Unnamed:
    logits: torch.Tensor


torch.export.register_dataclass(Unnamed)


class Answers(unittest.TestCase):
    def test_members(self):
        modules = nets(4)
        same_as_modules(self, widebench.compile(modules, (X,), config=FAST), modules, X)

    def test_measured_and_proved(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=widebench.Config.safe(seconds=1))
        same_as_modules(self, wide, modules, X)
        proof = wide.verify()
        self.assertTrue(proof)
        self.assertIn("member against its own run", [check.what for check in proof.checks])

    def test_structures(self):
        class Model(torch.nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.a, self.b, self.kind = torch.nn.Linear(16, 8), torch.nn.Linear(8, 3), kind

            def forward(self, x, *, scale):
                hidden = self.a(x).relu()
                logits = self.b(hidden) * scale["by"]
                if self.kind == "dict":
                    return {"logits": logits, "more": [hidden, None, 7]}
                return (logits, (hidden,)) if self.kind == "tuple" else Output(logits, hidden)

        for kind in ("dict", "tuple", "dataclass"):
            modules = [Model(kind).eval() for _ in range(3)]
            scale = {"by": torch.tensor(2.0)}
            got = widebench.compile(modules, (X,), {"scale": scale}, config=FAST)(X, scale=scale)
            for i, module in enumerate(modules):
                expected = module(X, scale=scale)
                if kind == "dict":
                    close(self, got["logits"][i], expected["logits"])
                    close(self, got["more"][0][i], expected["more"][0])
                    self.assertEqual(got["more"][1:], [None, 7])
                elif kind == "tuple":
                    self.assertIsInstance(got, tuple)
                    close(self, got[1][0][i], expected[1][0])
                else:
                    self.assertIsInstance(got, Output)
                    close(self, got.hidden[i], expected.hidden)

    def test_in_dims(self):
        class Sum(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(16, 4)

            def forward(self, pair, y):
                return self.layer(pair[0]) + pair[1] * y

        modules = [Sum().eval() for _ in range(3)]
        one = ((X, torch.randn(8, 4)), torch.randn(8, 4))
        for dims, shapes in ((((0, None), 0), ((3, 8, 16), (8, 4), (3, 8, 4))), (((1, 0), None), ((8, 3, 16), (3, 8, 4), (8, 4))),
                             (0, ((3, 8, 16), (3, 8, 4), (3, 8, 4)))):
            wide = widebench.compile(modules, one, in_dims=dims, config=FAST)
            a, b, y = (torch.randn(shape) for shape in shapes)
            got = wide((a, b), y)
            pair, other = (dims if isinstance(dims, tuple) else ((0, 0), 0))
            for i, module in enumerate(modules):
                pick = lambda tensor, dim: tensor if dim is None else tensor.select(dim, i)  # noqa: E731
                close(self, got[i], module((pick(a, pair[0]), pick(b, pair[1])), pick(y, other)))
            self.assertTrue(wide.verify())

    def test_dynamic_shapes(self):
        modules = nets(3)
        wide = widebench.compile(modules, (X,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},), config=FAST)
        for batch in (2, 5, 8, 31):
            same_as_modules(self, wide, modules, torch.randn(batch, 16))

    def test_outputs_are_ordinary(self):
        wide = widebench.compile(nets(3), (X,), config=FAST)
        out = wide(X.clone().requires_grad_())
        self.assertFalse(out.is_inference() or out.requires_grad)
        weight = torch.ones(4, requires_grad=True)
        (out * weight).sum().backward()
        close(self, weight.grad, out.sum((0, 1)))
        out.add_(1)  # the caller's own
        close(self, wide(X), out - 1)

    def test_recurrent(self):
        class Tagger(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm, self.head = torch.nn.LSTM(6, 5, batch_first=True, bidirectional=True), torch.nn.Linear(10, 3)

            def forward(self, x):
                return self.head(self.lstm(x)[0])

        modules = [Tagger().eval() for _ in range(3)]
        x = torch.randn(2, 7, 6)
        wide = widebench.compile(modules, x, config=FAST)
        same_as_modules(self, wide, modules, x)
        same_as_modules(self, wide, wide.unpack(), x)

    def test_dropout_of_one_model(self):
        model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Dropout(0.5), torch.nn.Linear(64, 2))  # in training mode
        wide = widebench.compile([model] * 8, X, config=FAST)
        first, second = wide(X), wide(X)
        self.assertGreater(first.var(0).mean().item(), 0)
        self.assertFalse(torch.equal(first, second))
        wide.reset()
        self.assertTrue(torch.equal(first, wide(X)))
        torch.manual_seed(3)
        close(self, first[3], model(X))  # member i draws as after manual_seed(i)

    def test_generator_and_threads_stay(self):
        model = net()
        before, threads = torch.random.get_rng_state(), torch.get_num_threads()
        wide = widebench.compile(model, X, n=3, config=widebench.Config(seconds=1))
        wide(X)
        wide.verify()
        self.assertTrue(torch.equal(before, torch.random.get_rng_state()))
        self.assertEqual(threads, torch.get_num_threads())

    def test_copies(self):
        torch.manual_seed(0)
        wide = widebench.compile(net(), X, n=4, config=widebench.Config.fast(seed=11))
        self.assertEqual(wide(X).shape, (4, 8, 4))
        torch.manual_seed(13)
        close(self, wide.state_dict(2)["0.weight"], torch.nn.Linear(16, 32).weight.detach())

    def test_sizes_of_their_own(self):
        class Picks(torch.nn.Module):
            def __init__(self, least):
                super().__init__()
                self.least = torch.nn.Parameter(torch.tensor(least))

            def forward(self, x):
                return x[x.sum(1) > self.least], x * self.least

        members, x = [Picks(least) for least in (-1.0, 0.5, 100.0)], torch.arange(-8.0, 8.0).reshape(8, 2) / 5
        wide = widebench.compile(members, (x,))
        rows, plain = wide(x)
        self.assertTrue(rows.is_nested)
        self.assertEqual(len({len(one) for one in rows.unbind()}), 3)
        for i, member in enumerate(members):
            for one, own in zip((rows[i], plain[i]), member(x)):
                self.assertTrue(torch.equal(one, own))
        self.assertTrue(wide.verify().passed)
        with self.assertRaisesRegex(widebench.Error, "unbind"):
            widebench.reduce.mean(rows)
        self.assertEqual(len({len(one) for one in wide(x.abs() + 99)[0].unbind()}), 1)

    def test_numbers_of_axes_of_their_own(self):
        class Squeezes(torch.nn.Module):
            def __init__(self, least):
                super().__init__()
                self.least = torch.nn.Parameter(torch.tensor(least))

            def forward(self, x):
                return {"rows": torch.masked_select(x, x > self.least).squeeze(), "plain": x * self.least, "none": None,
                        "other": torch.nonzero(x > self.least).squeeze()}

        members, x = [Squeezes(least) for least in (-1.0, 6.5, 100.0)], torch.arange(8.0)
        wide = widebench.compile(members, (x,))
        for _ in range(3):
            answers = wide(x)
            self.assertIsInstance(answers["rows"], widebench.Apart)
            self.assertEqual([one.dim() for one in answers["rows"].unbind()], [1, 0, 1])
            self.assertEqual([tuple(one.shape) for one in answers["other"]], [(8,), (), (0,)])
            self.assertIsNone(answers["none"])
            for i, member in enumerate(members):
                own = member(x)
                for name in ("rows", "plain", "other"):
                    self.assertTrue(torch.equal(answers[name][i], own[name]))
            answers["rows"][1].zero_()
        self.assertTrue(wide.verify().passed)
        with self.assertRaisesRegex(widebench.Error, "unbind"):
            widebench.reduce.mean(answers)
        self.assertEqual(wide(x * 0 + 200)["rows"].shape, (3, 8))  # as many for all again
        one = widebench.compile(members[1:2], (x,))
        self.assertEqual(one(x)["rows"].shape, (1,))

        class Alone(Squeezes):
            def forward(self, x):
                return super().forward(x)["rows"]

        alone = widebench.compile([Alone(least) for least in (-1.0, 6.5)], (x,))
        self.assertEqual([tuple(own.shape) for own in alone(x)], [(8,), ()])
        with self.assertRaisesRegex(Exception, "depends on data|numbers of axes"):
            torch.compile(alone, backend="eager", fullgraph=True)(x)

    def test_reducers(self):
        out = {"a": torch.randn(5, 8, 3), "b": torch.randn(5, 8, 2)}
        reduce = widebench.reduce
        close(self, reduce.mean(out)["a"], out["a"].mean(0))
        close(self, reduce.variance(out)["b"], out["b"].var(0))
        self.assertEqual(reduce.quantiles(out, [0.1, 0.9])["a"].shape, (2, 8, 3))
        values, indices = reduce.topk(out["a"], 2)
        close(self, values, out["a"].softmax(-1).mean(0).topk(2).values)
        votes = torch.tensor([[[0.0, 1.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
        self.assertEqual(reduce.vote(votes).tolist(), [1])
        self.assertEqual(reduce.vote(votes.transpose(1, 2), dim=0).tolist(), [1])


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
        measured = wide.benchmark(rivals=("eager", "vmap"), rounds=5)
        middle, low, high = measured.speedup("eager")
        self.assertTrue(0 < low <= middle <= high)
        self.assertIn("vmap", str(measured))
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

    def test_progress(self):
        told = []
        widebench.compile(nets(7, width=48), torch.randn(37, 16), config=widebench.Config(seconds=3), progress=told.append)
        self.assertTrue(told)

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


class Members(unittest.TestCase):
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

    def test_in_place_changes_are_noticed(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        optimizer = torch.optim.SGD(modules[1].parameters(), lr=0.1)
        modules[1](X).sum().backward()
        optimizer.step()
        with self.assertRaises(widebench.Error) as caught:
            wide(X)
        self.assertEqual(caught.exception.stage, "stale")
        self.assertIn("member1", caught.exception.place)
        self.assertIn("refresh()", caught.exception.advice)
        wide.refresh()
        same_as_modules(self, wide, modules, X)
        follows = widebench.compile(modules, X, config=widebench.Config.fast(stale="refresh"))
        with torch.no_grad():
            modules[0][0].weight.mul_(2)
        same_as_modules(self, follows, modules, X)

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

    def test_nothing_leaks(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        modules = nets(3, width=512)
        gc.collect()
        alive, sizes = ops.models_alive(), []
        for i in range(60):
            wide = widebench.compile(modules, X, config=FAST)
            wide(X)
            wide.refresh()
            wide(X)
            del wide
            gc.collect()
            if i in (29, 59):
                sizes.append(resident())
        self.assertEqual(ops.models_alive(), alive)
        self.assertLess(sizes[1] - sizes[0], 8 << 20)


class Refusals(unittest.TestCase):
    def refused(self, stage, words, call, *args, **kwargs):
        with self.assertRaises(widebench.Error) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.stage, stage)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception

    def test_other_architectures(self):
        compile = widebench.compile
        error = self.refused("load", ["tanh", "relu", "member2"], compile, [*nets(2), net(activation=torch.nn.Tanh)], X)
        self.assertEqual(error.place, "member2")
        self.refused("load", ["odd", "32, 16", "33, 16"], compile, [net(), net(width=33)], X, names=["even", "odd"])
        dropped = [torch.nn.Sequential(torch.nn.Linear(16, 4), torch.nn.Dropout(p)) for p in (0.1, 0.2)]
        self.refused("load", ["member1", "0.2"], compile, dropped, X)
        eps = [torch.nn.LayerNorm(16, eps=eps) for eps in (1e-5, 1e-6)]
        self.refused("load", ["member1"], compile, eps, X)
        half = [net(), net().to(torch.float64)]
        self.refused("load", ["member1"], compile, half, X)

    def test_dataclasses_without_a_name_in_files(self):
        class Wrapped(torch.nn.Linear):
            def forward(self, x):
                return Unnamed(super().forward(x))

        self.refused("export", ["serialized_type_name=", "member0"], widebench.compile, [Wrapped(16, 4)], X)

    def test_copies(self):
        wide = widebench.compile(nets(2), X, config=FAST)
        for copied in (copy.copy, copy.deepcopy, pickle.dumps, lambda model: copy.deepcopy(torch.nn.Sequential(model))):
            self.refused("usage", ["state_dict()"], copied, wide)

    def test_unknown_settings_are_exported(self):
        def with_table(scale):
            model = torch.nn.Sequential(torch.nn.Linear(16, 4)).eval()
            model.table = object.__new__(type("Slots", (), {"__slots__": ("scale",)}))
            model.table.scale = scale
            model.forward = lambda x: torch.nn.Sequential.forward(model, x) * model.table.scale
            return model

        modules = [with_table(2.0), with_table(2.0)]
        same_as_modules(self, widebench.compile(modules, X, config=FAST), modules, X)
        self.refused("load", ["3.0", "2.0"], widebench.compile, [with_table(2.0), with_table(3.0)], X)

    def test_usage(self):
        compile = widebench.compile
        self.refused("usage", ["n="], compile, net(), X)
        self.refused("usage", ["at least one"], compile, [], X)
        self.refused("usage", ["modules"], compile, [3], X)
        self.refused("usage", ["names"], compile, nets(2), X, names=["a", "a"])
        self.refused("usage", ["there are"], compile, nets(2), X, config="slow")
        self.refused("usage", ["mode"], compile, nets(2), X, mode="fastest")
        self.refused("plan", ["grouped_typo"], compile, nets(2), X, config=widebench.Config.fast(strategy="grouped_typo"))
        self.refused("usage", ["init="], compile, torch.nn.PReLU() if not hasattr(torch.nn.PReLU, "reset_parameters") else Own(), X, n=2)

    def test_inputs(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        self.refused("run", ["example"], wide, X, X)
        self.refused("run", ["example"], wide, x=X)
        self.refused("run", ["tensor"], wide, 3)
        self.refused("run", ["input.0"], wide, torch.randn(9, 16))
        self.refused("run", ["input.0"], wide, X.double())
        mapped = widebench.compile(nets(3), X, in_dims=0, config=FAST)
        self.refused("run", ["4 members", "3"], mapped, torch.randn(4, 8, 16))

    def test_what_export_refuses(self):
        class Branch(torch.nn.Module):
            def forward(self, x):
                return x if x.sum().item() > 0 else -x

        error = self.refused("export", ["member0"], widebench.compile, [Branch()], X)
        self.assertTrue(error.advice)

    def test_files(self):
        self.refused("load", ["nowhere.pt2"], widebench.from_files, "nowhere.pt2")
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            file.write(b"no program")
            file.flush()
            self.refused("load", [file.name], widebench.from_files, file.name)

    def test_errors_pickle(self):
        error = pickle.loads(pickle.dumps(widebench.Error("run", "input.0: is wrong; mend it")))
        self.assertEqual((error.stage, error.place, error.advice), ("run", "input.0", "mend it"))


class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(16))

    def forward(self, x):
        return x * self.weight


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

    def test_import(self):
        code = ("import time, torch; begin = time.perf_counter(); import widebench; print(time.perf_counter() - begin)\n"
                "assert not widebench._library.ops.uses_tensor_memory()")
        took = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3))
        self.assertLess(took, 0.3)


class Command(unittest.TestCase):
    """The console command, as the build tree has it."""

    def setUp(self):
        self.script = pathlib.Path(widebench.__file__).parents[1] / "bin" / "widebench"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ran(self, *words, **environment):
        return subprocess.run([sys.executable, self.script, *words], capture_output=True, text=True, env={**os.environ, **environment})

    def test_runs_the_program(self):
        done = self.ran("info", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["version"], widebench.__version__)
        done = self.ran("unpack", "nowhere.safetensors", "-o", "x")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("nowhere.safetensors", done.stderr)

    def test_packed_files(self):
        corpus = pathlib.Path(os.environ["CORPUS"]) / "mlp"
        seeds, packed = sorted(corpus.glob("seed*.safetensors")), self.folder / "packed.safetensors"
        self.assertEqual(self.ran("pack", *seeds, "-o", packed).returncode, 0)
        wide = widebench.from_files(corpus / "model.pt2", [packed], config=FAST)
        self.assertEqual(wide.names, [seed.stem for seed in seeds])
        x = torch.randn(4, 64)
        self.assertTrue(torch.equal(wide(x), widebench.from_files(corpus / "model.pt2", seeds, config=FAST)(x)))

    def test_imports_no_torch(self):
        done = self.ran("--version", PYTHONPROFILEIMPORTTIME="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, r"\| *torch$")

    def test_refusals(self):
        package = self.folder / "widebench"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "_built_with.py").write_text('VERSION = "0"\nTORCH = "1.13.0"\n')
        done = self.ran("info", PYTHONPATH=str(self.folder))
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
        self.assertIn("was built with torch 1.13.0", done.stderr)
        (package / "_built_with.py").write_text(f'TORCH = "{torch.__version__}"\n')
        done = self.ran("info", PYTHONPATH=str(self.folder))
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
        self.assertIn("install widebench again", done.stderr)
        self.assertIn("not installed", subprocess.run([sys.executable, "-I", self.script], capture_output=True, text=True).stderr)


class Compiled(unittest.TestCase):
    def test_no_graph_break(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        around = torch.compile(lambda x: wide(x * 2).mean(0) + 1, fullgraph=True, backend="aot_eager")
        close(self, around(X), wide(X * 2).mean(0) + 1)
        around(X.clone().requires_grad_())
        close(self, around(X), wide(X * 2).mean(0) + 1)

    def test_inductor(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        close(self, torch.compile(lambda x: wide(x * 2).sin(), fullgraph=True)(X), wide(X * 2).sin())

    def test_dynamic(self):
        wide = widebench.compile(nets(3), (X,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},), config=FAST)
        around = torch.compile(lambda x: wide(x).sum(), fullgraph=True, backend="aot_eager", dynamic=True)
        for batch in (4, 7, 9):
            x = torch.randn(batch, 16)
            close(self, around(x), wide(x).sum())

    def test_export(self):
        class Around(torch.nn.Module):
            def __init__(self, wide):
                super().__init__()
                self.wide = wide

            def forward(self, x):
                return self.wide(x).mean(0)

        wide = widebench.compile(nets(3), X, config=FAST)
        program = torch.export.export(Around(wide), (X,))
        self.assertIn("widebench.forward", str(program.graph))
        close(self, program.module()(X), wide(X).mean(0))


if __name__ == "__main__":
    unittest.main()

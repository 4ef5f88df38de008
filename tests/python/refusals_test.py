"""What is refused, in one line that says what to do."""
import collections
import copy
import dataclasses
import functools
import pickle
import tempfile
import unittest
import warnings

from support import net, nets, same_as_modules, torch, widebench

FAST = "fast"
X = torch.randn(8, 16)


@dataclasses.dataclass
class Unnamed:
    logits: torch.Tensor


torch.export.register_dataclass(Unnamed)


class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(16))

    def forward(self, x):
        return x * self.weight


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

    def test_transforms_around_a_call(self):
        """Their gradients would be zeros."""
        modules = nets(2)
        wide = widebench.compile(modules, X, config=FAST)
        for call in (lambda: torch.func.grad(lambda x: wide(x).sum())(X), lambda: torch.func.jacrev(wide)(X),
                     lambda: torch.func.vmap(wide)(X[None]), lambda: torch.func.jvp(wide, (X,), (X,)),
                     lambda: torch.func.grad(lambda x: torch.nn.Sequential(wide)(x).sum())(X)):
            self.refused("run", ["torch.func.grad", "outside"], call)
        same = torch.func.grad(lambda x: (x * x).sum() + wide(X).sum())(X)  # what is not transformed passes
        torch.testing.assert_close(same, 2 * X)

    def test_named_tuples(self):
        Pair = collections.namedtuple("Pair", "a b")

        class Gives(torch.nn.Linear):
            def forward(self, x):
                return Pair(super().forward(x), x)

        self.refused("export", ["cannot save", "named tuple", "dict"], widebench.compile, [Gives(16, 4) for _ in range(2)], X)

    def test_arguments_of_other_types(self):
        compile, pair = widebench.compile, nets(2)
        for words, arguments, settings in [
                (["models is a NoneType"], (None, X), {}), (["models is a int"], (3, X), {}), (["n='2'"], (net(), X), {"n": "2"}),
                (["n=True"], (net(), X), {"n": True}), (["n=0"], (net(), X), {"n": 0}), (["example_args is a NoneType"], (pair, None), {}),
                (["example_args is a ndarray"], (pair, X.numpy()), {}), (["example_kwargs is a list"], (pair, X, [1]), {}),
                (["config is a int"], (pair, X), {"config": 3}), (["progress is a int"], (pair, X), {"progress": 3}),
                (["names is a int"], (pair, X), {"names": 3}), (["2 axes", "number 5"], (pair, X), {"in_dims": 5})]:
            with self.subTest(words=words):
                self.refused("usage", words, compile, *arguments, **{"config": FAST, **settings})
        for setting in ({"seconds": "1"}, {"seconds": float("nan")}, {"seconds": -1}, {"seed": "a"}, {"seed": -1}, {"strategy": 3}, {"validate": 1}):
            self.refused("usage", list(setting), widebench.Config, **setting)
        wide = compile(pair, X, config=FAST)
        for call, *arguments in [(wide.state_dict, 1.0), (wide.load_member, 0, 3), (wide.load_member, 0, {"0.weight": 3}), (wide.add, 3),
                                 (wide.replace, None, net()), (wide.drop, slice(0, 1))]:
            self.refused("usage", [" is "], call, *arguments)
        for words, call, *arguments in [
                ("a state dict of all", wide.load_state_dict, None), ("give a tensor", wide.load_state_dict, {**wide.state_dict(), "0.bias": 3}),
                ("give a path", widebench.from_files, 3), ("give a path", widebench.from_files, "m.pt2", [3]),
                ("give paths", widebench.from_files, "m.pt2", 3), ("give a path", widebench.from_bundle, 3),
                ("give a path", wide.save_bundle, None), ("init is a int", lambda: compile(net(), X, n=2, init=3))]:
            self.refused("usage", [words], call, *arguments)
        for member in (torch.tensor(1.5), int):
            self.refused("usage", ["no whole number"], wide.state_dict, member)
        for dims in (("a",), (1.5,), (True,)):
            self.refused("usage", ["in_dims"], compile, pair, X, in_dims=dims)
        self.refused("usage", ["rounds=0"], wide.benchmark, rounds=0)
        self.refused("usage", ["passes='a'"], wide.profile, passes="a")
        self.assertEqual(list(wide.state_dict(torch.tensor(1))), list(wide.state_dict(-1)))  # what stands for a number is one
        same_as_modules(self, wide, pair, X)

    def test_what_is_no_answer_of_members(self):
        y, reduce = torch.randn(3, 8, 4), widebench.reduce
        for words, reducer, *arguments in [
                ("no tensor", reduce.mean, None), ("no tensor", reduce.vote, {"a": 3}), ("without axes", reduce.variance, y.sum()),
                ("not int64", reduce.mean, y.long()), ("not bool", reduce.quantiles, y > 0, 0.5), ("not int64", reduce.topk, y.long(), 2),
                ("2 axes", reduce.vote, y, 2), ("2 axes", reduce.topk, y, 2, -3), ("4 classes", reduce.topk, y, 5),
                ("k='a'", reduce.topk, y, "a"), ("0 to 1", reduce.quantiles, y, [0.5, 2]), ("0 to 1", reduce.quantiles, y, None)]:
            self.refused("usage", [words], reducer, *arguments)

    def test_a_class_of_ones_own_among_the_outputs(self):
        class Own:
            pass

        class Gives(torch.nn.Module):
            def forward(self, x):
                return x, Own()

        with self.assertRaisesRegex(widebench.Error, "use_cache=False.*or register a dataclass with"):
            widebench.compile([Gives(), Gives()], torch.randn(2, 3), config="fast")

    def test_what_export_cannot_save(self):
        from torch.nn.attention.flex_attention import flex_attention

        class Takes(torch.nn.Module):
            def forward(self, x):
                return flex_attention(x, x, x, score_mod=lambda score, b, h, i, j: torch.where(i >= j, score, -float("inf")))

        with warnings.catch_warnings(), self.assertRaisesRegex(widebench.Error, "'flex_attention', but cannot save it"):
            warnings.simplefilter("ignore")
            widebench.compile([Takes(), Takes()], torch.randn(1, 2, 8, 16), config="fast")

    def test_lazy_modules(self):
        self.refused("load", ["lazy", "member0", "call it once"], widebench.compile, [torch.nn.LazyLinear(4) for _ in range(2)], X)
        self.refused("load", ["lazy"], widebench.compile, torch.nn.LazyLinear(4), X, n=2)

    def test_modules_that_cannot_be_copied(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the old weight_norm is deprecated
            normed = torch.nn.utils.weight_norm(torch.nn.Linear(16, 4))
        self.refused("usage", ["cannot be copied", "list of members"], widebench.compile, normed, X, n=2)

    def test_an_interrupt_of_the_trace_is_one(self):
        class Stopped(torch.nn.Module):
            def forward(self, x):
                try:
                    raise KeyboardInterrupt
                except KeyboardInterrupt as error:
                    raise RuntimeError("torch met an unknown error") from error

        with self.assertRaises(KeyboardInterrupt):
            widebench.compile([Stopped()], X)

    def test_dataclasses_without_a_name_in_files(self):
        class Wrapped(torch.nn.Linear):
            def forward(self, x):
                return Unnamed(super().forward(x))

        self.refused("export", ["serialized_type_name=", "member0"], widebench.compile, [Wrapped(16, 4)], X)

    def test_members_made_in_inference_mode(self):
        with torch.inference_mode():
            made = nets(2)
        self.refused("load", ["member0", "inference_mode", "outside"], widebench.compile, made, X)
        self.refused("load", ["member1"], widebench.compile, [net(), made[1]], X)
        wide = widebench.compile(nets(2), X, config=FAST)
        self.refused("load", ["inference_mode"], wide.replace, 1, made[1])

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

    def test_settings_that_equal_values_hide(self):
        class Scaled(torch.nn.Module):
            def __init__(self, table):
                super().__init__()
                self.layer, self.table = torch.nn.Linear(16, 4), table

            def forward(self, x):
                return self.layer(x) * (self.table["gain"] if isinstance(self.table, dict) else self.table.gain)

        class Listed(list):
            gain = 1.0

        def listed(gain):
            made = Listed([1])
            made.gain = gain
            return made

        for make in (lambda gain: collections.defaultdict(functools.partial(float, gain)), listed):
            self.refused("load", ["member1"], widebench.compile, [Scaled(make(2.0)), Scaled(make(3.0))], X, config=FAST)
            modules = [Scaled(make(2.0)) for _ in range(2)]
            same_as_modules(self, widebench.compile(modules, X, config=FAST), modules, X)

    def test_buffers_in_one_memory(self):
        class Overlapping(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(4))
                self.register_buffer("first", self.count[::2])

            def forward(self, x):
                self.count.add_(1)
                return x[:, :2] * self.first

        self.refused("widen", ["'count'", "'first'"], widebench.compile, [Overlapping(), Overlapping()], torch.ones(3, 4), config=FAST)

    def test_numbers_that_data_decide(self):
        class Number(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(16, 4)

            def forward(self, x):
                y = self.layer(x)
                return y, y.sum().item()

        self.refused("load", ["output 1", "return it as a tensor"], widebench.compile, [Number(), Number()], X, config=FAST)

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

    def test_inputs_without_the_axis_of_members(self):
        wide = widebench.compile(nets(3), (X,), config="fast", in_dims=1)
        for given in (torch.randn(16), torch.tensor(1.0)):
            for call in (wide, wide.verify, wide.plan, wide.explain, wide.profile):
                with self.assertRaises(widebench.Error) as caught:
                    call(given)
                self.assertEqual(caught.exception.stage, "run")
                self.assertIn("in_dims", str(caught.exception))

    def test_inputs_that_are_not_dense(self):
        wide = widebench.compile(nets(2), X, config=FAST)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some kinds are prototypes
            for kind in (X.to_sparse(), X.to_sparse_csr(), X.to_mkldnn(), torch.nested.nested_tensor([X[:3], X]),
                         torch.nested.nested_tensor([X[:3], X], layout=torch.jagged)):
                for _ in range(2):
                    self.refused("run", ["dense"], wide, kind)
                    wide(X)

    def test_what_export_refuses(self):
        class Branch(torch.nn.Module):
            def forward(self, x):
                return x if x.sum().item() > 0 else -x

        error = self.refused("export", ["member0"], widebench.compile, [Branch()], X)
        self.assertTrue(error.advice)

    def test_the_line_that_fails_is_named(self):
        class Fails(torch.nn.Module):
            def forward(self, x):
                return self.of(x.relu())

            def of(self, x):
                return x.no_such_method()  # here

        class Branches(torch.nn.Module):
            def forward(self, x):
                if float(x.sum()) > 0:  # here
                    return x
                return -x

        for module in (Fails(), Branches()):
            self.refused("export", ["refusals_test.py:", "  # here"], widebench.compile, [module, copy.deepcopy(module)], X, config=FAST)

    def test_files(self):
        self.refused("load", ["nowhere.pt2"], widebench.from_files, "nowhere.pt2")
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            file.write(b"no program")
            file.flush()
            self.refused("load", [file.name], widebench.from_files, file.name)

    def test_errors_pickle(self):
        error = pickle.loads(pickle.dumps(widebench.Error("run", "input.0: is wrong; mend it")))
        self.assertEqual((error.stage, error.place, error.advice), ("run", "input.0", "mend it"))


if __name__ == "__main__":
    unittest.main()

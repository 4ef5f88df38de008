"""What a wide model answers: structures, axes, dtypes, random streams, reducers."""
import dataclasses
import unittest
import warnings

from support import close, net, nets, same_as_modules, torch, widebench

FAST = "fast"
X = torch.randn(8, 16)


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor


torch.export.register_dataclass(Output, serialized_type_name="answers_test.Output")


class Answers(unittest.TestCase):
    def test_members(self):
        modules = nets(4)
        same_as_modules(self, widebench.compile(modules, (X,), config=FAST), modules, X)

    def test_images_with_nan_by_winograd(self):
        """What is not finite is computed from the modules' own weights, which are not stacked."""
        modules = [torch.nn.Sequential(torch.nn.Conv2d(32, 48, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(48, 32, 3)).eval() for _ in range(4)]
        x = torch.randn(3, 32, 9, 7)
        x[1, 5, 3, 2] = float("nan")
        x[2, 0, 8, 6] = float("inf")
        for shared in (True, False):
            given = x if shared else torch.stack([x * (i + 1) for i in range(4)])
            with warnings.catch_warnings(record=True) as refused:  # where libxsmm generates no code, another strategy runs
                warnings.simplefilter("always")
                wide = widebench.compile(modules, x, in_dims=None if shared else 0, config=widebench.Config.fast(strategy="conv=winograd_2x2"))
            if not refused:
                self.assertIn("winograd_2x2", str(wide.explain()))
            got = wide(given)
            for i, module in enumerate(modules):
                expected = module(x if shared else given[i])
                torch.testing.assert_close(got[i], expected, rtol=1e-3, atol=1e-4, equal_nan=True)

    def test_measured_and_proved(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=widebench.Config.safe(seconds=1))
        same_as_modules(self, wide, modules, X)
        proof = wide.verify()
        self.assertTrue(proof)
        self.assertIn("member against its own run", [check.what for check in proof.checks])

    def test_complex_factors(self):
        class Added(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = (torch.nn.Parameter(torch.randn(2, 3, 3, dtype=torch.complex64)) for _ in range(2))

            def forward(self, x):
                return torch.baddbmm(self.a, self.b, x, beta=0.2 + 0.4j, alpha=1.2 + 1.8j), torch.addmm(self.a[0], self.b[1], x[0], alpha=1j)

        modules, x = [Added() for _ in range(2)], torch.randn(2, 3, 3, dtype=torch.complex64)
        wide = widebench.compile(modules, x, config=FAST)
        for lazy in (x, x.conj()):
            for k, output in enumerate(wide(lazy)):
                for i, module in enumerate(modules):
                    torch.testing.assert_close(output[i], module(lazy)[k])

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

    def test_few_and_many_inputs(self):
        class Model(torch.nn.Module):
            def __init__(self, made):
                super().__init__()
                self.layer, self.made = torch.nn.Linear(16, 16), made

            def forward(self, *given):
                hidden = [self.layer(one) for one in given]
                return {"b": sum(hidden), "a": hidden[-1]} if self.made is dict else self.made([sum(hidden), hidden[-1]])

        for inputs in (1, 2, 4, 5):
            for made in (tuple, list, dict):
                with self.subTest(inputs=inputs, made=made):
                    modules = [Model(made) for _ in range(3)]
                    in_dims = tuple(0 if i == inputs - 1 else None for i in range(inputs))
                    example = [torch.randn(2, 16) for _ in range(inputs)]
                    wide = widebench.compile(modules, tuple(example), in_dims=in_dims, config=FAST)
                    given = [*example[:-1], torch.randn(3, 2, 16, requires_grad=True)]
                    answer = wide(*given)
                    self.assertIs(type(answer), made)
                    for i, module in enumerate(modules):
                        alone = module(*given[:-1], given[-1][i])
                        if made is dict:
                            self.assertEqual(list(answer), list(alone))
                        for mine, theirs in zip(answer.values() if made is dict else answer, alone.values() if made is dict else alone):
                            self.assertFalse(mine.requires_grad)
                            close(self, mine[i], theirs)
                    with self.assertRaisesRegex(widebench.Error, "torch.func.grad"):
                        torch.func.vmap(wide)(*(one.detach()[None] for one in given))

    def test_hooks(self):
        wide = widebench.compile(nets(2), X, config=FAST)
        seen = []
        plain = wide(X)
        for register in (lambda: wide.register_forward_hook(lambda module, given, answer: answer + 1),
                         lambda: torch.nn.modules.module.register_module_forward_hook(lambda module, given, answer: answer + 1)):
            hook = register()
            try:
                self.assertTrue(torch.equal(wide(X), plain + 1))
            finally:
                hook.remove()
        with wide.register_forward_pre_hook(lambda module, given: seen.append(len(given))):
            wide(X)
        self.assertEqual(seen, [1])
        self.assertTrue(torch.equal(wide(X), plain))
        wide._forward_hooks = type(wide._forward_hooks)()  # as copies of modules have their own
        wide.register_forward_hook(lambda module, given, answer: answer + 1)
        self.assertTrue(torch.equal(wide(X), plain + 1))

    def test_another_forward(self):
        wide = widebench.compile(nets(2), (X,), config="fast")
        answer, own = wide(X), wide.forward
        wide.forward = lambda x: own(x) + 1
        close(self, wide(X), answer + 1)

    def test_fake_inputs(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        wide = widebench.compile(nets(2), X, config=FAST)
        answer = wide(FakeTensorMode().from_tensor(X))
        self.assertEqual(answer.shape, wide(X).shape)
        self.assertIsInstance(answer, torch._subclasses.FakeTensor)

    def test_inputs_without_numbers(self):
        wide = widebench.compile(nets(2), (X,), config="fast")
        answer = wide(X.to("meta"))
        self.assertEqual((answer.device.type, answer.shape), ("meta", wide(X).shape))

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

    def test_in_dims_as_a_prefix(self):
        class Nested(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, given, *, scale):
                return self.layer(given["x"][0] + given["x"][1]) * given["by"] * scale

        modules = [Nested() for _ in range(2)]
        x, y, by, scale = torch.randn(2, 3, 4), torch.randn(2, 3, 4), torch.randn(3, 4), torch.randn(2)
        wide = widebench.compile(modules, ({"x": (x[0], y[0]), "by": by},), {"scale": scale[0]}, config=FAST,
                                 in_dims=({"x": 0, "by": None},), kwargs_in_dims={"scale": 0})
        expected = [module({"x": (x[i], y[i]), "by": by}, scale=scale[i]) for i, module in enumerate(modules)]
        torch.testing.assert_close(wide({"x": (x, y), "by": by}, scale=scale), torch.stack(expected).detach())
        for in_dims, kwargs_in_dims, place in ((({"x": [0, 0, 0], "by": None},), {"scale": 0}, "in_dims"), (None, {"scales": 0}, "kwargs_in_dims")):
            with self.assertRaises(widebench.Error) as caught:
                widebench.compile(modules, ({"x": (x[0], y[0]), "by": by},), {"scale": scale[0]}, config=FAST, in_dims=in_dims,
                                  kwargs_in_dims=kwargs_in_dims)
            self.assertEqual(caught.exception.place, place)

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

    def test_what_is_handed_through_requires_no_gradient(self):
        class Through(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(16, 4)

            def forward(self, x):
                return self.linear(x), x, x[0]

        for in_dims in (None, 0):
            wide = widebench.compile([Through() for _ in range(3)], (X,), config=FAST, in_dims=in_dims)
            x = X if in_dims is None else torch.stack([X, X + 1, X + 2])
            for out in wide(x.clone().requires_grad_()):
                self.assertFalse(out.requires_grad)

    def test_vmap_within(self):
        class Mapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 3)

            def forward(self, x):
                return torch.func.vmap(lambda row: self.linear(row.tanh()).softmax(0))(x)

        members, x = [Mapped() for _ in range(3)], torch.randn(5, 8)
        wide = widebench.compile(members, (x,))
        for i, member in enumerate(members):
            close(self, wide(x)[i], member(x))

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

    def test_autocast_around_a_call_changes_nothing(self):
        modules = nets(3)
        for config in (FAST, widebench.Config(seconds=1)):
            wide = widebench.compile(modules, (X,), config=config)
            own = wide(X)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertTrue(torch.equal(wide(X), own))
                self.assertTrue(wide.verify().passed)
                inside = torch.compile(lambda x: wide(x) + 1, backend="eager", fullgraph=True)(X)
            self.assertTrue(torch.equal(inside, own + 1))
        with torch.autocast("cpu"), self.assertRaisesRegex(widebench.Error, "outside"):
            widebench.compile(modules, (X,))

        class Casts(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(16, 4)

            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return self.layer(x)

        modules = [Casts() for _ in range(3)]
        wide = widebench.compile(modules, (X,), config=FAST)
        self.assertEqual(wide(X).dtype, torch.bfloat16)
        with torch.autocast("cpu", dtype=torch.float16):
            self.assertTrue(torch.equal(wide(X)[1].float(), modules[1](X).float()))

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

    def test_reducers_of_odd_answers(self):
        reduce = widebench.reduce
        self.assertEqual(reduce.quantiles(torch.randn(3, 0), [0.1, 0.9]).shape, (2, 0))
        for call in (lambda: reduce.vote(torch.ones(3, 2, dtype=torch.bool)), lambda: reduce.vote(torch.randn(3, 2, 0)), lambda: reduce.quantiles(X, {}),
                     lambda: reduce.quantiles(X, torch.tensor([2.0])), lambda: reduce.quantiles(X, [[0.1], [0.2]]), lambda: reduce.variance(X, "a")):
            with self.assertRaisesRegex(widebench.Error, "reduce"):
                call()

    def test_reducers(self):
        out = {"a": torch.randn(5, 8, 3), "b": torch.randn(5, 8, 2)}
        reduce = widebench.reduce
        close(self, reduce.mean(out)["a"], out["a"].mean(0))
        close(self, reduce.variance(out)["b"], out["b"].var(0))
        self.assertEqual(reduce.quantiles(out, [0.1, 0.9])["a"].shape, (2, 8, 3))
        sixteen = reduce.quantiles({"a": out["a"].bfloat16()}, 0.5)["a"]
        torch.testing.assert_close(sixteen, out["a"].bfloat16().float().quantile(0.5, 0).bfloat16())
        values, indices = reduce.topk(out["a"], 2)
        close(self, values, out["a"].softmax(-1).mean(0).topk(2).values)
        votes = torch.tensor([[[0.0, 1.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
        self.assertEqual(reduce.vote(votes).tolist(), [1])
        self.assertEqual(reduce.vote(votes.transpose(1, 2), dim=0).tolist(), [1])


if __name__ == "__main__":
    unittest.main()

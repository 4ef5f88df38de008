"""Forms of models and calls that are legitimate but odd: each found by somebody who looked for a wrong answer."""
import copy
import pathlib
import unittest

from torch.nn.utils import prune

from support import nets, torch, widebench

FAST = "fast"
X = torch.randn(8, 16)


class Forms(unittest.TestCase):
    def test_examples_that_bear_no_other_order(self):
        """Members' examples are made of one by the order of rows, where the model takes that."""
        modules = [torch.nn.EmbeddingBag(7, 3, mode="sum") for _ in range(3)]
        ids, offsets = torch.randint(0, 7, (3, 6)), torch.tensor([0, 2, 5])
        expected = [module(one, offsets) for module, one in zip(modules, ids)]
        for config in ("safe", FAST):
            wide = widebench.compile(modules, (ids[0], offsets), in_dims=(0, 0), config=config)
            self.assertTrue(wide.verify())
            torch.testing.assert_close(wide(ids, offsets.expand(3, 3)), torch.stack(expected).detach())

    def test_one_tensor_given_twice(self):
        """Code that asks `query is key` is traced for tensors of their own."""
        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

            def forward(self, query, key, value):
                return self.attention(query, key, value)[0]

        modules = [Attention().eval() for _ in range(2)]
        x, query, key, value = (torch.randn(2, 5, 8) for _ in range(4))
        wide = widebench.compile(modules, (x, x, x), config=FAST)
        for given in ((query, key, value), (x, x, x)):
            torch.testing.assert_close(wide(*given), torch.stack([module(*given) for module in modules]).detach())

    def test_strides_of_what_lies_in_another_order(self):
        """as_strided counts in memory, whatever was written before; of what is written later it is refused."""
        strided = lambda y: y.as_strided((3, 4), (1, 4), 2)
        scale = torch.nn.functional.threshold_

        def written_before(y):
            return strided(scale(y.t() * 2, 0, 1))

        def elsewhere(y):
            z = strided(y.t() * 2)
            return z * 2 + y.relu().add_(1)[:3, :4]

        def a_copy(y):
            return strided(y.t() * 2).clone().add_(1)

        def scattered(y):
            return (scale(y, 0, 1).t() * 2).as_strided_scatter(y[:3, :4], (3, 4), (1, 4), 2)

        def written_later(y):
            z = y.t() * 2
            part = strided(z)
            z.add_(1)
            return part * 2

        class Strided(torch.nn.Module):
            def __init__(self, read):
                super().__init__()
                self.w, self.read = torch.nn.Parameter(torch.randn(4, 6)), read

            def forward(self, x):
                return self.read(x * self.w)

        x = torch.randn(4, 6)
        with torch.no_grad():
            for read in (written_before, elsewhere, a_copy, scattered):
                modules = [Strided(read) for _ in range(3)]
                wide = widebench.compile(modules, x, config=FAST)
                torch.testing.assert_close(wide(x), torch.stack([module(x) for module in modules]), msg=read.__name__)
            with self.assertRaisesRegex(widebench.Error, "written later"):
                widebench.compile([Strided(written_later) for _ in range(2)], x, config=FAST)

    def test_attention_of_sixteen_bits(self):
        """Its scores are not rounded to 16 bits: no strategy is much less exact than PyTorch."""
        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.k, self.v, self.mask = (torch.nn.Parameter(torch.rand(2, 6, width) * 18 - 9) for width in (8, 8, 6))

            def forward(self, q):
                attend = torch.nn.functional.scaled_dot_product_attention
                return attend(q, self.k, self.v, self.mask[:, :5]) + attend(q, self.k, self.v, is_causal=True)

        torch.manual_seed(0)
        modules, q = [Attention().bfloat16() for _ in range(3)], (torch.rand(2, 5, 8) * 18 - 9).bfloat16()
        with torch.no_grad():
            exact = torch.stack([copy.deepcopy(module).double()(q.double()) for module in modules])
            error = lambda answer: (answer.double() - exact).abs().max().item()
            eager = error(torch.stack([module(q) for module in modules]))
            for strategy in ("", "bmm", "sequential"):
                self.assertLess(error(widebench.compile(modules, q, config=widebench.Config.fast(strategy=strategy or "auto"))(q)), 1.5 * eager + 1e-6, strategy)

    def test_numbers_in_slots(self):
        class Scaled(torch.nn.Module):
            __slots__ = ("scale",)

            def __init__(self, scale):
                super().__init__()
                self.layer, self.scale = torch.nn.Linear(4, 4), scale

            def forward(self, x):
                return self.layer(x) * self.scale

        with self.assertRaisesRegex(widebench.Error, "another architecture"):
            widebench.compile([Scaled(1.0), Scaled(2.0)], torch.randn(3, 4), config=FAST)

    def test_close_or_both_nan(self):
        """ATen's isclose writes into a tensor of its first operand's shape, here one that all members share."""
        class Close(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.p = torch.nn.Parameter(torch.randn(4))

            def forward(self, x):
                return torch.isclose(x, self.p, equal_nan=True), torch.isclose(self.p.expand(5, 4), x, equal_nan=True)

        modules, x = [Close() for _ in range(3)], torch.full((5, 4), float("nan"))
        with torch.no_grad():
            modules[1].p[2] = float("nan")
            wide = widebench.compile(modules, x, config=FAST)
            for own, expected in zip(wide(x), zip(*[module(x) for module in modules])):
                self.assertTrue(torch.equal(own, torch.stack(expected)))

    def test_numbers_among_inputs_and_outputs(self):
        class Numbers(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, x, fill):
                return self.layer(x).masked_fill(x > 0, fill), x.shape[0] / 2, float("-inf"), 1.5, -0.0, True, x.shape[0]

        modules = [Numbers() for _ in range(2)]
        for fill in (float("-inf"), float("inf"), float("nan"), 0.0):
            x = torch.randn(5, 4)
            wide = widebench.compile(modules, (x, fill), config=FAST, dynamic_shapes=({0: torch.export.Dim("rows", min=2)}, None))
            for rows in (5, 8):
                x = torch.randn(rows, 4)
                answer, *numbers = wide(x, fill)
                torch.testing.assert_close(answer, torch.stack([module(x, fill)[0] for module in modules]).detach(), equal_nan=True)
                self.assertEqual(repr(numbers), repr([rows / 2, float("-inf"), 1.5, -0.0, True, rows]))
        with self.assertRaisesRegex(widebench.Error, "-0.0"):
            wide(x, -0.0)

    def test_named_tuples_of_torch(self):
        class Best(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(16, 6)

            def forward(self, x):
                y = self.layer(x)
                return {"best": y.topk(2), "largest": y.max(1)}

        modules = [Best() for _ in range(2)]
        answer = widebench.compile(modules, X, config=FAST)(X)
        for name, kind in (("best", torch.return_types.topk), ("largest", torch.return_types.max)):
            self.assertIs(type(answer[name]), kind)
            self.assertTrue(torch.equal(answer[name].indices, torch.stack([module(X)[name].indices for module in modules])))

    def test_lazy_conjugates(self):
        class Conjugate(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(4, 4, dtype=torch.complex64))

            def forward(self, x):
                z = x.to(torch.complex64) @ self.weight
                return z.conj(), z.conj().imag, z.conj()[1:3].clone(), z.mH

        modules = [Conjugate() for _ in range(2)]
        x = torch.randn(5, 4)
        wide = widebench.compile(modules, x, config=FAST)
        for got, *expected in zip(wide(x), *(module(x) for module in modules)):
            torch.testing.assert_close(got, torch.stack(expected).detach())

    def test_what_counts_axes_otherwise(self):
        """weight_norm(dim=None), a learned number to fill in, parts that overlap."""
        class Layers(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(6, 6), dim=None)
                self.fill = torch.nn.Parameter(torch.randn(()))

            def forward(self, x):
                y = self.layer(x)
                return y.masked_fill(y > 0, self.fill), *torch.tensor_split(y, [4, 1, -2], 1)

        modules = [Layers().eval() for _ in range(3)]
        x = torch.randn(4, 6)
        for mode in ("eager", "default"):
            for got, *expected in zip(widebench.compile(modules, x, config=FAST, mode=mode)(x), *(module(x) for module in modules)):
                torch.testing.assert_close(got, torch.stack(expected).detach())

    def test_sixteen_bits_by_a_number_of_each_member(self):
        """Bit for bit: the number is not rounded to 16 bits before, nor what is between it and the result (small numbers show that)."""
        class Scaled(torch.nn.Module):
            def __init__(self, value, dtype):
                super().__init__()
                self.scale = torch.nn.Parameter(torch.tensor(value, dtype=dtype))
                self.one = torch.nn.Parameter(torch.tensor([value], dtype=dtype))

            def forward(self, x):
                rounded = *(torch.div(x, self.scale, rounding_mode=mode) for mode in ("floor", "trunc")), torch.floor_divide(x, self.one)
                return (x * self.scale, x / self.scale, torch.floor_divide(x, self.scale), self.scale * x, self.scale / x, x + self.scale,
                        x - self.scale, *rounded)

        for dtype in (torch.bfloat16, torch.float16):
            for own in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
                modules = [Scaled(value, own) for value in (-1.205, 0.00236, 0.75)]
                x = torch.randn(64, 64).to(dtype)
                for mode in ("eager", "default"):
                    for got, *expected in zip(widebench.compile(modules, x, config=FAST, mode=mode)(x), *(module(x) for module in modules)):
                        torch.testing.assert_close(got, torch.stack(expected).detach(), rtol=0, atol=0, equal_nan=True)

    def test_odd_numbers_before_activations_of_convolutions(self):
        """oneDNN's own relu makes 0 of NaN: in inputs, weights and biases, and of what overflows."""
        nan, inf = float("nan"), float("inf")

        def check(layer, activation, sizes, shared, spoilt):
            modules = [torch.nn.Sequential(layer(), activation) for _ in range(3)]
            if shared:  # the weights
                for module in modules[1:]:
                    module[0] = modules[0][0]
            with torch.no_grad():
                if spoilt == "large":
                    modules[1][0].weight.mul_(1e38)
                elif spoilt:
                    getattr(modules[1][0], spoilt).view(-1)[3] = nan
            x = torch.randn(3, *sizes) if shared else torch.randn(sizes)
            odd = x.clone()
            for i, number in enumerate((nan, inf, -inf)):
                odd.view(-1)[37 * i + 5] = number
            for strategy in ("prepacked",) if spoilt or shared else ("auto", "prepacked"):
                config = widebench.Config(tuning="estimate", mode="default", strategy=strategy)
                wide = widebench.compile(modules, x[0] if shared else x, in_dims=0 if shared else None, config=config)
                for given, size in ((x, 1), (odd, 1), (1e30 * x, 1e30), (3e36 * x, 3e36)):
                    expected = torch.stack([module(given[i] if shared else given) for i, module in enumerate(modules)])
                    torch.testing.assert_close(wide(given), expected, rtol=1e-4, atol=1e-4 * size, equal_nan=True)

        images, volumes = (2, 4, 6, 6), (1, 4, 3, 4, 5)
        plain, transposed = lambda: torch.nn.Conv2d(4, 8, 3, padding=1), lambda: torch.nn.ConvTranspose2d(4, 8, 2, stride=2)
        for activation in (torch.nn.ReLU(), torch.nn.Hardswish()):
            for spoilt in ("", "weight", "bias", "large"):
                check(plain, activation, images, False, spoilt)
            for layer, sizes in ((transposed, images), (lambda: torch.nn.Conv3d(4, 8, 3, padding=1), volumes)):
                check(layer, activation, sizes, False, "")
            for layer in (plain, transposed):
                check(layer, activation, images, True, "bias")

    def test_other_default_types(self):
        """What is asked of a library once is asked in float32, whatever the default is."""
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        for default in (torch.float64, torch.bfloat16):
            torch.set_default_dtype(default)
            for activation in (torch.nn.ReLU(), torch.nn.LeakyReLU(0.2)):
                modules = [torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), activation).float() for _ in range(2)]
                x = torch.randn(2, 4, 6, 6, dtype=torch.float32)
                wide = widebench.compile(modules, x, config=widebench.Config(tuning="estimate", mode="default", strategy="prepacked"))
                torch.testing.assert_close(wide(x), torch.stack([module(x) for module in modules]), rtol=1e-4, atol=1e-4)

    def test_odd_forms_of_operators(self):
        """What a hostile reader of the strategies found: each computes what the modules do, in every mode and by the chosen strategy."""
        functional = torch.nn.functional

        def written(y):
            y = y.clone()
            y.narrow(1, -3, 3).mul_(2)
            return y

        def along(targets, others):
            def run(y):
                y = y.clone()
                torch._foreach_add_(targets(y), others(y))
                return y
            return run

        def named(y):
            first, second = y[0].clone(), y[1].clone()
            torch._foreach_add_([first, second], [y[2], first])
            return torch.stack([first, second])

        x, weight = torch.randn(4, 6), (5, 6)
        forms = {"bias " + str(shape): (lambda y, w, b, after=after: after(functional.linear(y, w, b)), shape)
                 for shape in ((), (1,), (1, 5), (4, 5)) for after in (torch.relu, torch.neg)}
        forms |= {
            "vector as weight": (lambda y, w, b: functional.linear(y, w[0]), (5,)),
            "any of no axis": (lambda y, w, b: (y > 0).any(dim=()), (5,)),
            "isin": (lambda y, w, b: torch.isin((y * 3).round().flatten().unique()[:2].long(), torch.arange(2), assume_unique=True), (5,)),
            "lerp": (lambda y, w, b: torch.lerp(y, -y, (b.sum() > 0).to(torch.half)), (5,)),
            "index_select of a number": (lambda y, w, b: torch.index_select(y.sum(), 0, torch.tensor([0])), (5,)),
            "index_copy of a number": (lambda y, w, b: b.index_copy(0, torch.tensor([1]), y.sum()), (5,)),
            "written narrow": (lambda y, w, b: written(y), (5,)),
            "a source is a target": (lambda y, w, b: along(lambda z: [z[0], z[1]], lambda z: [z[2], z[0]])(y), (5,)),
            "a named source is a target": (lambda y, w, b: named(y), (5,)),
            "targets overlap": (lambda y, w, b: along(lambda z: [z[0:2], z[1:3]], lambda z: [torch.ones(2, 6), torch.ones(2, 6)])(y), (5,)),
            "sum into float32": (lambda y, w, b: torch.sum(y.half().clamp(-2, 2) * 30000, -1, out=torch.empty(4)), (5,)),
            "sum into integers": (lambda y, w, b: torch.cumsum(y * 3, -1, out=torch.empty(4, 6, dtype=torch.int64)), (5,)),
            "norm of 16 bits by float32": (lambda y, w, b: functional.layer_norm(y.bfloat16(), (6,), w[0], w[1]), (5,)),
        }

        class Form(torch.nn.Module):
            def __init__(self, form, shape):
                super().__init__()
                self.form, self.weight = form, torch.nn.Parameter(torch.randn(weight), requires_grad=False)
                self.bias = torch.nn.Parameter(torch.randn(shape), requires_grad=False)

            def forward(self, x):
                return self.form(x * self.weight[0], self.weight, self.bias)

        for name, (form, shape) in forms.items():
            modules = [Form(form, shape) for _ in range(3)]
            for mode in ("eager", "default"):
                with self.subTest(name, mode=mode):
                    expected = torch.stack([module(x) for module in modules])
                    got = widebench.compile(modules, x, config=FAST, mode=mode)(x)
                    self.assertEqual(got.dtype, expected.dtype)
                    torch.testing.assert_close(got, expected, **({"atol": 2 ** -7, "rtol": 2 ** -7} if expected.dtype == torch.bfloat16 else {}))

    def test_a_mask_keeps_nan(self):
        """Scores that a bool mask leaves out are NaN where they were NaN or infinite."""
        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(16))

            def forward(self, query, mask):
                key = query * self.weight
                return torch.nn.functional.scaled_dot_product_attention(query, key, query, attn_mask=mask)

        modules = [Attention() for _ in range(2)]
        query, mask = torch.randn(2, 4, 24, 16), torch.rand(24, 24) > 0.4
        query[0, 1, 3, 2] = float("nan")
        for strategy in ("attention=by_head", "auto"):
            got = widebench.compile(modules, (query, mask), config=widebench.Config.fast(strategy=strategy))(query, mask)
            torch.testing.assert_close(got, torch.stack([module(query, mask) for module in modules]).detach(), equal_nan=True)

    def test_weights_made_by_hooks(self):
        """Modules with a tensor that is no leaf among their attributes, as pruning and the older weight norm leave them."""
        modules = nets(3)
        for module in modules:
            prune.l1_unstructured(next(part for part in module.modules() if isinstance(part, torch.nn.Linear)), "weight", 0.5)
        wide = widebench.compile(modules, X, config=FAST)
        torch.testing.assert_close(wide(X), torch.stack([module(X) for module in modules]).detach())
        for module, unpacked in zip(modules, wide.unpack()):
            self.assertNotIn("meta", {str(part.weight.device) for part in unpacked.modules() if isinstance(part, torch.nn.Linear)})
            torch.testing.assert_close(unpacked(X), module(X))

    def test_a_step_of_training(self):
        """A joint graph of torch.export: its loss, then its gradients."""
        try:
            from safetensors.torch import load_file
        except ImportError:
            self.skipTest("safetensors is not installed")
        folder = pathlib.Path(__file__).parents[1] / "cases" / "tr_joint_mlp"
        golden = load_file(folder / "golden.safetensors")
        checkpoints = sorted(folder.glob("seed*.safetensors"))
        wide = widebench.from_files(folder / "model.pt2", checkpoints, config=FAST)
        for i, checkpoint in enumerate(checkpoints):
            args, kwargs = wide._program.call([golden[f"{checkpoint.stem}.input.{k}"] for k in range(wide._program.inputs)])
            answers = wide(*args, **kwargs)
            self.assertGreater(len(answers), 1)
            for k, answer in enumerate(answers):
                torch.testing.assert_close(answer[i], golden[f"{checkpoint.stem}.output.{k}"], rtol=1e-4, atol=1e-5)

    def test_norms_of_equal_numbers(self):
        """They deviate by nothing: what is left is the bias, which ATen's own sums miss by more."""
        for make in (lambda: torch.nn.LayerNorm(12), lambda: torch.nn.GroupNorm(2, 4), lambda: torch.nn.InstanceNorm1d(4, affine=True)):
            modules = [make() for _ in range(3)]
            for i, module in enumerate(modules):
                torch.nn.init.constant_(module.bias, i)
            for value in (10.1, 100.1, 1000.1):
                x = torch.full((2, 4, 12), value)
                got = widebench.compile(modules, x, config=FAST)(x)
                for i in range(3):
                    torch.testing.assert_close(got[i], torch.full_like(x, i), atol=1e-4, rtol=0)


if __name__ == "__main__":
    unittest.main()

"""What a wide model is called with."""
import tempfile
import unittest
import warnings

from support import close, torch, widebench


class Inputs(unittest.TestCase):
    def test_examples_with_attributes_warn_of_nothing(self):
        members, x = [torch.nn.Linear(4, 3).eval() for _ in range(2)], torch.randn(5, 4)
        x.note = "as torch.export gives them where sizes may change"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            widebench.compile(members, x, config="fast")
            wide = widebench.compile(members, torch.randn(5, 4), config="fast", dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
        close(self, wide(x[:2])[1], members[1](x[:2]).detach())

    def test_dicts_in_another_order(self):
        class Takes(torch.nn.Module):
            def forward(self, pair, *, scale, shift):
                return pair[0]["a"] - pair[0]["b"] * scale + shift

        a, b, scale, shift = torch.randn(4, 2, 3)
        wide = widebench.compile([Takes(), Takes()], (({"a": a, "b": b},),), {"scale": scale, "shift": shift}, config="fast")
        close(self, wide(({"b": b, "a": a},), shift=shift, scale=scale), (a - b * scale + shift).expand(2, 2, 3))

    def test_arguments_by_place_or_by_name(self):
        class Takes(torch.nn.Module):
            def forward(self, x, scale=None, flag=False, *rest, shift=None, **more):
                y = x if scale is None else x * scale
                return y + sum(rest) + (shift if shift is not None else 0) + sum(more.values())

        x, a, b, c = torch.randn(4, 2, 3)
        members = [Takes(), Takes()]
        by_place = widebench.compile(members, (x, a), config="fast")
        by_name = widebench.compile(members, (), {"scale": a, "x": x}, config="fast")
        for wide in (by_place, by_name):
            for args, kwargs in (((x, a), {}), ((x,), {"scale": a}), ((), {"scale": a, "x": x}), ((x, a, False), {"shift": None})):
                close(self, wide(*args, **kwargs), (x * a).expand(2, 2, 3))
            for args, kwargs, what in (((x, a), {"shift": b}, "gives 'shift'"), ((x, a, True), {}, "gives 'flag'"), ((x, a, False, b), {}, "behind those with a name"),
                                       ((x,), {}, "the example had a tensor"), ((a,), {"x": x}, "multiple values"), ((), {"scale": a}, "missing a required"),
                                       ((x, a), {"other": b}, "gives 'other'")):
                with self.assertRaisesRegex(widebench.Error, what):
                    wide(*args, **kwargs)
        many = widebench.compile(members, (x, a, False, b, c), {"shift": a, "other": b}, config="fast")
        close(self, many(x, a, False, b, c, other=b, shift=a), (x * a + b + c + a + b).expand(2, 2, 3))
        with self.assertRaisesRegex(widebench.Error, r"call it as the example was given, wide\(_, _, _, _, _, shift=_, other=_\)"):
            many(x, a, False, b, shift=a, other=b)
        mapped = widebench.compile(members, (x, a), config="fast", in_dims=(None, 0))
        own = torch.randn(2, 2, 3)
        close(self, mapped(scale=own, x=x), x * own)

    def test_arguments_of_files_by_name(self):
        class Takes(torch.nn.Module):
            def forward(self, x, scale):
                return x["a"] * scale

        a, scale = torch.randn(2, 4, 3)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(torch.export.export(Takes(), ({"a": a}, scale)), f"{folder}/m.pt2")
            wide = widebench.from_files(f"{folder}/m.pt2", config="fast")
        close(self, wide(scale=scale, x={"a": a})[0], a * scale)
        with self.assertRaisesRegex(widebench.Error, r"is wide\({'b': _}, _\) where the example was wide\({'a': _}, _\)"):
            wide({"b": a}, scale)

    def test_arguments_by_name_under_torch_compile(self):
        class Takes(torch.nn.Module):
            def forward(self, x, scale=None):
                return x * scale

        x, scale = torch.randn(2, 4, 3)
        wide = widebench.compile([Takes(), Takes()], (x, scale), config="fast")
        around = torch.compile(lambda x, scale: wide(x, scale=scale) + 1, backend="eager", fullgraph=True)
        close(self, around(x, scale), (x * scale + 1).expand(2, 4, 3))

    def test_axes_of_dicts_in_another_order(self):
        class Takes(torch.nn.Module):
            def forward(self, pair, *, scale, shift):
                return pair["a"] * scale - pair["b"] + shift

        a, b, scale, shift = torch.randn(4, 2, 2)
        of_all = torch.randn(2, 2, 2)
        for pair, dims in (({"b": b, "a": a}, {"a": None, "b": 1}), ({"a": a, "b": b}, {"b": 1, "a": None})):
            wide = widebench.compile([Takes(), Takes()], (pair,), {"scale": scale, "shift": shift}, config="fast", in_dims=(dims,),
                                     kwargs_in_dims={"shift": 0})
            got = wide({"a": a, "b": of_all}, shift=of_all, scale=scale)
            close(self, got, a * scale - of_all.movedim(1, 0) + of_all)

    def test_one_tensor_as_the_example_of_files(self):
        module, x = torch.nn.Linear(3, 2).eval(), torch.randn(4, 3)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(torch.export.export(module, (x,)), f"{folder}/m.pt2")
            close(self, widebench.from_files(f"{folder}/m.pt2", (), x, config="fast")(x)[0], module(x).detach())
            wide = widebench.compile([module, module], x, config=widebench.Config.fast(seed=2**64 - 1))
            wide.save_bundle(f"{folder}/b.wide")
            again = widebench.from_bundle(f"{folder}/b.wide", x)
            self.assertEqual(again.config.seed, 2**64 - 1)
            close(self, again(x), wide(x))

    def test_inputs_that_the_model_writes(self):
        class Writes(torch.nn.Module):
            def forward(self, x, cache):
                cache.add_(x)
                return cache * 2

        x, cache = torch.randn(2, 3), torch.zeros(2, 3)
        with self.assertWarnsRegex(UserWarning, "writes into its input 'cache'"):
            wide = widebench.compile([Writes(), Writes()], (x, cache), config="fast", in_dims=(None, 0))
        own = torch.zeros(2, 2, 3)
        close(self, wide(x, own), (x * 2).expand(2, 2, 3))
        self.assertTrue(torch.equal(own, torch.zeros(2, 2, 3)))


if __name__ == "__main__":
    unittest.main()

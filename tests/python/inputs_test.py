"""What a wide model is called with."""
import tempfile
import unittest

from support import close, torch, widebench


class Inputs(unittest.TestCase):
    def test_dicts_in_another_order(self):
        class Takes(torch.nn.Module):
            def forward(self, pair, *, scale, shift):
                return pair[0]["a"] - pair[0]["b"] * scale + shift

        a, b, scale, shift = torch.randn(4, 2, 3)
        wide = widebench.compile([Takes(), Takes()], (({"a": a, "b": b},),), {"scale": scale, "shift": shift}, config="fast")
        close(self, wide(({"b": b, "a": a},), shift=shift, scale=scale), (a - b * scale + shift).expand(2, 2, 3))

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

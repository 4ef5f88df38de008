"""What a wide model is called with."""
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

"""Weights that are made of a member's own and of shared ones."""
import unittest

from support import torch, widebench


class OfWeights(torch.nn.Module):
    """Weights of a megabyte in all, made of a member's own and of what all have alike."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(192, 192) / 14)
        self.conv = torch.nn.Parameter(torch.randn(64, 32, 3, 3) / 17)
        self.scale = torch.nn.Parameter(torch.rand(192, 1) + 0.5)
        self.register_buffer("pad", torch.full((2, 192), 0.25))
        self.register_buffer("like", torch.arange(192 * 192.0).reshape(192, 192) / 192**2)
        self.register_buffer("turned", torch.arange(191, -1, -1))
        self.register_buffer("mask", torch.arange(192) % 3 == 0)

    def forward(self, x, image):
        linear, w = torch.nn.functional.linear, self.w
        centred = (self.conv - self.conv.mean((1, 2, 3), keepdim=True)) / self.conv.std((1, 2, 3), keepdim=True)
        return [linear(x, torch.cat([w, self.pad])), linear(x, torch.cat([self.pad, w, self.pad])), linear(x, w * self.like),
                linear(x, w * self.scale), linear(x, w / torch.linalg.vector_norm(w)), linear(x, w.gather(0, self.turned.expand(192, 192))),
                linear(x, self.like.index_put((self.turned,), w)), linear(x, torch.where(self.mask, w, 1.0)), linear(x, w.T.contiguous()),
                linear(x, (w.double() * 2).float()), linear(x, w @ self.like), x @ (w > 0).float(), torch.nn.functional.conv2d(image, centred)]


class Folded(unittest.TestCase):
    def test_weights_made_of_own_and_shared_ones(self):
        x, image = torch.randn(3, 192), torch.randn(2, 32, 6, 6)
        modules = [OfWeights().eval() for _ in range(20)]
        for config in ("fast", "default"):
            wide = widebench.compile(modules, (x, image), config=config)
            for i, outputs in enumerate(zip(*wide(x, image))):
                for k, (own, expected) in enumerate(zip(outputs, modules[i](x, image))):
                    self.assertTrue(torch.allclose(own, expected, rtol=1e-4, atol=1e-4), f"{config}, member {i}, output {k}")
            self.assertTrue(wide.verify())


if __name__ == "__main__":
    unittest.main()

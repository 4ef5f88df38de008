"""Under torch.compile and torch.export."""
import unittest

from support import close, nets, torch, widebench

FAST = "fast"
X = torch.randn(8, 16)


def written_weights(test, backend):
    """They are noticed in the compiled program around a wide model, too."""
    models = nets(3)
    wide = widebench.compile(models, X, config=widebench.Config.fast(stale="refresh"))
    around = torch.compile(lambda x: wide(x).mean(0), fullgraph=True, backend=backend)
    around(X)
    with torch.no_grad():
        models[1][0].weight.mul_(2)
    close(test, around(X), torch.stack([model(X) for model in models]).mean(0))
    refusing = widebench.compile(models, X, config=FAST)
    around = torch.compile(lambda x: refusing(x).mean(0), fullgraph=True, backend=backend)
    around(X)
    with torch.no_grad():
        models[1][0].weight.mul_(2)
    with test.assertRaises(widebench.Error) as caught:
        around(X)
    test.assertEqual(caught.exception.stage, "stale")


class Compiled(unittest.TestCase):
    def test_no_graph_break(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        around = torch.compile(lambda x: wide(x * 2).mean(0) + 1, fullgraph=True, backend="aot_eager")
        close(self, around(X), wide(X * 2).mean(0) + 1)
        around(X.clone().requires_grad_())
        close(self, around(X), wide(X * 2).mean(0) + 1)

    def test_written_weights(self):
        written_weights(self, "aot_eager")

    def test_an_input_that_is_given_back(self):
        class Gives(torch.nn.Module):
            def forward(self, x):
                return x, x * 2

        wide = widebench.compile([Gives(), Gives()], X, config=FAST, in_dims=0)
        own = torch.stack([X, X + 1])
        first, second = torch.compile(lambda x: wide(x), fullgraph=True, backend="aot_eager")(own)
        close(self, first, own)
        close(self, second, own * 2)

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


class Inductor(unittest.TestCase):
    """Apart, as it takes a while to start."""

    def test_a_call(self):
        wide = widebench.compile(nets(3), X, config=FAST)
        close(self, torch.compile(lambda x: wide(x * 2).sin(), fullgraph=True)(X), wide(X * 2).sin())

    def test_written_weights(self):
        written_weights(self, "inductor")


if __name__ == "__main__":
    unittest.main()

"""Wide models written as bundles and opened again."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support
import torch

import widebench


class Counting(torch.nn.Module):
    """Pointwise operators that are compiled, noise, a buffer that each call writes, an answer with names."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, *, scale):
        self.calls.add_(1)
        h = self.linear(x)
        h = torch.tanh(h) * torch.sigmoid(h) + (h * 0.5).exp().log1p()
        return {"h": h * self.calls, "scaled": (h * scale, torch.rand_like(h))}


def flat(answer):
    return torch.utils._pytree.tree_leaves(answer)


class Bundle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "fleet"

    def test_it_answers_as_the_model_did(self):
        x, scale = torch.randn(5, 16), torch.randn(4)
        made = widebench.compile([Counting() for _ in range(4)], (x,), {"scale": torch.tensor(2.0)}, kwargs_in_dims={"scale": 0},
                                 config=widebench.Config(seed=5, seconds=0.5), names=["a", "b/c", "d", "e"])
        expected = [made(x, scale=scale) for _ in range(2)]
        made.save_bundle(self.folder)
        wide = widebench.from_bundle(self.folder, (x,), {"scale": torch.tensor(2.0)}, trust_code=True, kwargs_in_dims={"scale": 0})
        self.assertEqual((wide.names, wide.config.mode, wide.config.seed), (made.names, "default", 5))
        for answer in expected:
            got = wide(x, scale=scale)
            self.assertEqual(list(got), list(answer))
            for one, other in zip(flat(got), flat(answer)):
                self.assertTrue(torch.equal(one, other))
        self.assertTrue(wide.verify())
        torch.testing.assert_close(wide.state_dict("b/c")["linear.weight"], made.state_dict("b/c")["linear.weight"])
        wide.load_member("d", {name: torch.zeros_like(tensor) for name, tensor in wide.state_dict("d").items()})
        self.assertTrue((wide(x, scale=scale)["scaled"][0][2] == wide(x, scale=scale)["scaled"][0][2][0]).all())

    def test_another_process_without_a_compiler_runs_its_code(self):
        x = torch.randn(5, 16)
        made = widebench.compile([Counting() for _ in range(3)], (x,), {"scale": torch.tensor(2.0)}, config=widebench.Config(strategy="group=compiled", seconds=0.5))
        answer = made(x, scale=torch.tensor(3.0))
        made.save_bundle(self.folder)
        torch.save((x, answer["h"]), self.folder.parent / "said.pt")
        program = """import sys, torch, widebench
x, expected = torch.load(sys.argv[2])
wide = widebench.from_bundle(sys.argv[1], trust_code=len(sys.argv) > 3)
assert torch.allclose(wide(x, scale=torch.tensor(3.0))["h"], expected, rtol=1e-4, atol=1e-5)
print("compiled" in wide.plan(x, scale=torch.tensor(3.0)))"""
        environment = {**os.environ, "WIDEBENCH_CC": "none", "XDG_CACHE_HOME": str(self.folder.parent / "cache")}
        for trust, expected in (["yes"], "True"), ([], "False"):
            done = subprocess.run([sys.executable, "-W", "error" if trust else "default", "-c", program, self.folder, self.folder.parent / "said.pt", *trust],
                                  capture_output=True, text=True, env=environment)
            self.assertEqual(done.stdout.strip(), expected, done.stderr)
            self.assertEqual("is not used" in done.stderr, not trust, done.stderr)

    def test_what_is_refused(self):
        x = torch.randn(3, 16)
        wide = widebench.compile(support.nets(2), (x,), config="fast")
        wide.save_bundle(self.folder)
        with self.assertRaisesRegex(widebench.Error, "replace=True") as caught:
            wide.save_bundle(self.folder)
        self.assertEqual(caught.exception.stage, "bundle")
        wide.save_bundle(self.folder, replace=True)
        with self.assertRaisesRegex(widebench.Error, "no such file"):
            widebench.from_bundle(self.folder / "nowhere")
        listed = json.loads((self.folder / "bundle.json").read_text())
        (self.folder / "bundle.json").write_text(json.dumps({**listed, "mode": "fastest"}))
        with self.assertRaisesRegex(widebench.Error, "is no mode"):
            widebench.from_bundle(self.folder)
        with torch.no_grad():
            wide_of = support.nets(2)
            other = widebench.compile(wide_of, (x,), config="fast")
            wide_of[0][0].weight.add_(1)
        with self.assertRaisesRegex(widebench.Error, "refresh"):  # which weights would it be?
            other.save_bundle(self.folder, replace=True)


if __name__ == "__main__":
    unittest.main()

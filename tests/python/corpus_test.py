"""Models of the corpus as modules give the bits that they give as files."""
import copy
import os
import pathlib
import sys
import unittest
import warnings

from support import torch, widebench
from torch.utils import _pytree as pytree

try:
    from safetensors.torch import load_file
except ImportError:
    print("SKIPPED: safetensors is not installed")
    sys.exit(77)


def folders(*roots):
    """By name."""
    return {model.parent.name: model.parent for root in roots if root for model in sorted(pathlib.Path(root).glob("*/model.pt2"))}


OURS = folders(os.environ["CORPUS"])
GIVEN = folders(*os.environ.get("WIDEBENCH_CORPUS", "").split(":"))


class Case(unittest.TestCase):
    def compare(self, folder):
        checkpoints = sorted(folder.glob("seed*.safetensors"))
        by_file = widebench.from_files(folder / "model.pt2", checkpoints, config="fast")
        golden = load_file(folder / "golden.safetensors")
        inputs = [golden[f"seed0.input.{k}"] for k in range(by_file._program.inputs)]
        args, kwargs = by_file._program.call(inputs)
        first = by_file(*args, **kwargs)
        modules = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = torch.export.load(folder / "model.pt2").module()
        for checkpoint in checkpoints:
            module = copy.deepcopy(loaded)
            missing, unexpected = module.load_state_dict(load_file(checkpoint), strict=False)
            self.assertEqual(unexpected, [])
            modules.append(module)
        by_module = widebench.compile(modules, args, kwargs, config="fast")
        second = by_module(*args, **kwargs)
        for a, b in zip(pytree.tree_leaves(first), pytree.tree_leaves(second), strict=True):
            self.assertTrue(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b)


class Corpus(Case):
    def test_modules_and_files(self):
        for folder in OURS.values():
            with self.subTest(folder.name):
                self.compare(folder)


class Given(Case):
    """What $WIDEBENCH_CORPUS names, in folders separated by ":"."""

    def test_modules_and_files(self):
        for name in sorted(GIVEN.keys() - OURS.keys()):
            with self.subTest(name):
                self.compare(GIVEN[name])


if __name__ == "__main__":
    if "Given" in sys.argv and not GIVEN:
        print("SKIPPED: WIDEBENCH_CORPUS names no models")
        sys.exit(77)
    unittest.main()

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

FOLDERS = {model.parent.name: model.parent  # a model that stands in several corpora once
           for root in (os.environ["CORPUS"], *os.environ.get("WIDEBENCH_CORPUS", "").split(":")) if root
           for model in sorted(pathlib.Path(root).glob("*/model.pt2"))}


class Corpus(unittest.TestCase):
    def test_modules_and_files(self):
        for folder in FOLDERS.values():
            with self.subTest(folder.name):
                self.compare(folder)

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


if __name__ == "__main__":
    unittest.main()

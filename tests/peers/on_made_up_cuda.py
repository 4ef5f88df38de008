"""Runs a script of ours, given as the first argument, on a made-up torch.cuda: a Python that has a GPU, for the program."""
import pathlib
import runpy
import sys

import torch
from made_up_cuda import MadeUpCuda

script = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(script.parent))
import peers  # noqa: E402
import peers_subject  # noqa: E402

torch.cuda = MadeUpCuda()
peers_subject.Gpu.place = "cpu"
if script.name == "peers.py":
    sys.exit(peers.main(sys.argv[2:]))
sys.argv = sys.argv[1:]
runpy.run_path(str(script), run_name="__main__")

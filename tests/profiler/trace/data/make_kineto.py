"""Writes kineto_cpu.json.gz beside this file: two steps of a small network, one member after the other, as torch.profiler
records them. Run with the Python of scripts/setup --profile full."""
import gzip
import json
import pathlib

import torch
from torch.profiler import ProfilerActivity, profile, record_function

torch.manual_seed(0)
members = [torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)) for _ in range(2)]
x = torch.randn(5, 8)
target = pathlib.Path(__file__).with_name("kineto_cpu.json")
with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU], profile_memory=True,
                                     schedule=torch.profiler.schedule(wait=0, warmup=1, active=2),
                                     on_trace_ready=lambda done: done.export_chrome_trace(str(target))) as recorded:
    for _ in range(3):
        for i, member in enumerate(members):
            with record_function(f"member {i}"):
                member(x)
        recorded.step()
trace = json.loads(target.read_text())
trace["traceName"] = target.name  # the path of one machine
with gzip.GzipFile(f"{target}.gz", "wb", mtime=0) as packed:
    packed.write(json.dumps(trace).encode())
target.unlink()

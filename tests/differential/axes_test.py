"""Data that decide how many axes a member's tensors have, which random modules meet too seldom: axes_test.py DRIVER PROGRAM. Each case
runs by the driver and, one of each kind with its golden file, by `widebench run`. Exits with 1 where a member differs from PyTorch, with 77 where there is no torch."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import differential_test
import generate
import kept

# x: [6]; y: [B, 4]; w: a member's own [6]; b: a buffer, a number. What is left of six numbers or of B rows is none, one or more.
CASES = {
    "numbers": "q = torch.masked_select(x, x > self.w + 1).squeeze()\nreturn q, q * 2 + 1",
    "places": "q = torch.nonzero(x > self.w + 1).squeeze()\nreturn q, q.float() / 3",
    "one axis": "q = x[x > self.w + 1].squeeze(0)\nreturn q, q.exp().sum(), x * q.sum()",
    "rows": "q = y[y.sum(1) > self.w[0]].squeeze()\nreturn q, q.sum(-1), q.sum()",
    "in place": "q = x[x > self.w + 1].squeeze()\nv = q.clone()\nv.mul_(2).add_(1)\nq.neg_()\nreturn q, v",
    "types": "q = x[x > self.w + 1].squeeze()\nh = q.half()\nreturn h, h * 2, q.long() + 1, q > 0, q + 1j",
    "axes again": "q = x[x > self.w + 1].squeeze()\nr = q.reshape(-1)\nreturn torch.cat([r, x]).sum(), r, q.unsqueeze(-1), torch.atleast_1d(q)",
    "a slice": "n = (x > self.w + 1).sum().item()\ntorch._check(n >= 0)\ntorch._check(n <= 6)\nreturn x[:n].squeeze(), self.w[:n].squeeze(), self.w[:n].squeeze() * 2",
    "a buffer": "q = x[x > self.w + 1].squeeze()\nself.b.add_(q.sum())\nreturn q * self.b, self.b * 1",
    "weights alone": "q = self.w[self.w > 0.5].squeeze()\nreturn q, q + 1, x.sum() * q",
    "inputs alone": "q = x[x > 0.7].squeeze()\nreturn q, q * self.w.sum()",
    "an index": "i = torch.nonzero(x > self.w + 1).squeeze()\nreturn x[i], x.index_select(0, i.reshape(-1)), x.index_fill(0, i, 7.0)",
    "different ones": "q = torch.unique((x * 0.6).round()).squeeze()\nreturn q, torch.masked_select(y, y > self.w[1]).squeeze() + 0.5",
    "views": "q = x[x > self.w + 1].squeeze()\nreturn q.view(-1), q.unsqueeze(0), q[None], q.t(), q.flatten()",
    "norms": "q = x[x > self.w + 1].squeeze()\nreturn q.softmax(0), q.cumsum(0), q.flip(0), q.argsort(0)",
    "draws": "q = x[x > self.w + 1].squeeze()\nreturn F.dropout(q, 0.5, True), torch.rand_like(q), x + torch.randn(6)",
    "many members": "q = torch.masked_select(x, (x > self.w + 1) & (x > 0)).squeeze()\nreturn q.abs().sqrt(), torch.where(q > 1, q, -q), q.clamp(0, 1)",
}
MODULE = """import torch
import torch.nn.functional as F


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(6), requires_grad=False)
        self.register_buffer("b", torch.tensor(0.5))

    def forward(self, x, y):
{body}


def inputs(B):
    return (
        torch.randn(6),
        torch.randn((B, 4, )),
    )
"""


def ranks(results):
    return {tuple(output.dim() for output in outputs) for outputs in results}


def program_agrees(program, folder, count, out):
    """`widebench run` and `test` with the case's golden file."""
    weights = [folder / f"seed{i}.safetensors" for i in range(count)]
    model = ["--model", folder / "model.pt2", "--weights", *weights, "--inputs", folder / "golden.safetensors"]
    done = subprocess.run([program, "run", *model, "--expect", folder / "golden.safetensors", "--outputs", out],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stdout + done.stderr
    import safetensors.torch
    import torch
    golden, written = safetensors.torch.load_file(folder / "golden.safetensors"), safetensors.torch.load_file(out)
    for name, value in golden.items():
        if ".output." in name and ".bound." not in name and (name not in written or not torch.equal(written[name].isnan(), value.isnan()) or
                                                             not torch.allclose(written[name], value, 1e-3, 1e-5, equal_nan=True)):
            return f"{name} is not written as PyTorch has it"
    done = subprocess.run([program, "test", *model], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def make(out, seeds=range(4)):
    """Writes the cases; for each a dict, without a folder where there is none."""
    import golden
    generate.quiet_logs()
    made = []
    for name, body in CASES.items():
        lines = "".join(f"        {line}\n" for line in body.splitlines()).rstrip()
        for seed in seeds:
            one = {"folder": f"case{len(made):03}", "name": name, "seed": seed}
            try:
                case = golden.Case(MODULE.format(body=lines), seed + 1, form="functional" if seed % 3 == 2 else "")
                case.save(out / one["folder"])
                one["members"] = len(case.members.models)
                one["of two kinds"] = any(len(ranks([run[k][0] for run in case.runs])) > 1 for k in range(case.passes))
            except golden.Unfit as error:
                one["folder"], one["unfit"] = None, str(error)
            made.append(one)
    return made


def chosen_for_the_program(made):
    """A case of each kind, if there is one with members of different numbers of axes."""
    chosen = {}
    for one in made:
        if one["name"] not in chosen or (one["of two kinds"] and not chosen[one["name"]]["of two kinds"]):
            chosen[one["name"]] = one
    return [one for name, one in chosen.items() if name != "draws"]


def main():
    try:
        import safetensors.torch  # noqa: F401
        import torch
    except (ImportError, OSError) as error:
        print(f"SKIPPED: Python's torch cannot be imported ({error}); scripts/setup --profile full installs it")
        return 77
    torch.set_num_threads(1)
    bad = 0
    with tempfile.TemporaryDirectory() as temporary:
        if len(sys.argv) > 3:
            folder = pathlib.Path(temporary, "cases")
            all_made = make(folder, range(int(sys.argv[3])))
        else:
            folder, all_made = kept.cases("axes", make)
        print("".join(f"no case: {one['name']}, {one['seed']}: {one['unfit']}\n" for one in all_made if not one["folder"]), end="")
        made = [one for one in all_made if one["folder"]]
        by_program = chosen_for_the_program(made)
        results = differential_test.drive(sys.argv[1], [folder / one["folder"] for one in made], os.cpu_count(), 60)
        for one in made:
            case = folder / one["folder"]
            about = json.loads((case / "case.json").read_text())
            verdict, found = differential_test.judge(about, results[case])
            if verdict == "right" and one in by_program and about["raised"] is None:
                if why := program_agrees(sys.argv[2], case, one["members"], pathlib.Path(temporary, "out.safetensors")):
                    verdict, found = "differs", [("program", "differs", why)]
            bad += verdict != "right"
            for run, how, why in found[:1]:
                print(f"{how}: {one['name']}, {one['seed']}: {run}: {why[:400]}")
    of_two_kinds = sum(one["of two kinds"] for one in made)
    print(f"{len(made)} cases, in {of_two_kinds} members have different numbers of axes; {bad} not right")
    return 1 if bad or not of_two_kinds else 0


if __name__ == "__main__":
    sys.exit(main())

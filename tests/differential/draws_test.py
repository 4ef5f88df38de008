"""Draws into tensors that are not contiguous, which random modules meet too seldom: draws_test.py DRIVER. Which element gets which
number hangs on how PyTorch's tensor lies in memory. Exits with 1 where a member differs from PyTorch, with 77 where there is no torch."""
import json
import os
import pathlib
import sys
import tempfile

import differential_test
import generate
import kept

IN_PLACE = ("bernoulli_(0.4)", "bernoulli_(t.sigmoid())", "uniform_()", "normal_()", "exponential_()", "cauchy_()", "geometric_(0.3)", "log_normal_()",
            "random_(9)")
CALLS = ("F.dropout(t, 0.4, True)", "F.dropout(t, 0.4, True, True)", "F.alpha_dropout(t, 0.4, True)", "F.alpha_dropout(t, 0.4, True, True)",
         "F.feature_dropout(t, 0.4, True)", "F.feature_alpha_dropout(t, 0.4, True, True)", "torch.native_dropout(t, 0.4, True)[0]",
         "F.rrelu(t, training=True)", "F.rrelu(t, training=True, inplace=True)", "torch.bernoulli(t.sigmoid())", "torch.rand_like(t)",
         "torch.randn_like(t)", "torch.randint_like(t, 9)", "torch.normal(t, 1.0)", "torch.multinomial(t.flatten(1).softmax(-1), 1)",
         "torch.multinomial(t[0].softmax(-1), 3)", "torch.multinomial(t[0].abs() + 0.1, 1)", "torch.normal(t, t.abs())", "torch.poisson(t.abs())",
         "t.half().normal_().float()", "t.double().exponential_()", "t.bernoulli(0.3)", "F.gumbel_softmax(t)", "F.scaled_dot_product_attention(t, t, t, dropout_p=0.3)")
# An input's shape and what is drawn into: turned, turned with a dynamic size, with gaps, as it is; and of operators whose result
# lies otherwise than torch.export writes down.
TENSORS = {"x0": "(4, 5, 6, )", "x1": "(B, 5, 6, )", "x2": "(4, 5, 12, )"}
LAYOUTS = ("(x0 * 2).permute(2, 0, 1)", "(x1 * 2).transpose(1, 2)", "(x2 * 2)[..., ::2]", "x0 * 2", "F.max_pool1d((x0 * 2).transpose(1, 2), 2)",
           "F.batch_norm((x1 * 2).transpose(1, 2), None, None, training=True)", "torch.copysign((x0 * 2).permute(2, 0, 1), torch.tensor(1.))")
MODULE = """import torch
import torch.nn.functional as F


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, {inputs}):
{draws}
        return ({results})


def inputs(B):
    return (
{tensors}    )
"""


def source(draw, layouts):
    inputs = [name for name in TENSORS if any(name in layout for layout in layouts)]
    draws = "".join(f"        t = {layout}\n        t{k} = t\n        v{k} = {draw}\n" for k, layout in enumerate(layouts))
    results = ", ".join(f"v{k} * self.w, t{k}" for k in range(len(layouts)))
    return MODULE.format(inputs=", ".join(inputs), draws=draws, results=results, tensors="".join(f"        torch.randn({TENSORS[name]}),\n" for name in inputs))


def make(out, only=""):
    """Writes the cases of draws whose text holds `only`; [the name of a case's folder, or none; what it is]."""
    import golden
    generate.quiet_logs()
    draws = [f"t.{one}" for one in IN_PLACE] + [one.replace("F.feature_dropout", "torch.feature_dropout") for one in CALLS]
    made = []
    for draw in draws:
        for form in ("", "functional"):
            text, name = f"{draw}{', ' + form if form else ''}", f"case{len(made):03}"
            # Without writes some draws are others in PyTorch itself: then those of the layouts where they are not.
            for layouts in (LAYOUTS, LAYOUTS[:4], LAYOUTS[2:4]) if only in draw else ():
                try:
                    golden.Case(source(draw, layouts), 1, form=form).save(out / name)
                    made.append((name, text))
                    break
                except golden.Unfit as error:
                    made.append((None, f"{text}: {error}"))
    return made


def main():
    try:
        import safetensors.torch  # noqa: F401
        import torch
    except (ImportError, OSError) as error:
        print(f"SKIPPED: Python's torch cannot be imported ({error}); scripts/setup --profile full installs it")
        return 77
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        if len(sys.argv) > 2:
            folder = pathlib.Path(temporary)
            made = make(folder, sys.argv[2])
        else:
            folder, made = kept.cases("draws", make)
        texts = {folder / name: text for name, text in made if name}
        print("".join(f"no case: {text}\n" for name, text in made if not name), end="")
        results = differential_test.drive(sys.argv[1], list(texts), os.cpu_count(), 60)
        bad = 0
        for case, text in texts.items():
            verdict, found = differential_test.judge(json.loads((case / "case.json").read_text()), results[case])
            bad += verdict != "right"
            for run, how, why in found[:1]:
                print(f"{how}: {text}: {run}: {why[:200]}")
    print(f"{len(texts)} cases, {bad} not right")
    return 1 if bad or not texts else 0


if __name__ == "__main__":
    sys.exit(main())

"""A hyper-parameter search judged as one model: nine trained members, their validation losses in one call, and a page with all of it."""
import html
import itertools
import pathlib
import sys

import torch

import widebench

torch.manual_seed(0)
x = torch.randn(512, 20)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
train, valid = slice(0, 256), slice(256, 512)


def trained(rate, decay):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=decay)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x[train]), y[train]).backward()
        optimizer.step()
    return net.eval()


settings = list(itertools.product((0.0003, 0.003, 0.03), (0.0, 0.1, 1.0)))
members = [trained(*setting) for setting in settings]
wide = widebench.compile(members, x[valid], names=[f"rate {rate:g}, decay {decay:g}" for rate, decay in settings])
logits = wide(x[valid])  # [9, 256, 2]
losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), y[valid].expand(9, -1), reduction="none").mean(1)
right = (logits.argmax(-1) == y[valid]).float().mean(1)
order = losses.argsort().tolist()
for place, i in enumerate(order[:3], 1):
    print(f"{place}. {wide.names[i]}: loss {losses[i]:.3f}, {right[i]:.0%} right")
best = widebench.compile([members[i] for i in order[:3]], x[valid], names=[wide.names[i] for i in order[:3]])
together = widebench.reduce.mean(best(x[valid]).softmax(-1)).argmax(-1)
print(f"the best three together: {(together == y[valid]).float().mean():.0%} right")
proof, measured = wide.verify(), wide.benchmark(rivals=("eager", "vmap"))
print("proved:", proof.passed)

rows = "".join(f"<tr><td>{html.escape(wide.names[i])}</td><td>{losses[i]:.4f}</td><td>{right[i]:.1%}</td></tr>" for i in order)
page = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "sweep_report.html")
page.write_text(f"""<!doctype html><meta charset="utf-8"><title>Sweep</title><style>body {{ font-family: sans-serif; margin: 2em }}</style>
<h1>{len(wide)} settings</h1><table><tr><th>setting</th><th>loss</th><th>right</th></tr>{rows}</table>
<h2>Proof</h2><pre>{html.escape(str(proof))}</pre>
<h2>Speed</h2>{measured._repr_html_()}<h2>What runs</h2>{wide.explain()._repr_html_()}
""", encoding="utf-8")
print("written:", page.name)

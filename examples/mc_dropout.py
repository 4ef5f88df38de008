"""Monte-Carlo dropout: one network, asked 32 times with dropout on, each time by a stream of random numbers of its own."""
import torch

import widebench

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(20, 128), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(128, 10))
x = torch.randn(4, 20)

wide = widebench.compile([model] * 32, x, config=widebench.Config(seed=100))  # in training mode: dropout draws
samples = wide(x)  # [32, 4, 10]; weights are the same for all and kept once
low, high = widebench.reduce.quantiles(samples.softmax(-1), [0.05, 0.95])
classes = widebench.reduce.vote(samples)
for row, chosen in enumerate(classes.tolist()):
    print(f"row {row}: class {chosen}, probability {low[row, chosen]:.2f} to {high[row, chosen]:.2f}")
torch.manual_seed(100 + 7)
print("sample 7 is what the model gives after manual_seed(107):", torch.allclose(samples[7], model(x), atol=1e-5))

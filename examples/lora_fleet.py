"""A fleet of LoRA fine-tunes: eight adapters on one transformer, whose own weights are the same for all and kept once."""
import copy
import sys

import torch

import widebench

D = 192
N, BATCH, LENGTH = map(int, sys.argv[1:4] or (8, 1, 16))  # members, prompts of each, tokens of a prompt
RIVALS = sys.argv[4:] or ("eager", "vmap")  # also: compile, "vmap compile"


class LoRA(torch.nn.Module):
    """A linear layer and a change of rank 8."""

    def __init__(self, inputs, outputs, rank=8):
        super().__init__()
        self.base = torch.nn.Linear(inputs, outputs)
        self.down = torch.nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.up = torch.nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(D), torch.nn.LayerNorm(D)
        self.qkv, self.out, self.up, self.down = LoRA(D, 3 * D), LoRA(D, D), LoRA(D, 4 * D), LoRA(4 * D, D)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (6, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


torch.manual_seed(0)
gpt = torch.nn.Sequential(torch.nn.Embedding(256, D), Block(), Block(), torch.nn.LayerNorm(D), torch.nn.Linear(D, 256)).eval()
fleet = []
for customer in range(N):
    tuned = copy.deepcopy(gpt)
    with torch.no_grad():
        for name, weight in tuned.named_parameters():
            if name.endswith(".up") and weight.dim() == 2:
                weight.copy_(torch.randn_like(weight) * 0.05)  # stands for training
    fleet.append(tuned)

tokens = torch.randint(0, 256, (BATCH, LENGTH))
wide = widebench.compile(fleet, tokens, in_dims=0)
prompts = torch.stack([torch.randint(0, 256, (BATCH, LENGTH)) for _ in range(N)])
print("logits:", tuple(wide(prompts).shape), "for", N, "members")
print("as alone:", all(torch.allclose(wide(prompts)[i], model(prompts[i]), atol=1e-4) for i, model in enumerate(fleet)))
each = sum(weight.numel() * 4 for weight in gpt.parameters())
print(f"weights: {wide.explain().facts['weight_bytes'] / 1e6:.1f} MB wide, {N * each / 1e6:.1f} MB apart")
print("proved:", wide.verify(prompts).passed)
print(wide.benchmark(prompts, rivals=RIVALS, rounds=30))

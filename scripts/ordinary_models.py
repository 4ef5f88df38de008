"""Exports ten models of ordinary size, each with N checkpoints: what `scripts/bench-rivals` measures.

    ordinary_models.py FOLDER [--members N] [--only NAME]
"""
import argparse
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Four blocks of width 192 on 64 tokens."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(512, 192), nn.Parameter(0.02 * torch.randn(64, 192))
        self.blocks = nn.Sequential(*(Block(192, 6, True) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 512, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.places)))


class Vit(nn.Module):
    """Six blocks of width 192 on 32x32 images in patches of 4."""

    def __init__(self):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, 192, 4, 4), nn.Parameter(0.02 * torch.randn(64, 192))
        self.blocks = nn.Sequential(*(Block(192, 3, False) for _ in range(6)))
        self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(x)).mean(1))


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1, stride) if stride > 1 or before != after else nn.Identity()

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.short(x))


class ResNet(nn.Module):
    """ResNet-18's blocks, of half its width, on 32x32 images."""

    def __init__(self):
        super().__init__()
        widths = [32, 64, 128, 256]
        layers = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
        for i, width in enumerate(widths):
            layers += [Residual(widths[max(0, i - 1)], width, 2 if i else 1), Residual(width, width, 1)]
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(256, 10)

    def forward(self, image):
        return self.head(self.layers(image).mean((2, 3)))


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, 1, 3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    """Stages of width 48, 96 and 192 on 64x64 images."""

    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 48, 4, 4)]
        for width in (48, 96, 192):
            layers += [ConvNextBlock(width), ConvNextBlock(width)]
            if width < 192:
                layers.append(nn.Conv2d(width, 2 * width, 2, 2))
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(192, 10)

    def forward(self, image):
        return self.head(self.layers(image).mean((2, 3)))


class Lstm(nn.Module):
    """Two layers of 128 units over 48 steps."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(32, 128, 2, batch_first=True), nn.Linear(128, 1)

    def forward(self, series):
        return self.head(self.lstm(series)[0][:, -1])


class AutoEncoder(nn.Module):
    """Convolutions down to 8x8 and transposed ones back up to 64x64."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
                                     nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU())
        self.decoder = nn.Sequential(nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Sigmoid())

    def forward(self, image):
        return self.decoder(self.encoder(image))


class Pinn(nn.Module):
    """Five hidden layers of 128 units with tanh, at 1024 points."""

    def __init__(self):
        super().__init__()
        sizes = [2, 128, 128, 128, 128, 128, 1]
        layers = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.Tanh())]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, points):
        return self.layers(points)


class UNet(nn.Module):
    """Widths 32, 64 and 128 on 64x64 images."""

    def __init__(self):
        super().__init__()

        def double(before, after):
            return nn.Sequential(nn.Conv2d(before, after, 3, 1, 1), nn.GroupNorm(8, after), nn.SiLU(),
                                 nn.Conv2d(after, after, 3, 1, 1), nn.GroupNorm(8, after), nn.SiLU())

        self.down1, self.down2, self.middle = double(3, 32), double(32, 64), double(64, 128)
        self.up2, self.up1 = double(192, 64), double(96, 32)
        self.out = nn.Conv2d(32, 3, 1)

    def forward(self, image):
        a = self.down1(image)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.up2(torch.cat([F.interpolate(c, scale_factor=2.0), b], 1))
        return self.out(self.up1(torch.cat([F.interpolate(b, scale_factor=2.0), a], 1)))


class RmsNorm(nn.Module):
    """As it is written by hand: pointwise operators around a mean."""

    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.norm1, self.norm2, self.heads = RmsNorm(width), RmsNorm(width), heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, inner, False), nn.Linear(width, inner, False), nn.Linear(inner, width, False)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        y = self.norm1(x)
        q, k, v = (layer(y).view(batch, length, self.heads, -1).transpose(1, 2) for layer in (self.q, self.k, self.v))

        def rotated(t):
            a, b = t.chunk(2, -1)
            return t * cos + torch.cat([-b, a], -1) * sin

        y = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Four blocks of width 192 on 2 x 64 tokens, with rotated positions and gated layers."""

    def __init__(self):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(512, 192), nn.ModuleList(LlamaBlock(192, 6, 512) for _ in range(4))
        self.norm, self.head = RmsNorm(192), nn.Linear(192, 512, bias=False)
        angles = torch.outer(torch.arange(64.0), 10000 ** (-torch.arange(0, 32, 2) / 32)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


class Waves(nn.Module):
    """Thirty pointwise operators between two layers of width 256, on 64 rows."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(256, 256), nn.Linear(256, 256)
        self.scale, self.shift = nn.Parameter(torch.randn(256)), nn.Parameter(torch.randn(1))

    def forward(self, x, gate):
        h = self.first(x)
        y = torch.sin(h) * 0.5 + torch.cos(h * 2.0) - torch.exp(-h.abs()) / (1 + h**2)
        y = torch.where(gate > 0.3, y, torch.log(h.square() + 1e-6) * self.scale) + self.shift
        y = torch.clamp(y, -3, 3) * torch.sigmoid(y) + F.leaky_relu(h, 0.2)
        return self.last(torch.maximum(y.masked_fill(gate < -1, 2.0), h * 0.1))


def image(size):
    return lambda: torch.randn(4, 3, size, size)


MODELS = {
    "gpt": (Gpt, lambda: torch.randint(512, (1, 64))),
    "vit": (Vit, image(32)),
    "resnet": (ResNet, image(32)),
    "convnext": (ConvNext, image(64)),
    "lstm": (Lstm, lambda: torch.randn(8, 48, 32)),
    "autoencoder": (AutoEncoder, image(64)),
    "pinn": (Pinn, lambda: torch.rand(1024, 2)),
    "unet": (UNet, image(64)),
    "llama": (Llama, lambda: torch.randint(512, (2, 64))),
    "waves": (Waves, lambda: (torch.randn(64, 256), torch.randn(64, 256))),
}


def export_all(models, what):
    """Writes FOLDER/NAME/model.pt2 and its checkpoints as the command line asks for; what: this program does."""
    parser = argparse.ArgumentParser(description=what.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--only", action="append", choices=models)
    wanted = parser.parse_args()
    for name in wanted.only or models:
        make, sample = models[name]
        folder = wanted.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        for member in range(wanted.members):
            torch.manual_seed(member)
            model = make().eval()
            save_file(model.state_dict(), folder / f"{member:02}.safetensors")
        inputs = sample()
        torch.export.save(torch.export.export(model, inputs if isinstance(inputs, tuple) else (inputs,)), folder / "model.pt2")


if __name__ == "__main__":
    export_all(MODELS, __doc__)

"""Exports thirteen more models of ordinary size, by which no kernel was chosen: what `scripts/bench-rivals more` measures.

    more_models.py FOLDER [--members N] [--only NAME]
"""
import torch
from ordinary_models import export_all
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    """PyTorch's own encoder of three layers of width 128, norms last, on 32 tokens."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(1000, 128), nn.Parameter(0.02 * torch.randn(32, 128))
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, activation="gelu"), 3)
        self.head = nn.Linear(128, 5)

    def forward(self, ids):
        return self.head(self.layers(self.tokens(ids) + self.places).mean(1))


class Denoiser(nn.Module):
    """A U-Net of group norms and silu, as diffusion has them, on 32x32 images."""

    class Block(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(8, before), nn.GroupNorm(8, after)
            self.conv1, self.conv2 = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
            self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

        def forward(self, x):
            y = self.conv1(F.silu(self.norm1(x)))
            return self.skip(x) + self.conv2(F.silu(self.norm2(y)))

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 3, 3, padding=1)
        self.down1, self.down2, self.middle = self.Block(32, 32), self.Block(32, 64), self.Block(64, 64)
        self.up1, self.up2 = self.Block(128, 32), self.Block(64, 32)

    def forward(self, x):
        fine = self.down1(self.first(x))
        coarse = self.down2(F.avg_pool2d(fine, 2))
        y = self.middle(F.avg_pool2d(coarse, 2))
        y = self.up1(torch.cat([F.interpolate(y, scale_factor=2), coarse], 1))
        return self.last(self.up2(torch.cat([F.interpolate(y, scale_factor=2), fine], 1)))


class MobileNet(nn.Module):
    """Six inverted residuals with relu6 on 32x32 images."""

    class Block(nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            wide = 4 * before
            self.is_residual = before == after and stride == 1
            self.layers = nn.Sequential(
                nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
                nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
                nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            return x + self.layers(x) if self.is_residual else self.layers(x)

    def __init__(self):
        super().__init__()
        first = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()
        sizes = (16, 24, 2), (24, 24, 1), (24, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1)
        self.layers, self.head = nn.Sequential(*first, *(self.Block(*size) for size in sizes)), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))


class Gru(nn.Module):
    """Two layers of width 128 over 50 steps."""

    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.GRU(32, 128, 2, batch_first=True), nn.Linear(128, 8)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


class Tagger(nn.Module):
    """An LSTM both ways over 40 tokens."""

    def __init__(self):
        super().__init__()
        self.tokens, self.layers = nn.Embedding(2000, 64), nn.LSTM(64, 96, bidirectional=True, batch_first=True)
        self.head = nn.Linear(192, 9)

    def forward(self, ids):
        return self.head(self.layers(self.tokens(ids))[0])


class Tcn(nn.Module):
    """Causal dilated convolutions over 128 steps."""

    class Block(nn.Module):
        def __init__(self, before, after, dilation):
            super().__init__()
            self.cut = 2 * dilation
            self.conv1 = nn.Conv1d(before, after, 3, padding=self.cut, dilation=dilation)
            self.conv2 = nn.Conv1d(after, after, 3, padding=self.cut, dilation=dilation)
            self.skip = nn.Conv1d(before, after, 1) if before != after else nn.Identity()

        def forward(self, x):
            y = F.relu(self.conv1(x)[..., :-self.cut])
            return F.relu(F.relu(self.conv2(y)[..., :-self.cut]) + self.skip(x))

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(self.Block(8, 64, 1), *(self.Block(64, 64, dilation) for dilation in (2, 4, 8)))
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.layers(x)[..., -1])


class Mixer(nn.Module):
    """An MLP-Mixer of four blocks of width 128 on 64 patches."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.tokens = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
            self.channels = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    def __init__(self):
        super().__init__()
        self.patches, self.blocks = nn.Conv2d(3, 128, 4, 4), nn.Sequential(*(self.Block() for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


class Field(nn.Module):
    """A radiance field: eight layers of width 256 on 1,024 points."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear({0: 39, 4: 295}.get(i, 256), 256) for i in range(8))
        self.head = nn.Linear(256, 4)

    def forward(self, x):
        encoded = torch.cat([x] + [wave(x * 2**i) for i in range(6) for wave in (torch.sin, torch.cos)], -1)
        h = encoded
        for i, layer in enumerate(self.layers):
            h = F.relu(layer(torch.cat([h, encoded], -1) if i == 4 else h))
        return self.head(h)


class PointNet(nn.Module):
    """The greatest of 512 points."""

    def __init__(self):
        super().__init__()
        sizes = (3, 64), (64, 128), (128, 256)
        self.points = nn.Sequential(*(layer for a, b in sizes for layer in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())))
        self.head = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10))

    def forward(self, x):
        return self.head(self.points(x).amax(2))


class Recommender(nn.Module):
    """A DLRM: eight tables and the products of all pairs."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(500, 16) for _ in range(8))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 36, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, dense, ids):
        x = self.bottom(dense)
        all_of = torch.stack([x] + [table(ids[:, i]) for i, table in enumerate(self.tables)], 1)
        first, second = torch.tril_indices(9, 9, -1)
        return self.top(torch.cat([x, (all_of @ all_of.transpose(1, 2))[:, first, second]], 1))


class Vae(nn.Module):
    """A variational autoencoder with elu on 28x28 images."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.ELU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ELU(), nn.Flatten(),
                                     nn.Linear(64 * 49, 128), nn.ELU())
        self.mean, self.variance = nn.Linear(128, 16), nn.Linear(128, 16)
        self.decoder = nn.Sequential(nn.Linear(16, 64 * 49), nn.ELU(), nn.Unflatten(1, (64, 7, 7)), nn.ConvTranspose2d(64, 32, 4, 2, 1),
                                     nn.ELU(), nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        return self.decoder(self.mean(h)), self.mean(h), self.variance(h)


class Stem(nn.Module):
    """A ResNet with the large first convolution of ImageNet's, four blocks to 256 channels, on 64x64 images."""

    class Block(nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            self.conv1, self.norm1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
            self.conv2, self.norm2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
            self.skip = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if stride > 1 else nn.Identity()

        def forward(self, x):
            return F.relu(self.skip(x) + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        sizes = (32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2)
        self.blocks, self.head = nn.Sequential(*(self.Block(*size) for size in sizes)), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.blocks(self.first(x)).mean((2, 3)))


class Grouped(nn.Module):
    """A language model with RMS norms, rotary places, gates, and one key for two queries: four blocks of width 128 on 48 tokens."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(128), nn.RMSNorm(128)
            self.query, self.key, self.value, self.out = (nn.Linear(128, size, bias=False) for size in (128, 64, 64, 128))
            self.gate, self.up, self.down = nn.Linear(128, 344, bias=False), nn.Linear(128, 344, bias=False), nn.Linear(344, 128, bias=False)

        def forward(self, x, cos, sin):
            def turned(heads):
                a, b = heads.chunk(2, -1)
                return heads * cos + torch.cat([-b, a], -1) * sin
            y = self.norm1(x)
            q, k, v = (part(y).view(*y.shape[:2], -1, 32).transpose(1, 2) for part in (self.query, self.key, self.value))
            y = F.scaled_dot_product_attention(turned(q), turned(k.repeat_interleave(2, 1)), v.repeat_interleave(2, 1), is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(x.shape))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def __init__(self):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(256, 128), nn.ModuleList(self.Block() for _ in range(4))
        self.norm, self.head = nn.RMSNorm(128), nn.Linear(128, 256, bias=False)
        angles = torch.outer(torch.arange(48), 10000 ** (-torch.arange(0, 32, 2) / 32)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


MODELS = {
    "denoiser": (Denoiser, lambda: torch.randn(1, 3, 32, 32)),
    "encoder": (Encoder, lambda: torch.randint(1000, (8, 32))),
    "field": (Field, lambda: torch.randn(1024, 3)),
    "grouped": (Grouped, lambda: torch.randint(256, (2, 48))),
    "gru": (Gru, lambda: torch.randn(8, 50, 32)),
    "mixer": (Mixer, lambda: torch.randn(2, 3, 32, 32)),
    "mobilenet": (MobileNet, lambda: torch.randn(4, 3, 32, 32)),
    "pointnet": (PointNet, lambda: torch.randn(4, 3, 512)),
    "recommender": (Recommender, lambda: (torch.randn(64, 13), torch.randint(500, (64, 8)))),
    "stem": (Stem, lambda: torch.randn(2, 3, 64, 64)),
    "tagger": (Tagger, lambda: torch.randint(2000, (4, 40))),
    "tcn": (Tcn, lambda: torch.randn(4, 8, 128)),
    "vae": (Vae, lambda: torch.randn(8, 1, 28, 28)),
}

if __name__ == "__main__":
    export_all(MODELS, __doc__)

"""How a wide model is built: a value with presets, and a fluent builder."""
import dataclasses
import numbers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, Self, get_args, get_type_hints

import torch

from ._errors import Error, checked, whole

if TYPE_CHECKING:
    from ._wide import Wide

Mode = Literal["default", "eager", "reduce-overhead", "max-autotune"]
Progress = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Config:
    """How a wide model is built.

    Attributes
    ----------
    mode : str
        ``"default"``: pointwise operators that only serve one another run as one, and ways that round otherwise than PyTorch,
        but no worse, are taken where they are faster. ``"eager"``: operator by operator. ``"reduce-overhead"``: as ``"default"``,
        with a static memory plan, see `use_pooled_memory`. ``"max-autotune"``: as ``"reduce-overhead"``, with ways whose errors
        are up to four times PyTorch's, such as Winograd's algorithm on tiles of 4x4.
    tuning : str
        ``"measure"``: time candidates where estimates leave a choice; ``"cached"``: use only times known already;
        ``"estimate"``: measure nothing.
    seconds : float
        Most time in seconds that measuring for one set of input shapes may take.
    strategy : str
        ``"auto"``, ``"wide"``, ``"sequential"`` or choices such as ``"conv2d=grouped"``, several with ``+`` between them.
    validate : bool
        Prove every member on the example before the model is given back; raise `Error` where that fails.
    seed : int
        Member i draws its random numbers as it would alone after ``torch.manual_seed(seed + i)``.
    stale : str
        When weights were written in place after they were taken in: ``"error"`` refuses to run, ``"refresh"`` takes
        them in.
    cost_file : bool
        Keep measured times in ``$XDG_CACHE_HOME/widebench``; otherwise only as long as the process lives.
    snapshots : bool
        Keep the graph after each stage, for ``explain().stages``.
    """

    mode: Mode = "default"
    tuning: Literal["measure", "cached", "estimate"] = "measure"
    seconds: float = 5.0
    strategy: str = "auto"
    validate: bool = False
    seed: int = 0
    stale: Literal["error", "refresh"] = "error"
    cost_file: bool = False
    snapshots: bool = False

    def __post_init__(self) -> None:
        for name in ("mode", "tuning", "stale"):
            allowed = get_args(get_type_hints(Config)[name])
            if getattr(self, name) not in allowed:
                raise Error("usage", f"{name}={getattr(self, name)!r} does not exist; there are {', '.join(allowed)}", name)

        for name in ("validate", "cost_file", "snapshots"):
            checked(getattr(self, name), bool, name, "True or False")
        checked(self.strategy, str, "strategy", "its name")
        checked(self.seconds, numbers.Real, "seconds", "a number of seconds")
        if not 0 <= self.seconds < float("inf"):
            raise Error("usage", f"seconds={self.seconds!r} is no length of time; give a number from 0", "seconds")
        object.__setattr__(self, "seed", whole(self.seed, 0, "seed", 2**64 - 1))

    def _options(self) -> tuple[Any, ...]:
        """As the library's operators take them."""
        seed = self.seed - (self.seed >> 63 << 64)  # its 64 bits as the signed number that operators take
        return (self.mode, self.tuning, float(self.seconds), self.cost_file, self.strategy, seed, self.snapshots)

    @classmethod
    def default(cls, **changes: Any) -> Self:
        """Measured plans, at most five seconds of measuring."""
        return cls(**changes)

    @classmethod
    def fast(cls, **changes: Any) -> Self:
        """Quick to build: plans by estimates, nothing measured."""
        return cls(**{"tuning": "estimate", **changes})

    @classmethod
    def debug(cls, **changes: Any) -> Self:
        """To look into: plans by estimates, proved on the example, the graph kept after each stage."""
        return cls(**{"tuning": "estimate", "validate": True, "snapshots": True, **changes})

    @classmethod
    def safe(cls, **changes: Any) -> Self:
        """Measured plans, given back only once every member is proved on the example."""
        return cls(**{"validate": True, **changes})


class Builder:
    """Collects what `compile` takes, a word at a time; see `builder`."""

    def __init__(self, models: Iterable[torch.nn.Module] | torch.nn.Module) -> None:
        self._models, self._config = models, Config()
        self._args: tuple[Any, ...] | None = None
        self._kwargs: dict[str, Any] | None = None
        self._more: dict[str, Any] = {}

    def with_sample(self, *args: Any, **kwargs: Any) -> Self:
        """What one member is called with."""
        self._args, self._kwargs = args, kwargs
        return self

    def config(self, config: "Config | Preset") -> Self:
        """Start from a `Config` or a preset's name; later words change it."""
        from ._compile import _config
        self._config = _config(config, None)
        return self

    def _changed(self, **changes: Any) -> Self:
        self._config = dataclasses.replace(self._config, **changes)
        return self

    def strategy(self, strategy: str) -> Self:
        """As `Config.strategy`."""
        return self._changed(strategy=strategy)

    def validate(self, validate: bool = True) -> Self:
        """As `Config.validate`."""
        return self._changed(validate=validate)

    def mode(self, mode: Mode) -> Self:
        """As `Config.mode`."""
        return self._changed(mode=mode)

    def copies(self, n: int) -> Self:
        """N re-initialised copies of the one model that was given."""
        self._more["n"] = n
        return self

    def in_dims(self, in_dims: Any) -> Self:
        """As `compile` has it."""
        self._more["in_dims"] = in_dims
        return self

    def dynamic_shapes(self, dynamic_shapes: Any) -> Self:
        """As ``torch.export.export`` has it."""
        self._more["dynamic_shapes"] = dynamic_shapes
        return self

    def progress(self, progress: Progress) -> Self:
        """Told what is being measured."""
        self._more["progress"] = progress
        return self

    def build(self) -> "Wide":
        """The wide model.

        Raises
        ------
        Error
            ``"usage"`` without a sample; otherwise as `compile`.
        """
        from ._compile import compile

        if self._args is None:
            raise Error("usage", "the builder has no sample; call with_sample(...) with what one member takes", "sample")
        return compile(self._models, self._args, self._kwargs, config=self._config, **self._more)


def builder(models: Iterable[torch.nn.Module] | torch.nn.Module) -> Builder:
    """A fluent `compile`: ``widebench.builder(models).with_sample(x).strategy("auto").validate().build()``.

    Parameters
    ----------
    models : sequence of torch.nn.Module, or one with ``copies(n)``
        As `compile` takes them.
    """
    return Builder(models)

"""N models of one architecture, run as one wide model.

``wide = widebench.compile([m1, ..., mN], example_args)`` is a callable module whose outputs have an axis of members in
front. See ``help(widebench.compile)``.
"""
import torch

from ._built_with import TORCH as _built_with
from ._built_with import VERSION as __version__

if torch.__version__.split("+")[0].split(".")[:2] != _built_with.split(".")[:2]:
    raise ImportError(f"widebench was built with torch {_built_with} and torch {torch.__version__} is installed; build it anew: "
                      "pip install --force-reinstall --no-deps --no-cache-dir <the folder of widebench>")

from ._apart import Apart
from ._errors import Error
from ._library import use_pooled_memory
from ._config import Builder, Config, builder
from ._compile import compile, from_bundle, from_files
from ._wide import Wide
from . import reduce

__all__ = ["Apart", "Builder", "Config", "Error", "Wide", "builder", "compile", "from_bundle", "from_files", "reduce", "use_pooled_memory"]

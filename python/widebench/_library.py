"""The shared library: operators ``torch.ops.widebench.*`` on models by number."""
import os
import threading

import torch

from ._errors import Error, translating

torch.ops.load_library(os.path.join(os.path.dirname(__file__), "_binding.so"))
ops = torch.ops.widebench
_models = {}  # weak references to Wide by number, for shapes of outputs under tracing


def _fake_outputs(model, inputs, mapped):
    wide = _models[model]() if model in _models else None
    if wide is None:
        raise Error("run", "this wide model was deleted; keep the module that compile() gave")
    return wide._program.fake_outputs(inputs, mapped, len(wide))


@torch.library.register_fake("widebench::forward")
def _(model, inputs, mapped, compiled):
    return _fake_outputs(model, inputs, mapped)


@torch.library.register_fake("widebench::forward_few")
def _(call, *inputs):
    given = [tensor for tensor in inputs if tensor is not None]
    return _fake_outputs(call >> 4, given, [bool(call >> i & 1) for i in range(len(given))])


def use_pooled_memory() -> None:
    """Let every CPU tensor of this process be made by widebench's allocator, from now on.

    Passes then take their tensors from blocks that are kept between passes, and the mode ``"reduce-overhead"`` has its
    static memory plan. Importing the package does not do this, since it is a change of the whole process; there is no way
    back. Safe to call more than once.
    """
    ops.use_tensor_memory()


def interruptible(work, handle, progress=None):
    """Runs `work` on a thread of its own, so that Ctrl-C reaches this one and cancels it. `progress` is told of steps."""
    failure = []
    done = threading.Event()  # Thread.join() takes a thread for ended once it was interrupted

    def run():
        try:
            work()
        except BaseException as error:  # handed to the caller's thread
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="widebench-plan").start()
    told = ""
    try:
        while not done.wait(0.05 if progress else 0.2):
            now = ops.progress(handle) if progress else ""
            if now != told:
                told = now
                progress(now)
    except BaseException:
        while not done.is_set():  # planning may not have begun yet: then it is to be told again
            ops.cancel(handle)
            done.wait(0.05)
        raise
    if failure:
        with translating():
            raise failure[0]

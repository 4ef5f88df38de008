"""The shared library: operators ``torch.ops.widebench.*`` on models by number."""
import contextlib
import os
import signal
import threading

import torch

from ._errors import Error, translating

torch.ops.load_library(os.path.join(os.path.dirname(__file__), "_binding.so"))
ops = torch.ops.widebench
_models = {}  # weak references to Wide by number, for shapes of outputs under tracing


# What graphs of torch.compile and torch.export call. It is Python's, which builds, takes in weights that were written and translates errors
# there as in any call.
_library = torch.library.Library("widebench", "FRAGMENT")
_library.define("forward(int model, Tensor[] inputs, bool[] mapped) -> Tensor[]", tags=(torch.Tag.nondeterministic_seeded,))


def _wide_of(model):
    wide = _models[model]() if model in _models else None
    if wide is None:
        raise Error("run", "this wide model was deleted; keep the module that compile() gave")
    return wide


@torch.library.impl(_library, "forward", "CompositeExplicitAutograd")
def _forward(model, inputs, mapped):
    results = _wide_of(model)._results_for(inputs)
    if any(result is None for result in results):
        raise Error("run", "the data give members' answers different numbers of axes; call the wide model outside of torch.compile")
    return [_as_faked(result, inputs) for result in results]


def _as_faked(result, inputs):
    """What a compiler that has seen the fake outputs counts on: dense, in memory of its own."""
    memory = result.untyped_storage().data_ptr()
    is_input = any(one.untyped_storage().data_ptr() == memory for one in inputs)
    return result.clone(memory_format=torch.contiguous_format) if is_input else result.contiguous()


@torch.library.impl(_library, "forward", "Autograd")
def _forward_below_autograd(model, inputs, mapped):  # inputs may require gradients; outputs never do
    with torch._C._AutoDispatchBelowAutograd():
        return ops.forward(model, inputs, mapped)


@torch.library.register_fake("widebench::forward", lib=_library)
def _(model, inputs, mapped):
    wide = _wide_of(model)
    return wide._program.fake_outputs(inputs, mapped, len(wide))


@torch.library.register_fake("widebench::forward_many")
def _(model, inputs, mapped):
    wide = _wide_of(model)
    return wide._program.fake_outputs(inputs, mapped, len(wide))


def _fake_forward_few(call, *inputs):
    said = int(call.shape[1])
    wide = _wide_of(said >> 4)
    return wide._program.fake_outputs(inputs, [bool(said >> i & 1) for i in range(len(inputs))], len(wide))


for _count in range(1, 5):
    torch.library.register_fake(f"widebench::forward_{_count}", _fake_forward_few)


def use_pooled_memory() -> None:
    """Let every CPU tensor of this process be made by widebench's allocator, from now on.

    Passes then take their tensors from blocks that are kept between passes, and the mode ``"reduce-overhead"`` has its
    static memory plan. Importing the package does not do this, since it is a change of the whole process; there is no way
    back. Safe to call more than once.
    """
    ops.use_tensor_memory()


@contextlib.contextmanager
def uninterrupted():
    """A Ctrl-C that comes meanwhile is heard afterwards."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    heard = []
    signal.signal(signal.SIGINT, lambda *event: heard.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            before(*heard[0])


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
            if now and now != told:
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

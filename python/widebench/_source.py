"""Where a member came from: a module that its user keeps and goes on working with."""
import weakref

import torch

# The library refers to the storages that it watches, so that no other one gets their number.
_storage_of = getattr(torch._C, "_storage_id", torch.Tensor.data_ptr)


def _place(tensor):
    """Which tensor and which memory; None of one that stands there for a while only, a fake one of torch.export say."""
    if type(tensor) not in (torch.nn.Parameter, torch.Tensor):
        return None
    return id(tensor), _storage_of(tensor) if torch._C._has_storage(tensor) else 0


class Source:
    """Remembers what a module's parameters and parts were. Keeps none of them alive, and refers to no tensor: not even weakly, since
    PyTorch does not swap tensors to which there are weak references."""

    def __init__(self, module):
        self._module = weakref.ref(module)
        self._parts = [(name, weakref.ref(part),
                        {key: _place(tensor) for key, tensor in part._parameters.items() if tensor is not None},
                        {key: weakref.ref(child) for key, child in part._modules.items() if child is not None})
                       for name, part in module.named_modules()]

    def __call__(self):
        """The module; None once it is gone."""
        return self._module()

    def tensors(self):
        """Parameters and buffers by name of those parts that are still there; the module itself may be gone."""
        found = {}
        for name, reference, _, _ in self._parts:
            part = reference()
            if part is not None:
                for kept in (part._parameters, part._buffers):
                    found.update({f"{name}.{key}" if name else key: tensor for key, tensor in kept.items() if tensor is not None})
        return found

    def replaced(self):
        """The name of a parameter or a part in whose place the module has another one; None where there is none.

        A part that was taken away was not replaced: who needs it no more may delete it.
        """
        if self() is None:
            return None
        for name, reference, parameters, children in self._parts:
            part = reference()
            if part is None:  # what took its place, if anything, is found with its parent
                continue
            now = part._parameters
            for key, was in parameters.items():
                tensor = now.get(key)
                place = None if tensor is None else _place(tensor)
                if place != was and was is not None and (tensor is None or place is not None):
                    return f"{name}.{key}" if name else key
            now = part._modules
            for key, child in children.items():
                if now.get(key) is not None and now[key] is not child():
                    return f"{name}.{key}" if name else key
        return None

"""Where a member came from: a module that its user keeps and goes on working with."""
import weakref

from ._members import same_numbers


class Source:
    """Remembers what a module's parameters and parts were. Keeps none of them alive, and refers to no tensor: not even weakly, since
    PyTorch does not swap tensors to which there are weak references."""

    def __init__(self, module):
        self._module = weakref.ref(module)
        self._parts = [(name, weakref.ref(part),
                        {key: (id(tensor), tensor.data_ptr()) for key, tensor in part._parameters.items() if tensor is not None},
                        {key: weakref.ref(child) for key, child in part._modules.items() if child is not None})
                       for name, part in module.named_modules()]

    def __call__(self):
        """The module; None once it is gone."""
        return self._module()

    def replaced(self, taken):
        """The name of a parameter or a part in whose place the module has another one; None where there is none.

        What was taken away is not replaced, nor is what only lies elsewhere, as in shared memory: ``taken()`` gives the numbers that
        the wide model has.
        """
        if self() is None:
            return None
        for name, reference, parameters, children in self._parts:
            part = reference()
            if part is None:  # what took its place, if anything, is found with its parent
                continue
            now = part._parameters
            for key, place in parameters.items():
                tensor = now.get(key)
                if tensor is None:
                    continue
                there = (id(tensor), tensor.data_ptr())
                if there != place:
                    full = f"{name}.{key}" if name else key
                    if there[0] != place[0] or full not in (own := taken()) or not same_numbers(own[full], tensor.detach()):
                        return full
                    parameters[key] = there
            now = part._modules
            for key, child in children.items():
                if now.get(key) is not None and now[key] is not child():
                    return f"{name}.{key}" if name else key
        return None

"""Where a member came from: a module that its user keeps and goes on working with."""
import weakref


class Source:
    """Keeps neither the module nor its tensors alive. `doubt` is called when a parameter is gone: with its module, or for another."""

    def __init__(self, module, doubt):
        self._module = weakref.ref(module)
        self._parameters = {name: weakref.ref(tensor, doubt) for name, tensor in module.named_parameters(remove_duplicate=False)}

    def __call__(self):
        """The module; None once it is gone."""
        return self._module()

    def replaced(self):
        """The name of a parameter in whose place the module has another one; None where there is none."""
        module = self()
        now = {} if module is None else dict(module.named_parameters(remove_duplicate=False))
        return next((name for name, was in self._parameters.items() if name in now and now[name] is not was()), None)

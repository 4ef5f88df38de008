"""What every member of a wide model is held against."""
import weakref

from . import _members
from ._errors import Error, translating
from ._library import ops
from ._program import export


class Architecture:
    """What every member is held against."""

    def __init__(self, program, model, args, kwargs, dynamic_shapes, name):
        self.program, self.dynamic_shapes, self.name = program, dynamic_shapes, name
        self.args, self.kwargs = args, kwargs
        self.signature = _members.signature(model)
        self.skeleton = _members.skeleton(model)
        known = _members.named_tensors(model)
        self.weights = [name for name in program.weights if name in known]
        # What the trace found elsewhere: literals in the code, and for instance what a module keeps in a dictionary once it has run.
        self.constants = {name: program.constants[name] for name in program.weights if name not in known and name in program.constants}
        # A cache may hold what was made of a member's weights, and is not always the module's own, as that of functools is not.
        globals_ = _members.global_tensors(model) if program.captured else set()
        self._captures = any(self.constants[name].data_ptr() not in globals_ for name in program.captured & self.constants.keys())
        self.differing = ""  # one that is not the same in all members
        self._first = weakref.ref(model)

    def take(self, model, name):
        """The member's tensors by name, once it is known to be of this architecture."""
        place = f"member '{name}'"
        _members.check_made(model, place)
        constants = self.constants
        if model is not self._first():
            own = _members.signature(model)
            if own is None or self.signature is None or own != self.signature or self._captures:
                constants = self._compare_graphs(model, own, name, place)
        tensors = _members.bring(model, self.weights, place)
        lacking = [weight for weight in self.weights if weight not in tensors]
        if lacking:
            raise Error("load", f"{place} lacks the tensor '{lacking[0]}'; give members of one architecture", name)
        return tensors | {constant: constants[constant] for constant in self.constants}

    def constants_of_all(self, place):
        """The tensors that stand neither in parameters nor in buffers, where all members have the same."""
        if self.differing:
            raise Error("usage", f"{place}: each member has its own '{self.differing}', a tensor that is no parameter and no buffer, so that no "
                                 "state dict has it; give modules, or register it as a buffer", place)
        return self.constants

    def _compare_graphs(self, model, own, name, place):
        """The constants of the member's own trace."""
        both = own is not None and self.signature is not None
        hint = f" ({_members.first_difference(self.signature, own)})" if both else ""
        other = export(model, self.args, self.kwargs, self.dynamic_shapes, place)
        with translating():
            difference = ops.difference(self.program.data, other.data, name)
        if not difference and (other.out_spec != self.program.out_spec or other.in_spec != self.program.in_spec):
            difference = "its inputs or outputs are built otherwise"
        if difference:
            raise Error("load", f"{place}: is another architecture than '{self.name}': {difference}{hint}; give members of one architecture", name)
        for constant, tensor in self.constants.items():
            if not _members.same_numbers(tensor, other.constants[constant]):
                self.differing = constant
        return other.constants

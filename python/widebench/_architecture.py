"""What every member of a wide model is held against."""
import weakref

from . import _members
from ._errors import Error, translating
from ._library import ops
from ._program import Program, export


class Architecture:
    """What every member is held against."""

    def __init__(self, program, model, args, kwargs, dynamic_shapes, name):
        self.program, self.dynamic_shapes, self.name = program, dynamic_shapes, name
        self.args, self.kwargs = args, kwargs
        self.signature = _members.signature(model)
        self.skeleton = _members.skeleton(model)
        # Constants that the trace made up are the file's, the same for all that have this graph.
        self.weights = [name for name in program.weights if name in _members.named_tensors(model)]
        self._first = weakref.ref(model)

    def take(self, model, name):
        """The member's tensors by name, once it is known to be of this architecture."""
        place = f"member '{name}'"
        _members.check_made(model, place)
        if model is not self._first():
            own = _members.signature(model)
            if own is None or self.signature is None or own != self.signature:
                self._compare_graphs(model, own, name, place)
        tensors = _members.bring(model, self.weights, place)
        lacking = [weight for weight in self.weights if weight not in tensors]
        if lacking:
            raise Error("load", f"{place} lacks the tensor '{lacking[0]}'; give members of one architecture", name)
        return tensors

    def _compare_graphs(self, model, own, name, place):
        both = own is not None and self.signature is not None
        hint = f" ({_members.first_difference(self.signature, own)})" if both else ""
        other = Program(export(model, self.args, self.kwargs, self.dynamic_shapes, place))
        with translating():
            difference = ops.difference(self.program.data, other.data, name)
        if not difference and (other.out_spec != self.program.out_spec or other.in_spec != self.program.in_spec):
            difference = "its inputs or outputs are built otherwise"
        if difference:
            raise Error("load", f"{place}: is another architecture than '{self.name}': {difference}{hint}; give members of one architecture", name)

"""What every member of a wide model is held against."""
import torch

from . import _members
from ._arguments import parameters_of
from ._errors import Error, translating
from ._export import export
from ._library import ops
from ._program import Program
from ._source import Source


class Architecture:
    """What every member is held against."""

    def __init__(self, trace, model, args, kwargs, dynamic_shapes, name):
        self.program, self.dynamic_shapes, self.name = Program(trace.data, trace.out_spec), dynamic_shapes, name
        self.program.parameters = parameters_of(model)
        self.args, self.kwargs = args, kwargs
        self.signature = _members.signature(model)
        self.skeleton = _members.skeleton(model)
        known = _members.named_tensors(model)
        self.weights = [name for name in self.program.weights if name in known]
        # Literals in the code, and for instance what a module keeps in a dictionary once it has run.
        self.constants = {name: trace.constants[name] for name in self.program.weights if name not in known}
        # What was there before the trace may be made of the member's weights, and not all that holds such things is in the
        # signature, for instance the cache of functools: every member is traced.
        self._trace_each = not _members.are_globals([self.constants[name] for name in trace.found & self.constants.keys()], model)
        self.differing = ""  # a constant that some member has otherwise than the first had it

    def take(self, model, name, trace=None):
        """The member as a `Source` and its tensors by name, once it is known to be of this architecture; `trace` is its own where it was just made.
        """
        place = f"member '{name}'"
        _members.check_made(model, place)
        constants = trace.constants if trace else self.constants
        if not trace:
            own = _members.signature(model)
            if own is None or self.signature is None or own != self.signature or self._trace_each:
                constants = self._compare_graphs(model, own, name, place)
        # After its trace, which may put other parts in place of what is there; before its weights: what is replaced meanwhile is noticed.
        source = Source(model)
        tensors = _members.bring(model, self.weights, place)
        lacking = [weight for weight in self.weights if weight not in tensors]
        if lacking:
            raise Error("load", f"{place} lacks the tensor '{lacking[0]}'; give members of one architecture", name)
        return source, tensors | {constant: constants[constant] for constant in self.constants}

    def constants_of_all(self, place):
        """The tensors that stand neither in parameters nor in buffers, where all members have the same."""
        if self.differing:
            raise Error("usage", f"{place}: each member has its own '{self.differing}', a tensor that is no parameter and no buffer, so that no "
                                 "state dict has it; give modules, or register it as a buffer", place)
        return self.constants

    def _compare_graphs(self, model, own, name, place):
        """The constants of the member's own trace."""
        hint = ""
        if self._trace_each:
            hint = " (one may lack what the other kept from earlier calls)"
        elif own is not None and self.signature is not None:
            hint = f" ({_members.first_difference(self.signature, own)})"
        with torch.autocast("cpu", enabled=False):  # as compile() found it
            trace = export(model, self.args, self.kwargs, self.dynamic_shapes, place)
        other = Program(trace.data, trace.out_spec)
        with translating():
            difference = ops.difference(self.program.data, other.data, name)
        if not difference and (other.out_spec != self.program.out_spec or other.in_spec != self.program.in_spec):
            difference = "its inputs or outputs are built otherwise"
        if difference:
            other_one = "it was when it was taken in" if name == self.name else f"'{self.name}'"
            raise Error("load", f"{place}: is another architecture than {other_one}: {difference}{hint}; give members of one architecture", name)
        for constant, tensor in self.constants.items():
            if not _members.same_numbers(tensor, trace.constants[constant]):
                self.differing = constant
        return trace.constants

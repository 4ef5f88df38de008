"""The members of a wide model: their state, and others in their place."""
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

from . import _members
from ._errors import Error, checked, translating, whole
from ._library import ops, uninterrupted


_Call = TypeVar("_Call", bound=Callable[..., Any])


def _one_after_the_other(call: _Call) -> _Call:
    """What changes members, or reads those of all, waits for another such call on another thread."""
    @functools.wraps(call)
    def alone(self, *args, **kwargs):
        with self._changing:
            return call(self, *args, **kwargs)
    return alone


class Fleet:
    """What `Wide` does with its members. A base class, so that each file is read at one go."""

    names: list[str]

    def _index(self, member):
        if isinstance(member, str):
            if member not in self.names:
                raise Error("usage", f"there is no member '{member}'; there are {', '.join(self.names[:8])}", "member")
            return self.names.index(member)
        member = whole(member, -2**63, "member")
        if not -len(self) <= member < len(self):
            raise Error("usage", f"there is no member {member}; there are {len(self)}", "member")
        return member % len(self)

    def _tensors(self, i, as_taken=False, as_loaded=False):
        with translating():
            return dict(zip(*ops.member_state(self._handle, i, as_taken, as_loaded)))

    def _tensors_as_taken(self, members):
        """Of each of them; refused, or taken in first, where weights of any were written since: that is looked at once."""
        return self._of_weights_as_they_are(lambda: [self._tensors(i, as_taken=k == 0) for k, i in enumerate(members)])

    @_one_after_the_other
    def state_dict(self, member: int | str | None = None, *, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, torch.Tensor]:
        """The state dict of one member, by number or name; of all, each tensor ``[N, ...]``, where none is named.

        Tensors are copies. Written buffers are as the last call left them. Names are those that the graph reads; of tied
        weights each name.

        Raises
        ------
        Error
            ``"stale"``: weights were written, see `refresh`.
        """
        members = range(len(self)) if member is None else [self._index(member)]
        each = [{name: tensor for name, tensor in self._with_ties(tensors).items() if self._in_state_dict(name)}
                for tensors in self._tensors_as_taken(members)]
        if member is not None:
            return each[0]
        state = destination if destination is not None else {}
        for name in each[0]:
            state[prefix + name] = torch.stack([one[name] for one in each])
        return state

    @functools.cached_property
    def _in_state(self):
        return frozenset(self._skeleton.state_dict())

    def _in_state_dict(self, name):
        if self._skeleton is not None:
            return name in self._in_state
        return self._program.persistent.get(name, True)

    def _with_ties(self, tensors):
        """Also by the names that the graph does not read, since it reads, and writes, another of the same tensor."""
        if self._skeleton is None:
            return tensors
        by_place, complete = {}, dict(tensors)
        for name, tensor in _members.named_tensors(self._skeleton).items():
            by_place.setdefault(id(tensor), []).append(name)
        for twins in by_place.values():
            known = min((name for name in twins if name in tensors), key=lambda name: name not in self._program.read, default=None)
            for name in twins:
                if known is not None and name not in self._program.read:
                    complete[name] = tensors[known]
        return complete

    @_one_after_the_other
    def load_state_dict(self, state_dict: Mapping[str, torch.Tensor], strict: bool = True, assign: bool = False) -> None:
        """The reverse of ``state_dict()``: tensors ``[N, ...]``. All is checked before anything is taken.

        Parameters
        ----------
        strict : bool
            Refuse names that are missing or unknown; otherwise what is missing stays, and what is unknown is left out.
        assign : bool
            As in ``torch.nn.Module``; tensors are copied in either case.
        """
        checked(state_dict, Mapping, "state_dict", "a state dict of all members")
        members = [self._tensors(i, as_loaded=True) for i in range(len(self))]
        known = self._with_ties(members[0])
        if strict:
            missing = [name for name in known if self._in_state_dict(name) and name not in state_dict]
            unknown = [name for name in state_dict if name not in known]
            if missing or unknown:
                what = f"lacks '{missing[0]}'" if missing else f"has '{unknown[0]}', which the model lacks"
                raise Error("load", f"the state dict {what}; give one of all members, or strict=False", "state_dict")
        for name, tensor in state_dict.items():
            if name not in known:
                continue
            wanted = (len(self), *known[name].shape)
            if tuple(checked(tensor, torch.Tensor, name, "a tensor").shape) != wanted:
                raise Error("load", f"tensor '{name}': is {list(tensor.shape)}, the members' is {list(wanted)}; give one of all members", name)
        given = self._read(state_dict)
        brought = [{name: given[name][i] if name in given else own[name] for name in self._kept()} for i, own in enumerate(members)]
        self._replace(self.names, [-1] * len(self), brought, [None] * len(self))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """As a part of a module whose ``load_state_dict()`` is called."""
        known = {name: (len(self), *tensor.shape) for name, tensor in self._with_ties(self._tensors(0, as_loaded=True)).items()
                 if self._in_state_dict(name)}
        given = {name: state_dict[prefix + name] for name in known if prefix + name in state_dict}
        missing_keys += [prefix + name for name in known if name not in given]
        if strict:
            unexpected_keys += [key for key in state_dict if key.startswith(prefix) and key[len(prefix):] not in known]
        for name, tensor in given.items():
            if tensor.shape != known[name]:
                error_msgs.append(f"size mismatch for {prefix}{name}: {tuple(tensor.shape)} is given, the wide model has {known[name]}.")
        if given and not error_msgs:
            try:
                self.load_state_dict(given, strict=False)
            except Error as error:
                error_msgs.append(f"{prefix.removesuffix('.')}: {error}")

    @_one_after_the_other
    def load_member(self, member: int | str, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Takes a state dict in place of a member's weights, by the plans that there are. Names it lacks stay as they were taken in.

        Written buffers and random streams of all members begin anew, as in all that changes members.
        """
        i = self._index(member)
        tensors, state_dict = self._tensors(i, as_loaded=True), checked(state_dict, Mapping, "state_dict", "a state dict of one member")
        known = self._with_ties(tensors)
        unknown = [name for name in state_dict if name not in known]
        if unknown:
            raise Error("load", f"member '{self.names[i]}': has '{unknown[0]}', which the model lacks; give a state dict of one member", self.names[i])
        own = {name: tensors[name] for name in self._kept()}
        own.update(self._read(state_dict))
        self._replace_one(i, own, None)

    @_one_after_the_other
    def add(self, model: torch.nn.Module | Mapping[str, torch.Tensor], name: str | None = None) -> None:
        """One more member, a module or a state dict, at the end. Plans of before are kept where they fit."""
        name = str(name) if name else next(f"member{k}" for k in range(len(self), 2 * len(self) + 1) if f"member{k}" not in self.names)
        names = _members.names_of([*self.names, name], len(self) + 1)
        source, tensors = self._taken(model, name)
        self._replace(names, [*range(len(self)), -1], [tensors], [*self._sources, source])

    @_one_after_the_other
    def drop(self, member: int | str) -> None:
        """One member less. Plans of before are kept where they fit."""
        i = self._index(member)
        if len(self) == 1:
            raise Error("usage", "the last member cannot be dropped", "member")
        kept = [k for k in range(len(self)) if k != i]
        self._replace([self.names[k] for k in kept], kept, [], [self._sources[k] for k in kept])

    @_one_after_the_other
    def replace(self, member: int | str, model: torch.nn.Module | Mapping[str, torch.Tensor]) -> None:
        """Another module or state dict in the place of a member. Plans of before are kept where they fit."""
        i = self._index(member)
        source, tensors = self._taken(model, self.names[i])
        self._replace_one(i, tensors, source)

    @_one_after_the_other
    def refresh(self) -> None:
        """Takes in the weights of the modules as they are now, by the plans that there are.

        Of a module that is gone its parts may still be there, and have all weights. Other members whose module is gone, and those
        that came as a state dict, stay as they are.

        Raises
        ------
        Error
            ``"stale"``: the weights of a member were written whose module is gone.
        """
        models = [source() if source is not None else None for source in self._sources]
        taken = [self._surviving(k) if model is None else self._taken(model, name) for k, (model, name) in enumerate(zip(models, self.names))]
        sources = [one[0] if one else source for one, source in zip(taken, self._sources)]
        self._replace(self.names, [-1 if one else k for k, one in enumerate(taken)], [one[1] for one in taken if one], sources)
        gone = next((k for k, one in enumerate(taken) if one is None and self._sources[k] is not None), None)
        if gone is not None:
            try:
                self._tensors(gone, as_taken=True)
            except Error as error:
                raise Error("stale", str(error).split("; call")[0] + ", and its module is gone; give that member anew by replace() or "
                                     "load_member()", error.place) from None

    def _surviving(self, i):
        """As `_taken` of a member whose module is gone, where its parts have all its weights."""
        source = self._sources[i]
        found = source.tensors() if source is not None else {}
        if self._architecture is None or self._architecture.differing or any(name not in found for name in self._weights()):
            return None
        return source, {name: found[name] for name in self._weights()} | self._constants(f"member '{self.names[i]}'")

    @_one_after_the_other
    def unpack(self) -> list[torch.nn.Module]:
        """N modules of the members' class, with copies of their weights and buffers.

        Raises
        ------
        Error
            ``"usage"`` for a model of files, which hold no class, and where members differ in a tensor that is neither
            parameter nor buffer; ``"stale"``: weights were written, see `refresh`.
        """
        if self._skeleton is None:
            raise Error("usage", "a model of files has no class to make modules of; take state_dict(i)", "unpack")
        self._constants("unpack")
        return [_members.with_tensors(self._skeleton, tensors) for tensors in self._tensors_as_taken(range(len(self)))]

    def _read(self, state_dict):
        """Copies of those weights that a state dict has, by the names that the graph reads; of tied ones it may have any."""
        places = {} if self._skeleton is None else {name: id(tensor) for name, tensor in _members.named_tensors(self._skeleton).items()}
        tied = {places[name]: tensor for name, tensor in state_dict.items() if name in places}
        found = {name: state_dict[name] if name in state_dict else tied.get(places.get(name)) for name in self._weights()}
        return {name: checked(tensor, torch.Tensor, name, "a tensor").detach().clone() for name, tensor in found.items()
                if tensor is not None or name in state_dict}

    def _weights(self):
        return self._architecture.weights if self._architecture else self._program.weights

    def _kept(self):
        """Weights, and what a state dict does not have."""
        return [*self._weights(), *(self._architecture.constants if self._architecture else ())]

    def _constants(self, place):
        return self._architecture.constants_of_all(place) if self._architecture else {}

    def _taken(self, model, name):
        """Where it came from, None of a state dict, and its tensors by name."""
        if isinstance(model, torch.nn.Module):
            if self._architecture is None:
                raise Error("usage", "a model of files takes members as state dicts", "model")
            return self._architecture.take(model, name)
        given = self._read(checked(model, Mapping, "model", "a module or a state dict"))
        lacking = [weight for weight in self._weights() if weight not in given]
        if lacking and not any(map(self._in_state_dict, lacking)):  # what no state dict has: taken where all members have the same
            own = [self._tensors(k, as_loaded=True) for k in range(len(self))]
            common = {weight: own[0][weight] for weight in lacking if all(_members.same_numbers(own[0][weight], one[weight]) for one in own)}
            given |= common
            lacking = [weight for weight in lacking if weight not in common]
            if lacking:
                raise Error("load", f"member '{name}': each member has its own '{lacking[0]}', a buffer that no state dict has; "
                                    "give it along with the state dict, or a module", name)
        if lacking:
            raise Error("load", f"member '{name}' lacks the tensor '{lacking[0]}'; give a state dict of one member", name)
        return None, given | self._constants(f"member '{name}'")

    def _replace_one(self, i, tensors, source):
        self._replace(self.names, [-1 if k == i else k for k in range(len(self))], [tensors],
                      [source if k == i else one for k, one in enumerate(self._sources)])

    def _replace(self, names, kept, brought, sources):
        """Other members, whole or not at all: `kept` is a number of before or -1 for the next of those brought."""
        fqns = list(brought[0]) if brought else []
        tensors = [one[fqn] for one in brought for fqn in fqns]
        # A new member's own example inputs are those of who was there before, else the first's.
        rows = [k if k >= 0 else i if i < len(self) else 0 for i, k in enumerate(kept)]
        example = self._example
        if example is not None and rows != [*range(len(self))]:
            example = [tensor[rows] if own else tensor for tensor, own in zip(example, self._mapped)]
        with translating(), uninterrupted():
            ops.replace_members(self._handle, names, kept, fqns, tensors)
            self.names, self._sources, self._example = names, sources, example

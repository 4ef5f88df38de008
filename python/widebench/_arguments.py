"""The arguments of a call: by place or by name, as the model's own forward takes them."""
import inspect

from ._errors import Error

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(model):
    """The parameters of the model's forward; None where it does not say them."""
    try:
        return inspect.signature(model.forward)
    except (TypeError, ValueError):
        return None


def parameters_named(names):
    """The same of what a file says, their names; None where it says none."""
    try:
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names or ()]) if names else None
    except (TypeError, ValueError):
        return None


def as_example(args, kwargs, spec, parameters):
    """The same call with each argument by place or by name as in the example, whose pytree is `spec`. What only one of the
    two gives is its parameter's default.

    Raises
    ------
    Error
        ``"run"``: an argument is missing, unknown, or was not given in the example.
    """
    if parameters is None:
        return args, kwargs
    advice = f"call it as the example was given, {form(spec)}"
    try:
        given = parameters.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise Error("run", f"the call does not fit the model's forward: {error}; {advice}", "inputs") from None
    known = parameters.parameters
    more = next((list(given.pop(name)) for name in list(given) if known[name].kind is inspect.Parameter.VAR_POSITIONAL), [])
    given |= next((given.pop(name) for name in list(given) if known[name].kind is inspect.Parameter.VAR_KEYWORD), {})

    def take(name):
        if name in given:
            return given.pop(name)
        if name not in known or known[name].default is inspect.Parameter.empty:
            raise Error("run", f"the call has no argument '{name}', which the example gave; {advice}", "inputs")
        return known[name].default

    of_args, of_kwargs = children(spec)
    by_place = [name for name, parameter in known.items() if parameter.kind in _BY_PLACE][:len(children(of_args))]
    lacking = len(children(of_args)) - len(by_place)
    if len(more) != lacking:
        raise Error("run", f"the call has {len(more)} arguments behind those with a name, the example had {lacking}; {advice}", "inputs")
    arranged = tuple(map(take, by_place)) + tuple(more), {name: take(name) for name in of_kwargs.context}
    for name, value in given.items():
        if name not in known or not _is_default(value, known[name].default):
            raise Error("run", f"the call gives '{name}', which the example did not; give it in the example, too, or leave it out", "inputs")
    return arranged


def form(spec):
    """How a call of this pytree is written, with ``_`` for each value."""
    of_args, of_kwargs = children(spec)
    return "wide(" + ", ".join([*map(_text, children(of_args)), *(f"{name}={_text(child)}" for name, child in zip(of_kwargs.context, children(of_kwargs)))]) + ")"


def children(spec):
    return list(spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs)


def _text(spec):
    if spec.type is None:
        return "_"
    parts = list(map(_text, children(spec)))
    if spec.type is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(spec.context, parts)) + "}"
    if spec.type is list:
        return "[" + ", ".join(parts) + "]"
    if spec.type is tuple:
        return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"
    return f"{spec.type.__name__}({', '.join(parts)})"


def _is_default(value, default):
    return value is default or (isinstance(value, (bool, int, float, str)) and type(value) is type(default) and value == default)


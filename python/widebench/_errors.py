"""The one exception of the package."""
import contextlib
import operator
import os
import re
import sys
import warnings


class Error(RuntimeError):
    """A fault of a model, an input or the machine.

    Attributes
    ----------
    stage : str
        What failed: ``"usage"``, ``"export"``, ``"load"``, ``"capture"``, ``"plan"``, ``"run"``, ``"stale"``, ``"prove"``, …
    place : str
        Member, tensor, node or argument at fault; empty where it is none of these.
    advice : str
        What to try; empty where nothing is known.
    """

    def __init__(self, stage: str, message: str, place: str | None = None) -> None:
        super().__init__(message)
        what, _, advice = message.rpartition("; ")
        before, colon, _ = (what or message).partition(": ")
        self.stage = stage
        self.place = place if place is not None else before if colon else ""
        self.advice = advice if what else ""

    def __reduce__(self) -> tuple[type["Error"], tuple[str, str, str]]:
        return type(self), (self.stage, str(self), self.place)


def whole(value, least, name, most=2**63 - 1):
    """The number that `value` is, numpy's too; Error where it is none, or out of range."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if least <= number <= most:
        return number
    where = f" from {least}" if least >= 0 else ""
    raise Error("usage", f"{name}={value!r} is no whole number{where}{f' to {most}' if number > most else ''}; give one", name)


def checked(value, kinds, name, wanted):
    """`value`; Error where it is of none of these classes."""
    if isinstance(value, kinds):
        return value
    raise Error("usage", f"{name} is a {type(value).__name__}; give {wanted}", name)


def path(value, name):
    """A path as text; Error where `value` is none."""
    text = os.fspath(checked(value, (str, os.PathLike), name, "a path"))
    return checked(text, str, name, "a path as text")


def warn(lines):
    """Warns at the line of the user's that led here."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    for line in lines:
        warnings.warn(line, stacklevel=level)


_THROWN = re.compile(r"widebench \[([\w-]+)\] (.*)", re.DOTALL)


def translated(error):
    """The Error that the library threw, as the RuntimeError that torch made of it; None for another one."""
    found = _THROWN.match(str(error))
    # What follows an empty line is torch's own stack of C++ calls.
    return Error(found[1], found[2].split("\n\nException raised")[0].rstrip()) if found else None


@contextlib.contextmanager
def translating():
    try:
        yield
    except RuntimeError as error:
        ours = translated(error)
        if ours is None:
            raise
        raise ours from None

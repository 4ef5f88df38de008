"""Reads a .pt2 by torch.export.load, without what that would run: it unpickles example inputs and some weights, loads
libraries, imports what types name, and evaluates the texts of sizes and guards."""
from __future__ import annotations

import ast
import io
import json
import pathlib
import re
import zipfile
from typing import Any

try:
    import torch
except ImportError:  # peers_subject says so
    torch = None

# Compiled libraries are no part of the program; example inputs are others in their place, since the reader wants some.
_PART = re.compile(r"(.*/)?(archive_format|archive_version|byteorder|version|\.data/\w+|models/[^/]+\.json|data/(weights|constants)/[^/]+)")
_OPERATOR = re.compile(r"torch\.ops\.(?!load_library\.|import_module\.)[a-z]\w*\.\w+(\.\w+)?|torch\.sym_\w+|math\.\w+|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|pow|neg|"
                       r"eq|ne|lt|le|gt|ge|and_|or_|not_)")
# What sympy and torch.utils._sympy make of sizes.
_FUNCTION = re.compile(r"Symbol|Integer|Float|Rational|Half|One|Zero|NegativeOne|Add|Mul|Pow|Max|Min|Mod|Abs|Eq|Ne|Lt|Le|Gt|Ge|Equality|Unequality|"
                       r"(Strict)?(Less|Greater)Than|And|Or|Not|floor|ceiling|sqrt|log|exp|sin|cos|tan|FloorDiv|CeilDiv|CleanDiv|ModularIndexing|"
                       r"Where|PythonMod|CeilToInt|FloorToInt|TruncToInt|TruncToFloat|RoundToInt|RoundDecimal|ToFloat|IntTrueDiv|FloatTrueDiv|"
                       r"FloatPow|PowByNatural|LShift|RShift|Identity|OpaqueUnaryFn_\w+|BitwiseFn_\w+")
_SYNTAX = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.keyword, ast.Constant, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.operator,
           ast.unaryop, ast.boolop, ast.cmpop)


class RunsCode(Exception):
    """The file would run code where torch reads it; the text says what of it."""


def load(path: pathlib.Path) -> Any:
    """The program. Raises RunsCode."""
    copy = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as kept:
        for entry in archive.infolist():
            if re.fullmatch(r"(.*/)?data/sample_inputs/[^/]+", entry.filename):
                kept.writestr(entry.filename, _no_inputs())
            elif _PART.fullmatch(entry.filename):
                data = archive.read(entry)
                kept.writestr(entry.filename, _looked_at(data) if entry.filename.endswith(".json") else data)
    copy.seek(0)
    return torch.export.load(copy)


def _no_inputs() -> bytes:
    file = io.BytesIO()
    torch.save(((), {}), file)
    return file.getvalue()


def _looked_at(data: bytes) -> bytes:
    document = json.loads(data)
    _look(document)
    return json.dumps(document).encode()


def _look(part: Any) -> None:
    if isinstance(part, list):
        for one in part:
            _look(one)
    if not isinstance(part, dict):
        return
    if "guards_code" in part:
        part["guards_code"] = []  # they only refuse
    for key, value in part.items():
        if key == "expr_str":
            _look_at_size(value)
        elif key in ("target", "as_operator") and ("inputs" in part or key == "as_operator"):
            _require(_OPERATOR.fullmatch(str(value)), f"the operator '{value}'")
        elif key == "range_constraints":
            _require(all(re.fullmatch(r"\w+", name) for name in value), "the name of a size")
        elif key in ("in_spec", "out_spec"):
            _look_at_types(value)
        elif key == "use_pickle":
            _require(not value, "a pickle among the weights")
        elif key == "path_name":
            _require(not str(value).startswith("custom_obj"), "a pickled object")
        _look(value)


def _look_at_types(value: Any) -> None:
    """Of a tree: JSON within texts of JSON. Its types have names, but for enums, and for what fills a defaultdict."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return
    harmless = not isinstance(value, dict) or "__enum__" not in value
    if isinstance(value, dict) and {"default_factory_module", "default_factory_name"} & value.keys():
        harmless = value.get("default_factory_module") == "builtins" and value.get("default_factory_name") in ("list", "dict", "set", "tuple", "int", "float")
    _require(harmless, "a type among inputs or outputs")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _look_at_types(part)


def _look_at_size(text: str) -> None:
    try:
        parts = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, RecursionError):
        parts = [None]
    for part in parts:
        of_sizes = isinstance(part, _SYNTAX)
        if isinstance(part, ast.Call):
            of_sizes = isinstance(part.func, ast.Name) and bool(_FUNCTION.fullmatch(part.func.id))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            of_sizes = bool(re.fullmatch(r"[\w.+-]+", part.value))
        _require(of_sizes, f"the size '{text[:80]}'")


def _require(harmless: Any, what: str) -> None:
    if not harmless:
        raise RunsCode(f"PyTorch would run code of the file, or may: {what}; export the model again, or leave Python's ways out")

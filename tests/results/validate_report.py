#!/usr/bin/env python3
"""Validates reports against results/report.schema.json.

usage: validate_report.py [--reject] FILE_OR_FOLDER...

Exit codes: 0 all valid (with --reject: none valid), 1 otherwise, 2 nothing to validate, 77 jsonschema is missing.
"""
import json
import pathlib
import sys

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "results" / "report.schema.json"


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def fault(path, validator):
    """The first reason why the file is no valid report, or None."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
    except ValueError as error:
        return str(error)
    error = next(iter(validator.iter_errors(document)), None)
    return error and f"{error.json_path}: {error.message[:200]}"


def main(arguments):
    reject = "--reject" in arguments
    files = []
    for argument in (pathlib.Path(a) for a in arguments if a != "--reject"):
        files += sorted(argument.glob("*.json")) if argument.is_dir() else [argument]
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import jsonschema
    except ImportError:
        print("SKIPPED: Python's jsonschema cannot be imported; install it to check reports against their schema")
        return 77
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = 0
    for path in files:
        reason = fault(path, validator)
        print(f"{path.name}: {reason or 'valid'}")
        wrong += (reason is None) == reject
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

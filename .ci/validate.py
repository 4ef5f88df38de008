"""validate.py SCHEMA REPORT: the report obeys the schema and is what the `ci` preset promises."""
import json
import sys

import jsonschema

schema, report = (json.load(open(path)) for path in sys.argv[1:3])
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
cases = report["cases"]
zoo = {case["subject"] for case in cases if case["kind"] not in ("primitive", "block")}
primitives = {case["subject"] for case in cases if case["kind"] == "primitive"}


def fault(case):
    """What is wrong with a case: a pass has its times, and speed-ups, or says which other work made them worthless."""
    if case["verdict"] != "pass":
        return case["reason"] or "no reason given"
    if not case["wide"]["ci95_us"]:
        return "no interval"
    if not case.get("circumstances", {}).get("disturbed") and not (case["speedup"] and case["speedup_best_rival"]):
        return "no speed-up, and nothing disturbed it"
    return None


faults = [f"{case['subject']} N={case['n']}: {case['verdict']}: {fault(case)}" for case in cases if fault(case)]
disturbed = sum(bool(case.get("circumstances", {}).get("disturbed")) for case in cases)
if len(cases) < 40 or len(zoo) < 7 or len(primitives) < 12 or not {2, 4, 8} <= {case["n"] for case in cases}:
    faults.append(f"{len(cases)} cases, {len(zoo)} models, {len(primitives)} primitives: 40, 7 and 12 are promised")
print("\n".join(faults) or f"{len(cases)} cases over {len(zoo)} models and {len(primitives)} primitives: all pass; {disturbed} of them beside other work, without a speed-up")
sys.exit(bool(faults))

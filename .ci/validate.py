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
faults = [f"{case['subject']} N={case['n']}: {case['verdict']}: {case['reason']}" for case in cases
          if case["verdict"] != "pass" or not case["wide"]["ci95_us"] or not case["speedup"] or not case["speedup_best_rival"]]
if len(cases) < 40 or len(zoo) < 7 or len(primitives) < 12 or not {2, 4, 8} <= {case["n"] for case in cases}:
    faults.append(f"{len(cases)} cases, {len(zoo)} models, {len(primitives)} primitives: 40, 7 and 12 are promised")
print("\n".join(faults) or f"{len(cases)} cases over {len(zoo)} models and {len(primitives)} primitives: all pass")
sys.exit(bool(faults))

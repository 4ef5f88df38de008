"""Every model of the corpus runs as one wide model and gives what eager PyTorch gave, member by member.

usage: corpus_test.py WIDEBENCH

Folders: tests/corpus, tests/cases, and the folders of models that $WIDEBENCH_CORPUS names (separated by ":"). Those of
tests/cases are proved, too, and run by `sequential`; one member alone is tried with those that lie in this repository.
"""
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

import program

AT_ONCE = 2
CASES = program.CORPUS.parent / "cases"
LARGEST_SEQUENTIAL = 0.10  # of the tensor-computing nodes of all models together but the cases, which are chosen for what is hard


def folders():
    """By name: a model that stands in several corpora is run once."""
    roots = [program.CORPUS, CASES] + [pathlib.Path(root) for root in os.environ.get("WIDEBENCH_CORPUS", "").split(":") if root]
    found = {}
    for root in roots:
        models = sorted(root.glob("*/model.pt2"))
        if not models:
            sys.exit(f"{root}: no folder there holds a model.pt2")
        for model in models:
            found.setdefault(model.parent.name, model.parent)
    return list(found.values())


def run_on(widebench, folder, weights, *more):
    """What is wrong with a run on these checkpoints, nothing when it is right; and its coverage."""
    golden = folder / "golden.safetensors"
    with tempfile.TemporaryDirectory() as out:
        outputs = pathlib.Path(out) / "outputs.safetensors"
        done = program.run(widebench, "run", "--model", folder / "model.pt2", "--weights", *weights, "--inputs", golden,
                           "--outputs", outputs, "--expect", golden, "--json", *more)
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr.strip()}", {}
        given = program.read_safetensors(golden)
        stems = {path.stem for path in weights}
        wanted = sum(given_name.split(".output.")[0] in stems for given_name in given if ".output." in given_name)
        wanted = wanted // len(stems) * len(weights)
        said = json.loads(done.stdout)
        compared = len(said["expectations"])
        written = len(program.read_safetensors(outputs))
        if not compared == written == wanted:
            return f"{wanted} outputs expected, {compared} compared, {written} written", {}
    return None, said["coverage"]


def proof(widebench, folder, weights):
    done = program.run(widebench, "test", "--model", folder / "model.pt2", "--weights", *weights)
    return f"exit {done.returncode}: {done.stderr.strip()[-400:]}" if done.returncode != 0 else None


def check(widebench, folder):
    """[(check, what is wrong or None)] and the coverage of four members."""
    seeds = program.seeds(folder)
    wrong, cover = run_on(widebench, folder, seeds)
    results = [("four members", wrong), ("two and two", run_on(widebench, folder, [seeds[0], seeds[0], seeds[1], seeds[1]])[0])]
    if folder.parent in (program.CORPUS, CASES):
        results.append(("one member", run_on(widebench, folder, seeds[:1])[0]))
    if folder.parent == CASES:
        results.append(("sequential", run_on(widebench, folder, seeds, "-s", "sequential")[0]))
        results.append(("proof", proof(widebench, folder, seeds)))
    return results, cover


def main():
    widebench, passed, failed = sys.argv[1], 0, 0
    nodes = sequential = 0
    operators = {}
    models = folders()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for folder, (results, cover) in zip(models, pool.map(lambda one: check(widebench, one), models)):
            if folder.parent == CASES:
                cover = {}
            nodes += cover.get("nodes", 0)
            sequential += cover.get("sequential", 0)
            for name, count in cover.get("sequential_ops", {}).items():
                operators[name] = operators.get(name, 0) + count
            for name, wrong in results:
                passed, failed = passed + (wrong is None), failed + (wrong is not None)
                if wrong:
                    print(f"FAILED {folder.name}, {name}: {wrong}")
    wide_enough = nodes > 0 and sequential <= LARGEST_SEQUENTIAL * nodes
    passed, failed = passed + wide_enough, failed + (not wide_enough)
    print(f"{'' if wide_enough else 'FAILED '}{sequential} of {nodes} tensor-computing nodes run sequential, "
          f"{100 * sequential / max(nodes, 1):.1f} % (at most {100 * LARGEST_SEQUENTIAL:.0f} %)")
    for name, count in sorted(operators.items(), key=lambda item: -item[1]):
        print(f"  sequential: {name} x{count}")
    print(f"{len(models)} models: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

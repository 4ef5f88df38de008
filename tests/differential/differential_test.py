"""Makes random modules, runs them by PyTorch and by us, and says where we differ: differential_test.py DRIVER [options].
Exits with 1 where an answer is wrong, a process dies or we refuse what PyTorch does not, unless known.json lists it; with 77 where
there is no torch."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WORST = ("crash", "timeout", "fault", "differs", "refused", "right")


def drive(driver, folders, jobs, seconds):
    """Verdicts by folder; the list is dealt out to `jobs` drivers."""
    def run(part):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
            listed.write("\n".join(str(folder) for folder in part))
            listed.flush()
            done = subprocess.run([driver, "--seconds", str(seconds), listed.name], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the driver ended with {done.returncode}: {done.stderr[-500:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = [folders[k::jobs] for k in range(jobs) if folders[k::jobs]]
        return {pathlib.Path(one["case"]): one["runs"] for part in pool.map(run, parts) for one in part}


def kind_of(text, run=""):
    """A message without what differs from case to case."""
    text = re.sub(r" \[(eager|default|reduce-overhead|max-autotune), .*", "", text)
    text = re.sub(r"^pass \d+: ", "", text)
    text = re.sub(r"\S*/\S+: ", "", text)
    text = re.sub(r"%\w+ ", "", text)
    text = re.sub(r"node '\w+'", "node", text)
    text = re.sub(r"\([\w.]*\): ", ": ", text)
    text = re.sub(r"element \d+ of \d+: got \S+, expected \S+, allowed \S+", "wrong numbers", text)
    text = re.sub(r"seed\d+\.(output|buffer)[\w.]*", r"\1", text)
    text = re.sub(r"member seed\d+, output \d+.*", "a member's output", text)
    if run == "proof" and text.startswith("plan: "):
        text = re.sub(r"aten\.[\w.]+ ?|'\w+'", "…", text)
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?|-?nan|-?inf\b|null", "#", text)[:230]


def judge(about, runs):
    """(verdict, [(run, verdict, text)]) of one case."""
    found = []
    for run, result in runs.items():
        verdict, text = result["verdict"], result["text"]
        # What PyTorch refuses too, eagerly or as the exported program, we may refuse.
        if verdict == "refused" and (about["raised"] is not None or about["may_refuse"]):
            continue
        # What hangs on rounding cannot be proved.
        if verdict == "differs" and run == "proof" and about["unstable"]:
            continue
        if verdict != "right":
            found.append((run, verdict, text))
    return min((verdict for _, verdict, _ in found), key=WORST.index, default="right"), found


def is_known(known, verdict, text):
    return any(entry["verdict"] == verdict and re.search(entry["text"], text) for entry in known)


class Tally:
    def __init__(self, known):
        self.known, self.verdicts, self.kinds = known, collections.Counter(), {}
        self.operators = {"right": collections.Counter(), "all": collections.Counter()}
        self.both_refuse = 0

    def add(self, folder, runs):
        about = json.loads((folder / "case.json").read_text())
        verdict, found = judge(about, runs)
        if found and all(is_known(self.known, how, text) for _, how, text in found):
            verdict = f"known ({verdict})"
        self.verdicts[verdict] += 1
        refused = any(result["text"].startswith("refused as") or result["verdict"] == "refused" for result in runs.values())
        self.both_refuse += verdict == "right" and refused
        self.operators["all"].update(about["operators"])
        if verdict == "right":
            self.operators["right"].update(about["operators"])
        by_kind = collections.defaultdict(list)
        for run, how, text in found:
            by_kind[how, kind_of(text, run)].append((run, text))
        for kind, places in by_kind.items():
            self.kinds.setdefault(kind, []).append((folder.name, places))
        return verdict

    def print(self):
        for (how, kind), cases in sorted(self.kinds.items(), key=lambda item: (WORST.index(item[0][0]), -len(item[1]))):
            runs = collections.Counter(run for _, places in cases for run, _ in places)
            print(f"{how:8} {len(cases):4}x {kind}\n         in {', '.join(runs)}; e.g. {' '.join(name for name, _ in cases[:3])}: {cases[0][1][0][1][:300]}")
        total = sum(self.verdicts.values())
        print(f"\n{total} cases: " + ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.most_common()) +
              f" ({self.both_refuse} of the right ones refused by PyTorch and by us)")
        print(f"{len(self.operators['all'])} operators in all cases, {len(self.operators['right'])} in those that are right")

    def bad(self):
        return sum(count for verdict, count in self.verdicts.items() if verdict != "right" and not verdict.startswith("known"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("driver", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=60, help="a case that takes longer is a find")
    parser.add_argument("--cases", type=pathlib.Path, help="run the cases of this folder again; nothing is generated")
    parser.add_argument("--out", type=pathlib.Path, help="keep all cases here")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the cases that are finds here")
    parser.add_argument("--operators", type=pathlib.Path, help="write how often each operator was in a case, and in one that is right")
    options = parser.parse_args()
    try:
        import safetensors.torch  # noqa: F401
        import torch
    except (ImportError, OSError) as error:
        print(f"SKIPPED: Python's torch cannot be imported ({error}); scripts/setup --profile full installs it")
        return 77
    import generate
    import kept
    with tempfile.TemporaryDirectory() as temporary:
        if options.cases:
            made = sorted(file.parent for file in options.cases.glob("*/case.json"))
        else:
            def make(folder):
                made, reasons = generate.generate(folder, options.seed, options.first, options.count, options.jobs)
                return [one.name for one in made], reasons
            if len(sys.argv) == 2:
                out, (names, reasons) = kept.cases("random", make)
            else:
                out = options.out or pathlib.Path(temporary)
                names, reasons = make(out)
            made = [out / name for name in names]
            reasons = collections.Counter(reasons)
            grouped = collections.Counter()
            for reason, count in reasons.items():
                grouped[re.sub(r":.*", "", reason)] += count
            print(f"{options.count} modules of torch {torch.__version__}; not counted: " +
                  ", ".join(f"{count} ({reason})" for reason, count in grouped.most_common()))
        tally = Tally(json.loads((HERE / "known.json").read_text()))
        results = drive(options.driver, made, options.jobs, options.seconds)
        for folder in made:
            verdict = tally.add(folder, results[folder])
            if options.keep and verdict != "right" and not verdict.startswith("known"):
                shutil.copytree(folder, options.keep / folder.name, dirs_exist_ok=True)
        tally.print()
    if options.operators:
        options.operators.write_text("".join(f"{name} {count} {tally.operators['right'][name]}\n" for name, count in sorted(tally.operators["all"].items())))
    return 1 if tally.bad() else 0


if __name__ == "__main__":
    sys.exit(main())

"""Makes case folders of random modules: generate.py --out FOLDER [--seed S] [--first K] [--count C] [--jobs J]. Module K of
seed S is always the same. Prints how many there are, and why the others are none."""
import argparse
import collections
import json
import logging
import multiprocessing
import os
import pathlib
import shutil
import signal
import sys
import warnings

SPAN = 1_000_000  # modules of one --seed


def make_one(arguments):
    number, folder, seconds = arguments
    import golden
    import torch
    torch.set_num_threads(1)

    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        golden.make_case(number, folder)
        return ""
    except golden.Unfit as error:
        reason = str(error)
    except TimeoutError:
        reason = "takes too long"
    except Exception as error:  # the generator's own faults are counted too, by their names
        reason = f"generator: {type(error).__name__}: {str(error)[:100]}"
    finally:
        signal.alarm(0)
        torch._dynamo.reset()
    shutil.rmtree(folder, ignore_errors=True)
    return reason


def quiet_logs():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)


def start():
    """In each process that makes cases: PyTorch's own talk goes nowhere."""
    quiet_logs()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import golden  # noqa: F401  here, as the process that deals out work needs no torch,
    import torch._dynamo  # noqa: F401  and before a time limit that could cut an import in two
    import torch.export  # noqa: F401


def generate(out, seed, first, count, jobs, seconds=30):
    """Folders made, and a Counter of reasons of those not made."""
    out.mkdir(parents=True, exist_ok=True)
    work = [(seed * SPAN + number, out / f"case{seed}_{number:06}", seconds) for number in range(first, first + count)]
    reasons = collections.Counter()
    # Processes are renewed: torch.export keeps memory of what it saw.
    with multiprocessing.get_context("spawn").Pool(jobs, start, maxtasksperchild=400) as pool:
        made = []
        for (_, folder, _), reason in zip(work, pool.imap(make_one, work, chunksize=4)):
            if reason:
                reasons[reason] += 1
            else:
                made.append(folder)
    return made, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    made, reasons = generate(options.out, options.seed, options.first, options.count, options.jobs)
    for reason, count in reasons.most_common(40):
        print(f"{count:5} {reason}")
    operators = collections.Counter(op for folder in made for op in json.loads((folder / "case.json").read_text())["operators"])
    print(f"{len(made)} cases of {options.count} modules, {len(operators)} operators")


if __name__ == "__main__":
    sys.exit(main())

"""Makes a find smaller: reduce.py DRIVER CASE OUT. Drops outputs, statements, weights and inputs of CASE/module.py as long as the
case differs, or is refused, in the same way; the smallest is written as the case folder OUT."""
import ast
import json
import pathlib
import shutil
import sys
import tempfile

import torch

import differential_test
import generate
import golden


def way(driver, source, about, folder):
    """The kinds of difference of the case that this text makes; nothing where it makes none."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        golden.Case(source, about["seed"], about["batches"][0], about["joint"], form=about.get("form", "")).save(folder)
    except Exception:  # no case: not this way
        return set()
    finally:
        torch._dynamo.reset()
    runs = differential_test.drive(driver, [folder], 1, 60)[folder]
    _, found = differential_test.judge(json.loads((folder / "case.json").read_text()), runs)
    return {(verdict, differential_test.kind_of(text, run)) for run, verdict, text in found}


def parts(tree):
    module, inputs = [node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))][-2:]
    init, forward = module.body
    return init, forward, inputs


def smaller(source):
    """Texts with one thing less, the likeliest first."""
    init, forward, _ = parts(ast.parse(source))
    outputs = forward.body[-1].value.elts
    for keep in range(len(outputs)) if len(outputs) > 1 else ():
        tree = ast.parse(source)
        returned = parts(tree)[1].body[-1].value
        returned.elts = [returned.elts[keep]]
        yield ast.unparse(tree)
    for place in reversed(range(len(forward.body) - 1)):
        tree = ast.parse(source)
        del parts(tree)[1].body[place]
        yield ast.unparse(tree)
    for place in reversed(range(1, len(init.body) - 1)):
        tree = ast.parse(source)
        del parts(tree)[0].body[place]
        yield ast.unparse(tree)
    names = [argument.arg for argument in forward.args.args[1:]]
    for place, name in enumerate(names) if len(names) > 1 else ():
        if sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(forward)) == 0:
            tree = ast.parse(source)
            _, function, inputs = parts(tree)
            del function.args.args[place + 1], inputs.body[0].value.elts[place]
            yield ast.unparse(tree)


def as_text(source):
    """Inputs a line each, as golden.py looks for them."""
    head, tail = source.rsplit("    return ", 1)
    inputs = ast.parse(tail.strip(), mode="eval").body.elts
    return head + "    return (\n" + "".join(f"        {ast.unparse(one)},\n" for one in inputs) + "    )\n"


def reduce(driver, folder, out):
    about = json.loads((folder / "case.json").read_text())
    source = (folder / "module.py").read_text()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = pathlib.Path(temporary) / folder.name
        wanted = way(driver, source, about, scratch)
        again = bool(wanted)
        while again:
            again = False
            for text in map(as_text, smaller(source)):
                if way(driver, text, about, scratch) & wanted:
                    source, again = text, True
                    break
        way(driver, source, about, out)
    return wanted, source


if __name__ == "__main__":
    generate.quiet_logs()
    found, text = reduce(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    print(text)
    for verdict, kind in sorted(found):
        print(f"{verdict}: {kind}")

"""What a user with `mypy --strict` writes. typing_test.py runs it, and has mypy look at it where that is installed."""
from typing import assert_type

import torch

import widebench


def members() -> list[torch.nn.Module]:
    return [torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval() for _ in range(3)]


def init(copy: torch.nn.Module, i: int) -> None:
    for parameter in copy.parameters():
        torch.nn.init.constant_(parameter, float(i))


def main() -> None:
    x, models, told = torch.randn(2, 4), members(), list[str]()
    config = widebench.Config.fast(seed=3)
    assert_type(config, widebench.Config)
    wide = widebench.compile(models, (x,), mode="eager", config=config, in_dims=None, names=["a", "b", "c"], progress=told.append)
    assert_type(wide, widebench.Wide)
    answers: torch.Tensor = wide(x)
    assert_type(widebench.reduce.mean(answers), torch.Tensor)
    assert_type(widebench.reduce.quantiles(answers, [0.1, 0.9]), torch.Tensor)
    assert_type(wide.names, list[str])
    assert_type(wide.plan(), str)
    proof = wide.verify()
    assert_type(proof.passed, bool)
    assert_type(proof.checks[0].max_abs, float)
    assert_type(wide.explain().text, str)
    assert_type(wide.benchmark(rounds=2).speedup("eager"), tuple[float, float, float])
    assert_type(wide.state_dict(0), dict[str, torch.Tensor])
    assert_type(wide.unpack(), list[torch.nn.Module])
    wide.add(models[0], name="d")
    wide.replace("b", models[2].state_dict())
    wide.load_member(0, models[1].state_dict())
    wide.drop("d")
    wide.refresh()
    copies = widebench.compile(models[0], x, n=2, config="fast", init=init)
    assert_type(len(copies), int)
    built = widebench.builder(models).with_sample(x).config(config).strategy("auto").validate(False).mode("eager").build()
    assert_type(built, widebench.Wide)
    try:
        wide(x, x)
    except widebench.Error as error:
        assert_type(error.stage, str)
        assert_type(error.advice, str)


if __name__ == "__main__":
    main()

"""What the tests of this folder share. Importing it skips the test where the package cannot be imported."""
import sys

try:
    import torch

    import widebench
except (ImportError, OSError) as error:
    print(f"SKIPPED: the package or Python's torch cannot be imported ({error}); scripts/setup --profile full installs torch")
    sys.exit(77)


def net(width=32, activation=torch.nn.ReLU):
    return torch.nn.Sequential(torch.nn.Linear(16, width), activation(), torch.nn.Linear(width, 4)).eval()


def nets(n, **settings):
    return [net(**settings) for _ in range(n)]


def close(test, got, expected):
    test.assertEqual(got.shape, expected.shape)
    test.assertEqual(got.dtype, expected.dtype)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def same_as_modules(test, wide, modules, *inputs):
    """Each member's answer is its module's own."""
    with torch.no_grad():
        answers = wide(*inputs)
        for i, module in enumerate(modules):
            close(test, answers[i], module(*inputs))

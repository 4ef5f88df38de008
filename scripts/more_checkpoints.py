"""Copies checkpoints into a folder, in turns, until there are N; copies of copies have floats scaled a little.

    more_checkpoints.py FOLDER N FILE.safetensors...
"""
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, count, files = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    for member in range(count):
        tensors = load_file(files[member % len(files)])
        factor = 1 + member // len(files) / 64
        scaled = {name: one * factor if one.is_floating_point() else one for name, one in tensors.items()}
        save_file(scaled, folder / f"member{member:04}.safetensors")


if __name__ == "__main__":
    main()

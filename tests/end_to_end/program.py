"""Runs of the program, small model files and checkpoints to run it on, and files with one thing wrong in them."""
import json
import os
import pathlib
import struct
import subprocess
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
TIME_LIMIT = 300  # seconds a run may take


def run(program, *arguments, threads=1):
    """One thread inside: runs are started side by side."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    return subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="backslashreplace", timeout=TIME_LIMIT, env=environment, check=False)


def seeds(folder):
    return [folder / f"seed{i}.safetensors" for i in range(4)]


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[8 + size:][slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))
    return path


def read_archive(path):
    """{member: bytes}, in the order of the file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def data_position(path, member):
    """Where the bytes of a stored member begin in the file."""
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(member).header_offset
    header = path.read_bytes()[start:start + 30]
    return start + 30 + sum(struct.unpack("<HH", header[26:30]))

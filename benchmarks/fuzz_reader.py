"""Mutated lines of svmlight text, against scikit-learn.

    python benchmarks/fuzz_reader.py [--minutes 1] [--seed 0]

Every line must either be read as scikit-learn reads it, to the last bit, or be refused with its
number. Each line is parsed alone. Of a batch, the accepted lines make one file, read whole by both;
all lines make another, which must be refused at the first line that was refused alone.
"""

import io
import re
from pathlib import Path

import numpy as np
from harness.files import same
from harness.fuzzing import Door, Tried, fuzz
from sklearn.datasets import load_svmlight_file

from dplasso.reading import byte_source, read_rows
from dplasso.reading.svmlight import _LARGEST_INDEX, _parse

BATCH = 2000
BYTES = b"0123456789" * 3 + b":::+-..eE##  \t\r\v\f,_qidnafxINF\x00\x7f\x80\xff"


def random_number(rng: np.random.Generator) -> str:
    kind = rng.integers(6)
    if kind == 0:
        return str(rng.integers(-1000, 1000))
    if kind == 1:  # any double
        value = float(np.frombuffer(rng.bytes(8), np.float64)[0])
        return repr(value)
    if kind == 2:
        return f"{rng.integers(10**18)}{rng.integers(10**18)}.{rng.integers(10**9)}"
    if kind == 3:
        return f"{rng.integers(10**6)}e{rng.integers(-340, 340)}"
    return f"{rng.normal():.{rng.integers(1, 20)}g}"


def random_line(rng: np.random.Generator) -> bytes:
    words = [random_number(rng)]
    if rng.random() < 0.1:
        words.append(f"qid:{rng.integers(100)}")
    indices = np.unique(rng.integers(0, 10 ** rng.integers(1, 10), rng.integers(0, 6)))
    words += [f"{index}:{random_number(rng)}" for index in indices]
    if rng.random() < 0.1:
        words.append("# 1:2")
    return rng.choice([" ", "  ", "\t"], p=[0.8, 0.1, 0.1]).join(words).encode()


def mutated(rng: np.random.Generator, line: bytes) -> bytes:
    """A few bytes replaced, inserted, deleted or repeated; one line in eight is left as it is."""
    bent = bytearray(line)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 8])):
        place, size = int(rng.integers(len(bent) + 1)), int(rng.integers(3))
        new = BYTES[rng.integers(len(BYTES))]
        bent[place : place + size] = [b"", bytes([new]), bent[place : place + 6]][rng.integers(3)]
    return bytes(bent)


def reason_alone(line: bytes) -> int:
    return _parse(np.frombuffer(bytearray(line + b"\n"), np.uint8), 0, _LARGEST_INDEX)[1]


def read(path: Path):
    rows = read_rows(path, zero_based=True)
    return rows.X, rows.y


def read_by_scikit_learn(text: bytes):
    try:
        return load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, OverflowError):
        return None


def odd_ones(path: Path, accepted: list[bytes]) -> list[bytes]:
    """The accepted lines that scikit-learn reads in another way, or not at all."""
    odd = []
    for line in accepted:
        path.write_bytes(line + b"\n")
        theirs = read_by_scikit_learn(line + b"\n")
        if theirs is None or not same(read(path), theirs):
            odd.append(line)
    return odd


def check(path: Path, lines: list[bytes], reasons: list[int]) -> list[bytes]:
    """The lines of a batch that are not dealt with as they should be."""
    accepted = [line for line, reason in zip(lines, reasons, strict=True) if reason == 0]
    text = b"\n".join(accepted)
    path.write_bytes(text)
    theirs = read_by_scikit_learn(text)
    if theirs is None or not same(read(path), theirs):
        return odd_ones(path, accepted)
    path.write_bytes(b"\n".join(lines))
    first = next((k for k, reason in enumerate(reasons) if reason), None)
    try:
        read(path)
        found = None
    except ValueError as error:
        found = int(re.search(r", line (\d+): ", str(error))[1]) - 1
    return [] if found == first else lines[: (first or 0) + 1]


def batch(folder: Path, seed: int) -> Tried:
    """Lines of one batch, read alone and together, in blocks of some size."""
    rng = np.random.default_rng(seed)
    lines = [mutated(rng, random_line(rng)) for _ in range(BATCH)]
    byte_source.BLOCK = int(rng.choice([64, 1000, 30_000, 1 << 22]))
    failures = check(folder / "lines", lines, [reason_alone(line) for line in lines])
    assert not failures, f"{len(failures)} lines, the first of them {failures[0]!r}"
    return Tried(sum(map(len, lines)), BATCH)


DOORS = [Door("svmlight lines", lambda folder: folder, batch)]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)

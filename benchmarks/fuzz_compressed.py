"""Compressed streams of svmlight text, altered or made to unpack to very much.

    python benchmarks/fuzz_compressed.py [--minutes 1] [--seed 0]

Every file is read in memory for a block and a line at a time, and either gives the same rows as the
text that went in or is refused by an error that names it. Lines of a growing file are read too.
"""

import bz2
import gzip
import lzma
import random
from pathlib import Path

import zstandard
from harness.fuzzing import Door, Tried, fuzz
from harness.fuzzing.door import MIB
from harness.fuzzing.mutators import bent, flipped

from dplasso.reading import svmlight_chunks
from dplasso.reading.line_source import LineSource

LONGEST = 2 * MIB
PACKERS = {
    "gzip": lambda text: gzip.compress(text, 1),
    "bzip2": bz2.compress,
    "xz": lambda text: lzma.compress(text, preset=0),
    "zstd": zstandard.compress,
}


def streams(_: Path) -> dict[str, tuple[bytes, bytes, bytes]]:
    """For every format: rows, many rows, and one endless line, packed."""
    rows = b"".join(b"%d 1:%d 7:0.5\n" % (k % 2, k) for k in range(200))
    texts = (rows, rows * 2000, b"1" * (16 * MIB))
    return {form: tuple(map(pack, texts)) for form, pack in PACKERS.items()}


def stream(held: dict[str, tuple[bytes, bytes, bytes]], seed: int) -> Tried:
    rng = random.Random(seed)
    short, long, line = held[rng.choice(list(held))]
    kind = rng.randrange(10)
    if kind < 5:
        content = (flipped if rng.random() < 0.6 else bent)(rng, short * rng.choice((1, 1, 2)))
    elif kind < 7:
        content = short + flipped(rng, long)
    elif kind < 9:
        content = short + line * rng.choice((1, 4, 16))
    else:  # formats one after another
        content = short + rng.choice(list(held.values()))[0]
    path = Path("rows")
    path.write_bytes(content)
    try:
        chunks = svmlight_chunks(path, n_features=9, zero_based=False, longest_line=LONGEST)
        for chunk in chunks:
            assert len(chunk.indptr) == chunk.rows + 1
    except ValueError as error:
        assert str(path) in str(error), f"unclear: {error}"
    return Tried(len(content))


def growing(_: object, seed: int) -> Tried:
    rng = random.Random(seed)
    text = rng.choice((b"1 1:1\n", b"\n", b"x" * 1000, b"\x00")) * rng.choice((0, 1, 100, 5000))
    text = bent(rng, text)
    path = Path("growing")
    path.write_bytes(text)
    found = b""
    with LineSource(path) as source:
        while (lines := source.lines(rng.choice((1, 7, 4096)))) is not None:
            found += lines
    ended = text + b"\n" if text and not text.endswith(b"\n") else text
    assert found == ended and source.position == len(found)
    return Tried(len(text))


DOORS = [
    Door("compressed svmlight", streams, stream, flat=300 * MIB),
    Door("lines of a growing file", lambda folder: folder, growing, flat=64 * MIB),
]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)

"""CSV and Parquet files, altered: read in bounded memory, or refused by a clear error.

    python benchmarks/fuzz_tables.py [--minutes 1] [--seed 0]

Files are made small and sound, then bytes are flipped, inserted, doubled and cut off. Parquet files
have several encodings, compressions and sizes of pages; half of them are made to unpack to much.
"""

import gzip
import random
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import zstandard
from harness.fuzzing import Door, Tried, fuzz
from harness.fuzzing.door import MIB
from harness.fuzzing.mutators import TEXTS, bent, flipped

from dplasso.reading.plans import TablePlan
from dplasso.reading.tables import column_texts, table_chunks

PLAN = TablePlan("y", {"age": (0, 120)}, {"town": 64, "note": 64}, text=("note",), ignore=("id",))
CELLS = ("", "1", "-1e400", "nan", "inf", '"', '""', '"a\nb"', ",", "\r", "\n", "\x00", *TEXTS)


def read(path: Path, size: int) -> Tried:
    """All rows, with labels and without, and a column as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for labelled in (True, False):
            try:
                _, chunks, _ = table_chunks(path, PLAN, labelled=labelled)
                for chunk in chunks:
                    assert np.isfinite(chunk.values).all() and len(chunk.indptr) == chunk.rows + 1
            except ValueError as error:
                known = (str(path), "--", "classes must be")
                assert any(part in str(error) for part in known), f"unclear: {error}"
                assert not isinstance(error, UnicodeError), "an error that shows bytes"
        try:
            assert all(isinstance(text, str) for text in column_texts(path, "id"))
        except ValueError as error:
            assert str(path) in str(error)
    return Tried(size)


def csv(_: object, seed: int) -> Tried:
    rng = random.Random(seed)
    names = ["id", "age", "town", "note", "y"]
    rows = [[str(k), str(k % 90), f"t{k % 5}", f"well {k}", str(k % 2)] for k in range(30)]
    for _ in range(rng.choice((0, 1, 3))):
        rng.choice(rows)[rng.randrange(5)] = rng.choice(CELLS)
    if rng.random() < 0.2:
        rng.choice(rows).append("more")
    text = "\n".join(",".join(row) for row in [names, *rows]).encode()
    if rng.random() < 0.6:
        text = bent(rng, text)
    if rng.random() < 0.1:
        text = text.replace(b"Ulm", b"U" * rng.choice((10, 10**6, 5 * 10**6)))
    ending, packed = ".csv", text
    if rng.random() < 0.3:
        ending, pack = rng.choice(((".csv.gz", gzip.compress), (".csv.zst", zstandard.compress)))
        packed = pack(text)
        packed = flipped(rng, packed) if rng.random() < 0.5 else packed
    path = Path(f"rows{ending}")
    path.write_bytes(packed)
    return read(path, len(text))


def parquet_files(folder: Path) -> list[bytes]:
    """Sound ones, of many encodings."""
    rng, found = np.random.default_rng(0), []
    towns = [f"t{k}" for k in rng.integers(0, 7, 400)]
    columns = {"id": np.arange(400).astype(str), "age": rng.uniform(0, 90, 400), "town": towns}
    columns |= {"note": [f"well {k % 9}" for k in range(400)], "y": np.arange(400) % 2}
    long = {**columns, "note": ["x" * 100_000] * 400, "town": ["y" * 10_000] * 400}
    delta = dict.fromkeys(("id", "town", "note"), "DELTA_BYTE_ARRAY")
    path = folder / "sound.parquet"
    for options in (
        {},
        {"use_dictionary": False, "compression": "none"},
        {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 90},
        {"compression": "gzip", "data_page_size": 300, "write_batch_size": 16},
        {"use_dictionary": False, "column_encoding": delta, "compression": "zstd"},
    ):
        for content in (columns, long):
            pa.parquet.write_table(pa.table(content), path, **options)
            found.append(path.read_bytes())
    return found


def parquet(files: list[bytes], seed: int) -> Tried:
    rng = random.Random(seed)
    content = rng.choice(files)
    if rng.random() < 0.9:
        # The footer says where all else is: half of the alterations are there.
        cut = max(0, len(content) - 2500) if rng.random() < 0.5 else 0
        change = flipped if rng.random() < 0.7 else bent
        content = content[:cut] + change(rng, content[cut:])
    path = Path("rows.parquet")
    path.write_bytes(content)
    return read(path, len(content))


DOORS = [
    Door("CSV tables", lambda folder: folder, csv),
    Door("Parquet tables", parquet_files, parquet, seconds=20.0, flat=512 * MIB),
]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)

"""However well a file is compressed, reading takes memory for what is read at a time."""

import bz2
import contextlib
import gzip
import io
import lzma
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import zstandard

from dplasso.base import memory
from dplasso.data import row_chunks
from dplasso.reading import byte_source, svmlight_chunks
from dplasso.reading.byte_source import line_blocks
from dplasso.reading.line_source import LineSource
from dplasso.reading.parquet_pages import _struct, column_chunks, pages_of
from dplasso.reading.plans import TablePlan
from dplasso.reading.tables import column_texts, table_chunks

MIB = 1 << 20
PACKERS = {
    "gzip": lambda text: gzip.compress(text, 1),
    "bzip2": bz2.compress,
    "xz": lambda text: lzma.compress(text, preset=0),
    "zstd": zstandard.compress,
}
packed = pytest.mark.parametrize("form", PACKERS)


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """One line of a gigabyte in every format, as many streams of 16 MiB."""
    folder = tmp_path_factory.mktemp("bombs")
    for form, pack in PACKERS.items():
        (folder / form).write_bytes(pack(b"1 ") + pack(b"1" * (16 * MIB)) * 64)
    return folder


@pytest.fixture
def peak():
    """Bytes that were taken at most since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@packed
def test_a_line_of_a_gigabyte_is_refused_in_bounded_memory(bombs, form, peak):
    with pytest.raises(ValueError, match=r"a line is longer than 8 MiB.*longest_line"):
        list(svmlight_chunks(bombs / form, n_features=9, zero_based=False, longest_line=8 * MIB))
    assert peak() < 120 * MIB


@packed
def test_short_lines_of_any_number_are_read_in_bounded_memory(tmp_path, form, peak):
    path, lines = tmp_path / "rows", b"1 2:1\n" * (4 * MIB // 6)
    path.write_bytes(PACKERS[form](lines) * 8)
    assert sum(len(block) for block in line_blocks(path)) == 8 * len(lines)
    assert peak() < 100 * MIB


@pytest.mark.parametrize("form", ["plain", *PACKERS])
@pytest.mark.parametrize("size", [3, 16, 1000])
def test_the_longest_line_that_is_allowed_is_read_and_a_longer_one_is_not(tmp_path, form, size):
    path, pack = tmp_path / "rows", PACKERS.get(form, bytes)
    for end in (b"", b"\nb\n"):
        path.write_bytes(pack(b"a\n" + b"x" * 100 + end))
        read = b"".join(block.tobytes() for block in line_blocks(path, size=size, longest_line=100))
        assert read.startswith(b"a\n" + b"x" * 100 + b"\n")
    if size > 1 + 2 * 100:
        return  # such a line fits in a block, which is in memory anyway
    path.write_bytes(pack(b"a\n" + b"x" * 300 + b"\nb\n"))
    with pytest.raises(ValueError, match="longer than 100 bytes"):
        list(line_blocks(path, size=size, longest_line=100))


@pytest.mark.parametrize("form", ["xz", "zstd"])
def test_what_asks_for_a_large_window_is_refused(tmp_path, form):
    text = b"1 1:1\n" * 1000
    if form == "xz":
        small = {"mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "dict_size": 130 * MIB}
        packed = lzma.compress(text, filters=[{"id": lzma.FILTER_LZMA2, **small}])
    else:
        settings = zstandard.ZstdCompressionParameters(window_log=30)
        maker = zstandard.ZstdCompressor(compression_params=settings).compressobj()
        packed = maker.compress(text) + maker.flush()
    (tmp_path / "rows").write_bytes(packed)
    with pytest.raises(ValueError, match="needs more than 128 MiB at a time"):
        list(line_blocks(tmp_path / "rows"))


def test_a_line_of_a_stream_has_a_limit_too(tmp_path, monkeypatch):
    from dplasso.reading import line_source

    monkeypatch.setattr(line_source, "LONGEST_LINE", 1 << 19)
    path = tmp_path / "rows"
    path.write_bytes(b"1 1:1\n" + b"x" * (2 << 20) + b"\n")
    with LineSource(path) as source:
        assert source.lines(1) == b"1 1:1\n"
        with pytest.raises(ValueError, match="a line is longer"):
            source.lines(1)


def test_lines_of_a_stream_are_those_of_the_file_however_they_come(tmp_path, monkeypatch):
    from dplasso.reading import line_source

    monkeypatch.setattr(line_source, "_PIECE", 7)
    text = b"".join(b"x" * (k % 23) + b"\n" for k in range(200)) + b"no end"
    (tmp_path / "rows").write_bytes(text)
    found, taken = b"", []
    with LineSource(tmp_path / "rows") as source:
        while (lines := source.lines(3)) is not None:
            assert lines.count(b"\n") <= 3
            found += lines
            taken.append(source.position)
    assert found == text + b"\n" and taken == sorted(taken) and taken[-1] == len(found)


def test_rows_that_do_not_fit_in_memory_are_refused_first(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1 * MIB)
    monkeypatch.setattr(row_chunks, "_FIRST_BYTES", 1 << 10)
    many = np.zeros(MIB)
    starts, none = np.zeros(len(many) + 1, np.int64), np.empty(0)
    rows = row_chunks.RowChunk(many, starts, none.astype(int), none)
    with pytest.raises(ValueError, match="holding more rows would need.*column store"):
        row_chunks.assemble([rows], 9)


PLAN = TablePlan("y", hashed={"a": 64})


def parquet(folder, table, **options):
    path = folder / "rows.parquet"
    pa.parquet.write_table(table, path, store_schema=False, **options)
    return path


def read(path, plan=PLAN, **options):
    _, found, _ = table_chunks(path, plan, **options)
    return sum(chunk.rows for chunk in found)


@pytest.fixture
def arrow_peak():
    """The most that pyarrow has held."""
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    return lambda: max(0, pool.max_memory() - before)


def test_a_long_text_that_every_row_has_is_held_once(tmp_path, arrow_peak):
    rows = 20_000
    codes = pa.array(np.zeros(rows, np.int32))
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * MIB]))
    table = pa.table({"a": texts, "y": np.zeros(rows)})
    path = parquet(tmp_path, table, compression="zstd")
    assert path.stat().st_size < 5000
    assert read(path) == rows
    assert read(path, TablePlan("y", hashed={"a": 64}, text=("a",))) == rows
    assert sum(len(text) for text in column_texts(path, "a")) == rows * MIB
    assert arrow_peak() < 200 * MIB


def test_a_page_that_unpacks_to_too_much_is_refused_unopened(tmp_path, arrow_peak):
    table = pa.table({"a": ["x" * MIB] * 100, "y": np.zeros(100)})
    path = parquet(tmp_path, table, compression="zstd", use_dictionary=False)
    del table
    before = arrow_peak()
    with pytest.raises(ValueError, match=r"a page of column 'a' unpacks to .* 64 MiB are allowed"):
        read(path)
    assert arrow_peak() <= before + MIB
    assert read(path, longest_line=200 * MIB) == 100


def test_texts_that_are_encoded_as_differences_come_a_few_at_a_time(tmp_path):
    table = pa.table({"a": ["x" * MIB] * 300, "y": np.zeros(300)})
    encodings = {"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"}
    path = parquet(tmp_path, table, use_dictionary=False, column_encoding=encodings)
    _, found, _ = table_chunks(path, PLAN)
    assert all(chunk.rows <= 64 for chunk in found)
    assert read(path) == 300


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
def test_pages_add_up_to_what_the_footer_says(tmp_path, options):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"a": [f"w{k}" for k in rng.integers(0, 50, 5000)], "y": rng.normal(size=5000)}
    )
    path = parquet(tmp_path, table, data_page_size=2000, row_group_size=1500, **options)
    with pa.parquet.ParquetFile(path) as file, open(path, "rb") as raw:
        groups = column_chunks(raw)
        assert len(groups) == file.metadata.num_row_groups == 4
        for group, chunks in enumerate(groups):
            for place, chunk in enumerate(chunks):
                column = file.metadata.row_group(group).column(place)
                pages = list(pages_of(raw, chunk))
                assert sum(page.values for page in pages if page.encoding is not None) == (
                    column.num_values
                )
                # The footer counts headers of pages too.
                assert sum(page.size for page in pages) <= column.total_uncompressed_size


def test_a_page_that_is_broken_and_a_text_that_is_none_are_refused_without_being_shown(tmp_path):
    table = pa.table({"a": ["wxyz"] * 50, "y": np.zeros(50)})
    path = parquet(tmp_path, table, compression="none", use_dictionary=False)
    sound = path.read_bytes()
    for altered in (
        sound.replace(b"wxyz", b"\xff\xfe\xff\xfe"),
        b"PAR1" + b"\xff" * 40 + sound[44:],
        sound[:4] + b"\x00" * 40 + sound[44:],
    ):
        path.write_bytes(altered)
        for reading in (lambda: read(path), lambda: list(column_texts(path, "a"))):
            with pytest.raises(ValueError, match="cannot be read as a table") as refusal:
                reading()
            assert "0xff" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["csv.gz", "csv.bz2", "csv.zst"])
def test_a_row_of_a_table_that_is_too_long_is_refused(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}[kind[4:]]
    path.write_bytes(pack(b"a,y\n" + b"1" * (32 * MIB)))
    with pytest.raises(ValueError, match=r"a row is longer than 4 MiB.*longest_line"):
        read(path, TablePlan("y", {"a": (0, 1)}))
    path.write_bytes(pack(b"a" * (8 * MIB) + b",y\n1,1\n"))
    with pytest.raises(ValueError, match="a row is longer than 4 MiB"):
        read(path)


def test_a_table_of_very_many_columns_is_read_for_those_that_have_a_role(tmp_path, arrow_peak):
    path = tmp_path / "rows.csv"
    columns = 40_000
    names = ",".join(f"c{k}" for k in range(columns))
    path.write_text(f"{names},y\n" + ("1," * columns + "1\n") * 2)
    assert read(path, TablePlan("y", {"c7": (0, 1)}).schema()) == 2
    assert arrow_peak() < 96 * MIB  # pyarrow 26 takes 79 of these for its own buffers


@pytest.mark.parametrize(
    "head", ['a,"y"', "\ufeffa,y", "\n\na,y", '"a",y', '"a\nb",y', '"a""b",y', " a ,y", "a,y\r"]
)
def test_names_of_columns_are_those_that_pyarrow_reads(tmp_path, head):
    path = tmp_path / "rows.csv"
    path.write_text(f"{head}\n1,2\n", newline="")
    names = pa.csv.open_csv(
        path, parse_options=pa.csv.ParseOptions(newlines_in_values=True)
    ).schema.names
    space, found, _ = table_chunks(path, TablePlan("y", {names[0]: (0, 9)}).schema())
    assert next(iter(space.names)) == names[0] and sum(chunk.rows for chunk in found) == 1


def test_the_limits_are_public_constants():
    assert byte_source.LONGEST_LINE == 64 * MIB and byte_source.WINDOW == 128 * MIB


def test_a_footer_for_which_pyarrow_ends_the_process_is_refused(tmp_path):
    """The counts of a column whose values were optional do not fit one that is required."""
    table = pa.table({"a": ["wxyz"] * 50, "y": np.zeros(50)})
    path = parquet(tmp_path, table)
    content = path.read_bytes()
    for at in range(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 2]) + content[at + 1 :])
        with contextlib.suppress(ValueError):
            read(path)


@pytest.mark.parametrize("inner", [0x19, 0x1C])
def test_a_header_of_a_page_that_is_nested_too_deep_is_refused(inner):
    """A list in a list, or a struct in a struct, as often as the file is long."""
    with pytest.raises(ValueError, match="^a header of a page is nested too deep"):
        _struct(io.BytesIO(bytes([inner]) * 10**5), 0)

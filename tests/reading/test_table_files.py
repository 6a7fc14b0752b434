"""The same table gives the same rows in every kind of file, packing and encoding."""

import bz2
import codecs
import datetime
import gzip
import lzma
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from commanding import people
from dplasso import read_rows
from dplasso.base.wording import ParameterError
from table_forms import ROLES, arrow_table, assert_same, rows_of_people, text_of
from workbooks import write_workbook

PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    path = tmp_path_factory.mktemp("wanted") / "people.csv"
    path.write_text(text_of(rows_of_people()), "utf-8", newline="")
    return read_rows(path, **ROLES)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packing", [None, *PACKERS])
def test_packings_and_line_ends(tmp_path, wanted, packing, end):
    path = tmp_path / ("people.csv" if packing is None else f"people.csv.{packing}")
    content = text_of(rows_of_people(), end=end).encode()
    path.write_bytes(content if packing is None else PACKERS[packing](content))
    assert_same(read_rows(path, **ROLES), wanted)


def test_a_packed_file_is_known_by_its_content(tmp_path, wanted):
    path = tmp_path / "people.csv"
    path.write_bytes(lzma.compress(text_of(rows_of_people()).encode()))
    assert_same(read_rows(path, **ROLES), wanted)


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_files_that_end_early_are_named(tmp_path, packing):
    path = tmp_path / f"people.csv.{packing}"
    path.write_bytes(PACKERS[packing](text_of(people(3000)).encode())[:-20])
    with pytest.raises(ValueError, match=r"people\.csv.*end early; fetch the file again"):
        read_rows(path, **ROLES)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_a_mark_at_the_beginning_says_how_text_is_encoded(tmp_path, wanted, mark, encoding):
    path = tmp_path / "people.csv"
    path.write_bytes(mark + text_of(rows_of_people()).encode(encoding))
    assert_same(read_rows(path, **ROLES), wanted)
    with pytest.raises(ParameterError, match="begins with the mark of UTF-.*leave out encoding"):
        read_rows(path, **ROLES, encoding="latin-1")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859_15"])
def test_text_of_older_programs_is_read_as_it_is_said_to_be_encoded(tmp_path, wanted, encoding):
    rows = [{**row, "town": row["town"].replace("Łódź", "Łodz")} for row in rows_of_people()]
    rows = [{**row, "town": row["town"].replace("Ł", "L")} for row in rows]
    path, plain = tmp_path / "old.csv", tmp_path / "new.csv"
    path.write_bytes(text_of(rows).encode(encoding))
    plain.write_text(text_of(rows), "utf-8", newline="")
    assert_same(read_rows(path, **ROLES, encoding=encoding), read_rows(plain, **ROLES))
    with pytest.raises(ParameterError, match="line 5: this is no text in UTF-8; pass encoding='la"):
        read_rows(path, **ROLES)


def test_a_new_file_may_be_written_in_another_way_than_the_first(tmp_path, wanted):
    path = tmp_path / "new.csv"
    rows = [{**row, "town": row["town"].replace("Łódź", "Bern")} for row in rows_of_people()]
    path.write_bytes(text_of(rows, ";").encode("cp1252"))
    plain = tmp_path / "plain.csv"
    plain.write_text(text_of(rows), "utf-8", newline="")
    again = read_rows(path, like=wanted, delimiter=";", encoding="cp1252")
    assert_same(again, read_rows(plain, like=wanted))


@pytest.mark.parametrize("encoding", ["no such encoding", "base64", "rot13", ""])
def test_what_is_no_encoding_is_named(tmp_path, encoding):
    path = tmp_path / "people.csv"
    path.write_text(text_of(people(3)))
    with pytest.raises(ParameterError, match="encoding must be the name of an encoding"):
        read_rows(path, **ROLES, encoding=encoding)


def test_an_encoding_is_for_text(tmp_path):
    pa.parquet.write_table(pa.Table.from_pylist(people(3)), tmp_path / "people.parquet")
    with pytest.raises(ParameterError, match=r"encoding is for \.csv and \.tsv files"):
        read_rows(tmp_path / "people.parquet", **ROLES, encoding="latin-1")


def test_text_that_is_wide_and_does_not_say_so_is_named(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(text_of(people(3)).encode("utf-16-le"))
    with pytest.raises(ParameterError, match="line 1: there are NUL characters; pass encoding='ut"):
        read_rows(path, **ROLES)
    read_rows(path, **ROLES, encoding="utf-16-le")


CELLS = st.sampled_from(["x", '"a, b"', '"two\nlines"', '"a ""quote"""', "", "Zürich"])


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=12),
    at=st.integers(0, 12),
    bad=st.sampled_from([b"1,2,3,4,5\n", b"1,2\n", b"1,\xff,no\n"]),
    end=st.sampled_from(["\n", "\r\n"]),
    pack=st.sampled_from([bytes, gzip.compress]),
)
@settings(deadline=None, max_examples=60)
def test_the_line_that_is_wrong_is_named(tmp_path_factory, rows, at, bad, end, pack):
    lines = ["a,b,y", *(f"{a},{b},no" for a, b in rows)]
    head = "".join(f"{line}\n" for line in lines[: at + 1])
    tail = "".join(f"{line}\n" for line in lines[at + 1 :])
    content = (head.encode() + bad + tail.encode()).replace(b"\n", end.encode())
    path = tmp_path_factory.mktemp("bad") / "rows.csv"
    path.write_bytes(pack(content))
    with pytest.raises(ValueError, match=rf"rows\.csv, line {head.count(chr(10)) + 1}: "):
        read_rows(path, target="y", classes=["no", "yes"], hashed={"a": 8, "b": 8})


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('a,y\n\n"two\nlines",1\nx,2\nx\n')
    with pytest.raises(ValueError, match="line 6: the row has fewer cells"):
        read_rows(path, target="y", hashed=["a"])


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "ipc", "stream"])
def test_arrow_files_and_streams(tmp_path, wanted, kind):
    path, table = tmp_path / f"people.{kind}", arrow_table(rows_of_people())
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "feather":
        pa.feather.write_feather(table, path, compression="zstd", chunksize=7)
    else:
        path = tmp_path / "people.arrow"
        new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=11)
    assert_same(read_rows(path, **ROLES), wanted)


def test_damaged_arrow_files_are_rejected_unread(tmp_path):
    table = pa.table({"a": ["wxyz"] * 50, "y": np.zeros(50)})
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    sound, failed = path.read_bytes(), 0
    for at in range(0, len(sound), 9):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :])
        try:
            read_rows(path, target="y", hashed={"a": 8})
        except ValueError as error:
            failed += 1
            assert "wxyz" not in str(error) and str(path) in str(error)
    assert failed > 10
    for content in (b"", sound[:-30], b"FEA1" + sound):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"rows\.arrow"):
            read_rows(path, target="y", hashed={"a": 8})


def sheet_of(rows):
    cells = [[cell or None for cell in row.values()] for row in rows]
    for row in cells:
        row[0], row[1] = int(row[0]), None if row[1] is None else float(row[1])
    return [list(rows[0]), *cells]


def test_a_workbook_gives_the_rows_of_its_csv_file(tmp_path, wanted):
    path = write_workbook(tmp_path / "people.xlsx", sheet_of(rows_of_people()), [])
    assert_same(read_rows(path, **ROLES), wanted)


def test_cells_of_a_workbook_have_the_text_that_their_value_has_anywhere(tmp_path):
    day = datetime.datetime(2020, 1, 31)
    values = ["Ulm", 60, 0.5, True, day, day + datetime.timedelta(hours=14.5), "NA", None, "007"]
    texts = ["Ulm", "60", "0.5", "1", "2020-01-31", "2020-01-31 14:30:00", "", "", "007"]
    sheet = [["a", "y"], *([value, 1] for value in values)]
    path = write_workbook(tmp_path / "rows.xlsx", [[None], *sheet, [None], [None]])
    plain = tmp_path / "rows.csv"
    plain.write_text("a,y\n" + "".join(f"{text},1\n" for text in texts))
    given = {"target": "y", "hashed": {"a": 4096}, "classes": ["1", "2"]}
    assert_same(read_rows(path, **given), read_rows(plain, **given))


def test_a_column_may_be_called_like_a_missing_cell(tmp_path):
    path = write_workbook(tmp_path / "rows.xlsx", [["NA", "y"], ["x", 1], ["NA", 2]])
    rows = read_rows(path, target="y", classes=["1", "2"], hashed={"NA": 8})
    assert rows.X.sum(axis=1).tolist() == [1, 0]


def test_one_cell_of_a_workbook_changes_no_other_row(tmp_path):
    given = {"target": "y", "hashed": {"a": 4096}, "classes": ["1", "2"]}
    cells = [1, 2.5, True, "x", 10**12]
    before = write_workbook(tmp_path / "a.xlsx", [["a", "y"], *([c, 1] for c in cells)])
    first = read_rows(before, **given).X.toarray()
    for more in ("text", 0.25, datetime.datetime(2020, 1, 1, 3), False, None):
        rows = [["a", "y"], *([c, 1] for c in cells), [more, 1]]
        after = write_workbook(tmp_path / "b.xlsx", rows)
        assert np.array_equal(read_rows(after, **given).X.toarray()[:-1], first)


@pytest.mark.parametrize(
    ("sheets", "said"),
    [
        ([[]], "is empty; give a sheet"),
        ([[["a", "y"]]], "has names of columns and no rows"),
        ([[["a", "y"], [1, 2]], [["b"], [1]]], "has several sheets that are not empty; keep one"),
        ([[["a", "y"], [1, 2, "more"]]], "row 1 has a cell to the right of the header"),
        ([[["a", None, "y"], [1, 5, 2]]], "has no name for column 2"),
        ([[["a", "a"], [1, 2]]], "has one name for columns 1 and 2"),
    ],
)
def test_workbooks_that_hold_no_single_table_are_named(tmp_path, sheets, said):
    path = write_workbook(tmp_path / "rows.xlsx", *sheets)
    with pytest.raises(ValueError, match=said) as refusal:
        read_rows(path, target="y", hashed=["a"], classes=["1", "2"])
    assert str(path) in str(refusal.value)


def test_what_is_no_workbook_is_named(tmp_path):
    path = tmp_path / "rows.xlsx"
    sound = write_workbook(path, [["a", "y"], [1, 2]]).read_bytes()
    for content in (b"", b"a,y\n1,2\n", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 99, sound[:-9]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"rows\.xlsx is no Excel workbook, or needs a pass"):
            read_rows(path, target="y", hashed=["a"])
    path.write_bytes(sound.replace(b"PK\x03\x04", b"PK\x03\x05"))
    with pytest.raises(ValueError, match=r"rows\.xlsx cannot be read"):
        read_rows(path, target="y", hashed=["a"])


def test_without_the_extra_a_workbook_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path = write_workbook(tmp_path / "rows.xlsx", [["a", "y"], [1, 2]])
    with pytest.raises(ImportError, match=r"or save them as CSV.*dplasso\[excel\]"):
        read_rows(path, target="y", hashed=["a"])


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("rows.xls", "as CSV .UTF-8. or as .xlsx"),
        ("rows.ods", "as CSV .UTF-8. or as .xlsx"),
        ("rows.json.gz", "CSV or Parquet"),
        ("rows.csv.zip", "unpack it"),
        ("model.dpl", "ending of models"),
    ],
)
def test_formats_that_are_not_read_are_named_with_what_to_do(tmp_path, name, remedy):
    (tmp_path / name).write_bytes(b"1 1:1\n")
    with pytest.raises(ValueError, match=f"files are not read; .*{remedy}"):
        read_rows(tmp_path / name)

"""Rows that are spread over several files are those of one file, to the last bit."""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dplasso
from commanding import COLUMNS, people, problem, write_svmlight, write_table
from dplasso import PrivateLassoClassifier, read_rows
from dplasso.reading import convert
from dplasso.reading.files import Files
from table_forms import ROLES, arrow_table, assert_same

ENDINGS = ("csv", "csv.gz", "parquet", "feather")


def write_part(path, rows, names):
    rows = [{name: row[name] for name in names} for row in rows]
    if path.suffix == ".feather":
        import pyarrow.feather

        pyarrow.feather.write_feather(arrow_table(rows), path)
        return path
    return write_table(path, rows)


@given(
    cuts=st.sets(st.integers(1, 79), max_size=6),
    ending=st.sampled_from(ENDINGS),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=25)
def test_a_table_is_the_same_however_it_is_split(tmp_path_factory, cuts, ending, seed):
    folder = tmp_path_factory.mktemp("parts")
    rows = people(80, seed=seed)
    whole = read_rows(write_part(folder / f"whole.{ending}", rows, [*rows[0]]), **ROLES)
    edges, order = [0, *sorted(cuts), 80], random.Random(seed)
    (folder / "parts").mkdir()
    paths = []
    for k, (start, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        names = order.sample([*rows[0]], len(rows[0]))
        path = folder / "parts" / f"part-{k}.{ending}"
        paths.append(write_part(path, rows[start:end], names))
    (folder / "parts" / "_SUCCESS").touch()
    assert_same(read_rows(paths, **ROLES), whole)
    assert_same(read_rows(folder / "parts", **ROLES), whole)
    assert_same(read_rows(str(folder / "parts" / "part-*"), **ROLES), whole)
    assert_same(read_rows(paths, like=whole), whole)


def test_undeclared_classes_and_kinds_of_columns_do_not_depend_on_the_split(tmp_path):
    """The first part has numbers only, where the whole has texts too."""
    lines = [f"{k},{k % 2}\n" for k in range(20)] + ["x,high\n"] * 20
    (tmp_path / "whole.csv").write_text("a,y\n" + "".join(lines))
    for k in range(4):
        (tmp_path / f"part{k}.csv").write_text("a,y\n" + "".join(lines[10 * k : 10 * k + 10]))
    parts = [tmp_path / f"part{k}.csv" for k in range(4)]
    with pytest.warns(dplasso.PrivacyLeakWarning):
        whole = read_rows(tmp_path / "whole.csv", target="y")
        found = read_rows(parts, target="y")
    assert_same(found, whole)
    assert found.classes == whole.classes == ["0", "1", "high"]


def test_a_column_that_one_part_does_not_fill_has_the_kind_of_the_others(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    pa.parquet.write_table(pa.table({"a": [None, None], "y": [1, 2]}), tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"a": [5, 6], "y": [1.5, 2]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="columns have numbers but no public bounds: 'a'"):
        read_rows([tmp_path / "a.parquet", tmp_path / "b.parquet"], target="y")
    given = {"target": "y", "bounds": {"a": (0, 9)}}
    rows = read_rows([tmp_path / "a.parquet", tmp_path / "b.parquet"], **given)
    assert rows.X.toarray().tolist() == [[4.5], [4.5], [5], [6]]
    assert rows.y.tolist() == [1, 2, 1.5, 2]


@pytest.mark.filterwarnings("ignore:random_state makes")
def test_parts_of_text_give_the_model_of_the_whole_and_the_same_store(tmp_path):
    X, y = problem()
    whole = write_svmlight(tmp_path / "whole.svm", X, y)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        some = slice(100 * k, 100 * k + 100)
        write_svmlight(tmp_path / "parts" / f"{k}.svm", X[some], y[some])
    first, second = (
        read_rows(whole, n_features=COLUMNS),
        read_rows(tmp_path / "parts", n_features=COLUMNS),
    )
    assert_same(second, first)
    fits = [
        PrivateLassoClassifier(
            1.0, classes=[-1, 1], n_rows=300, x_bound=1.0, solver="frank_wolfe", random_state=3
        ).fit(found.X, found.y)
        for found in (first, second)
    ]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    for name, source in (("a", whole), ("b", tmp_path / "parts")):
        convert(source, tmp_path / name, memory=1 << 30, n_features=COLUMNS)
    stores = [read_rows(tmp_path / name).X for name in "ab"]
    assert np.array_equal(stores[0].rows().toarray(), stores[1].rows().toarray())


def test_a_row_is_counted_within_its_part(tmp_path):
    (tmp_path / "1.csv").write_text("a,y\n1,1\n2,1\n")
    (tmp_path / "2.csv").write_text("y,a\n1,3\n1,4\n1,x\n")
    with pytest.raises(ValueError, match=r"2\.csv: row 3 has no number in column 'a'"):
        read_rows(tmp_path, target="y", bounds={"a": (0, 9)})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("a,y,more", r"1\.csv does not have a column 'more' in all parts"),
        ("a", r"2\.csv does not have a column 'y' in all parts"),
    ],
)
def test_parts_with_other_columns_are_named(tmp_path, names, said):
    (tmp_path / "1.csv").write_text("a,y\n1,1\n")
    (tmp_path / "2.csv").write_text(f"{names}\n" + ",".join("1" * len(names.split(","))) + "\n")
    with pytest.raises(ValueError, match=said):
        read_rows(tmp_path, target="y", bounds={"a": (0, 9)})


def test_files_that_cannot_be_read_together_are_named(tmp_path):
    for name in ("a.csv", "b.svm", "X.npz", "Y.npz"):
        (tmp_path / name).write_text("a,y\n1,1\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "deep" / "inner").mkdir(parents=True)
    for names, said in (
        (["a.csv", "b.svm"], "name files of one format"),
        (["X.npz", "Y.npz"], "only tables and svmlight text may be spread"),
        (["a.csv", "a.csv"], "is named twice"),
        (["empty"], "is a folder without files"),
        (["deep"], "neither a column store nor a folder of parts"),
        (["*.parquet"], r"no file matches .*\.parquet; check the pattern"),
        (["none.csv"], "does not exist; check the path"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=said):
            read_rows([tmp_path / name for name in names], target="y", hashed=["a"])
    with pytest.raises(ValueError, match="no file is named"):
        read_rows([], target="y")
    for address in ("https://example.org/a.csv", "s3://bucket/a.csv"):
        with pytest.raises(ValueError, match="is an address, and only files are read"):
            read_rows(address, target="y")


def test_a_name_with_signs_of_a_pattern_is_a_name_where_such_a_file_exists(tmp_path):
    path = tmp_path / "rows [1].csv"
    path.write_text("a,y\n1,1\n")
    assert Files.of(path).paths == (path,)


def test_a_file_that_is_changed_while_it_is_read_is_rejected(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "1,1\n" * 10)

    def grow(done, total):
        with open(path, "a") as file:
            file.write("2,1\n")

    def touch(done, total):
        os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))

    for change in (grow, touch):
        with pytest.raises(ValueError, match=r"rows\.csv was changed while it was read"):
            read_rows(path, target="y", bounds={"a": (0, 9)}, progress=change)
        with pytest.raises(ValueError, match="was changed while it was read"):
            convert(
                path, tmp_path / "s", memory=1 << 30, target="y", bounds={"a": (0, 9)},
                progress=change,
            )  # fmt: skip
        assert not (tmp_path / "s").exists()

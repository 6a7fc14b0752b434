"""What would take more memory than there is, or than was allowed, is refused before it does."""

import bz2
import tracemalloc

import pytest
import scipy.sparse as sp

from dplasso import load
from dplasso.base import memory
from hostile_models import wide_model

MIB = 1 << 20


@pytest.fixture
def peak():
    """Bytes that were taken at most since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def of_no_table(path):
    """The model as if it had been trained from rows that are no table."""
    model = load(path)
    del model.table_plan_
    return model


def test_a_small_model_file_that_claims_a_billion_columns_is_shown_and_used(tmp_path, good, peak):
    model = wide_model(tmp_path / "model.dpl", max_iter=8, radius=2.0)
    table, text = tmp_path / "new.csv", tmp_path / "new.svm"
    table.write_text("age,town\n30,Ulm\n,Bonn\n")
    text.write_text("1 1:3 1000000000:1\n0 2:1\n")
    assert "town#" in good("inspect", model, "--bucket", "town=Ulm")
    good("report", model, "-o", tmp_path / "page.html")
    assert len(good("predict", model, table).splitlines()) == 2
    of_no_table(model).predict_file(text, tmp_path / "predicted")
    assert len((tmp_path / "predicted").read_text().splitlines()) == 2
    assert peak() < 200 * MIB


def test_a_line_longer_than_memory_allows_is_refused_with_what_it_would_need(tmp_path, run, peak):
    path = tmp_path / "rows.bz2"
    path.write_bytes(bz2.compress(b"1 1:1\n1 ") + bz2.compress(b"1" * (45 * MIB)) * 20)
    assert path.stat().st_size < 3000
    given = ("convert", path, "-o", tmp_path / "x", "--features", 9, "--memory", "100M")
    done = run(*given)
    assert done.code == 1 and "a line is longer than 12 MiB" in done.err
    assert peak() < 200 * MIB
    done = run(*given, "--longest-line", "5M")
    assert done.code == 1 and "a line is longer than 5 MiB" in done.err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
def test_one_large_index_is_refused_with_what_it_would_need(tmp_path, run, peak, solver):
    path = tmp_path / "rows"
    path.write_text("1 2147483647:1\n0 1:1\n")
    train = ("train", path, "-o", tmp_path / "x", "--classes", "0,1", "--rows", 2)
    done = run(*train, "--solver", solver)
    assert done.code == 1 and "--features" in done.err
    assert f"would need about {48 if solver == 'frank_wolfe' else 384} GiB" in done.err
    assert "2147483647" not in done.err
    assert peak() < 200 * MIB and not (tmp_path / "x").exists()


def test_declared_columns_are_refused_where_there_is_no_memory_for_them(tmp_path, run, monkeypatch):
    path = tmp_path / "rows"
    path.write_text("1 9:1\n0 1:1\n")
    monkeypatch.setattr("dplasso.base.memory.available", lambda: 100)
    given = ("--features", 9, "--classes", "0,1", "--solver", "frank_wolfe")
    done = run("train", path, "-o", tmp_path / "x", *given)
    assert done.code == 1 and "would need about 216 bytes of memory" in done.err


def test_a_number_of_columns_that_was_read_is_stated_as_such(tmp_path, run, good):
    path, model = tmp_path / "rows", tmp_path / "x"
    path.write_text("1 9:1\n0 1:1\n" * 20)
    train = ("train", path, "-o", model, "--classes", "0,1", "--rows", 40, "--force")
    assert "number of columns was read" in run(*train).err
    assert "n_features = 9 (READ FROM THE DATA" in good("inspect", model).replace("\n", " ")
    done = run(*train, "--strict", "--x-bound", 1)
    assert done.code == 1 and "number of columns was read" in done.err
    good(*train, "--features", 9)
    assert "n_features = 9 (the shape of X)" in good("inspect", model).replace("\n", " ")


def test_a_short_matrix_file_that_claims_many_rows_is_refused_first(tmp_path, peak, monkeypatch):
    model = wide_model(tmp_path / "model.dpl", max_iter=8, radius=2.0)
    rows = sp.coo_array(([1.0], ([0], [1])), shape=((1 << 27) - 1, 1_000_000_000))
    sp.save_npz(tmp_path / "new.npz", rows)
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    with pytest.raises(memory.TooLargeError, match="predicting new.npz would need more memory"):
        of_no_table(model).predict_file(tmp_path / "new.npz", tmp_path / "out")
    assert peak() < 200 * MIB

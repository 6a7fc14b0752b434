"""What people meet in their first hour: mistakes are named by what they typed."""

import csv
import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dplasso
from commanding import COLUMNS, FEW, TABLE, people, problem, write_svmlight, write_table
from dplasso.cli import main
from dplasso.schema import Category, Target
from dplasso.storage.spreadsheet import marked


@pytest.fixture(scope="module")
def fitted_table():
    """A model of a table, and rows for it."""
    frame = pd.DataFrame(people(60))
    rows = dplasso.read_rows(
        frame.drop(columns="id"),
        schema=dplasso.Schema(
            {"town": Category(["Ulm", "Graz"]), "sick": Target(["no", "yes"])}, n_rows=60
        ),
    )
    model = dplasso.PrivateLassoClassifier(
        1.0, classes=rows.classes, n_rows=60, x_bound=rows.bounds
    )
    return model.fit(rows.described(), rows.y), frame[["id", "town"]]


@pytest.fixture
def of_table(tmp_path, good):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "people.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", *FEW, "-q")
    return path


def test_a_model_of_a_table_predicts_no_other_rows(tmp_path, of_table, text, run):
    for command in (("predict",), ("evaluate", "--public"), ("report", "--public-data")):
        where = (of_table, *command[1:], text) if command[0] == "report" else (of_table, text)
        done = run(command[0], *where, *(command[1:] if command[0] == "evaluate" else ()))
        assert done.code == 1 and "without the features of the table" in done.err, command


def test_a_header_without_rows_is_named(tmp_path, of_table, run):
    head = tmp_path / "head.csv"
    head.write_text("id,age,town,note,sick\n")
    done = run("predict", of_table, head)
    assert done.code == 1 and "head.csv has names of columns and no rows" in done.err


def test_a_folder_that_is_missing_is_named_as_it_was_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = dplasso.PrivateLassoClassifier(classes=[0, 1], n_rows=4, x_bound=1.0)
    model.fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(FileNotFoundError, match=r"directory: 'missing/model.dpl'$"):
        model.save("missing/model.dpl")


def test_classes_are_shown_as_they_were_given(model, text, run):
    out = run("evaluate", model, text, "--public").out
    assert "\n-1 " in out and "-1.0" not in out


def test_a_store_without_classes_says_so(tmp_path, text, good):
    good("convert", text, "-o", tmp_path / "store", "--features", COLUMNS)
    out = good("inspect", tmp_path / "store")
    assert "labels are numbers" in out and "None" not in out


def test_evaluate_warns_of_figures_that_it_can_compute(model, tmp_path, text, run):
    for wrong in ((model, tmp_path / "missing.svm"), (model, text, "--labels", text)):
        done = run("evaluate", *wrong)
        assert done.code == 1 and "warning" not in done.err, wrong


def test_an_interrupt_while_libraries_are_imported_is_no_traceback(monkeypatch, capsys):
    class Interrupting:
        def find_spec(self, name, *_):
            if name == "dplasso.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "dplasso.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130 and capsys.readouterr().err.startswith("error: interrupted")


def test_predict_file_is_the_command(tmp_path, model, text, good):
    fitted = dplasso.load(model)
    for options, how in (((), {}), (("--proba",), {"proba": True})):
        good("predict", model, text, "-o", tmp_path / "command", *options, "--force")
        fitted.predict_file(text, tmp_path / "library", **how)
        assert (tmp_path / "library").read_bytes() == (tmp_path / "command").read_bytes()
    assert stat.S_IMODE((tmp_path / "library").stat().st_mode) == 0o600


def test_predict_file_reads_tables_with_identifiers(tmp_path, of_table, good):
    data = tmp_path / "people.csv"
    wanted = good("predict", of_table, data, "--id", "id")
    dplasso.load(of_table).predict_file(data, tmp_path / "out", identifier="id")
    assert (tmp_path / "out").read_text() == wanted


@pytest.mark.parametrize("raw", [False, True])
@given(
    names=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=60
    )
)
@example(names=['=1+1,"x"', "a,b", "c\r\nd", " \t", "-5", "'=x", "@SUM(1;=2)"])
@settings(max_examples=30, deadline=None)
def test_predictions_in_csv_are_one_row_per_row_with_names_to_the_letter(fitted_table, raw, names):
    model, frame = fitted_table
    rows = frame.head(len(names)).assign(id=names)
    with TemporaryDirectory() as folder:
        data, output = Path(folder, "in.parquet"), Path(folder, "out.CSV")
        rows.to_parquet(data)
        model.predict_file(data, output, identifier="id", raw=raw, proba=True)
        with open(output, newline="", encoding="utf-8") as file:
            head, *found = csv.reader(file)
        assert head == ["id", "no", "yes"] and all(len(row) == 3 for row in found)
        assert [row[0] for row in found] == [name if raw else marked(name) for name in names]
        model.predict_file(data, output)
        assert pd.read_csv(output).prediction.tolist() == model.predict(rows).tolist()


def test_names_that_do_not_end_in_csv_have_tabs(tmp_path, of_table, good):
    data, output = tmp_path / "people.csv", tmp_path / "out.tsv"
    good("predict", of_table, data, "--id", "id", "-o", output)
    assert output.read_text() == good("predict", of_table, data, "--id", "id")
    assert pd.read_csv(output, sep="\t").columns.tolist() == ["id", "prediction"]
    good("predict", of_table, data, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text() == good("predict", of_table, data)


def test_predict_file_writes_over_nothing_that_it_reads_and_leaves_nothing(tmp_path, model):
    fitted, X = dplasso.load(model), problem()[0]
    data = write_svmlight(tmp_path / "new.svm", X, np.zeros(X.shape[0]))
    before, files = data.read_bytes(), set(os.listdir(tmp_path))
    with pytest.raises(ValueError, match="output is also what is read"):
        fitted.predict_file(data, data)
    data.write_bytes(b"broken\n" + before)
    with pytest.raises(ValueError, match=r"new.svm, line 1: "):
        fitted.predict_file(data, tmp_path / "out")
    with pytest.raises(ValueError, match="identifier needs a table"):
        fitted.predict_file(data, tmp_path / "out", identifier="id")
    assert set(os.listdir(tmp_path)) == files


def test_the_command_runs_as_a_module_too():
    done = subprocess.run(
        [sys.executable, "-m", "dplasso", "--version"], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (0, dplasso.__version__)

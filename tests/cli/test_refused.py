"""What is refused: honest exit codes, and errors that never show a row."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
import scipy.sparse as sp

from commanding import (
    COLUMNS,
    COMMAND,
    DECLARED,
    FEW,
    KNOWN,
    SECRET,
    problem,
    subprocess_of,
    write_svmlight,
)
from dplasso import Budget
from dplasso.cli import train


@pytest.mark.parametrize(
    "arguments",
    [
        ("train",),
        ("train", "rows.svm"),
        ("train", "rows.svm", "-o", "x", "--no-such-option"),
        ("train", "rows.svm", "-o", "x", "--rows", "many"),
        ("inspect", "x", "--top", "-1"),
        ("no-such-command",),
    ],
)
def test_misuse_is_2(run, arguments):
    done = run(*arguments)
    assert done.code == 2 and done.out == "" and "Usage" in done.err


@pytest.mark.parametrize("value", ["0", "-5", "1" + 40 * "0"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *(("train", name) for name in ("--rows", "--features", "--buckets")),
        *(("online", name) for name in ("--rows", "--features", "--window", "--batch")),
        *(("convert", name) for name in ("--rows", "--features", "--buckets")),
    ],
)
def test_numbers_out_of_range_are_named(run, command, option, value):
    output = () if command == "online" else ("-o", "x")
    done = run(command, "rows.svm", *output, option, value)
    told = " ".join(done.err.split())
    assert done.code == 2 and done.out == ""
    assert f"Invalid value for '{option}'" in told and "shift" not in told
    assert "should be greater than or equal to 1" in told or "less than or equal to" in told


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("train", "--threads", "-1"),
        ("train", "--seed", "-1"),
        ("audit", "--max-iter", "0"),
        ("audit", "--seed", "-3"),
    ],
)
def test_other_numbers_out_of_range_are_named(run, command, option, value):
    given = ("rows.svm", "-o", "x") if command == "train" else ()
    done = run(command, *given, option, value)
    assert done.code == 2 and f"'{option}'" in done.err


@pytest.mark.parametrize("value", ["0", "-3", "2.5", "some"])
def test_a_number_of_coefficients_is_a_count_or_all_or_auto(run, value):
    done = run("train", "rows.svm", "-o", "x", f"--n-nonzero={value}")
    assert done.code == 1 and "--n-nonzero must be" in done.err and done.out == ""


def test_real_processes_exit_with_1_and_without_a_traceback(tmp_path, text):
    done = subprocess_of("train", tmp_path / "none.svm", "-o", tmp_path / "x")
    assert done.code == 1 and done.out == ""
    assert done.err.startswith("error: ") and "none.svm" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "line",
    [
        f"1 3:{SECRET} 2:0.5",
        f"1 3:{SECRET}x",
        f"{SECRET}:1 2:3",
        f"1 2:nan 3:{SECRET}",
        f"1 999:{SECRET}",
        f"1 0:{SECRET}",
    ],
)
def test_a_broken_line_is_named_but_not_shown(tmp_path, text, model, run, line):
    lines = text.read_text().splitlines()
    lines[6] = line
    text.write_text("\n".join(lines))
    for command in (
        ("train", text, "-o", tmp_path / "x", *DECLARED),
        ("convert", text, "-o", tmp_path / "x", "--features", COLUMNS),
        ("predict", model, text),
        ("evaluate", model, text, "--public"),
    ):
        done = run(*command)
        assert done.code == 1 and done.out == ""
        assert f"{text}, line 7: " in done.err
        assert SECRET not in done.err and "999" not in done.err
        assert "=True" not in done.err  # options have other names here
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("option", [("-e", "-1"), ("--delta", "2"), ("--selection", "best")])
def test_parameters_are_checked_before_the_data_are_read(tmp_path, run, monkeypatch, option):
    monkeypatch.setattr(train, "read_rows", lambda *_, **__: pytest.fail("read"))
    assert run("train", "rows.svm", "-o", tmp_path / "x", *option).code == 1


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path, text, run, monkeypatch
):
    monkeypatch.setattr(train, "read_rows", lambda *_, **__: pytest.fail("read"))
    for output in (tmp_path / "no" / "model.dpl", tmp_path):
        done = run("train", text, "-o", output, *DECLARED)
        assert done.code == 1 and str(output) in done.err and "folder" in done.err
    done = run("convert", text, "-o", tmp_path / "no" / "x.dpc", "--features", COLUMNS)
    assert done.code == 1 and "folder" in done.err


def test_classes_that_no_file_could_hold_are_refused_before_anything_is_read(tmp_path, run):
    done = run("train", tmp_path / "none.svm", "-o", tmp_path / "m", "--classes", "0,\udcff")
    assert done.code == 1 and "--classes must be text in UTF-8" in done.err


def test_files_that_are_something_else(tmp_path, text, model, run):
    done = run("predict", text, text)
    assert done.code == 1 and "not a dplasso model file" in done.err
    assert run("predict", tmp_path / "none.dpl", text).err.startswith("error: ")
    content = model.read_bytes()
    model.write_bytes(content[:-1])
    done = run("inspect", model)
    assert done.code == 1 and "truncated" in done.err
    for content in (b"", b"PK\x03\x04", b"no archive"):
        (tmp_path / "X.npz").write_bytes(content)
        done = run("train", tmp_path / "X.npz", "-o", tmp_path / "x", *KNOWN)
        assert done.code == 1 and "X.npz" in done.err and "defect" not in done.err
    assert run("train", tmp_path, "-o", tmp_path / "x", *KNOWN).code == 1
    assert run("convert", tmp_path / "X.npz", "-o", tmp_path / "x").code == 1


def test_other_columns_or_labels_than_the_model_has(tmp_path, model, text, run):
    X, y = problem()
    sp.save_npz(tmp_path / "X.npz", sp.csr_array(X[:, :-1]))
    done = run("predict", model, tmp_path / "X.npz")
    assert done.code == 1 and "39 columns" in done.err and "40" in done.err
    wide = write_svmlight(tmp_path / "wide.svm", X, y, base=5)
    assert "--features" in run("predict", model, wide).err
    write_svmlight(text, X, y + 7)
    done = run("evaluate", model, text, "--public")
    assert done.code == 1 and "classes" in done.err
    done = run("train", text, "-o", tmp_path / "x", *DECLARED)
    assert done.code == 1 and "--classes" in done.err


def test_nan_in_a_matrix(tmp_path, model, run):
    X, _ = problem()
    X.data[3] = np.nan
    sp.save_npz(tmp_path / "X.npz", X)
    done = run("predict", model, tmp_path / "X.npz")
    assert done.code == 1 and "NaN" in done.err


def test_probabilities_are_for_classifiers(tmp_path, good, run):
    data = write_svmlight(tmp_path / "rows.svm", *problem("regression"))
    path = tmp_path / "model.dpl"
    good("train", data, "-o", path, "--regression", "--y-bound", 1, "--features", COLUMNS, *FEW)
    done = run("predict", path, data, "--proba")
    assert done.code == 1 and "--proba" in done.err


def test_losses_without_probabilities_and_of_regressors_are_told(tmp_path, text, good, run):
    path = tmp_path / "model.dpl"
    good("train", text, "-o", path, *DECLARED, "--loss", "hinge")
    done = run("predict", path, text, "--proba")
    assert done.code == 1 and "a loss without them" in done.err
    done = run(
        "train", text, "-o", tmp_path / "x", "--regression", "--y-bound", 1, "--loss", "hinge"
    )
    assert done.code == 1 and "--loss is for classifiers" in done.err
    done = run("train", text, "-o", tmp_path / "x", *DECLARED, "--loss", "svm")
    assert done.code == 1 and "loss must be one of 'logistic', 'hinge'" in done.err


def test_unforeseen_errors_tell_their_place_and_not_their_message(run, monkeypatch):
    def fail(*_):
        raise KeyError(SECRET)

    monkeypatch.setattr("dplasso.cli.inspect.load", fail)
    done = run("inspect", "model.dpl")
    assert done.code == 1 and "KeyError" in done.err and "inspect.py" in done.err
    assert SECRET not in done.err


def test_an_interrupt_is_130_and_leaves_nothing(tmp_path, tmp_path_factory):
    pipe = tmp_path / "rows.svm"
    os.mkfifo(pipe)
    ledger = tmp_path_factory.mktemp("ledger") / "budget.sqlite"
    Budget(1.0, 1e-6, ledger)
    process = subprocess.Popen(
        [COMMAND, "train", pipe, "-o", tmp_path / "x", "--features", "5", "--budget", ledger],
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(pipe, "w"):  # waits for the reader
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    said = process.communicate()[1]
    assert "interrupted; nothing was charged; no model was written" in said
    assert process.returncode == 130
    assert os.listdir(tmp_path) == [pipe.name]


def test_a_reader_that_leaves_is_no_defect(model, text):
    predict = subprocess.Popen(
        [COMMAND, "predict", model, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    predict.stdout.close()
    assert b"Traceback" not in predict.stderr.read()
    predict.stderr.close()
    assert predict.wait() == 1


def test_what_is_read_is_never_written_over(tmp_path, text, model, good, run):
    before = {path: path.read_bytes() for path in (text, model)}
    for command in (
        ("train", text, "-o", text, *DECLARED),
        ("train", text, "-o", model, *DECLARED, "--test", model),
        ("predict", model, text, "-o", text),
        ("predict", model, text, "-o", model),
        ("report", model, "-o", model),
        ("report", model, "-o", text),
        ("export", model, "-o", model, "--format", "onnx"),
        ("export", model, "-o", text, "--format", "sklearn"),
        ("convert", text, "-o", text, "--features", COLUMNS),
    ):
        done = run(*command)
        assert done.code == 1, command
    assert {path: path.read_bytes() for path in before} == before
    notes = tmp_path / "notes.txt"
    notes.write_text("dear diary")
    done = run("train", text, "-o", notes, *DECLARED)
    assert done.code == 1 and "is no model" in done.err
    done = run("report", model, "-o", notes)
    assert done.code == 1 and "is no page" in done.err and notes.read_text() == "dear diary"
    for form in ("onnx", "sklearn", "csv"):
        done = run("export", model, "-o", notes, "--format", form)
        assert done.code == 1 and "give another name" in done.err
        assert notes.read_text() == "dear diary"
    done = run("train", text, "-o", notes, *DECLARED, "--force")
    assert done.code == 1 and "is no model" in done.err and notes.read_text() == "dear diary"


def test_an_output_that_exists_is_replaced_only_when_asked(tmp_path, text, model, good, run):
    page, lines, store = tmp_path / "page.html", tmp_path / "lines.txt", tmp_path / "rows.dpc"
    for output, command in (
        (model, ("train", text, "-o", model, *DECLARED)),
        (page, ("report", model, "-o", page)),
        (lines, ("predict", model, text, "-o", lines)),
        (store, ("convert", text, "-o", store, "--features", COLUMNS)),
    ):
        if output is not model:
            good(*command)
        state = output.stat()
        done = run(*command)
        assert done.code == 1 and f"{output} exists; give another name, or --force" in done.err
        assert output.stat() == state
        good(*command, "--force")
        assert output.stat().st_ino != state.st_ino


def test_a_model_that_was_paid_for_is_replaced_only_when_asked(tmp_path, text, model, good, run):
    ledger = tmp_path / "budget.sqlite"
    good("budget", "init", ledger, "--epsilon", 3, "--delta", 1e-6)
    command = ("train", text, "-o", model, *DECLARED, "--budget", ledger)
    done = run(*command)
    assert done.code == 1 and "--force" in done.err
    good(*command, "--force")


def test_options_that_would_be_ignored_are_refused(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "x", *DECLARED, "--target", "y")
    assert done.code == 1 and "--target is for a table" in done.err
    done = run("train", text, "-o", tmp_path / "x", *DECLARED, "--labels", text)
    assert done.code == 1 and "--labels is for an .npz matrix" in done.err
    done = run("train", text, "-o", tmp_path / "x", "--regression", "--features", COLUMNS)
    assert done.code == 1 and "--y-bound" in done.err

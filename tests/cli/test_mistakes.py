"""Plausible mistakes of newcomers: each is named with its remedy, and nothing is lost.

Whatever is wrong, the files in the folder (a model, a ledger, the data) are as before, nothing is
charged, the exit code is right, and no cell of the table is shown.
"""

import gzip
import itertools
import re
import shutil
from pathlib import Path

import pytest
import scipy.sparse as sp

from commanding import people, write_table
from dplasso import Budget, Schema
from dplasso.schema import Number, Target
from workbooks import write_workbook

SECRET = "Xanthippe"  # stands in cells, and must not stand in messages
USUAL = {
    "data": ("people.csv",),
    "-o": "new.dpl",
    "--target": "sick",
    "--bounds": "age=0:120",
    "--hash": "town=16",
    "--text": "note",
    "--buckets": 64,
    "--ignore": "id",
    "--classes": "no,yes",
    "--rows": 200,
    "--budget": "budget.sqlite",
}
ROWS = people(12)
for row in ROWS:
    row["town"] = SECRET
HEAD, *LINES = [",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]


def train(*data, more=(), **changes):
    """The usual command with other data or options; an option that is None is left out."""
    named = {f"--{name}" if name != "output" else "-o": value for name, value in changes.items()}
    given = {**USUAL, **({"data": data} if data else {}), **named}
    rest = [(name, value) for name, value in given.items() if name != "data" and value is not None]
    return ("train", *given["data"], *itertools.chain.from_iterable(rest), *more)


def cell(column, value):
    """A table in which the third row has another cell."""
    rows = [dict(row) for row in ROWS]
    rows[2][column] = value
    return lambda: write_table(Path("wrong.csv"), rows)


def text(*lines, name="wrong.csv", encoding="utf-8", pack=bytes):
    content = "".join(f"{line}\n" for line in lines).encode(encoding)
    return lambda: Path(name).write_bytes(pack(content))


def nothing():
    pass


WRONG = train("wrong.csv")
MISTAKES = {
    # names of columns
    "a target that is misspelt": (nothing, train(target="sik"), 1, "did you mean 'sick'?"),
    "a column in capitals": (nothing, train(bounds="Age=0:120"), 1, "did you mean 'age'?"),
    "two targets": (nothing, train(target="sick,id"), 1, "no column 'sick,id'"),
    "a target that is a feature": (nothing, train(hash="sick=2"), 1, "'sick' has two roles"),
    "a column that is nowhere": (nothing, train(ignore="id,visit"), 1, "no column 'visit'; it has"),
    "a colon for an equals sign": (nothing, train(hash="town:16"), 1, "did you mean 'town'?"),
    "no names of columns": (text(*LINES), WRONG, 1, "put names of columns in the first row"),
    "one name twice": (
        text(HEAD.replace("note", "town"), *LINES),
        WRONG,
        1,
        "wrong.csv, line 1, has one name for columns 3 and 4; rename one",
    ),
    "an index without a name": (
        text(f",{HEAD}", *(f"{k},{line}" for k, line in enumerate(LINES))),
        WRONG,
        1,
        "line 1, has no name for column 1; name it, or remove it (pandas writes its index",
    ),
    "every column left out": (
        nothing,
        train(bounds=None, hash=None, text=None, ignore="id,age,town,note"),
        1,
        "no column to take features from; give it a role",
    ),
    # classes and labels
    "classes in capitals": (nothing, train(classes="No,Yes"), 1, "in spaces or capitals alone"),
    "a class that is misspelt": (nothing, train(classes="no,yess"), 1, "not among the classes"),
    "classes with another separator": (
        nothing,
        train(classes="no;yes"),
        1,
        "--classes must be two",
    ),
    "one class only": (nothing, train(classes="yes"), 1, "--classes must be two or more"),
    "a label that is missing": (cell("sick", ""), WRONG, 1, "row 3 has no label; remove it"),
    "a number without its bound": (
        nothing,
        train(target="age", bounds=None, classes=None, ignore="id,sick", more=("--regression",)),
        1,
        "give --y-bound",
    ),
    "a text to predict as a number": (
        nothing,
        train(classes=None, more=("--regression", "--y-bound", 1)),
        1,
        "leave it out to predict classes",
    ),
    # cells
    "a decimal comma": (
        cell("age", "36,5"),
        WRONG,
        1,
        "row 3 has no number in column 'age'; write a decimal point",
    ),
    "a date for a number": (
        cell("age", "1961-08-03"),
        WRONG,
        1,
        "row 3 has no number in column 'age'; write the date as a number",
    ),
    "a percent sign": (cell("age", "12.5 %"), WRONG, 1, "without a percent sign"),
    "separators of thousands": (
        cell("age", "1'234'567"),
        WRONG,
        1,
        "leave out separators of thousands",
    ),
    "a unit": (cell("age", "61 years"), WRONG, 1, "without its unit"),
    "a currency": (cell("age", "€ 61"), WRONG, 1, "leave out the currency sign"),
    "a word for a number": (cell("age", SECRET), WRONG, 1, "mend or ignore it"),
    "a number without bounds": (nothing, train(bounds=None), 1, "--bounds age=low:high"),
    # options
    "bounds the wrong way round": (nothing, train(bounds="age=120:0"), 1, "low first"),
    "one bound only": (nothing, train(bounds="age=120"), 1, "must have the form age=low:high"),
    "epsilon 0": (nothing, train(epsilon=0), 1, "epsilon must be"),
    "a negative epsilon": (nothing, train(epsilon=-1), 1, "epsilon must be"),
    "an epsilon with a comma": (nothing, train(epsilon="1,0"), 2, "number. Write numbers"),
    "rows with a separator": (nothing, train(rows="16,000"), 2, "no separators of thousands"),
    "a delta that is a percentage": (nothing, train(delta=5), 1, "delta"),
    "buckets that are no number": (nothing, train(hash="town=many"), 1, "must be a whole number"),
    "an option that is misspelt": (nothing, train(more=("--epsilom", 1)), 2, "--epsilon"),
    "a command that is misspelt": (nothing, ("trian", "people.csv"), 2, "train"),
    "no output": (nothing, train(output=None), 2, "give -o model.dpl, or --dry-run"),
    "an encoding that is none": (
        nothing,
        train(encoding="ansi-art"),
        1,
        "--encoding must be the name",
    ),
    # files
    "a file that is not there": (nothing, train("poeple.csv"), 1, "poeple.csv does not exist"),
    "an address": (nothing, train("https://example.org/people.csv"), 1, "download it first"),
    "a pattern without files": (nothing, train("parts/*.csv"), 1, "no file matches parts/*.csv"),
    "a table whose name does not say so": (
        text(HEAD, *LINES, name="people.txt"),
        train("people.txt"),
        1,
        "let it end in .csv if it is one",
    ),
    "an empty folder": (lambda: Path("empty").mkdir(), train("empty"), 1, "without files"),
    "one file twice": (nothing, train("people.csv", "people.csv"), 1, "is named twice"),
    "parts with other columns": (
        text("id,age", "1,2"),
        train("people.csv", "wrong.csv"),
        1,
        "are not parts of one table",
    ),
    "parts of other formats": (
        text("1 1:1", name="a.svm"),
        train("people.csv", "a.svm"),
        1,
        "name files of one format",
    ),
    "an empty file": (text(), WRONG, 1, "wrong.csv is empty; give a file with"),
    "a header without rows": (text(HEAD), WRONG, 1, "names of columns and no rows; add rows"),
    "another delimiter": (
        text(*(line.replace(",", ";") for line in (HEAD, *LINES))),
        WRONG,
        1,
        "--delimiter ';'",
    ),
    "an older encoding": (
        text(HEAD, *LINES[:3], f"1,2,Zürich{SECRET},cough,no", encoding="latin-1"),
        WRONG,
        1,
        "line 5: this is no text in UTF-8; pass --encoding latin-1 (or cp1252)",
    ),
    "a row that is too short": (
        text(HEAD, *LINES[:3], f"1,2,{SECRET}"),
        WRONG,
        1,
        "wrong.csv, line 5: the row has fewer cells",
    ),
    "a row that is too long": (
        text(HEAD, *LINES[:3], f"{LINES[3]},{SECRET}"),
        WRONG,
        1,
        "wrong.csv, line 5: the row has more cells",
    ),
    "a quote that is not closed": (
        text(HEAD, f'1,2,"{SECRET},x,no', *LINES),
        WRONG,
        1,
        "wrong.csv, line 2: the row that begins here runs over several lines",
    ),
    "a packed file that was cut off": (
        text(HEAD, *LINES * 50, name="wrong.csv.gz", pack=lambda all: gzip.compress(all)[:-30]),
        train("wrong.csv.gz"),
        1,
        "end early; fetch the file again",
    ),
    "an old spreadsheet": (
        text("x", name="people.xls"),
        train("people.xls"),
        1,
        "save it as CSV (UTF-8) or as .xlsx",
    ),
    "a workbook of two sheets": (
        lambda: write_workbook("two.xlsx", [[SECRET]], [[SECRET]]),
        train("two.xlsx"),
        1,
        "several sheets",
    ),
    "a zip archive": (text("x", name="people.csv.zip"), train("people.csv.zip"), 1, "unpack it"),
    "a model for data": (nothing, train("model.dpl"), 1, "name the file of the rows here"),
    "a model without its ending for data": (
        lambda: shutil.copy("model.dpl", "model"),
        ("train", "model", "-o", "new.dpl", "--classes", "0,1"),
        1,
        "model is a model of dplasso; name the file of the rows here",
    ),
    "a matrix without labels": (
        lambda: sp.save_npz("X.npz", sp.eye_array(3, format="csr")),
        ("train", "X.npz", "-o", "new.dpl", "--classes", "0,1"),
        1,
        "give a y.npy with --labels",
    ),
    "data for a model": (
        nothing,
        ("predict", "people.csv", "people.csv"),
        1,
        "not a dplasso model file",
    ),
    "model and data the wrong way round": (
        nothing,
        ("predict", "people.csv", "model.dpl"),
        1,
        "not a dplasso model file",
    ),
    "rows to predict without a column": (
        text("id,town,note", "1,a,b"),
        ("predict", "model.dpl", "wrong.csv"),
        1,
        "no column 'age', which the model was trained with",
    ),
    "an old workbook to predict": (
        text(HEAD, *LINES, name="old.xls"),
        ("predict", "model.dpl", "old.xls"),
        1,
        ".xls files are not read; open it in a spreadsheet program and save it as CSV",
    ),
    "a private score of public rows": (
        nothing,
        ("evaluate", "model.dpl", "people.csv", "--epsilon", 1, "--public"),
        1,
        "--public and --epsilon exclude each other",
    ),
    "a score of people where there are none": (
        nothing,
        ("evaluate", "model.dpl", "people.csv", "--epsilon", 1, "--rows-per-person", 12),
        1,
        "are for scores that protect people",
    ),
    "rows to evaluate without labels": (
        text("id,age,town,note", "1,2,a,b"),
        ("evaluate", "model.dpl", "wrong.csv", "--public"),
        1,
        "no column 'sick'",
    ),
    "rows to test on that are not there": (
        nothing,
        train(test="none.csv"),
        1,
        "none.csv does not exist",
    ),
    # outputs and ledgers
    "an output that is there": (
        nothing,
        train(output="model.dpl"),
        1,
        "model.dpl exists; give another name, or --force",
    ),
    "predictions over the data": (
        nothing,
        ("predict", "model.dpl", "people.csv", "-o", "people.csv"),
        1,
        "is also an input",
    ),
    "an output in a folder that is missing": (
        nothing,
        train(output="models/new.dpl"),
        1,
        "give a name in a folder that you can write to",
    ),
    "an output where nothing can be written": (
        nothing,
        train(output="/proc/new.dpl"),
        1,
        "/proc/new.dpl cannot be written",
    ),
    "an output that is a folder": (
        lambda: Path("folder").mkdir(),
        train(output="folder"),
        1,
        "it is a folder",
    ),
    "a ledger that is not there": (nothing, train(budget="none.sqlite"), 1, "dplasso budget init"),
    "a ledger that is something else": (
        nothing,
        train(budget="people.csv"),
        1,
        "people.csv is not a ledger, and was left as it is",
    ),
    "a budget of something else": (
        nothing,
        ("budget", "show", "people.csv"),
        1,
        "give the file that dplasso budget init made",
    ),
    "numbers as classes": (
        text("age,stay", *(f"{k},{k / 7}" for k in range(20))),
        ("train", "wrong.csv", "-o", "new.dpl", "--target", "stay", "--bounds", "age=0:9", "-q"),
        1,
        "or use --regression to predict numbers",
    ),
    "more than the budget": (
        nothing,
        train(epsilon=50, more=("-q",)),
        1,
        "Nothing was drawn; lower epsilon to",
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data, a model trained from them, and a ledger."""
    folder = tmp_path_factory.mktemp("made")
    write_table(folder / "people.csv", [{**row, "town": SECRET} for row in people()])
    Budget(3.0, 1e-6, folder / "budget.sqlite")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch, run):
    if not (made / "model.dpl").exists():
        monkeypatch.chdir(made)
        done = run(*train(output="model.dpl"), "-q")
        assert done.code == 0, done.err
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "budget.sqlite" not in path.name
    }


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_remedy_and_nothing_is_lost(folder, run, mistake):
    prepare, command, code, said = MISTAKES[mistake]
    prepare()
    before = contents(folder)
    done = run(*command)
    told = " ".join(done.err.split())
    assert done.code == code, told
    assert said in told and done.out == ""
    assert SECRET not in told and "Traceback" not in told and "defect" not in told
    assert contents(folder) == before
    assert len(Budget.open(folder / "budget.sqlite").entries()) == 1  # the model's own


def test_there_are_at_least_forty_of_them():
    assert len(MISTAKES) >= 40
    assert len({str(said) for *_, said in MISTAKES.values()}) >= 40


def test_a_number_of_rows_that_is_far_off_is_told_to_the_owner_alone(folder, run):
    """The model, the output and the exit code are those of any other number."""
    statements, said = [], []
    for rows in (19_999, 20_000):
        done = run(*train(output=f"{rows}.dpl", rows=rows, budget=None), "--json")
        assert done.code == 0
        said.append(done.err)
        # What the released counts, which have noise, say of the number is another number each time.
        stated = re.sub(r"(counts say about )[-\d,]+", r"\1", done.out.replace(str(rows), "ROWS"))
        statements.append(sorted(stated.split('"')[1::2]))
    assert "hundred times" not in said[0] and statements[0] == statements[1]
    assert "for the data owner's eyes only" in said[1] and "200 " not in said[1]
    done = run(*train(output="few.dpl", rows=2, budget=None), "-q")
    assert done.code == 0 and "hundred times too" in done.err
    columns = {"age": Number(0, 120), "sick": Target(["no", "yes"])}
    Schema(columns, n_rows=20_000).to_toml("far.toml")
    done = run("train", "people.csv", "--schema", "far.toml", "-o", "far.dpl", "-q")
    assert done.code == 0 and "hundred times too" in done.err

"""Tables: from CSV and Parquet to a model that knows how to read others."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from commanding import (
    DECLARED,
    FEW,
    PLAN,
    SECRET,
    TABLE,
    assert_same_model,
    people,
    python_fit,
    write_table,
)
from dplasso import Schema, load
from dplasso.privacy.statement import READ
from dplasso.reading import assemble
from dplasso.reading.tables import table_chunks
from dplasso.schema import Identifier, Number, Target, Text


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_tables(tmp_path, good, name):
    data, path = write_table(tmp_path / name, people()), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--seed", 3, *FEW)
    space, chunks, classes = table_chunks(data, PLAN)
    X, y = assemble(chunks, space.size)
    labels = np.array(classes)[y.astype(int)]
    theirs = python_fit("binary", X, labels, classes=classes, x_bound=space.bounds)
    ours = load(path)
    assert_same_model(ours, theirs)
    assert ours.feature_names_in_[:2].tolist() == ["age", "age is missing"]
    assert good("predict", path, data).split() == theirs.predict(X).tolist()
    scores = json.loads(good("evaluate", path, data, "--public", "--json"))
    assert scores["accuracy"] == theirs.score(X, labels)


def test_the_model_knows_how_to_read_other_tables(tmp_path, good):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--seed", 3, *FEW)
    new = people(5, seed=1)
    new[0]["town"] = "Nowhere"
    new = [{key: row[key] for key in ("note", "town", "age")} for row in new]  # no sick, no id
    found = good("predict", path, write_table(tmp_path / "new.csv", new)).split()
    space, chunks, _ = table_chunks(tmp_path / "new.csv", PLAN, labelled=False)
    X, _ = assemble(chunks, space.size)
    fitted = load(path)
    del fitted.feature_names_in_
    assert found == fitted.predict(X).tolist()


def test_classes_of_a_table_may_be_written_as_numbers(tmp_path, good, run):
    rows = [{**row, "sick": str(k % 2)} for k, row in enumerate(people())]
    data, path = write_table(tmp_path / "people.csv", rows), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "0,1", *FEW)
    assert load(path).classes_.tolist() == ["0", "1"]
    assert set(good("predict", path, data).split()) <= {"0", "1"}
    assert run("train", data, "-o", path, *TABLE, *FEW, "--force").err.count("classes were") == 1
    assert load(path).classes_.tolist() == [0.0, 1.0]
    assert set(good("predict", path, data).split()) <= {"0", "1"}
    good("evaluate", path, data, "--public")


def test_regression_from_a_table(tmp_path, good):
    rows = [{**row, "sick": f"{int(row['age']) / 100}"} for row in people()]
    data, path = write_table(tmp_path / "people.csv", rows), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--regression", "--y-bound", 2, "--seed", 3, *FEW)
    space, chunks, _ = table_chunks(data, replace(PLAN, classes=None))
    X, y = assemble(chunks, space.size)
    theirs = python_fit("regression", X, y, y_bound=2.0, x_bound=space.bounds)
    assert_same_model(load(path), theirs)
    assert np.array_equal(np.array(good("predict", path, data).split(), float), theirs.predict(X))
    scores = json.loads(good("evaluate", path, data, "--public", "--json"))
    assert scores["r2"] == theirs.score(X, y)


def test_a_broken_row_of_a_table_is_named_but_not_shown(tmp_path, run):
    for column in ("age", "sick"):
        rows = people()
        rows[6][column] = f"x{SECRET}"
        data = write_table(tmp_path / "people.csv", rows)
        done = run("train", data, "-o", tmp_path / "x", *TABLE, "--classes", "no,yes")
        assert done.code == 1 and "row 7 " in done.err and SECRET not in done.err
    data.write_text(data.read_text() + f"{SECRET},{SECRET}\n")
    done = run("train", data, "-o", tmp_path / "x", *TABLE, "--classes", "no,yes")
    assert done.code == 1 and SECRET not in done.err


def test_a_table_needs_a_target_and_bounds(tmp_path, run):
    data = write_table(tmp_path / "people.csv", people())
    done = run("train", data, "-o", tmp_path / "x")
    assert done.code == 1 and "--target" in done.err
    done = run("train", data, "-o", tmp_path / "x", "--target", "sick", "--ignore", "id")
    assert done.code == 1 and "--bounds age=" in done.err and "'age'" in done.err
    assert "--ignore" in done.err
    done = run("convert", data, "-o", tmp_path / "x")
    assert done.code == 1 and "--target" in done.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--bounds", "age"),
        ("--bounds", "age=12"),
        ("--bounds", "age=a:b"),
        ("--hash", "=3"),
        ("--hash", "town=3,town=4"),
        ("--delimiter", "ab"),
        ("--radius", "wide"),
        ("--max-iter", "2.5"),
        ("--classes", "no"),
    ],
)
def test_options_that_make_no_sense_are_named(tmp_path, run, option, value):
    data = write_table(tmp_path / "people.csv", people())
    done = run("train", data, "-o", tmp_path / "x", "--target", "sick", option, value)
    assert done.code == 1 and option.strip("-") in done.err


def test_classes_of_a_table_are_told_or_refused(tmp_path, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    done = run("train", data, "-o", path, *TABLE, *FEW)
    assert done.code == 0 and done.err.count("classes were read") == 1
    assert load(path).privacy_["public"]["classes"]["source"] == READ
    assert run("train", data, "-o", path, *TABLE, *FEW, "--strict").code == 1
    given = (*TABLE[:2], *TABLE[4:-2], "--ignore", "age")
    assert run("convert", data, "-o", tmp_path / "x", *given, "--strict").code == 1
    assert "classes were read" in run("convert", data, "-o", tmp_path / "x", *given).err


def test_how_columns_were_taken_is_shown(tmp_path, good):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    out = good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--rows", 200)
    for line in (
        r"sick +the label +0",
        r"age +number, clipped to 0:120; and whether it is missing +2",
        r"town +category, hashed into 16 buckets +16",
        r"note +words, hashed into 64 buckets +64",
        r"id +ignored +0",
    ):
        assert re.search(line, out)


def test_columns_without_a_role_are_told_or_refused(tmp_path, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    given = ("--target", "sick", "--classes", "no,yes", "--bounds", "age=0:120", "--ignore", "id")
    done = run("train", data, "-o", path, *given, "--rows", 10_000)
    assert done.code == 0 and "'town', 'note', in 1,024 buckets each" in done.err
    path.unlink()
    done = run("train", data, "-o", path, *given, "--rows", 10_000, "--strict")
    assert done.code == 1 and not path.exists()


@pytest.mark.parametrize("option", [("--hash", "town=x"), ("--hash", "town=2.5"), ("--text", "t=")])
def test_buckets_are_whole_numbers(tmp_path, run, option):
    data = write_table(tmp_path / "people.csv", people())
    done = run("train", data, "-o", tmp_path / "x", *TABLE[:4], "--ignore", "id", *option)
    assert done.code == 1 and option[1].partition("=")[0] in done.err


def test_options_in_other_words(tmp_path, good):
    rows = [{**row, "weight": "70"} for row in people()]
    data = write_table(tmp_path / "people.csv", rows)
    common = ("--target", "sick", "--classes", "no,yes", "--ignore", "id", "--seed", 3, *FEW)
    apart = ("--bounds", "age=0:120", "--bounds", "weight=0:300", "--hash", "town=16")
    good(
        "train", data, "-o", tmp_path / "a", *common, *apart, "--hash", "note=32", "--text", "note"
    )
    joined = ("--bounds", "age=0:120, weight=0:300", "--text", "note=32", "--hash", "town=16")
    good("train", data, "-o", tmp_path / "b", *common, *joined)
    ours, theirs = load(tmp_path / "b"), load(tmp_path / "a")
    ours, theirs = (dict(model.table_plan_["columns"]) for model in (ours, theirs))
    assert ours == theirs and ours["note"] == {"role": "text", "buckets": 32}


def test_all_numbers_without_bounds_are_named_at_once(tmp_path, run):
    rows = [{**row, "weight": "70"} for row in people()]
    data = write_table(tmp_path / "people.csv", rows)
    done = run("train", data, "-o", tmp_path / "x", "--target", "sick", "--ignore", "id")
    assert done.code == 1
    assert "--bounds age=low:high --bounds weight=low:high" in done.err


@pytest.mark.parametrize("name", ["patient_id", "visit_id", "email"])
@pytest.mark.parametrize("command", ["train", "convert"])
def test_a_column_that_seems_to_identify_is_no_feature_in_silence(
    tmp_path, good, run, command, name
):
    data = write_table(tmp_path / "visits.csv", [{name: f"p{k // 4}"} | r for k, r in _visits()])
    asked = (command, data, "-o", tmp_path / "made", "--target", "sick", "--bounds", "age=0:120")
    asked += ("--text", "note", "--classes", "no,yes", "--rows", 200)
    done = run(*asked)
    assert done.code == 1 and not (tmp_path / "made").exists()
    # The name of a visit is not taken for that of a person.
    assert f"--person {'COLUMN' if name == 'visit_id' else name}" in done.err
    assert f"--ignore {name}" in done.err and f"--hash {name}" in done.err
    for role in ("--person", "--ignore", "--hash"):
        good(*asked, role, name, "--force")


def test_a_column_that_seems_to_identify_is_judged_by_its_name_alone(tmp_path, run):
    for cells in ("p7", "7", ""):
        data = write_table(tmp_path / "visits.csv", [{"user_id": cells} | r for _, r in _visits()])
        done = run("train", data, "-o", tmp_path / "x", "--target", "sick", "--ignore", "town")
        assert done.code == 1 and "have no role: 'user_id'. Name" in done.err


def _visits():
    rows = people(40)
    for row in rows:
        del row["id"]
    return list(enumerate(rows))


def test_a_column_that_is_not_there(tmp_path, good, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    for wrong in (("--text", "tovn"), ("--ignore", "tovn"), ("--bounds", "tovn=0:1")):
        done = run("train", data, "-o", path, "--target", "sick", "--ignore", "id", *wrong)
        assert done.code == 1 and "no column 'tovn'; did you mean 'town'?" in done.err
    done = run("train", data, "-o", path, "--target", "quux", "--ignore", "id")
    assert done.code == 1 and "no column 'quux'; it has 'id', 'age'" in done.err
    plan = Schema({"age": Number(0, 9), "patient_id": Identifier(), "sick": Target(["no", "yes"])})
    for column, hint in (("Note ", "did you mean 'note'?"), ("department", "add it")):
        columns = {**plan.columns, column: Text(8)}
        Schema(columns, n_rows=200).to_toml(tmp_path / "s.toml")
        wide = [{"patient_id": "1", **row} for row in people()]
        done = run(
            "train",
            write_table(tmp_path / "w.csv", wide),
            "-o",
            path,
            "--schema",
            tmp_path / "s.toml",
        )
        assert (
            done.code == 1 and f"no column {column!r}, which the schema names; {hint}" in done.err
        )
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", *FEW)
    rows = [{key: row[key] for key in ("note", "town")} for row in people(3)]
    done = run("predict", path, write_table(tmp_path / "new.csv", rows))
    assert done.code == 1 and "'age', which the model was trained with" in done.err


def test_predictions_carry_an_identifier(tmp_path, text, good, run):
    rows = people()
    rows[0]["id"] = "a\tb"
    data, path = write_table(tmp_path / "people.csv", rows), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", *FEW)
    plain = good("predict", path, data).split()
    named = [line.split("\t") for line in good("predict", path, data, "--id", "id").splitlines()]
    assert named[0] == ["id", "prediction"] and named[1][0] == "a b"
    assert [line[1] for line in named[1:]] == plain
    head, first, *_ = good("predict", path, data, "--id", "id", "--proba").splitlines()
    assert head.split("\t") == ["id", "no", "yes"] and len(first.split("\t")) == 3
    assert "no column 'x'" in run("predict", path, data, "--id", "x").err
    good("train", text, "-o", path, *DECLARED, "--force")
    assert "--id needs a table" in run("predict", path, text, "--id", "id").err


def test_names_of_hashed_features_take_no_room(tmp_path, good):
    data = write_table(tmp_path / "people.csv", people())
    sizes = []
    for buckets in (64, 65_536):
        path = tmp_path / f"{buckets}.dpl"
        given = [buckets if part == 64 else part for part in TABLE]
        good("train", data, "-o", path, *given, "--classes", "no,yes", *FEW)
        assert load(path).feature_names_in_[-1] == f"note#{buckets - 1}"
        sizes.append(path.stat().st_size)
    assert sizes[1] < sizes[0] + 1000


def test_few_rows_are_told(tmp_path, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    given = (*TABLE, "--classes", "no,yes", "--rows", 200, "--solver", "frank_wolfe")
    done = run("train", data, "-o", path, *given)
    assert done.code == 0 and "few rows" in done.err and "--buckets" in done.err
    assert "few rows" not in run("train", data, "-o", path, *given, "-e", 200).err
    assert "few rows" not in run("train", data, "-o", path, *given, "-e", "inf").err


def test_other_delimiters(tmp_path, good, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--seed", 3, *FEW)
    wanted = good("predict", path, data, "--id", "id")
    data.write_text(data.read_text().replace(",", ";"))
    done = run("predict", path, data, "--id", "id")
    assert done.code == 1 and "--delimiter ';'" in done.err
    assert good("predict", path, data, "--id", "id", "--delimiter", ";") == wanted
    good("evaluate", path, data, "--public", "--delimiter", ";")
    done = run("train", data, "-o", path, *TABLE, "--classes", "no,yes", *FEW, "--force")
    assert done.code == 1 and "--delimiter ';'" in done.err
    given = (*TABLE, "--classes", "no,yes", "--seed", 3, "--delimiter", ";", *FEW, "--force")
    good("train", data, "-o", path, *given)
    assert good("predict", path, data, "--id", "id") == wanted


def test_a_dry_run_shows_roles_and_does_nothing(tmp_path, good, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    out = good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--dry-run")
    assert "hashed into 16 buckets" in out and "nothing was fitted" in out and not path.exists()
    assert good("train", data, *TABLE, "--classes", "no,yes", "--dry-run") == out
    done = run("train", data, *TABLE, "--classes", "no,yes")
    assert done.code == 2 and "give -o model.dpl" in done.err


def test_a_delta_that_makes_no_sense_is_told(tmp_path, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    given = ("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--force")
    assert "Delta should be" in run(*given, "--rows", 200, "--delta", 0.01).err
    assert "Delta should be" not in run(*given, "--rows", 200, "--delta", 1e-3).err


def test_what_is_said_does_not_tell_how_many_rows_there_are(tmp_path, run):
    """Nothing but seconds differs between a file and one of twice as many rows."""
    said = []
    for rows in (100, 200):
        data = write_table(tmp_path / "people.csv", people(200)[:rows])
        done = run(
            "train",
            data,
            "-o",
            tmp_path / "m",
            *TABLE,
            "--classes",
            "no,yes",
            "--rows",
            9,
            "--force",
        )
        assert done.code == 0
        said.append(re.sub(r"(?m)^(nonzeros|.*, s) .*$", "", done.out) + done.err)
    assert said[0] == said[1]


def test_a_dry_run_shows_what_a_fit_would_cost(tmp_path, good):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    given = ("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--rows", 200)
    assert "solver gradient" in good(*given, "--dry-run")
    given += ("--solver", "frank_wolfe")
    out = good(*given, "--dry-run")
    plan = json.loads(good(*given, "--dry-run", "--json"))["plan"]
    assert f"rho = {plan['rho']:.6g}" in out and "solver frank_wolfe" in out
    good(*given)
    before = path.read_bytes()
    good(*given, "--dry-run")
    assert path.read_bytes() == before
    stated = load(path).privacy_
    for name in ("epsilon", "delta", "rho", "rounds", "releases", "bounds", "solver", "row_map"):
        assert stated[name] == plan[name]


def test_numbers_with_hashed_columns_and_text_beside_them_are_one_table(tmp_path, good):
    rows = [
        {"age": 20 + k % 50, "dose": k % 7, "town": f"t{k % 9}", "note": f"w{k % 2} x", "y": k % 2}
        for k in range(400)
    ]
    data, path = write_table(tmp_path / "rows.csv", rows), tmp_path / "model.dpl"
    roles = ("--target", "y", "--bounds", "age=0:100,dose=0:7", "--hash", "town", "--text", "note")
    roles += ("--missing", "age,dose")
    public = ("--classes", "0,1", "--rows", 400, "--buckets", 1024, "--epsilon", 8)
    good("train", data, "-o", path, *roles, *public)
    model = load(path)
    assert model.solver_ == "table" and model.privacy_["public"]["wide_columns"]["value"] == 2048
    found = good("predict", path, data).split()
    assert np.mean(np.array(found) == [str(row["y"]) for row in rows]) > 0.9

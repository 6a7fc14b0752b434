"""``dplasso report`` from tables: the page is about the columns of the file, and the rows given."""

import csv
import json
import re
import shlex
from html import unescape

import numpy as np
import pytest

from dplasso import Schema
from dplasso.schema import Number, Person, Target

TABLE = (
    *("--target", "sick", "--bounds", "age=0:120", "--hash", "town=16", "--text", "note"),
    *("--buckets", "64", "--classes", "no,yes", "--rows", "900"),
)


def write_people(path, rows, seed):
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "town", "note", "sick"])
        for _ in range(rows):
            age = rng.integers(0, 100)
            note = "cough fever" if rng.random() < 0.3 else "well"
            sick = "yes" if age > 70 or "cough" in note else "no"
            shown = "" if rng.random() < 0.2 else age
            writer.writerow([shown, ["Ulm", "Bern"][rng.integers(2)], note, sick])
    return path


def words(page, section):
    (found,) = re.findall(rf'<section id="{section}".*?</section>', page.read_text("utf-8"), re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).split())


@pytest.fixture
def model(tmp_path, run):
    data = write_people(tmp_path / "people.csv", 900, seed=0)
    options = ("--radius", "0.1", "--max-iter", "200", "-e", "1000", "-q")
    done = run("train", data, "-o", tmp_path / "model.dpl", *TABLE, *options)
    assert done.code == 0, done.err
    return tmp_path / "model.dpl"


def reported(tmp_path, run, model, *options):
    page = tmp_path / "page.html"
    done = run("report", model, "-o", page, *options)
    assert done.code == 0, done.err
    return page


def test_a_page_of_a_table_explains_its_names_bounds_and_radius(tmp_path, run, model):
    page = reported(tmp_path, run, model)
    coefficients, public = words(page, "coefficients"), words(page, "public")
    assert re.search(r"note#(\d+) is bucket \1 of column note , whose words", coefficients)
    norm, radius = re.search(
        r"add up to ([\d.]+); the radius allows ([\d.]+)\.", coefficients
    ).groups()
    assert 0 < float(norm) <= float(radius) == 0.1
    assert "age number, clipped to 0:120" in public and "sick the label 0" in public
    assert "centred and scaled by their range" in coefficients


def test_enough_public_rows_give_a_curve_beside_the_model(tmp_path, run, model):
    public = write_people(tmp_path / "public.csv", 300, seed=1)
    page = reported(tmp_path, run, model, "--public-data", public)
    text = words(page, "quality")
    assert "200 public rows and scored on 100 others" in text and "not of this model" in text
    assert "900 rows, 4.5 times as many" in text and "This model: 1000" in text
    assert 'class="diamond"' in page.read_text("utf-8")
    assert "300 rows of public.csv are not protected" in text
    assert "scored on 300 public rows of <bdi>public.csv</bdi>" in page.read_text("utf-8")
    assert str(tmp_path) not in page.read_text("utf-8")
    assert "better than always answering the most common class" in text


def test_the_curve_of_a_model_of_people_is_of_the_people_in_the_public_rows(tmp_path, run):
    path, schema = tmp_path / "visits.csv", tmp_path / "visits.toml"
    lines = [f"{k // 3},{20 + k % 60},{'yes' if k % 60 > 30 else 'no'}" for k in range(900)]
    path.write_text("\n".join(["patient,age,sick", *lines]) + "\n")
    columns = {"patient": Person(), "age": Number(0, 120), "sick": Target(["no", "yes"])}
    Schema(columns, n_rows=900, n_people=300).to_toml(schema)
    model = tmp_path / "visits.dpl"
    assert run("train", path, "-o", model, "--schema", schema, "-e", 5, "-q").code == 0
    page = words(reported(tmp_path, run, model, "--public-data", path), "quality")
    assert "on 200 people with about 600 public rows" in page
    assert "this model had 300 people, 1.5 times as many" in page
    # Public rows need not say whose they are.
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(f"{line.partition(',')[2]}\n" for line in ["p,age,sick", *lines]))
    done = run("report", model, "-o", tmp_path / "bare.html", "--public-data", bare)
    assert done.code == 0 and "the curve over epsilon is of rows" in " ".join(done.err.split())
    assert "The curve is of rows: the public rows do" in words(tmp_path / "bare.html", "quality")


def test_few_public_rows_give_a_reason(tmp_path, run, model):
    public = write_people(tmp_path / "public.csv", 60, seed=1)
    page = reported(tmp_path, run, model, "--public-data", public)
    assert "No curve is drawn: a third of the 60 public rows" in words(page, "quality")


def test_rows_that_cannot_be_scored_are_refused_with_a_remedy(tmp_path, run, model):
    wrong = tmp_path / "public.csv"
    wrong.write_text("age,town,note,sick\n61,Ulm,well,maybe\n")
    done = run("report", model, "-o", tmp_path / "page.html", "--public-data", wrong)
    assert done.code == 1 and "classes" in done.err and "maybe" not in done.err
    wrong.write_text("age,town\n61,Ulm\n")
    done = run("report", model, "-o", tmp_path / "page.html", "--public-data", wrong)
    assert done.code == 1 and "has no column" in done.err
    assert not (tmp_path / "page.html").exists()


def test_groups_and_texts_are_on_the_page_and_in_the_json(tmp_path, run, model):
    public = write_people(tmp_path / "public.csv", 120, seed=1)
    page, script = tmp_path / "page.html", "<script>alert(1)</script>"
    texts = ("--intended-use", script, "--owner", "The office", "--contact", "Room 7")
    groups = ("--public-data", public, "--by", "town", "--by", "age")
    done = run("report", model, "-o", page, *groups, *texts, "--json")
    assert done.code == 0, done.err
    facts, html = json.loads(done.out), page.read_text("utf-8")
    assert "<script>alert" not in html and facts["about"]["intended_use"] == script
    assert [one["column"] for one in facts["subgroups"]] == ["town", "age"]
    assert {group["name"] for group in facts["subgroups"][0]["groups"]} == {"Ulm", "Bern"}
    ages = words(page, "subgroups").partition("By age")[2]
    assert len(re.findall(r"\d+ to \d+ ", ages)) == 4 and "(missing)" in ages
    assert f"{facts['quality']['score']:.4f}" in words(page, "quality")
    assert facts["model"]["sha256"] in words(page, "verify")
    command = facts["command"]
    assert str(tmp_path) not in html and str(tmp_path) not in done.out
    assert shlex.split(command)[:3] == ["dplasso", "report", "model.dpl"]
    assert "--by town --by age" in command and "writes the page again" in words(page, "verify")


def test_the_command_on_the_page_writes_the_same_page(tmp_path, run, model, monkeypatch):
    write_people(tmp_path / "public.csv", 60, seed=1)
    monkeypatch.chdir(tmp_path)
    done = run("report", model, "--public-data", "public.csv", "--title", "A 'title'", "--json")
    first = (tmp_path / "report.html").read_bytes()
    command = shlex.split(json.loads(done.out)["command"])
    (tmp_path / "report.html").unlink()
    assert run(*command[1:], "-q").code == 0
    assert (tmp_path / "report.html").read_bytes() == first


def test_the_ledger_of_the_fit_says_what_is_left(tmp_path, run):
    data, ledger = write_people(tmp_path / "people.csv", 300, seed=0), tmp_path / "l.sqlite"
    assert run("budget", "init", ledger, "--epsilon", 3, "--delta", 1e-6).code == 0
    options = ("--radius", "0.1", "--max-iter", "20", "-e", "1", "-q", "--budget", ledger)
    charged, plain = tmp_path / "charged.dpl", tmp_path / "plain.dpl"
    assert run("train", data, "-o", charged, *TABLE, *options).code == 0
    assert run("train", data, "-o", plain, *TABLE, *options[:-2]).code == 0
    page = tmp_path / "page.html"
    done = run("report", charged, "-o", page, "--budget", ledger, "--json")
    facts = json.loads(done.out)
    assert facts["ledger"]["entry"] == facts["ledger"]["charges"] == 1
    assert "The ledger was verified" in words(page, "ledger")
    assert "l.sqlite" not in page.read_text("utf-8")
    assert shlex.split(facts["command"])[-2:] == ["--budget", "LEDGER"]
    refused = run("report", plain, "-o", page, "--budget", ledger, "--force")
    assert refused.code == 1 and "--budget" in refused.err and "not charged" in refused.err
    both = run("report", charged, plain, "-o", page, "--budget", ledger, "--json", "--force")
    assert both.code == 0, both.err
    assert [one["ledger"] is None for one in json.loads(both.out)["models"]] == [False, True]


def test_several_models_are_compared_on_one_page(tmp_path, run, model):
    other = tmp_path / "other.dpl"
    other.write_bytes(model.read_bytes())
    public = write_people(tmp_path / "public.csv", 120, seed=1)
    page = reported(tmp_path, run, model, other, "--public-data", public, "--title", "Ours")
    assert "model.dpl" in words(page, "quality") and "other.dpl" in words(page, "quality")
    assert "note" in words(page, "columns") and "Ours" in page.read_text("utf-8")
    given = ("--public-data", public, "--by", "town", "--force")
    done = run("report", model, other, "-o", page, *given)
    assert done.code == 1 and "one model" in done.err
    done = run("report", model, other, "-o", other)
    assert done.code == 1 and other.read_bytes() == model.read_bytes()


def test_a_column_that_is_not_there_and_rows_that_are_no_table_are_refused(tmp_path, run, model):
    public = write_people(tmp_path / "public.csv", 60, seed=1)
    page = tmp_path / "page.html"
    done = run("report", model, "-o", page, "--public-data", public, "--by", "twon")
    assert done.code == 1 and "has no column 'twon'" in done.err and not page.exists()


def test_options_of_the_public_rows_need_them(tmp_path, run, model):
    for options in (("--labels", tmp_path / "y.npy"), ("--zero-based",), ("--by", "town")):
        done = run("report", model, "-o", tmp_path / "page.html", *options)
        assert done.code == 1 and "--public-data" in done.err


def test_help_says_what_rows_it_takes(run):
    text = " ".join(run("report", "--help").out.split())
    assert "Public rows with labels" in text and "most common class" in text

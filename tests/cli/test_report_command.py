"""``dplasso report`` from tables: the page is about the columns of the file, and the rows given."""

import csv
import re
from html import unescape

import numpy as np
import pytest

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
    assert "over the largest bound, 120" in coefficients


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


def test_options_of_the_public_rows_need_them(tmp_path, run, model):
    for options in (("--labels", tmp_path / "y.npy"), ("--zero-based",)):
        done = run("report", model, "-o", tmp_path / "page.html", *options)
        assert done.code == 1 and "--public-data" in done.err


def test_help_says_what_rows_it_takes(run):
    text = " ".join(run("report", "--help").out.split())
    assert "Public rows with labels" in text and "most common class" in text

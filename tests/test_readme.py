"""The README is short, and its example prints the statement that it shows."""

import re
import tomllib
from pathlib import Path

import pytest

import dplasso
from doc_pages import blocks

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def test_the_readme_fits_on_a_front_page():
    assert len(README.splitlines()) <= 120


def test_the_comparison_has_at_most_eight_rows_and_lists_are_short():
    sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", README, re.MULTILINE))
    _, _, *rows = re.findall(r"^\|.*", sections["Next to the alternatives"], re.MULTILINE)
    assert 0 < len(rows) <= 8
    bullets = {name: len(re.findall(r"^- ", text, re.MULTILINE)) for name, text in sections.items()}
    assert (bullets["Example"], bullets["What is guaranteed"]) == (6, 5)


def test_the_badges_are_true():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    python, license_ = (
        (ROOT / "docs" / "_static" / f"badge_{name}.svg").read_text()
        for name in ("python", "license")
    )
    assert f"<title>python: {' | '.join(versions)}</title>" in python
    assert f"![Python {', '.join(versions[:-1])} and {versions[-1]}]" in README
    assert project["license"] in license_ and f"![License: {project['license']}]" in README
    tested = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())[1]
    assert re.findall(r'"(.*?)"', tested) == versions


@pytest.mark.filterwarnings("error")  # what is left out as well: an example declares it
def test_the_example_prints_the_statement_below_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (example,) = (block for block in blocks(README) if block.language == "python")
    (statement,) = (block for block in blocks(README) if block.language == "text")
    assert sum(map(bool, example.code.splitlines())) <= 15
    names = {}
    exec(example.code, names)
    assert capsys.readouterr().out.split() == statement.code.split()
    again = dplasso.load("notes.dpl")
    assert again.fitted_.weights.nnz <= 50
    assert (again.predict(names["notes"]) == names["model"].predict(names["notes"])).all()

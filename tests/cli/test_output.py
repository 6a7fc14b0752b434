"""What people and machines get to see."""

import json
import os
from types import SimpleNamespace

import pytest
from numba.core import event
from rich.console import Console
from typer.testing import CliRunner

import dplasso
from commanding import COLUMNS, DECLARED, FEW, ROWS, problem, subprocess_of, write_svmlight
from dplasso.cli import app as application
from dplasso.cli import demo, output


def test_json_is_one_document_and_nothing_else(tmp_path, text):
    path = tmp_path / "model.dpl"
    given = ("train", text, "-o", path, "--seed", 3, *FEW, "--json")
    trained = subprocess_of(*given, "--test", text)
    assert trained.code == 0
    document = json.loads(trained.out)
    assert document["privacy"]["epsilon"] == 1.0
    assert document["columns"] == COLUMNS and document["rounds"] == 15
    assert document["test"]["rows"] == ROWS
    for said in ("--features", "--classes", "--seed", "guarantee does not cover", "training data"):
        assert said in trained.err
    evaluated = subprocess_of("evaluate", path, text, "--json")
    assert json.loads(evaluated.out)["accuracy"] == document["test"]["accuracy"]
    assert evaluated.err.startswith("warning: ")
    inspected = subprocess_of("inspect", path, "--json", "--top", 2)
    assert json.loads(inspected.out)["privacy"] == document["privacy"]
    assert len(json.loads(inspected.out)["largest"]) == 2 and inspected.err == ""


def test_without_privacy_json_has_no_infinity(tmp_path, text, run):
    path = tmp_path / "model.dpl"
    done = run("train", text, "-o", path, *DECLARED, "-e", "inf", "--json")
    assert json.loads(done.out)["privacy"]["epsilon"] == "inf"
    assert "not private" in done.err


def test_long_names_are_not_cut(tmp_path, text, good):
    path = tmp_path / ("long" * 40) / "model.dpl"
    path.parent.mkdir()
    assert str(path) in good("train", text, "-o", path, *DECLARED)


def test_the_guarantee_comes_last_and_is_wrapped_on_a_terminal(tmp_path, text, good, monkeypatch):
    given = ("train", text, *DECLARED, "--test", text)
    plain = good(*given, "-o", tmp_path / "a").splitlines()
    assert plain[-1].startswith("This PrivateLassoClassifier") and plain[-2] == ""
    assert any(line.startswith("On ") for line in plain[:-2])
    monkeypatch.setattr(output, "_out", Console(width=60, force_terminal=True, **output._PLAIN))
    lines = good(*given, "-o", tmp_path / "b").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("This PrivateLasso"))
    assert all(len(line) <= 60 for line in lines[start:]) and len(lines) - start > 5
    assert " ".join(lines[start:])[:200] == plain[-1][:200]


@pytest.mark.parametrize(("options", "said"), [((), True), (("-q",), False)])
def test_compiling_is_named_once_where_it_is_the_first_use(
    text, model, run, monkeypatch, options, said
):
    """A loop that is kept on disk is compiled; one that is not would be compiled at every use."""
    kept, passing = SimpleNamespace(_cache=SimpleNamespace(cache_path="x")), SimpleNamespace()

    def compiled(*arguments):
        for dispatcher in (passing, kept, kept):
            with event.trigger_event("numba:compile", data={"dispatcher": dispatcher}):
                pass
        return dplasso.load(*arguments)

    monkeypatch.setattr("dplasso.cli.evaluate.load", compiled)
    done = run("evaluate", model, text, "--public", *options)
    assert done.code == 0 and done.err.count("first use, up to a minute") == said
    monkeypatch.setattr("dplasso.cli.evaluate.load", dplasso.load)
    assert "compiling" not in run("evaluate", model, text, "--public").err


def test_quiet_is_quiet(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "-e", 10, "-q")
    assert done == (0, "", "")
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "-q", "--test", text, "--force")
    assert done.out.startswith(f"On {text}") and "accuracy" in done.out  # it was asked for
    assert run("evaluate", tmp_path / "m", text, "--public", "-q") == (0, "", "")


def test_inspect(tmp_path, model, good):
    out = good("inspect", model)
    assert "Largest coefficients" in out and "differentially private" in out
    X, y = problem("three")
    data = write_svmlight(tmp_path / "three.svm", X, y)
    good("train", data, "-o", model, "--features", COLUMNS, "--classes", "0,1,2", *FEW, "--force")
    assert "class" in good("inspect", model)
    good("convert", data, "-o", tmp_path / "x.dpc", "--features", COLUMNS)
    facts = json.loads(good("inspect", tmp_path / "x.dpc", "--verify", "--json"))
    assert facts["entries"] == X.nnz and facts["verified"]
    assert "as private as the data" in good("inspect", tmp_path / "x.dpc")


def test_names_are_shown_as_they_are(tmp_path, text, good, run):
    names = tmp_path / "names.txt"
    names.write_text("".join(f"[/red]:smile: {k}\n" for k in range(COLUMNS)), "utf-8")
    path = tmp_path / "model.dpl"
    good("train", text, "-o", path, *DECLARED, "--feature-names", names)
    assert "[/red]:smile: " in good("inspect", path)
    good("predict", path, text)
    names.write_text("too\nfew\n")
    path.unlink()
    done = run("train", text, "-o", path, *DECLARED, "--feature-names", names)
    assert done.code == 1 and "2 names for 40 columns" in done.err and not path.exists()


def test_predictions_go_to_a_file(tmp_path, model, text, good, run):
    good("predict", model, text, "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == good("predict", model, text)
    assert run("predict", model, text, "-o", tmp_path / "no" / "out.txt").code == 1


def test_demo(tmp_path, good, monkeypatch):
    monkeypatch.setattr(demo, "ROWS", 300)
    monkeypatch.setattr(demo, "TEST_ROWS", 100)
    monkeypatch.setattr(demo, "WORDS", 500)
    out = good("demo", "-o", tmp_path / "demo.html")
    assert "300 notes x 500 words" in out and "none" in out
    assert "<!doctype html>" in (tmp_path / "demo.html").read_text("utf-8")


def test_help_and_version():
    runner = CliRunner()
    helped = runner.invoke(application.app, ["--help"])
    assert helped.exit_code == 0
    for command in application.COMMANDS:
        assert command in helped.output
        assert runner.invoke(application.app, [command, "--help"]).exit_code == 0
    assert runner.invoke(application.app, ["--version"]).output == f"{dplasso.__version__}\n"


def test_completion():
    """The script for a shell, and the answers that it asks for."""
    environment = {**os.environ, "_DPLASSO_COMPLETE": "source_bash"}
    script = subprocess_of(env=environment)
    assert script.code == 0 and "complete -o default -F" in script.out
    asked = {"_DPLASSO_COMPLETE": "complete_bash", "COMP_WORDS": "dplasso tr", "COMP_CWORD": "1"}
    assert subprocess_of(env={**os.environ, **asked}).out.split() == ["train"]
    assert "--show-completion" in subprocess_of("--help").out


def test_report(tmp_path, model, text, good, run):
    page = tmp_path / "report.html"
    good("report", model, "-o", page, "--title", "Our model", "--public-data", text)
    html = page.read_text("utf-8")
    assert "Our model" in html and "Accuracy" in html
    done = run("report", model, "-o", tmp_path / "no" / "report.html")
    assert done.code == 1 and "folder" in done.err

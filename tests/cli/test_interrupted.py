"""Whenever a command is interrupted, it says what was charged and what was written."""

import signal
import subprocess
import sys

import pytest

from commanding import DECLARED
from dplasso import Budget, load

# Run the command, and send a signal to it just before or just after a function of its is called.
SCRIPT = """
import importlib, os, signal, sys
from dplasso.cli import main
module, name, when, number, *sys.argv[1:] = sys.argv[1:]
place = importlib.import_module(module)
*owner, name = name.split(".")
place = getattr(place, owner[0]) if owner else place
ours = getattr(place, name)

def interrupted(*arguments, **named):
    if when == "before":
        signal.raise_signal(int(number))
    found = ours(*arguments, **named)
    signal.raise_signal(int(number))
    return found

setattr(place, name, interrupted)
main()
"""
INTERRUPT, END = (signal.SIGINT, 130), (signal.SIGTERM, 143)


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.sqlite"
    Budget(3.0, 1e-6, path)
    return path


def interrupted(function, when, number, *arguments):
    module, _, name = function.partition(":")
    given = [module, name, when, str(int(number)), *map(str, arguments)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *given], capture_output=True, text=True, timeout=120
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, " ".join(done.stderr.split())


def entries(ledger):
    return len(Budget.open(ledger).entries())


@pytest.mark.parametrize(
    ("function", "when", "charged", "written", "number", "code"),
    [
        ("dplasso.ledger.budget:Budget._append", "before", 0, False, *INTERRUPT),
        ("dplasso.ledger.sqlite:SQLiteStore.append", "after", 1, False, *INTERRUPT),
        ("dplasso.cli.train:kept", "before", 1, False, *END),
        ("dplasso.cli.train:kept", "after", 1, True, *INTERRUPT),
    ],
)
def test_training_says_what_was_charged_and_written(
    tmp_path, text, ledger, function, when, charged, written, number, code
):
    model = tmp_path / "model.dpl"
    given = ("train", text, "-o", model, *DECLARED, "--budget", ledger, "-q")
    ended, said = interrupted(function, when, number, *given)
    assert ended == code and entries(ledger) == charged and model.exists() == written
    what = "interrupted" if code == 130 else "ended by a signal"
    receipt = f"the fit was charged, and the receipt is entry 1 of {ledger}"
    place = f"{model} was written" if written else "no model was written"
    assert f"error: {what}; {receipt if charged else 'nothing was charged'}; {place}" in said
    if written:
        assert load(model).privacy_["ledger"]["entry"] == 1


@pytest.mark.parametrize(
    ("function", "when", "charged"),
    [
        ("dplasso.ledger.budget:Budget._append", "before", 0),
        ("dplasso.mechanisms.grid_gaussian:GridGaussian.add_to", "before", 1),
    ],
)
def test_a_score_says_what_was_charged(text, model, ledger, function, when, charged):
    given = ("evaluate", model, text, "--epsilon", 1, "--budget", ledger)
    ended, said = interrupted(function, when, signal.SIGINT, *given)
    assert ended == 130 and entries(ledger) == charged
    receipt = f"the score was charged, and the receipt is entry 1 of {ledger}"
    assert f"error: interrupted; {receipt if charged else 'nothing was charged'}" in said


def test_a_model_that_was_there_is_as_it_was(tmp_path, text, model, ledger):
    before = model.read_bytes()
    given = ("train", text, "-o", model, *DECLARED, "--force", "-q")
    code, said = interrupted("dplasso.cli.train:kept", "before", signal.SIGINT, *given)
    assert code == 130 and model.read_bytes() == before
    assert "nothing was charged, since no --budget was given; no model was written" in said
    assert f"{model} is as it was" in said


@pytest.mark.parametrize(
    ("command", "function", "what"),
    [
        ("predict", "dplasso.estimators.prediction_file:replace_file", "file of predictions"),
        ("report", "dplasso.cli.report:write_page", "page"),
    ],
)
def test_other_outputs_are_written_or_not(tmp_path, text, model, command, function, what):
    output = tmp_path / "output"
    rows = (text,) if command == "predict" else ()
    given = (command, model, *rows, "-o", output)
    code, said = interrupted(function, "before", signal.SIGINT, *given)
    assert code == 130 and not output.exists() and f"no {what} was written" in said


def test_the_entry_of_another_fit_is_not_taken_for_its_own(tmp_path, text, ledger):
    """Another process charges the ledger while this one is interrupted before its own charge."""
    from dplasso.cli.endings import NotedBudget
    from dplasso.privacy.events import Gaussian

    noted = NotedBudget.open(ledger).labelled("ours")
    how = {"delta": 1e-6, "neighboring": "add_remove"}

    class _StoppedError(Exception):
        pass

    def stop(*_):
        Budget.open(ledger).labelled("theirs").charge(Gaussian(10.0), label="Fit", **how)
        raise _StoppedError

    noted._append = stop
    assert noted.charged == "nothing was charged"
    with pytest.raises(_StoppedError):
        noted.charge(Gaussian(10.0), label="Fit", **how)
    assert noted.charged == "nothing was charged"
    ledger.write_bytes(b"damaged")
    assert "whether it was charged is not known" in noted.charged

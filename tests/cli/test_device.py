"""`dplasso train --device cuda`: the model of the processor, or an error that says what is missing.

The card is its twin, which runs the same kernels on the processor.
"""

import sys

import numpy as np
import pytest

from commanding import COLUMNS, ROWS
from dplasso import Budget, load
from dplasso.kernels.cuda import card
from twin import Twin

PUBLIC = ("--features", COLUMNS, "--rows", ROWS, "--classes", "-1,1", "--x-bound", "1")
GIVEN = (*PUBLIC, "--quiet", "--seed", "1", "--epsilon", "30")


@pytest.mark.parametrize("solver", ["gradient", "table"])
def test_a_card_gives_the_model_of_the_processor(solver, tmp_path, text, good, monkeypatch):
    found, device = [], Twin()
    monkeypatch.setattr(card, "checked_card", lambda: device)
    for name in ("cpu", "cuda"):
        model = tmp_path / name
        good("train", text, "-o", model, *GIVEN, "--solver", solver, "--device", name)
        found.append(load(model))
    assert device.launched and np.any(found[0].coef_)
    for part in ("coef_", "intercept_"):
        assert np.array_equal(getattr(found[0], part), getattr(found[1], part))


def test_without_a_card_nothing_is_charged_or_written(tmp_path, text, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    card.checked_card.cache_clear()
    ledger, model = tmp_path / "ledger", tmp_path / "model"
    budget = Budget(50.0, delta=1e-4, store=ledger)
    given = ("train", text, "-o", model, *GIVEN, "--solver", "gradient", "--budget", ledger)
    done = run(*given, "--device", "cuda")
    assert done.code == 2 and "cupy" in done.err and "dplasso[gpu]" in done.err
    assert not budget.entries() and not model.exists()
    assert "Traceback" not in done.err


def test_other_devices_are_rejected(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "model", *GIVEN, "--device", "gpu")
    assert done.code in (1, 2) and "cpu" in done.err and "cuda" in done.err
    assert not (tmp_path / "model").exists()

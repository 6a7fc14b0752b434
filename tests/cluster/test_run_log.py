"""What a stopped driver has released and charged is neither drawn nor charged again."""

import numpy as np
import pytest

from dplasso import Budget
from dplasso.cluster.in_process import InProcess
from dplasso.cluster.opened import OpenShards
from dplasso.cluster.run_log import RunLog, discard
from dplasso.cluster.sums import SummedMargins, SummedRows, SummedTable
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.accountant import Receipt
from sharded import assert_same, ball_problems, cuts, problems, table_problems

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")
RECEIPT = Receipt(1, "ab", 1.0, 2.0, 1e-6)
NAMES = ("few nonzeros", "softmax", "table")


class StoppedError(Exception):
    """In the place of a signal that ends the driver."""


def fit(problem, shards, folder, **changes):
    """A fit in this process that stores its releases in a folder."""
    parts = shards.divided(shards.count)
    with InProcess(parts, shards.options, 1.0, 1) as crew, RunLog(folder) as log:
        rows = OpenShards(crew, log)
        return problem.model(**changes).fit(rows.facts.described())


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_goes_on_wherever_it_was_stopped(name, tmp_path, monkeypatch):
    """It is stopped after every few sums, and before their noise, until it is done."""
    problem = next(one for one in problems() if one.name == name)
    shards = problem.write(tmp_path / "parts", cuts()["two"])
    ledger = Budget(50.0, delta=1e-4, store=tmp_path / "ledger")
    left, stops = [0], 0
    sums_of = [(SummedRows, "mass"), (SummedRows, "sums"), (SummedTable, "answer")]
    sums_of += [(SummedMargins, "_total")]
    for kind, method in sums_of:
        right = getattr(kind, method)

        def stopped(self, *args, right=right):
            if self._log.pending() is None:
                left[0] -= 1
                if left[0] < 0:
                    raise StoppedError
            return right(self, *args)

        monkeypatch.setattr(kind, method, stopped)
    found = None
    while found is None:
        left[0] = 3
        try:
            found = fit(problem, shards, tmp_path / "fit", accountant=ledger)
        except StoppedError:
            stops += 1
    assert stops >= 2
    assert len(ledger.entries()) == 1
    # With a ledger the budget is counted in rho, so the fit in memory needs one, too.
    other = Budget(50.0, delta=1e-4, store=tmp_path / "other")
    assert np.array_equal(found.coef_, problem.fitted(tmp_path, accountant=other).coef_)
    # A fit that was complete gives its model again.
    again = fit(problem, shards, tmp_path / "fit", accountant=ledger)
    assert_same(again, found)
    assert len(ledger.entries()) == 1
    discard(tmp_path / "fit")
    assert not (tmp_path / "fit").exists()


def test_a_folder_is_for_one_fit_to_the_same_rows(tmp_path):
    problem = problems()[0]
    shards = problem.write(tmp_path / "parts", cuts()["two"])
    fit(problem, shards, tmp_path / "fit")
    with pytest.raises(ValueError, match="other settings or rows"):
        fit(problem, shards, tmp_path / "fit", epsilon=4.0)
    path = tmp_path / "parts" / "rows-0.svm"
    path.write_text(path.read_text().replace("1 ", "0 ", 1))
    with pytest.raises(ValueError, match="other settings or rows"):
        fit(problem, shards, tmp_path / "fit")
    with RunLog(tmp_path / "fit"), pytest.raises(ValueError, match="in use by another process"):
        RunLog(tmp_path / "fit")


def test_a_checkpoint_is_of_settings_that_no_statement_shows_too(tmp_path):
    """Bounds of columns are shown by their extremes only, and an intercept not at all."""
    ends = [(-1.0, 1.0)] * 8
    two = cuts()["two"]
    cases = {
        "bounds": (table_problems()[-1], {"x_bound": [*ends[:-1], (-1.0, 0.9)]}),
        "intercept": (ball_problems()[0], {"fit_intercept": False}),
    }
    for name, (problem, change) in cases.items():
        shards = problem.write(tmp_path / name, two)
        fit(problem, shards, tmp_path / f"{name}-fit")
        with pytest.raises(ValueError, match="other settings or rows"):
            fit(problem, shards, tmp_path / f"{name}-fit", **change)


def test_releases_of_an_unknown_fit_are_taken_by_no_other_one(tmp_path):
    with begun(tmp_path / "fit") as log:
        log.append(np.arange(3))
    (tmp_path / "fit" / "fit.json").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="fit.json is lost"):
        RunLog(tmp_path / "fit")
    (tmp_path / "elsewhere").rename(tmp_path / "fit" / "fit.json")
    with RunLog(tmp_path / "fit") as log:
        assert log.taken().tolist() == [0, 1, 2]


def test_a_checkpoint_of_another_version_says_so(tmp_path):
    with begun(tmp_path / "fit"):
        pass
    state = tmp_path / "fit" / "fit.json"
    state.write_text(state.read_text().replace("progress 2", "progress 1"))
    with pytest.raises(ValueError, match="of another version of dplasso"):
        RunLog(tmp_path / "fit")


def begun(folder):
    log = RunLog(folder)
    log.begin({"plan": 1}, lambda key: key)
    return log


def test_a_charge_that_was_entered_but_not_noted_is_found(tmp_path):
    """The driver stops after the ledger has the charge and before it knows."""
    entered = []

    def charge(label):
        entered.append(label)
        raise StoppedError

    with begun(tmp_path / "fit") as log, pytest.raises(StoppedError):
        log.charged_once(charge, lambda label: None)
    with begun(tmp_path / "fit") as log:
        found = log.charged_once(charge, lambda label: RECEIPT if label in entered else None)
    assert found == RECEIPT
    with begun(tmp_path / "fit") as log:  # and is known from then on
        assert log.charged_once(charge, None) == RECEIPT
    assert len(entered) == 1


def test_an_accountant_that_cannot_be_asked_is_not_charged_twice(tmp_path):
    def charge(label):
        raise StoppedError

    with begun(tmp_path / "fit") as log, pytest.raises(StoppedError):
        log.charged_once(charge, None)
    with begun(tmp_path / "fit") as log, pytest.raises(ValueError, match="cannot tell whether"):
        log.charged_once(charge, None)


def test_a_charge_that_was_never_entered_is_entered(tmp_path):
    def refused(label):
        raise StoppedError

    with begun(tmp_path / "fit") as log, pytest.raises(StoppedError):
        log.charged_once(refused, lambda label: None)
    with begun(tmp_path / "fit") as log:
        assert log.charged_once(lambda label: RECEIPT, lambda label: None) == RECEIPT


def test_a_ledger_finds_the_charge_of_a_fit(tmp_path):
    problem = problems()[0]
    ledger = Budget(50.0, delta=1e-4, store=tmp_path / "ledger")
    shards = problem.write(tmp_path / "parts", cuts()["two"])
    model = fit(problem, shards, tmp_path / "fit", accountant=ledger.labelled("march"))
    label = ledger.entries()[0].label
    assert label.startswith("march: PrivateLassoClassifier, fit ")
    mark = label[label.index(", fit") :]
    assert ledger.receipt_of(mark)._asdict() == model.privacy_["ledger"]
    assert ledger.receipt_of(", fit 0") is None


def test_a_release_is_stored_before_its_noise_returns(tmp_path):
    with begun(tmp_path / "fit") as log:
        values = np.arange(5)
        log.noise_of(GridGaussian)(2.0**20).add_to(values, random_bits(3).generator)
    with begun(tmp_path / "fit") as log:
        assert log.pending(2) is None
        assert log.pending().tolist() == [0] * 5
        again, generator = np.zeros(5, np.int64), random_bits(3).generator
        log.noise_of(GridGaussian)(2.0**20).add_to(again, generator)
        assert log.pending() is None
    assert np.array_equal(values, again) and np.abs(values).max() > 1000
    twin = random_bits(3).generator
    GridGaussian(2.0**20).add_to(np.zeros(5, np.int64), twin)
    assert generator.bytes(8) == twin.bytes(8)


def test_a_checkpoint_is_of_one_fit_and_of_one_ledger(tmp_path):
    problem = next(one for one in problems() if one.name == "table")
    shards = problem.write(tmp_path / "parts", cuts()["two"])
    ledgers = [Budget(50.0, delta=1e-4, store=tmp_path / name) for name in ("one", "other")]
    fit(problem, shards, tmp_path / "fit", accountant=ledgers[0])
    with pytest.raises(ValueError, match="charged to another ledger"):
        fit(problem, shards, tmp_path / "fit", accountant=ledgers[1])
    with pytest.raises(ValueError, match="other settings"):
        fit(problem, shards, tmp_path / "fit")
    assert [len(ledger.entries()) for ledger in ledgers] == [1, 0]
    with RunLog(tmp_path / "fit") as log:
        state = log._state
        log._begun = True
        with pytest.raises(ValueError, match="of one fit"):
            log.begin({}, lambda key: b"")
        assert state == log._state


def test_a_checkpoint_that_has_lost_releases_is_rejected(tmp_path):
    with RunLog(tmp_path / "fit") as log:
        log.begin({}, lambda key: key)
        log.append(np.arange(3))
        log.append(np.arange(4))
    path = tmp_path / "fit" / "releases"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="has lost releases"):
        RunLog(tmp_path / "fit")

"""Limits of a party, and its ledger: both come before anything is drawn."""

import math

import pytest

from dplasso.federated import Caps, Coordinator, Refused, holdings
from dplasso.federated.holdings import Holdings
from dplasso.federated.joint_spending import label_of
from dplasso.federated.messages import Ask
from dplasso.federated.plan import plan_of
from dplasso.federated.simulation import run
from dplasso.ledger import Budget, BudgetError
from dplasso.privacy import zcdp
from federations import agreed, ask, made, parties_of, recorded

TERMS = agreed(sampling="distributed")


class Strict:
    """A ledger that refuses."""

    def charge(self, *args, **options):
        raise BudgetError("nothing is left")


def test_a_ledger_that_refuses_stops_the_party_before_anything_is_drawn(monkeypatch):
    for name in ("labels", "drawn", "shared"):
        monkeypatch.setattr(Holdings, name, lambda *_: pytest.fail("drawn"))
    bank = parties_of(TERMS, made(), accountant=Strict())["bank"]
    for at, kind in ((0, Ask.LABELS), (1, Ask.SELECT)):
        with pytest.raises(Refused, match="nothing is left"):
            bank.answer(ask(TERMS, "bank", at, kind))
    assert bank._last is None and not bank._log.begun


def test_a_job_is_charged_once_by_each_party_before_its_first_draw(tmp_path, monkeypatch):
    budgets = {name: Budget(5.0, 1e-6, tmp_path / f"{name}.sqlite") for name in ("bank", "shop")}
    charged, honest = [], Holdings.drawn

    def watched(self, *args):
        charged.append([len(budget.entries()) for budget in budgets.values()])
        return honest(self, *args)

    monkeypatch.setattr(Holdings, "drawn", watched)
    parties = {
        name: parties_of(TERMS, made(), accountant=budget)[name] for name, budget in budgets.items()
    }
    run(Coordinator(TERMS), parties)
    assert charged[0] == [1, 0] and charged[1:] == [[1, 1]] * (len(charged) - 1)
    for budget in budgets.values():
        (entry,) = budget.entries()
        assert entry.label == label_of("job", TERMS.digest) and entry.neighboring == "add_remove"
        assert entry.event == plan_of(TERMS).event  # of all parties together
        assert budget.spent_rho == pytest.approx(zcdp.rho(entry.event), rel=1e-12)


def test_a_party_that_is_never_asked_is_not_charged():
    shop = parties_of(TERMS, made(), accountant=Strict())["shop"]
    shop.answer(ask(TERMS, "shop", 7, Ask.FINISH, []))
    assert shop.model.features == []


@pytest.mark.parametrize(
    ("caps", "told"),
    [
        ({"max_epsilon": 1.9}, "epsilon is 2, its cap is 1.9"),
        ({"max_delta": 1e-7}, "delta is 1e-06, its cap is 1e-07"),
        ({"max_asks": 5}, "asks is 6, its cap is 5"),
        ({"max_row_budget": 0.5}, "row_budget is 3, its cap is 0.5"),
    ],
)
def test_caps_refuse_and_say_which(caps, told, monkeypatch):
    monkeypatch.setattr(holdings, "Columns", lambda *_: pytest.fail("rows were read"))
    limits = Caps(**{"max_epsilon": 2.0, "max_delta": 1e-6, **caps})
    with pytest.raises(Refused, match=f"bank refuses job job: {told}"):
        parties_of(agreed(sampling="distributed", row_budget=3.0), made(), caps=limits)


def test_caps_that_are_met_let_the_job_run():
    limits = Caps(max_epsilon=2.0, max_delta=1e-6, max_asks=6, max_row_budget=3.0)
    terms = agreed(sampling="distributed", row_budget=3.0)
    recorded(Coordinator(terms), parties_of(terms, made(), caps=limits))


@pytest.mark.parametrize(
    "caps",
    [{"max_epsilon": 0.0}, {"max_epsilon": math.nan}, {"max_delta": 0.0}, {"max_asks": 0},
     {"max_row_budget": 0.0}],
)  # fmt: skip
def test_caps_are_numbers(caps):
    with pytest.raises(ValueError, match="must be"):
        Caps(**{"max_epsilon": 1.0, "max_delta": 1e-6, **caps})

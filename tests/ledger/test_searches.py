"""A search in a ledger: counted exactly beside rho, verified, and nothing else is changed by it."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.ledger import Budget, BudgetError, LedgerError, fixed_point, search_cost
from dplasso.ledger.chain import verified
from dplasso.ledger.event_form import from_form, to_form
from dplasso.privacy import trials
from dplasso.privacy.events import Composed, Gaussian, Repeated, Selected, ZeroConcentrated
from dplasso.privacy.trials import rho_of, shift_of, stop_for
from ledger_events import events

LAWS = st.sampled_from(["logarithmic", "geometric"])
SIDE = {"delta": 1e-6, "neighboring": "add_remove"}


def search(epsilon, delta=1e-6, mean=20.0, law="logarithmic"):
    """What a search calibrated to (epsilon, delta) charges."""
    stop = stop_for(mean, law)
    return Selected(ZeroConcentrated(rho_of(epsilon, delta, stop, law)), stop, law)


@given(events, st.floats(1e-6, 0.9), LAWS)
def test_a_search_has_a_form(event, stop, law):
    found = Composed((Selected(event, stop, law), Repeated(Selected(event, stop, law), 3)))
    if fixed_point.price(event) < 10**79:  # what a line can hold
        assert from_form(json.loads(json.dumps(to_form(found)))) == found


@pytest.mark.parametrize("form", [{"stop": 1}, {"law": "poisson"}, {"more": 1}, {"stop": 2.0}])
def test_other_forms_are_refused(form):
    with pytest.raises(ValueError):
        from_form({**to_form(search(1.0)), **form})


@given(events, st.floats(1e-6, 0.9), LAWS, st.integers(0, 9))
def test_amounts_are_exact_and_never_below_the_formula(event, stop, law, count):
    one = Selected(event, stop, law)
    rho = Fraction(fixed_point.price(event), fixed_point.UNIT)
    priced, shift = search_cost.price_beyond(one), shift_of(rho, stop, law)
    for units, exact in zip(priced, shift, strict=True):
        assert exact <= Fraction(units, fixed_point.UNIT) < exact + Fraction(1, fixed_point.UNIT)
    many = Composed((Repeated(one, count), event, one))
    assert search_cost.price_beyond(many) == search_cost.NOTHING.plus(priced, count + 1)
    assert fixed_point.price(many) == (count + 2) * fixed_point.price(event)
    assert search_cost.price_beyond(event) == search_cost.NOTHING


@settings(max_examples=20)
@given(st.floats(0.05, 10.0), st.sampled_from([1e-9, 1e-6, 1e-3]), st.floats(2.0, 1e3), LAWS)
def test_a_search_may_take_a_whole_budget(epsilon, delta, mean, law):
    event = search(epsilon, delta, mean, law)
    cap = search_cost.cap_with(0, epsilon, delta, search_cost.price_beyond(event))
    assert cap * 0.999 <= fixed_point.price(event) <= cap
    spent = search_cost.epsilon_of(fixed_point.price(event), search_cost.price_beyond(event), delta)
    assert epsilon * (1 - 1e-9) <= spent <= epsilon


def test_a_ledger_full_by_a_search(address):
    budget = Budget(1.0, 1e-6, address)
    receipt = budget.charge(search(1.0), label="search", **SIDE)
    assert receipt.epsilon_spent == budget.spent_epsilon == pytest.approx(1.0, rel=1e-9)
    assert budget.remaining() < 1e-3
    for event in (Gaussian(100.0), search(0.1)):
        with pytest.raises(BudgetError, match="Nothing was"):
            budget.charge(event, label="more", **SIDE)
    (entry,) = Budget.open(address).entries()
    assert entry.event == search(1.0) and any(entry.beyond)


def test_fits_before_and_after_a_search_are_converted_together(address):
    budget = Budget(1.0, 1e-6, address)
    fit = Gaussian(20.0)
    budget.charge(fit, label="before", **SIDE)
    event = search(0.5)
    budget.charge(event, label="search", **SIDE)
    budget.charge(fit, label="after", **SIDE)
    rho = 2 * 0.5 / 400 + event.event.rho
    shift = shift_of(Fraction(event.event.rho), event.stop, event.law)
    assert budget.spent_epsilon == pytest.approx(trials.epsilon_with(rho, shift, 1e-6), rel=1e-9)
    assert budget.spent_epsilon < 0.5 + 2 * 0.21
    again = Budget.open(address)
    epsilon = again.remaining(fits=3)
    for _ in range(3):  # what is said to be left can be had
        left = math.sqrt(0.5 / trials.zcdp.rho_of(epsilon, 1e-6))
        budget.charge(Gaussian(left), label="fit", **SIDE)
    assert budget.spent_epsilon == pytest.approx(1.0, rel=1e-6) and budget.spent_epsilon <= 1.0
    assert len(again.verify().charges) == 6


def test_lines_without_searches_are_what_they_were(tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    budget.charge(Gaussian(20.0), label="before", **SIDE)
    budget.charge(search(0.3), label="search", **SIDE)
    budget.charge(Gaussian(40.0), label="after", **SIDE)
    before, during, after = (json.loads(entry.line) for entry in budget.entries())
    assert "beyond" not in before and "total_beyond" not in before
    assert during["beyond"] == during["total_beyond"] == after["total_beyond"]
    assert after["beyond"] == {"epsilon": "0", "log_delta": "0"}


@pytest.mark.parametrize("change", ["cheaper", "forgotten", "hidden"])
def test_a_search_made_cheaper_is_found_out(tmp_path, change):
    """Hashes are made anew: only the amounts themselves can tell."""
    from dataclasses import replace

    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    budget.charge(search(0.3), label="search", **SIDE)
    budget.charge(Gaussian(40.0), label="after", **SIDE)
    chain = budget.verify()
    first, second = chain.charges
    less = search_cost.Beyond(first.beyond.epsilon - 1, first.beyond.log_delta)
    if change == "cheaper":
        first = replace(first, beyond=less, total_beyond=less)
        second = replace(second, total_beyond=less)
    elif change == "forgotten":
        second = replace(second, total_beyond=search_cost.NOTHING)
    else:
        first = replace(first, beyond=search_cost.NOTHING, total_beyond=search_cost.NOTHING)
        second = replace(second, total_beyond=search_cost.NOTHING)
    second = replace(second, previous=first.hash)
    with pytest.raises(LedgerError, match="in addition to rho"):
        verified([chain.genesis.line, first.line, second.line])


def test_a_ledger_beyond_its_cap_by_a_search_is_not_trusted(tmp_path):
    from dataclasses import replace

    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    budget.charge(search(0.9), label="search", **SIDE)
    chain = budget.verify()
    (first,) = chain.charges
    event = search(1.001)
    more = search_cost.price_beyond(event)
    cost = fixed_point.price(event)
    forged = replace(first, event=event, cost=cost, total=cost, beyond=more, total_beyond=more)
    with pytest.raises(LedgerError, match="exceeds the cap"):
        verified([chain.genesis.line, forged.line])


def test_a_refused_search_says_what_could_be_done(tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    with pytest.raises(BudgetError, match=r"asks for epsilon 1.2.*room for a fit.*lower epsilon"):
        budget.charge(search(1.2), label="search", **SIDE)
    assert budget.spent_rho == 0.0 and not budget.entries()


def test_searches_on_and_on_run_out_of_delta_safely(tmp_path):
    budget = Budget(50.0, 1e-6, tmp_path / "budget.sqlite")
    event = Repeated(Selected(ZeroConcentrated(1e-12), 1e-6, "geometric"), 100)
    with pytest.raises(BudgetError):
        budget.charge(event, label="searches", **SIDE)

"""The position in the ledger: this fit's share, what came before, and what is left."""

import numpy as np
import pytest

from dplasso import Budget, PrivateLassoClassifier, load
from dplasso.privacy.events import Gaussian
from dplasso.report import describe, render
from dplasso.report.ledger_section import percent
from dplasso.report.standing import standing_of
from html_pages import Page

X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
Y = (X[:, 0] > 0).astype(int)


def fit(epsilon, budget, **options):
    known = {"classes": [0, 1], "n_rows": 60, "x_bound": 1.0}
    return PrivateLassoClassifier(epsilon, **known | options, accountant=budget).fit(X, Y)


def spend(budget, noise):
    budget.charge(Gaussian(noise), delta=1e-6, neighboring="add_remove", label="a mean")


@pytest.fixture
def budget(tmp_path):
    return Budget(2.0, 1e-6, store=tmp_path / "secret-folder-name.sqlite")


@pytest.mark.parametrize("solver", ["frank_wolfe", "table"])
def test_shares_add_up_and_are_those_of_the_ledger(budget, solver):
    spend(budget, 20.0)
    model = fit(0.7, budget, solver=solver)
    at_fit = standing_of(model)
    spend(budget, 15.0)
    now = standing_of(model, budget)
    cap = budget.spent_rho + budget.remaining_rho
    charges = [charge.rho / cap for charge in budget.entries()]
    assert (now.before, now.own, now.later) == pytest.approx(tuple(charges))
    assert now.before + now.own + now.later + now.left == pytest.approx(1.0)
    assert now.charges == 3 and now.entry == 2
    assert now.epsilon_now == pytest.approx(budget.spent_epsilon)
    assert now.epsilon_left <= budget.remaining()
    # The receipt alone knows the state as of the fit.
    assert (at_fit.before, at_fit.own) == pytest.approx((now.before, now.own), rel=1e-4)
    assert at_fit.before + at_fit.own + at_fit.left == pytest.approx(1.0)
    assert not at_fit.current and at_fit.later is None


def test_the_page_leads_with_it_and_does_not_say_where_the_ledger_is(budget, tmp_path):
    spend(budget, 20.0)
    model = fit(0.7, budget)
    model.save(tmp_path / "model.dpl")
    for ledger in (None, budget):
        html = render(load(tmp_path / "model.dpl"), ledger=ledger)
        page = Page(html)
        facts = describe(model, ledger=ledger)["ledger"]
        header = html.partition("</header>")[0]
        assert percent(facts["own"]) in header
        assert f"{percent(facts['before'])} before it" in header
        text = page.text_of("ledger")
        assert percent(facts["left"]) in text and facts["hash"] in text
        assert ("was verified" in text) == (ledger is not None)
        assert "secret-folder-name" not in html and str(tmp_path) not in html
        (bar,) = page.all("svg", id="ledger-bar")
        assert page.one("desc", id=bar["aria-describedby"])["text"].startswith("Charges before")


def test_without_a_ledger_there_is_no_such_section_and_the_page_says_so():
    model = fit(0.7, None)
    page = Page(render(model))
    assert not page.all("section", id="ledger") and describe(model)["ledger"] is None
    assert "charged to no budget ledger" in page.text_of("not-protected")


def test_another_ledger_is_refused(budget, tmp_path):
    model = fit(0.7, budget)
    other = Budget(2.0, 1e-6, store=tmp_path / "other.sqlite")
    for _ in range(2):
        with pytest.raises(ValueError, match="another ledger"):
            render(model, ledger=other)
        spend(other, 20.0)
    with pytest.raises(ValueError, match="names no ledger"):
        render(fit(0.7, None), ledger=budget)


def test_a_search_has_no_share_of_its_own_but_is_shown(budget):
    model = fit(0.7, budget)
    model.privacy_ = type(model.privacy_)(model.privacy_, search={"trials": 3})
    found = standing_of(model)
    assert found.own is None and found.epsilon_spent > 0
    model.privacy_.pop("search")
    statement = type(model.privacy_)({**model.privacy_, "rho": 100.0})
    model.privacy_ = statement  # more than was spent: the two do not fit
    assert standing_of(model).own is None
    header = render(model).partition("</header>")[0]
    assert "Epsilon spent in its ledger" in header


def test_one_charge_is_not_several(budget):
    model = fit(0.5, budget)
    assert "it has 1 charge, epsilon" in Page(render(model, ledger=budget)).text_of("ledger")
    fit(0.5, budget)
    assert "it has 2 charges, epsilon" in Page(render(model, ledger=budget)).text_of("ledger")

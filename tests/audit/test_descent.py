"""Descents under audit: a tight canary, and releases that are recorded or forged as they are."""

import numpy as np
import pytest
from scipy.stats import norm

from dplasso import PrivateLassoClassifier, audit
from dplasso.audit import certify, correction
from dplasso.audit.descent import data
from dplasso.audit.descent.reference import DescentState
from dplasso.audit.descent.subject import MOST_ROWS, DescentSubject
from dplasso.audit.examples import subject_of
from dplasso.audit.fit_subject import WIDE
from dplasso.audit.session import Session
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.gradient.conditioning import Conditioning, Mass


def session_of(estimator, seed=0):
    return Session(
        subject=DescentSubject(estimator),
        rng=np.random.default_rng(seed),
        bits=random_bits(seed),
        error=1e-6,
        seconds=60.0,
        thorough=False,
        tell=lambda part: None,
    )


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("neighboring", "row_map", "share"),
    [
        # Noise in the canary's margin takes its residual off the cut now and then.
        # A correction costs as if the margin were at its limit, too, and it need not be.
        ("add_remove", "presence", 0.97),
        ("add_remove", "sqrt", 0.97),
        ("replace_one", "as_is", 0.93),  # all but the intercepts' part, which both rows have
        ("replace_one", "presence", 0.66),  # rows of other columns: not opposite, but square
    ],
)
def test_the_canary_is_all_that_a_row_can_be(place, neighboring, row_map, share):
    """What the likelihood ratio can show is what is claimed, nearly; and never more."""
    options = {"neighboring": neighboring, "row_map": row_map}
    session = session_of(audit.example_estimators("gradient", **options)[place])
    attack = session.subject.attack(session)
    _, details = attack(0, 10, session)
    found, claimed = details["mu_of_the_row"], session.subject.facts.mu
    assert share * claimed <= found <= claimed * (1.0 + 1e-6)


def test_scores_follow_the_law_of_a_likelihood_ratio():
    """Of mu-GDP: normal, of mean mu^2 / 2 with the canary, -mu^2 / 2 without, and variance mu^2."""
    session = session_of(audit.example_estimators("gradient")[0], seed=3)
    attack, mu = session.subject.attack(session), session.subject.facts.mu
    for side, sign in enumerate((1.0, -1.0)):
        total = attack(side, 150, session)[0][:, 0]
        assert abs(total.mean() - sign * mu**2 / 2.0) < 4.5 * mu / np.sqrt(150)
        assert total.std() == pytest.approx(mu, rel=0.3)


def test_certified_figures_hold_and_come_close():
    """Scores of a Gaussian of shift 2 beside a score of noise: the first is used."""
    rng, mu = np.random.default_rng(0), 2.0
    present, absent = rng.normal(size=(2, 3000, 2))
    present[:, 1] += mu

    def distance(p, q):
        return float(norm.ppf(p) - norm.ppf(q))

    found, rates = certify.certify(present, absent, distance, 1e-5)
    assert 0.8 * mu < found < mu
    assert rates["runs_counted"] == 2000


@pytest.mark.parametrize("columns", [12, WIDE])
def test_forged_releases_stand_where_noise_would(columns):
    subject = DescentSubject(audit.example_estimators("gradient", row_map="as_is")[0])
    rng = np.random.default_rng(1)
    prepared = subject.prepare(*data.random_rows(columns, subject.facts, rng))
    first = prepared.releases(random_bits(7))
    weights = prepared.fitted.weights.toarray()
    again = prepared.releases(random_bits(7))
    assert all(np.array_equal(a.released, b.released) for a, b in zip(first, again, strict=True))
    answered = prepared.answers([release.released for release in first])
    assert len(first) == len(answered) == 1 + prepared.course.steps + correction.RELEASES
    for drawn, forged in zip(first, answered, strict=True):
        assert drawn.sigma == forged.sigma
        assert np.array_equal(drawn.sums, forged.sums)
        assert np.array_equal(drawn.released, forged.released)
    assert np.array_equal(prepared.fitted.weights.toarray(), weights)


def test_what_was_not_declared_is_said():
    notes = subject_of(PrivateLassoClassifier(solver="gradient")).notes
    assert any("row_map='auto'" in note for note in notes)
    assert any("n_rows is not declared" in note for note in notes)
    many = PrivateLassoClassifier(solver="gradient", neighboring="replace_one", n_rows=10**6)
    subject = subject_of(many)
    assert subject.facts.n_rows == MOST_ROWS
    assert any("of 1000000 rows" in note for note in subject.notes)


def test_thorough_audits_vary_a_descent():
    estimator = audit.example_estimators("gradient")[1]
    report = audit.run(estimator, mode="thorough", seconds=0.1, seed=0, checks=["accounting"])
    assert report.passed, str(report)
    assert [fact["name"] for fact in report.facts["estimators"]] == [
        "regressor, gradient",
        "regressor, gradient, replace_one",
        "regressor, gradient, squared loss",
        "regressor, gradient, row map as_is",
        "regressor, gradient, row map sqrt",
        "regressor, gradient, row map blend",
        "regressor, gradient, people",
    ]


def test_checks_of_one_solver_are_not_asked_of_the_other():
    descent = audit.example_estimators("gradient")[0]
    for name in ("range", "law", "count"):
        with pytest.raises(ValueError, match="checks must fit the estimator"):
            audit.run(descent, checks=[name])
    with pytest.raises(ValueError, match="checks must fit the estimator"):
        audit.run(audit.example_estimators()[1], checks=["noise", "sensitivity"])  # draws alone


@pytest.mark.parametrize("uneven", [0.0, 0.3])
def test_rows_with_much_in_common_are_centred_as_the_textbook_has_it(uneven):
    """Engine and reference, written apart, take the same centre off: all columns of it, shrunk."""
    subject = session_of(audit.example_estimators("gradient")[0]).subject
    prepared = subject.prepare(np.ones((200, subject.columns)), np.tile([0, 1], 100))
    plan = prepared.task.plan.descent
    noise = np.random.default_rng(0).normal(0.0, plan.mass_sigma, subject.columns)
    whole = plan.unit * plan.n_rows / np.sqrt(subject.columns)
    apart = 1.0 + uneven * np.linspace(-1.0, 1.0, subject.columns)
    released = np.floor(whole * apart + noise).astype(np.int64)
    state = DescentState(
        released[None, :].astype(float), plan.mass_sigma, prepared.course, subject.facts
    )
    mass = Mass.of(released, plan)
    found = Conditioning.of(mass.damping(), mass.centre())
    assert mass.shared > plan.thresholds.shared
    assert len(found.head) == subject.columns
    assert (np.ptp(found.head_centre) > 0.0) == (uneven > 0.0)
    assert np.allclose(state.centre[0], found.head_centre, rtol=1e-9)
    assert np.allclose(state.damping[0], found.damping, rtol=1e-9)


def test_columns_with_negative_entries_are_damped_and_centred_by_their_size():
    """Engine and reference, written apart, agree on columns of either sign."""
    subject = session_of(audit.example_estimators("gradient")[0]).subject
    prepared = subject.prepare(np.ones((200, subject.columns)), np.tile([0, 1], 100))
    plan = prepared.task.plan.descent
    total = plan.unit * plan.n_rows
    mean = np.tile([0.1, -0.1, 1e-6, -1e-6], subject.columns)[: subject.columns]
    released, sigma = np.floor(mean * total).astype(np.int64), 1e-5 * total
    state = DescentState(released[None, :].astype(float), sigma, prepared.course, subject.facts)
    mass = Mass((released + 0.5) / total, sigma / total, plan.thresholds)
    found = Conditioning.of(mass.damping(), mass.centre())
    assert mass.shared < plan.thresholds.shared
    assert found.damping[0] == pytest.approx(found.damping[1]) and found.damping[0] < 1.0
    assert np.array_equal(found.head, np.flatnonzero(np.abs(mean) > 0.01))
    assert np.allclose(state.centre[0, found.head], found.head_centre, rtol=1e-9)
    assert np.allclose(state.damping[0], found.damping, rtol=1e-9)

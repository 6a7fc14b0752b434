"""Private scores: what a row or a person adds at most, and what is charged and stated."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import (
    Budget,
    BudgetError,
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    Schema,
    private_score,
    read_rows,
)
from dplasso.base.wording import ParameterError
from dplasso.data.identifiers import people_of
from dplasso.data.used_columns import MANY, has_unused
from dplasso.privacy import gaussian, leaks, zcdp
from dplasso.privacy.events import Gaussian, Repeated
from dplasso.privacy.unit import Unit
from dplasso.schema import Number, Person, Target
from dplasso.search.private_scores import PrivateScore
from dplasso.search.row_scores import MOST_LOSS, ReleasedSums, RowScores
from dplasso.search.scoring import UNIT, counted

ROWS, COLUMNS = 400, 6
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (ROWS, COLUMNS))
Y = (X[:, 0] + 0.3 * RNG.normal(size=ROWS) > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.3, 0.3])
NUMBERS = 3.0 * X[:, 1] + RNG.normal(size=ROWS)
PUBLIC = {"n_rows": ROWS, "x_bound": 1.0}

KINDS = ("table", "gradient", "frank_wolfe", "ranges", "three", "numbers")


@cache
def model_of(name):
    if name == "numbers":
        return PrivateLassoRegressor(3.0, y_bound=4.0, **PUBLIC).fit(X, NUMBERS)
    options = {
        "table": {},
        "gradient": {"solver": "gradient", "row_map": "sqrt"},
        "frank_wolfe": {"solver": "frank_wolfe", "max_iter": 8, "radius": 3.0},
        "ranges": {"solver": "gradient", "x_bound": [(-2.0, 3.0)] * 3 + [1.0] * 3},
        "three": {"classes": [0, 1, 2]},
        "hinge": {"loss": "hinge"},
    }[name]
    given = {"classes": [0, 1], **PUBLIC, **options}
    return PrivateLassoClassifier(3.0, **given).fit(X, LABELS.get(name, Y))


LABELS = dict.fromkeys(KINDS, Y) | {"numbers": NUMBERS, "three": THREE}
# As long as any score is released, what makes a row count as much as it may.
HOSTILE = np.array([1e300, -1e300, 1e-320, 5e-324, 0.0, -0.0, 1.0, -1e15, math.pi, 1e154])


@pytest.fixture
def lenient():
    leaks.set_strict(False)
    yield
    leaks.set_strict(None)


def added_by(model, rows, labels):
    return RowScores.of(model, rows, labels).added


def hostile_rows(seed, rows):
    rng = np.random.default_rng(seed)
    return np.where(
        rng.random((rows, COLUMNS)) < 0.5,
        rng.choice(HOSTILE, (rows, COLUMNS)),
        rng.uniform(-2, 2, (rows, COLUMNS)),
    )


@pytest.mark.parametrize("name", KINDS)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 40), left=st.integers(0, 39))
@settings(max_examples=20, deadline=None)
def test_a_row_adds_a_whole_number_that_no_other_row_changes(name, seed, rows, left):
    """All rows shift by one place if another one is gone, and their numbers stay."""
    model, A = model_of(name), hostile_rows(seed, rows)
    A = sp.csr_array(A) if seed % 2 else A
    y = np.resize(LABELS[name], rows)
    if name == "numbers":
        y[::3] = 1e308
    whole, kept = added_by(model, A, y), np.arange(rows) != left % rows
    fewer = added_by(model, A[kept], y[kept])
    for score, gains in whole.items():
        assert gains.dtype == np.int64 and gains.min() >= 0 and gains.max() <= UNIT
        assert np.array_equal(gains[kept], fewer[score]), score


@pytest.mark.parametrize("name", KINDS)
def test_storage_makes_no_difference(name):
    model, y = model_of(name), LABELS[name]
    A = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32)  # exact in both precisions
    wanted = added_by(model, A.astype(np.float64), y)
    doubled = sp.coo_array(sp.csr_array(A))
    halves = np.concatenate([doubled.data / 2] * 2)
    forms = {
        "single": A,
        "fortran": np.asfortranarray(A),
        "csr": sp.csr_array(A),
        "csc": sp.csc_array(A.astype(np.float64)),
        "repeated": sp.coo_array((halves, tuple(np.tile(c, 2) for c in doubled.coords)), A.shape),
        "objects": A.astype(object),
        "frame": pd.DataFrame(A),
        "zeros": sp.csr_array(
            (A.ravel(), np.tile(np.arange(COLUMNS), ROWS), np.arange(0, A.size + 1, COLUMNS)),
            A.shape,
        ),
    }
    for form, rows in forms.items():
        found = added_by(model, rows, y)
        assert all(np.array_equal(found[score], wanted[score]) for score in wanted), form


def test_labels_count_by_their_value():
    model = model_of("numbers")
    wanted = added_by(model, X, NUMBERS.astype(np.float32).astype(np.float64))
    found = added_by(model, X, NUMBERS.astype(np.float32))
    assert np.array_equal(found["mae"], wanted["mae"])
    right = added_by(model_of("table"), X, Y)
    for kind in (np.int8, np.float32, bool, object):
        again = added_by(model_of("table"), X, Y.astype(kind))
        assert all(np.array_equal(again[score], right[score]) for score in right)


@given(
    rows=st.integers(1, 1000),
    k=st.sampled_from([1, 2, 5, 20]),
    others=st.integers(0, 30),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_a_person_moves_no_sum_by_more_than_the_rows_they_count_as(rows, k, others, seed):
    """In whole numbers, for up to 1,000 rows that all count as much as they may."""
    rng = np.random.default_rng(seed)
    people = np.concatenate([np.zeros(rows), rng.integers(1, 6, others), np.full(3, -1)])
    gains = np.concatenate([np.full(rows, UNIT), rng.integers(0, UNIT + 1, others + 3)])
    order = rng.permutation(len(people))
    people, gains = people[order].astype(np.int64), gains[order]
    without = people != 0
    moved = counted(gains, people, k) - counted(gains[without], people[without], k)
    assert 0 <= moved <= k * UNIT
    assert moved == min(rows, k) * UNIT, "and by no less"


@pytest.mark.parametrize("name", KINDS)
def test_scores_are_those_of_the_rows_up_to_the_noise(name):
    model, y = model_of(name), LABELS[name]
    found = private_score(model, X, y, epsilon=1e4, delta=0.1).scores
    exact = {"accuracy": np.mean(model.predict(X) == y)} if name != "numbers" else {}
    if "log_loss" in found:
        p = model.predict_proba(X)[np.arange(ROWS), y]
        exact["log_loss"] = np.mean(np.minimum(-np.log(p), MOST_LOSS))
    if name == "numbers":
        error = np.abs(np.clip(y, -4, 4) - model.predict(X))
        exact["mae"] = np.mean(np.minimum(error, 4.0))
    assert set(found) == set(exact)
    for score, (value, noise) in found.items():
        assert abs(value - exact[score]) < 6 * noise + 1e-5, score


@pytest.mark.parametrize("name", KINDS)
def test_the_cells_of_a_row_add_up_to_a_row(name):
    """So that one row moves all counts together by no more than one count."""
    scored = RowScores.of(model_of(name), hostile_rows(3, ROWS), LABELS[name])
    cells = np.array([*scored.cells.values()])
    assert np.array_equal(cells.sum(axis=0), np.full(ROWS, UNIT)) and cells.min() >= 0


@pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
def test_the_trivial_answer_is_scored_by_the_same_counts():
    rare = (X[:, 0] > 0.8).astype(int)
    found = private_score(model_of("table"), X, rare, epsilon=1e4, delta=0.1)
    share = rare.mean()
    exact = {
        "accuracy": 1 - share,
        "log_loss": -share * math.log(share) - (1 - share) * math.log(1 - share),
    }
    assert set(found.trivial) == set(exact)
    for score, (value, noise) in found.trivial.items():
        assert abs(value - exact[score]) < 6 * noise + 1e-5, score
    drawn = [
        private_score(model_of("table"), X, rare, epsilon=20.0, random_state=seed).trivial
        for seed in range(200)
    ]
    for score in exact:
        values = np.array([one[score].value for one in drawn])
        noise = np.mean([one[score].noise for one in drawn])
        assert values.std() == pytest.approx(noise, rel=0.2), score
    assert found.count.value == pytest.approx(ROWS, abs=6 * found.count.noise + 1e-3)
    assert not private_score(model_of("three"), X, THREE, epsilon=1.0).trivial
    assert not private_score(model_of("numbers"), X, NUMBERS, epsilon=1.0).trivial


@pytest.mark.parametrize("rare", [0, 1, 40, 20_000, 39_999, 40_000])
def test_the_trivial_loss_is_that_of_a_model_of_the_shares(rare):
    """No row counts more than the largest loss, and the shares themselves are not changed."""
    share = rare / 40_000
    losses = [min(-math.log(p), MOST_LOSS) if p else MOST_LOSS for p in (share, 1 - share)]
    exact = share * losses[0] + (1 - share) * losses[1]
    cells = {
        "right, first class": 30_000.0 - 0.75 * rare,
        "right, second class": 0.25 * rare,
        "wrong, first class": 10_000.0 - 0.25 * rare,
        "wrong, second class": 0.75 * rare,
    }
    found = ReleasedSums({**cells, "log_loss": 0.0}, list(cells), 1e-9)
    assert found.trivial({"log_loss": MOST_LOSS})["log_loss"].value == pytest.approx(exact)


def test_too_few_rows_for_the_budget_are_told():
    few = private_score(model_of("table"), X[:3], Y[:3], epsilon=0.05)
    assert "these scores say nothing" in few.meaning
    many = private_score(model_of("table"), X, Y, epsilon=1.0)
    assert "these scores say nothing" not in many.meaning


def test_models_without_probabilities_and_of_many_classes_have_an_accuracy():
    for model, y in ((model_of("hinge"), Y), (model_of("three"), THREE)):
        found = private_score(model, X, y, epsilon=1.0)
        assert list(found.scores) == ["accuracy"]
        assert "Bounds" not in str(found.privacy) and "This score of a" in str(found)


@pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize("k", [1, 3])
def test_the_noise_is_what_is_stated(k):
    options = {"groups": np.arange(ROWS) // 4, "rows_per_person": k}
    drawn = [
        private_score(model_of("table"), X, Y, epsilon=20.0, random_state=seed, **options)
        for seed in range(300)
    ]
    for score in ("accuracy", "log_loss"):
        values = np.array([one.scores[score].value for one in drawn])
        noise = np.mean([one.scores[score].noise for one in drawn])
        assert values.std() == pytest.approx(noise, rel=0.15), score
    exact = np.mean(model_of("table").predict(X) == Y)  # everyone has four rows
    values = [one.scores["accuracy"].value for one in drawn]
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / math.sqrt(300) + 1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_the_cost_is_the_budget_and_no_more(tmp_path, epsilon, k, neighboring):
    options = {"groups": np.arange(ROWS) // 2, "rows_per_person": k, "person": "id"}
    options["neighboring"] = neighboring
    free = private_score(model_of("table"), X, Y, epsilon=epsilon, **options).privacy
    assert gaussian.epsilon_of(free["mu"], 1e-6) <= epsilon
    budget = Budget(epsilon, 1e-6, tmp_path / "ledger.sqlite", neighboring=neighboring)
    paid = private_score(model_of("table"), X, Y, epsilon=epsilon, accountant=budget, **options)
    counts, loss = (one["noise_multiplier"] for one in paid.privacy["releases"])
    twice = neighboring == "replace_one"  # a row then leaves one cell and enters another
    assert counts == pytest.approx(loss / math.sqrt(1 + twice))
    event = Repeated(Gaussian(loss), 2 + twice)
    assert zcdp.epsilon_of(zcdp.rho(event), 1e-6) <= epsilon
    (entry,) = budget.entries()
    assert entry.event == event and entry.unit == "person: id"
    assert entry.label == "PrivateScore of PrivateLassoClassifier"
    with pytest.raises(BudgetError):
        private_score(model_of("table"), X, Y, epsilon=epsilon, accountant=budget, **options)


@pytest.mark.parametrize("rows", [1, 3, 7, 1000, 999_983])
@pytest.mark.parametrize("charged", [True, False])
def test_noise_covers_the_sensitivity_exactly(tmp_path, rows, charged):
    """In fractions: the standard deviation over k times UNIT is no less than what is charged."""
    budget = Budget(5.0, 1e-6, tmp_path / "ledger.sqlite") if charged else None
    for epsilon in (0.13, 1.0, 4.7, 1e5):
        asked = PrivateScore(epsilon, 1e-6, rows, None, "add_remove", budget, None)
        noise, event = asked._noise(2, Unit.of_people(rows))
        multiplier = Fraction(event.event.noise_multiplier)
        assert Fraction(noise.sigma) >= multiplier * UNIT * rows and event.count == 3


def test_rows_of_many_columns_are_read_alike_by_every_path():
    """With few entries among many columns, margins are computed from the used columns alone."""
    wide = MANY + 1000
    rng = np.random.default_rng(1)
    few = sp.random_array((60, wide), density=1e-6, rng=rng, format="csr")
    full = sp.random_array((1, wide), density=0.01, rng=rng, format="csr")
    y = np.arange(61) % 2
    for options in ({"solver": "gradient"}, {"solver": "frank_wolfe", "max_iter": 5, "radius": 9}):
        public = {"classes": [0, 1], "n_rows": 61, "x_bound": 1.0}
        both = sp.csr_array(sp.vstack([few, full]))
        model = PrivateLassoClassifier(100.0, **public, **options).fit(both, y)
        assert has_unused(few) and not has_unused(sp.vstack([few] + [full] * 110))
        alone = added_by(model, few, y[:60])
        beside = added_by(model, sp.vstack([few] + [full] * 110), np.resize(y, 170))
        for score, gains in alone.items():
            assert np.array_equal(gains, beside[score][:60]), score


def test_a_statement_says_whom_it_protects_and_from_what():
    rows = private_score(model_of("table"), X, Y, epsilon=1.0).privacy
    assert "(1, 1e-06)-differentially private with respect to adding or removing one" in str(rows)
    assert "n_rows" not in str(rows) and "log_loss = 4.60517" in str(rows)
    options = {"groups": Y, "person": "patient_id", "neighboring": "replace_one"}
    people = private_score(model_of("numbers"), X, NUMBERS, epsilon=1.0, **options).privacy
    assert "protects each person (column patient_id), however many rows they have" in str(people)
    assert "replacing all rows of one person" in str(people) and "y_bound" in str(people)


def test_nothing_is_read_from_the_rows(lenient):
    leaks.set_strict(True)
    for options in ({}, {"groups": Y}, {"groups": Y, "rows_per_person": 2}):
        found = private_score(model_of("table"), X, Y, epsilon=1.0, **options)
        assert "READ FROM THE DATA" not in str(found.privacy)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"epsilon": math.inf}, "epsilon must be a finite number above 0"),
        ({"epsilon": 1e-12, "delta": 1e-12}, "noise hides any score"),
        ({"delta": 1.0}, "delta must be"),
        ({"rows_per_person": 2}, "pass groups"),
        ({"groups": [1, 2]}, "one identifier per row"),
        ({"groups": np.linspace(0, 1, ROWS)}, "groups must hold identifiers"),
        ({"neighboring": "other"}, "neighboring must be one of"),
        ({"accountant": "ledger"}, r"accountant must have a charge method.*Budget\.open"),
        ({"y": Y + 5}, "labels outside the declared classes"),
        ({"y": Y[:-1]}, "differ in their number of rows"),
        ({"X": np.where(X > 0.99, np.nan, X)}, "X holds NaN"),
        ({"model": "a model"}, "model must be a fitted PrivateLassoClassifier"),
        ({"model": PrivateLassoClassifier()}, "not fitted yet"),
    ],
)
def test_what_is_wrong_costs_nothing(tmp_path, options, told):
    budget = Budget(100.0, 1e-3, tmp_path / "ledger.sqlite")
    given = {"model": model_of("table"), "X": X, "y": Y, "epsilon": 1.0, "accountant": budget}
    with pytest.raises(ValueError, match=told):
        private_score(**{**given, **options})
    assert not budget.entries()


def test_people_and_names_of_described_rows_are_used():
    columns = {"id": Person(), "age": Number(0, 120), "sick": Target(["no", "yes"])}
    schema = Schema(columns, n_rows=300, n_people=100, rows_per_person=1)
    table = {
        "id": np.arange(300) // 3,
        "age": [30, 80, 60] * 100,
        "sick": ["no", "yes", "no"] * 100,
    }
    rows = read_rows(table, schema=schema)
    model = PrivateLassoClassifier(3.0).fit(rows.described(), rows.y)
    found = private_score(model, rows.described(), rows.y, epsilon=1.0)
    assert found.privacy.unit == "person"
    frame = pd.DataFrame(table)
    y = np.asarray(rows.y, str)
    by_frame = private_score(model, frame, y, epsilon=1.0, groups=frame["id"])
    assert by_frame.privacy.unit == "person"
    assert np.array_equal(people_of(rows.groups), people_of(frame["id"]))


def test_a_model_of_people_is_not_scored_by_rows_in_silence(tmp_path):
    people, budget = np.arange(ROWS) // 4, Budget(1.0, 1e-6, tmp_path / "ledger.sqlite")
    model = PrivateLassoClassifier(3.0, classes=[0, 1], x_bound=1.0, n_people=ROWS // 4)
    model.fit(X, Y, groups=people)
    with pytest.raises(ParameterError, match="pass groups, one identifier per row"):
        private_score(model, X, Y, epsilon=1.0, accountant=budget)
    assert not budget.entries()
    by_row = private_score(model, X, Y, epsilon=1.0, groups=range(len(Y)))
    assert by_row.privacy.unit == "person" and by_row.scores["accuracy"].noise < 0.05


@pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
def test_a_seed_repeats_a_score_and_the_statement_says_so():
    first, second = (
        private_score(model_of("table"), X, Y, epsilon=1.0, random_state=3) for _ in range(2)
    )
    assert first.scores == second.scores and not first.privacy["secure_rng"]
    fresh = private_score(model_of("table"), X, Y, epsilon=1.0)
    assert fresh.scores != first.scores and fresh.privacy["secure_rng"]

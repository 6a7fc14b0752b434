"""A search that protects people: one coin per person, and gains that count by weights."""

import warnings

import numpy as np
import pytest

from dplasso import PrivacyLeakWarning, PrivateLassoClassifier, PrivateSearch
from dplasso.data.identifiers import NOBODY
from dplasso.mechanisms.random_bits import random_bits
from dplasso.search.scoring import UNIT, scorer_for
from dplasso.search.trial import split

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 4))
Y = (X[:, 0] > 0).astype(int)
IDS = RNG.integers(0, 120, 600)


def search(**options):
    public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 600, "n_people": 120}
    model = PrivateLassoClassifier(**public | options)
    grid = {"radius": [0.5, 3.0], "max_iter": [3]}
    return PrivateSearch(model, grid, epsilon=3.0, trials=3, random_state=4)


def test_all_rows_of_a_person_fall_into_one_part():
    train, test = split(X, Y, 0.4, random_bits(1), IDS)
    assert not set(train.people) & set(test.people)
    assert len(train.y) + len(test.y) == 600 and len(test.y) > 0
    shares = [len(set(split(X, Y, 0.4, random_bits(seed), IDS)[1].people)) for seed in range(60)]
    assert 0.35 < np.mean(shares) / 120 < 0.45


def test_rows_of_nobody_stay_without_an_identifier():
    people = np.where(IDS < 5, NOBODY, IDS)
    train, test = split(X, Y, 0.5, random_bits(1), people)
    nobody = [person is None for part in (train, test) for person in part.people]
    assert sum(nobody) == np.count_nonzero(people == NOBODY)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("size", [1, 3, 97, 1000])
def test_the_gains_of_a_person_add_up_to_no_more_than_the_rows_they_count_as(k, size):
    class Right:
        classes = (0, 1)

        def predict(self, X):
            return np.ones(len(X), int)

    scorer = scorer_for(Right(), "auto", None, 1.0, k)
    assert scorer.noise.sigma == UNIT * k and scorer.multiplier == 1.0
    quiet = scorer._replace(noise=Quiet())
    rows, labels = np.zeros((size, 1)), np.ones(size, int)
    total = quiet.release(Right(), rows, labels, np.random.default_rng(0), ["one"] * size)
    assert (total * UNIT - 0.5) <= k * UNIT and total > 0.99 * min(k, size)


class Quiet:
    sigma = 0.0

    def add_to(self, values, generator):
        """Add nothing."""


def test_the_search_states_and_charges_for_people(tmp_path):
    from dplasso import Budget

    budget = Budget(5.0, 1e-6, tmp_path / "ledger.sqlite")
    found = search(person="patient_id", rows_per_person=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.set_params(accountant=budget).fit(X, Y, groups=IDS)
    assert found.privacy_["unit"] == budget.unit == "person: patient_id"
    assert found.best_estimator_.privacy_["unit"] == "person: patient_id"
    assert "A person is read by the fit of a trial or by its score" in str(found.privacy_)
    assert 0.0 < found.best_score_ < 2.0


def test_the_search_warns_of_a_number_of_people_that_is_read():
    chosen = search(n_people=None).set_params(random_state=None)
    with pytest.warns(UserWarning, match="number of people, or that of rows"):
        found = chosen.fit(X, Y, groups=IDS)
    assert found.privacy_["public"]["n_people"]["source"] == "READ FROM THE DATA"


def test_people_with_one_row_each_are_searched_like_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = search(n_people=None).fit(X, Y)
        other = search(n_people=600).fit(X, Y, groups=np.arange(600))
    assert np.array_equal(one.best_estimator_.coef_, other.best_estimator_.coef_)
    assert one.best_score_ == other.best_score_


def test_settings_of_people_are_not_searched():
    chosen = search()
    chosen.grid = {"rows_per_person": [1, 2]}
    with pytest.raises(ValueError, match="all trials share"):
        chosen.fit(X, Y, groups=IDS)


def test_a_search_with_every_person_held_is_fitted_to_nobody():
    """An error would say how few people there are."""
    alone = np.zeros(600, np.int64)
    parts = [split(X, Y, 0.5, random_bits(seed), alone)[0] for seed in range(20)]
    assert {len(part.y) for part in parts} == {1, 600}
    assert all(part.people.tolist() == [None] for part in parts if len(part.y) == 1)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_a_number_of_rows_that_counts_is_reported(neighboring):
    made = search(rows_per_person=2, n_rows=None, neighboring=neighboring)
    with pytest.warns(PrivacyLeakWarning, match="number of people, or that of rows"):
        made.fit(X, Y, groups=IDS)

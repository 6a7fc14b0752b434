"""Numbers of people: one to one, at random, and no exact number decides anything."""

import numpy as np
import pytest
from scipy.stats import norm

pytest.importorskip("cryptography")

from dplasso.federated import Refused  # noqa: E402
from dplasso.federated.count_plan import ENTRY  # noqa: E402
from dplasso.federated.moments import agree_moments, moment_plan  # noqa: E402
from dplasso.federated.moments.numbering import numbered  # noqa: E402
from dplasso.federated.moments.pseudonym_lists import order_of  # noqa: E402
from dplasso.federated.moments.pseudonyms import pseudonyms_of  # noqa: E402
from dplasso.mechanisms.noise_key import NoiseKey  # noqa: E402
from dplasso.privacy import gaussian  # noqa: E402
from dplasso.privacy.events import Gaussian  # noqa: E402

SECRET, DECLARED = bytes(range(32)), 50
PUBLIC = {"n_people": DECLARED, "epsilon": 3.0, "delta": 1e-6, "account": "rho"}
ROOM = moment_plan(agree_moments({"a": 1, "b": 1}, "a", n_rows=DECLARED, **PUBLIC)).capacity.room
TERMS = agree_moments({"a": 1, "b": 1}, "a", n_rows=DECLARED + ROOM, **PUBLIC)
PLAN = moment_plan(TERMS)


def names(people, job="job"):
    return pseudonyms_of(list(people), SECRET, job, TERMS.digest)


def key(seed):
    return NoiseKey(seed.to_bytes(32, "little"), secure=False)


class Fixed:
    """Noise that is always the same, in people."""

    def __init__(self, people):
        self._noise = int(people * ENTRY)

    def __call__(self, sigma):
        assert sigma >= PLAN.capacity.sigma * ENTRY
        return self

    def add_to(self, values, generator, threads=None):
        values += self._noise


def test_a_person_has_one_place_at_all_parties_and_shares_it_with_nobody():
    lists = {"a": range(40), "b": range(20, 60)}
    found = numbered(PLAN, {name: names(own) for name, own in lists.items()}, key(0)).places
    a, b = (dict(zip(lists[name], found[name].tolist(), strict=True)) for name in lists)
    assert all(a[person] == b[person] for person in range(20, 40))
    everybody = {**a, **b}
    assert len(set(everybody.values())) == 60 and max(everybody.values()) < TERMS.n_rows


def test_places_of_a_party_are_a_random_choice_whoever_else_takes_part():
    """The mean and the spread of one row's place, with and without the other party's people."""
    size = TERMS.n_rows
    for others in (range(0), range(100, 140)):
        lists = {"a": names(range(3)), "b": names(others)}
        drawn = np.array([numbered(PLAN, lists, key(k)).places["a"] for k in range(600)])
        spread = size / np.sqrt(12 * 600)
        assert np.all(np.abs(drawn.mean(axis=0) - (size - 1) / 2) < 5 * spread)
        assert len(np.unique(drawn[:, 0])) > size / 3


def test_the_declared_number_always_fits_and_no_more_than_fits_goes_on():
    reach = PLAN.capacity.reach
    for people, noise, goes_on in [
        (DECLARED, reach, True),
        (DECLARED, -reach, True),
        (DECLARED + 1, reach, False),
        (TERMS.n_rows, -reach, True),
        (TERMS.n_rows + 1, -reach, False),
        (4 * TERMS.n_rows, -reach, False),
    ]:
        lists = {"a": names(range(people)), "b": names(range(5))}
        found = numbered(PLAN, lists, key(0), Fixed(noise))
        assert (found.places is not None) == goes_on, (people, noise)
        assert found.people <= TERMS.n_rows + 1 + noise  # cut: beyond, it says no more


def test_what_is_told_depends_on_the_number_of_people_by_a_paid_noise():
    """One person more moves the noisy number by 1; the noise is that of the account."""
    for people in (10, DECLARED, TERMS.n_rows, TERMS.n_rows + 30):
        less, more = (
            numbered(PLAN, {"a": names(range(n)), "b": names(range(3))}, key(1)).people
            for n in (people, people + 1)
        )
        assert abs(more - less) in (0.0, 1.0)
    assert PLAN.capacity.events == [Gaussian(PLAN.capacity.sigma)]
    lists = {"a": names(range(10)), "b": names(range(3))}
    drawn = np.array([numbered(PLAN, lists, key(k)).people for k in range(800)]) - 10
    assert abs(drawn.mean()) < 5 * PLAN.capacity.sigma / np.sqrt(800)
    assert drawn.std() == pytest.approx(PLAN.capacity.sigma, rel=0.15)


def test_noise_beyond_its_reach_is_drawn_again():
    draws = iter([PLAN.capacity.reach + 1, -PLAN.capacity.reach - 1, 2])

    class Drawn(Fixed):
        def add_to(self, values, generator, threads=None):
            values += int(next(draws) * ENTRY)

    lists = {"a": names(range(10)), "b": names(range(3))}
    assert numbered(PLAN, lists, key(0), Drawn(0)).people == 12.0


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-16, 1e-25, 1e-40])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_noise_that_is_cut_off_is_within_delta(epsilon, delta):
    """Its chance adds to delta, of which the conversion of ledgers leaves as much."""
    public = {**PUBLIC, "epsilon": epsilon, "delta": delta}
    plan = moment_plan(agree_moments({"a": 1, "b": 1}, "a", n_rows=10**7, **public))
    cut = 2.0 * norm.sf((plan.capacity.reach - 1.0) / plan.capacity.sigma)
    rest = gaussian.delta_of(gaussian.mu(plan.event), epsilon)
    assert 0.0 < cut < 2e-3 * delta and rest + 2.0 * cut < delta


def test_a_pseudonym_that_comes_twice_is_refused():
    own = names(range(5))
    with pytest.raises(Refused, match="a sent a pseudonym twice"):
        numbered(PLAN, {"a": np.vstack([own, own[:1]]), "b": own}, key(0))


def test_pseudonyms_need_the_secret_and_differ_from_job_to_job():
    one, other = names(["ann", "bob"]), names(["ann", "bob"], job="another")
    assert not np.intersect1d(one, other).size
    again = pseudonyms_of(["bob", "ann "], SECRET, "job", TERMS.digest)
    assert np.array_equal(one[::-1], again)  # an identifier's own, whatever else is there
    secret = pseudonyms_of(["ann", "bob"], bytes(32), "job", TERMS.digest)
    assert not np.intersect1d(one, secret).size
    assert np.array_equal(one[order_of(one)], again[order_of(again)])  # no order of rows is sent
    with pytest.raises(ValueError, match="must differ"):
        names(["ann", "bob", "ann"])

"""What a party answers, whoever asks: each round once, on its terms, and nothing after the end."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dplasso.federated import Refused
from dplasso.federated.messages import Ask, Gave, PartyRelease
from dplasso.privacy import leaks
from federations import agreed, ask, made, parties_of, run_job

TERMS = agreed(sampling="distributed")


@pytest.fixture
def shop():
    return parties_of(TERMS, made(), random_state=0)["shop"]


@pytest.fixture
def bank():
    return parties_of(TERMS, made(), random_state=0)["bank"]


def test_the_same_round_has_the_same_bytes_whatever_is_asked(shop):
    first = shop.answer(ask(TERMS, "shop", 1))
    assert shop.answer(ask(TERMS, "shop", 1)) == first
    assert shop.answer(ask(TERMS, "shop", 1, numbers=-np.arange(16.0), clip=1e-9)) == first


def test_rounds_never_go_back(shop):
    shop.answer(ask(TERMS, "shop", 4))
    for at in (0, 1, 2, 3):
        with pytest.raises(Refused, match=f"refuses round {at}: it has answered 4"):
            shop.answer(ask(TERMS, "shop", at))


def test_nothing_follows_the_end(bank):
    end = TERMS.rounds + 1
    bank.answer(ask(TERMS, "bank", 1))
    stored = bank.answer(ask(TERMS, "bank", end, Ask.FINISH, [0.5, 0.1]))
    assert PartyRelease.from_bytes(stored).kind == Gave.STORED
    for at, kind in itertools.product(range(end), Ask):
        with pytest.raises(Refused):
            bank.answer(ask(TERMS, "bank", at, kind))
    # Told again, also otherwise: what it was told first is kept.
    assert bank.answer(ask(TERMS, "bank", end, Ask.FINISH, [0.2, 0.2])) == stored
    assert bank.model.coefficients == [0.5]


@pytest.mark.parametrize(
    ("at", "kind", "numbers"),
    [
        (0, Ask.LABELS, None),  # it has none
        (0, Ask.SELECT, None),
        (1, Ask.LABELS, None),
        (1, Ask.FINISH, []),
        (7, Ask.SELECT, None),
        (8, Ask.FINISH, []),
        (2**32 - 1, Ask.SELECT, None),
        (1, Ask.SELECT, []),
        (1, Ask.SELECT, np.ones(15)),
        (1, Ask.SELECT, np.ones(17)),
        (7, Ask.FINISH, [0.1]),  # it has shared nothing
    ],
)
def test_what_is_not_due_is_refused_and_changes_nothing(shop, at, kind, numbers):
    with pytest.raises(Refused, match="shop refuses"):
        shop.answer(ask(TERMS, "shop", at, kind, numbers))
    assert shop._last is None


def test_a_party_is_asked_on_its_turns_only():
    terms = agreed()
    shop = parties_of(terms, made())["shop"]
    with pytest.raises(Refused, match="not on the schedule"):
        shop.answer(ask(terms, "shop", 1))
    shop.answer(ask(terms, "shop", 2))


def test_requests_of_other_jobs_and_to_others_are_refused(shop):
    with pytest.raises(Refused, match="another job or with other terms"):
        shop.answer(ask(agreed(sampling="distributed", epsilon=2.1), "shop", 1))
    with pytest.raises(Refused, match="to another party"):
        shop.answer(ask(TERMS, "bank", 1))


@pytest.mark.parametrize("weights", [[5.1], [1e99], [-6.0]])
def test_weights_beyond_the_ball_are_refused(shop, weights):
    shop.answer(ask(TERMS, "shop", 1))
    with pytest.raises(Refused, match="beyond the radius"):
        shop.answer(ask(TERMS, "shop", 7, Ask.FINISH, weights))
    with pytest.raises(Refused, match="has no weights yet"):
        _ = shop.model


@pytest.mark.parametrize(("size", "clip"), [(1e100, 1e-100), (1e-300, 1e100), (0.0, 0.0)])
def test_no_residual_overflows(shop, size, clip):
    """Weights of rows stay within their bound, and nothing warns."""
    numbers = np.where(np.arange(16) % 3, size, -size)
    weights = shop._holdings.row_weights(numbers, clip)
    assert np.abs(weights).max() <= 2**20
    shop.answer(ask(TERMS, "shop", 1, numbers=numbers, clip=clip))


def test_threads_that_ask_at_once_get_one_draw(shop):
    request = ask(TERMS, "shop", 1)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(shop.answer, [request] * 40))) == 1
    assert len(shop._shared) == 1


def test_shared_features_are_shared_once_under_each_step():
    corrective, universal = agreed(rounds=14), agreed(rounds=14, step="universal")
    for terms, last in ((corrective, Gave.NOTHING), (universal, Gave.AGAIN)):
        rounds, _ = run_job(terms, made(), random_state=0)
        releases = [m.release for m in itertools.chain(*rounds)]
        for number in (0, 1):
            kinds = [r.kind for r in releases if r.party == number]
            shared = [r.feature for r in releases if r.party == number and r.kind == Gave.SHARED]
            assert len(set(shared)) == len(shared) > 0
            assert number == 1 or last in kinds


def test_seeds_are_refused_in_strict_mode():
    leaks.set_strict(True)
    try:
        with pytest.raises(leaks.PrivacyLeakError, match="random_state"):
            parties_of(TERMS, made(), random_state=1)
        parties_of(TERMS, made())
    finally:
        leaks.set_strict(None)

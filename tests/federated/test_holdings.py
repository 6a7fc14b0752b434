"""What a party holds: tables and labels of all kinds, people that others lack, or no rows."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.federated import Party, holdings
from dplasso.federated.holdings import Holdings
from federations import SECRET, Data, agreed, made, run_job

TERMS = agreed(sampling="distributed")


def kinds_of_tables():
    X = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    twice = sp.coo_array(
        (np.append(np.ones(5), [3.0, -3.0]), ([0, 0, 1, 2, 2, 0, 0], [0, 2, 1, 2, 3, 1, 1])),
        shape=(3, 4),
    )
    parts = sp.csc_array((np.full(10, 0.5), np.repeat([0, 1, 0, 2, 2], 2), [0, 2, 4, 8, 10]))
    yield from (X, X.astype(float), X.astype(bool), X.astype(np.float32), X.tolist())
    yield from (
        X.astype(np.uint8),
        sp.csr_array(X),
        sp.csc_matrix(X),
        sp.coo_array(X),
        twice,
        parts,
    )


@pytest.mark.parametrize("table", list(kinds_of_tables()), ids=lambda t: type(t).__name__)
def test_tables_of_all_kinds_are_the_same(table):
    """Also with entries that are given in parts, or as zeros."""
    terms = agreed({"bank": 4}, epsilon=math.inf)
    data = Data({"bank": table}, {"bank": ["a", "b", "c"]}, [True, False, True])
    rounds, _ = run_job(terms, data)
    plain = Data({"bank": kinds_of_tables().__next__()}, {"bank": ["a", "b", "c"]}, [1, 0, 1])
    assert [m.answer for m in itertools.chain(*rounds)] == [
        m.answer for m in itertools.chain(*run_job(terms, plain)[0])
    ]


BROKEN = sp.csc_array((np.ones(1), [0], [0, 1, 1, 1, 1]), shape=(3, 4))
BROKEN.indices[0] = 77


@pytest.mark.parametrize(
    "table",
    [
        np.ones(3),
        np.ones((3, 4), complex),
        np.full((3, 4), "secret"),
        np.full((3, 4), "secret", object),
        np.full((3, 4), np.nan),
        np.full((3, 4), -np.inf),
        np.ones((3, 5)),
        np.ones((2, 4)),
        BROKEN,
    ],
)
def test_tables_that_are_none_are_refused_without_a_word_of_them(table):
    with pytest.raises(ValueError, match="X|identifiers|ind") as told:
        Party(TERMS, "bank", table, ["a", "b", "c"], SECRET, y=np.zeros(3))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "y", [None, [1.0], ["private"] * 3, [1j] * 3, [np.nan, 0, 0], [[1.0]] * 3, [None] * 3]
)
def test_labels_that_are_none_are_refused_without_a_word_of_them(y):
    with pytest.raises(ValueError, match="^y ") as told:
        Party(TERMS, "bank", np.ones((3, 4)), ["a", "b", "c"], SECRET, y=y)
    assert "private" not in str(told.value)


def test_labels_belong_to_their_holder():
    with pytest.raises(ValueError, match="y must be given at the label holder, bank"):
        Party(TERMS, "shop", np.ones((3, 5)), ["a", "b", "c"], SECRET, y=np.zeros(3))
    with pytest.raises(ValueError, match="party must be one of bank, shop"):
        Party(TERMS, "mill", np.ones((3, 5)), ["a", "b", "c"], SECRET)


def test_parties_of_different_people_and_of_none_go_on():
    data = made(200)
    data.identifiers["shop"] = [f"somebody else {k}" for k in range(200)]
    run_job(TERMS, data)
    data.blocks["shop"], data.identifiers["shop"] = np.empty((0, 5)), []
    rounds, coordinator = run_job(TERMS, data)  # and more rows than were declared at the other
    assert coordinator.done and coordinator.card().ended == "complete"


def test_a_row_that_is_not_there_is_as_one_at_the_centre(monkeypatch):
    """Whatever it holds at others: nobody is told who lacks it."""
    terms, data = agreed(epsilon=math.inf, rounds=1, sketch_size=128), made()
    data.blocks["bank"][:, :] = 0.25
    fewer = Data(
        {**data.blocks, "bank": data.blocks["bank"][:20]},
        {**data.identifiers, "bank": data.identifiers["bank"][:20]},
        data.y[:20],
    )
    monkeypatch.setattr(holdings, "centre_of", lambda total, n_rows: 2**14)
    whole, part = (
        Holdings(terms, "bank", d.blocks["bank"], d.identifiers["bank"], SECRET, d.y, bits)
        for d, bits in ((data, parties_bits()), (fewer, parties_bits()))
    )
    assert np.array_equal(whole.shared(1).numbers, part.shared(1).numbers)


def parties_bits():
    return holdings.RandomBits(np.random.default_rng(0), secure=False)

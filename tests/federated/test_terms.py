"""Terms: the same text for the same job, whoever wrote it, and nothing that cannot be kept."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import PartyTerms, Refused, Terms, agree
from federations import agreed

GIVEN = {"n_rows": 40, "epsilon": 2.0, "delta": 1e-6, "radius": 5.0, "rounds": 6}


def party(name, n_features, **options):
    return PartyTerms(name=name, n_features=n_features, **options)


def terms(**options):
    usual = {"job": "job", "parties": (party("a", 3),), "label_holder": "a", "sketch_size": 8}
    return Terms(**{**usual, **GIVEN, **options})


def test_numbers_of_any_kind_make_the_same_terms():
    """Else parties that mean the same would refuse each other."""
    plain = terms()
    other = terms(
        epsilon=2,
        radius=np.float32(5),
        n_rows=np.int64(40),
        rounds=np.int32(6),
        parties=[party("a", np.int64(3), x_bound=1, row_budget=np.float64(1))],
        probabilities=[],
    )
    assert other == plain and other.digest == plain.digest


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 2**26),
    st.one_of(st.floats(1e-3, 1e3), st.integers(1, 9), st.just(math.inf)),
    st.floats(1e-12, 0.5),
    st.integers(0, 2**64 - 1),
)
def test_terms_come_back_as_they_were(n_rows, epsilon, delta, seed):
    written = terms(n_rows=n_rows, epsilon=epsilon, delta=delta, seed=seed, sketch_size=1)
    again = Terms.from_json(written.to_json())
    assert again == written and again.digest == written.digest
    assert again.universe >= 2 * n_rows and again.universe.bit_count() == 1


def test_every_field_is_in_the_digest():
    others = [
        {"job": "other"}, {"n_rows": 41}, {"epsilon": 2.1}, {"delta": 1e-7}, {"radius": 4.0},
        {"rounds": 7}, {"sketch_size": 9}, {"y_bound": 2.0}, {"step": "universal"}, {"seed": 1},
        {"min_overlap": 0.5}, {"sampling": "serial"}, {"tau": 2}, {"parties": (party("a", 4),)},
        {"sampling": "arbitrary", "probabilities": (0.5,)},
        {"parties": (party("a", 3, x_bound=2.0),)}, {"parties": (party("a", 3, row_budget=2.0),)},
    ]  # fmt: skip
    digests = {terms(**other).digest for other in ({}, *others)}
    assert len(digests) == len(others) + 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"job": "../up"}, "job must be"),
        ({"job": ""}, "job must be"),
        ({"job": 7}, "job must be"),
        ({"parties": ()}, "parties must"),
        ({"parties": (party("a", 1), party("a", 2))}, "parties must"),
        ({"label_holder": "b"}, "label_holder must be one of a"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"n_rows": 2**26 + 1}, "n_rows must be an integer of at most"),
        ({"n_rows": 4.5}, "n_rows must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": math.nan}, "epsilon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"radius": math.inf}, "radius must be"),
        ({"y_bound": -1.0}, "y_bound must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"rounds": 10**9}, "rounds must be an integer of at most"),
        ({"sketch_size": 0}, "sketch_size must be"),
        ({"sketch_size": 129}, "sketch_size must be at most 128"),
        ({"seed": -1}, "seed must be"),
        ({"min_overlap": 1.1}, "min_overlap must be"),
        ({"min_overlap": -0.1}, "min_overlap must be"),
        ({"min_overlap": math.nan}, "min_overlap must be"),
        ({"seed": 2**64}, "seed must be an integer of at most 18,446,744,073,709,551,615"),
        ({"step": "giant"}, "step must be one of corrective, universal"),
        ({"sampling": "none"}, "sampling must be one of"),
        ({"tau": 0}, "tau must be"),
        ({"sampling": "nice"}, "tau must be 1 to 3"),
        ({"sampling": "nice", "tau": 4}, "tau must be 1 to 3"),
        ({"sampling": "arbitrary"}, "probabilities must be"),
        ({"probabilities": (0.5,)}, "probabilities must be"),
        ({"sampling": "arbitrary", "probabilities": (1.5,)}, "probabilities must be"),
        ({"sampling": "arbitrary", "probabilities": (0.0,)}, "probabilities must be"),
        ({"sampling": "arbitrary", "probabilities": (0.5, 0.5)}, "probabilities must be"),
        ({"sampling": "arbitrary", "probabilities": ("x",)}, "probabilities must be"),
    ],
)
def test_terms_that_make_no_sense_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        terms(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": "a b"}, {"name": "-a"}, {"name": "a" * 64}, {"name": 7},
     {"n_features": 0}, {"n_features": 2**32}, {"x_bound": 0.0}, {"x_bound": math.inf},
     {"row_budget": 0.0}, {"row_budget": 2.0**21}],
)  # fmt: skip
def test_parties_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        party(**{"name": "a", "n_features": 1, **wrong})


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "7", "[" * 100_000, '{"parties": 3}', '{"parties": [3]}',
     terms().to_json().replace("2.0", "-2.0"),
     terms().to_json().replace("2.0", "1" + "0" * 400),
     terms().to_json()[:-1] + ',"more":1}'],
)  # fmt: skip
def test_texts_that_are_no_terms_are_refused(text):
    with pytest.raises(Refused, match="no Terms of a job"):
        Terms.from_json(text)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(100, 2**22), st.integers(1, 6), st.floats(0.1, 20.0), st.sampled_from([1e-9, 1e-5])
)
def test_what_is_left_out_is_chosen_from_public_numbers(n_rows, count, epsilon, delta):
    parties = {f"p{k}": 10 + k for k in range(count)}
    chosen = agree(parties, "p0", n_rows=n_rows, epsilon=epsilon, delta=delta)
    assert [party.n_features for party in chosen.parties] == list(parties.values())
    assert chosen.rounds >= count and 1 <= chosen.sketch_size <= chosen.universe
    kept = agree(
        parties, "p0", n_rows=n_rows, epsilon=epsilon, delta=delta,
        rounds=3, sketch_size=17, row_budget=0.7, x_bounds={"p0": 9},
    )  # fmt: skip
    assert (kept.rounds, kept.sketch_size) == (3, 17)
    assert (kept.parties[0].x_bound, kept.parties[-1].row_budget) == (9.0, 0.7)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"rounds": 0}, "rounds must be"),
        ({"sketch_size": 0}, "sketch_size must be"),
        ({"row_budget": 0.0}, "row_budget must be"),
        ({"x_bounds": {"bnak": 2.0}}, "x_bounds must name parties"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"features": {}}, "parties must be"),
    ],
)
def test_what_is_said_wrong_is_not_chosen_instead(wrong, told):
    with pytest.raises(ValueError, match=told):
        agreed(**wrong)


def test_terms_are_public_numbers_only():
    assert set(json.loads(agreed().to_json())) == {
        "job", "parties", "label_holder", "n_rows", "epsilon", "delta", "radius", "rounds",
        "sketch_size", "y_bound", "step", "sampling", "tau", "probabilities", "seed",
    }  # fmt: skip

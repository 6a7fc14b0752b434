"""What a job leaves behind: margins that add up, files that are sound or refused."""

import dataclasses
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.federated import PartyModel, simulate
from federations import agreed, made

MODEL = PartyModel("shop", "job", 2.0, 4, [3, 0], [0.5, -1.25], 0.75)


@pytest.mark.parametrize("bounds", [None, {"bank": 3.0, "shop": 0.2}])
def test_margins_add_up_to_the_prediction(bounds):
    """In units of the data, clipped as in training, against the card's public numbers."""
    terms = agreed(x_bounds=bounds, y_bound=7.0)
    data = made()
    outcome = simulate(terms, data.blocks, 5.0 * data.y, random_state=2)
    card = outcome.card
    expected = np.full(40, card.intercept)
    limits = {party.name: party.x_bound for party in terms.parties}
    for party, feature, weight in zip(card.parties, card.features, card.coefficients, strict=True):
        expected += weight * np.clip(data.blocks[party][:, feature], -limits[party], limits[party])
    assert np.allclose(outcome.margins(data.blocks), expected, atol=1e-12)
    scales = [7.0 / limits[party] for party in card.parties]
    assert np.allclose(np.array(card.weights) * scales, card.coefficients)
    assert outcome.models["shop"].intercept == 0.0
    assert outcome.models["bank"].intercept == card.intercept


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_array, lambda X: X.tolist()])
def test_margins_of_all_kinds_of_tables(kind):
    X = np.array([[1.0, 9.0, 9.0, 1.0], [-5.0, 0.0, 0.0, 1.5]])
    expected = [0.75 - 1.25 + 0.5, 0.75 + 2.5 + 0.75]
    assert MODEL.margins(kind(X)).tolist() == expected


def test_margins_without_features_are_the_intercept():
    assert (
        PartyModel("a", "job", 1.0, 2, [], [], 0.5).margins(np.ones((3, 2))).tolist() == [0.5] * 3
    )


@pytest.mark.parametrize("X", [np.ones((2, 3)), np.full((2, 4), np.nan), np.full((2, 4), np.inf)])
def test_rows_that_do_not_fit_are_refused(X):
    with pytest.raises(ValueError, match="X "):
        MODEL.margins(X)


def test_saved_and_loaded_it_is_the_same(tmp_path):
    MODEL.save(tmp_path / "model.json")
    assert PartyModel.load(tmp_path / "model.json") == MODEL
    MODEL.save(str(tmp_path / "model.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def with_fields(**fields):
    return json.dumps({**dataclasses.asdict(MODEL), **fields})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[1, 2]",
        "{}",
        "7",
        '{"party": "shop"}',
        with_fields(more=1),
        with_fields(features=[0, 4]),
        with_fields(features=[-1, 0]),
        with_fields(features=[0, 0]),
        with_fields(features=["0", 1]),
        with_fields(features=[True, 0]),
        with_fields(features=[0]),
        with_fields(coefficients=[10**400, 0.5]),
        with_fields(intercept=-(10**400)),
        with_fields(coefficients=[0.5]),
        with_fields(coefficients=[0.5, math.nan]),
        with_fields(coefficients=[0.5, "1"]),
        with_fields(coefficients=7),
        with_fields(intercept=math.inf),
        with_fields(intercept=None),
        with_fields(x_bound=0.0),
        with_fields(n_features=2.5),
        MODEL.party.join(["\udcff"] * 2).encode("utf-8", "surrogateescape"),
    ],
)
def test_files_that_are_no_models_are_refused(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match="is no model of a party"):
        PartyModel.load(path)


def test_cards_are_json_that_says_what_it_covers():
    data = made()
    card = simulate(agreed(), data.blocks, data.y, random_state=0).card
    told = json.loads(card.to_json())
    assert told["terms"] == json.loads(agreed().to_json())
    assert told["privacy"]["epsilon"] == 2.0 and told["rounds_done"] == 6
    assert sum(told["privacy"]["rho_by_party"].values()) == pytest.approx(told["privacy"]["rho"])
    unprotected = simulate(agreed(epsilon=math.inf), data.blocks, data.y).card
    assert json.loads(unprotected.to_json())["privacy"]["epsilon"] == "inf"


def test_blocks_must_be_those_of_the_terms():
    with pytest.raises(ValueError, match="blocks must hold the features of every party"):
        simulate(agreed(), {"bank": np.ones((3, 4))}, np.zeros(3))

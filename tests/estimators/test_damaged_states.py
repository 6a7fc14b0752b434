"""A state that does not fit its model is refused before anything is learned with it."""

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier
from dplasso.storage import ModelFileError, read, write


def stream(**options):
    given = {"window": 20} if "window" in options or "n_rows" not in options else {}
    return PrivateOnlineClassifier(1.0, classes=[0, 1], **{**given, **options})


KINDS = [{"n_rows": 500}, {"window": 20}, {"n_rows": None, "window": None}]


@pytest.fixture(params=KINDS, ids=repr)
def saved(request, tmp_path):
    model = stream(**request.param)
    model.partial_fit(np.linspace(-1, 1, 120).reshape(30, 4), np.arange(30) % 2)
    path = tmp_path / "state"
    model.save_state(path)
    header, arrays = read(path)
    return request.param, tmp_path / "damaged", header, arrays


def assert_refused(saved, match):
    kind, path, header, arrays = saved
    write(path, header, arrays)
    model = stream(**kind)
    with pytest.raises(ValueError, match=match):
        model.load_state(path)
    assert not hasattr(model, "stream_")


@pytest.mark.parametrize("columns", [3, 5, 2**31 - 1])
def test_a_state_of_other_columns_is_refused(saved, columns):
    saved[2]["n_features"] = columns
    assert_refused(saved, "state must be of as many columns")


@pytest.mark.parametrize("dimension", [4, 2**31 - 1, 10**12])
def test_a_state_that_claims_more_numbers_than_it_holds_is_refused(saved, dimension):
    saved[2]["state"]["sum"]["settings"]["dimension"] = dimension
    assert_refused(saved, "as many whole numbers as columns")


@pytest.mark.parametrize("odd", [2.5, "4", None, [4], True])
def test_a_state_whose_number_of_columns_is_none_is_refused(saved, odd):
    saved[2]["n_features"] = odd
    assert_refused(saved, "n_features")


def test_arrays_of_another_shape_are_refused(saved):
    _, path, header, arrays = saved
    kind = saved[0]
    for name, array in arrays.items():
        if array.size == 0 or array.ndim == 0 or name.startswith("parameter"):
            continue
        write(path, header, {**arrays, name: np.concatenate([array, array])})
        with pytest.raises(ValueError):  # by whichever check comes first
            stream(**kind).load_state(path)


@pytest.mark.parametrize("gone", ["receipt", "state", "more", "feature_names", "classes"])
def test_a_state_that_lacks_an_entry_is_refused_by_its_name(saved, gone):
    del saved[2][gone]
    kind, path, header, arrays = saved
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match="holds no state"):
        stream(**kind).load_state(path)


@pytest.mark.parametrize("position", [0, 10**9, 2**62, -1, 3.5])
def test_a_state_whose_noise_stands_elsewhere_is_refused(saved, position):
    saved[2]["state"]["sum"]["position"] = position
    assert_refused(saved, "position|noise of the steps")


@pytest.mark.parametrize("rows", [2**63, 10**30, -1, None])
def test_a_state_of_more_rows_than_can_be_counted_is_refused(saved, rows):
    saved[2]["state"]["rows"] = rows
    assert_refused(saved, "rows")

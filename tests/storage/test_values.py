"""Values come back from strict JSON with their type, their order and their repr."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dplasso.storage.values import from_json, to_json

numpy_scalars = (
    st.booleans().map(np.bool_)
    | st.text(max_size=3).map(np.str_)
    | st.integers(-128, 127).map(np.int8)
    | st.integers(0, 2**64 - 1).map(np.uint64)
    | st.floats(width=16).map(np.float16)
    | st.floats(width=32).map(np.float32)
    | st.floats().map(np.float64)
)


def ranges(start, length, step):
    """As long as a model file takes them."""
    return range(start, start + length * step, step)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | numpy_scalars
keys = st.text() | st.sampled_from(["$", "$$", "$name", "name", "items"])
values = st.recursive(
    leaves | st.builds(ranges, st.integers(), st.integers(0, 1 << 24), st.integers(1)),
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=10,
)


def through_json(value):
    arrays = {}
    text = json.dumps(to_json(value, "x", arrays), allow_nan=False)
    return from_json(json.loads(text), arrays)


@settings(deadline=None)
@given(values)
@example({"$": "inf"})
@example({"$": 1.0, "$$": math.inf, "": -0.0})
@example([np.float64(math.nan), np.longlong(3), (), (1,)])
def test_values_come_back(value):
    assert repr(through_json(value)) == repr(value)


@pytest.mark.parametrize(
    "array",
    [np.array([1.5, np.inf]), np.array(["a", "bc"]), np.array([True]), np.zeros((2, 0), "i4")],
)
def test_arrays_are_kept_beside(array):
    arrays = {}
    form = to_json(array, "name", arrays)
    assert form == {"$": "array", "name": "name"} and arrays["name"] is array
    assert from_json(form, arrays) is array


@pytest.mark.parametrize("items", [[], ["a", "b\0", "ö" * 1000], ["a", 1, 2.5, True, math.inf]])
def test_arrays_of_objects_are_lists_with_a_tag(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    found = through_json(array)
    assert found.dtype == object and repr(found) == repr(array)
    assert [type(item) for item in found] == [type(item) for item in items]


def test_the_form_is_the_documented_one():
    value = {"$": math.inf, "a": (1, np.int64(2)), "b": range(3), "c": -math.inf}
    assert to_json(value, "x", {}) == {
        "$$": {"$": "inf"},
        "a": {"$": "tuple", "items": [1, {"$": "scalar", "type": "int64", "value": 2}]},
        "b": {"$": "range", "items": [0, 3, 1]},
        "c": {"$": "-inf"},
    }


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"bytes",
        {1, 2},
        {(1,): 2},
        1j,
        [np.zeros(2)],
        np.longdouble(1),
        np.datetime64("2020-01-01"),
        np.array([[1, "a"]], dtype=object),
        np.array([object()], dtype=object),
    ],
)
def test_values_of_other_types_are_refused(value):
    with pytest.raises(ValueError, match="which a model file has no form for"):
        to_json(value, "x", {})


@pytest.mark.parametrize(
    "form",
    [
        {"$": "exec", "items": []},
        {"$": "objects", "items": [["a"], ["b"]]},
        {"$": "objects", "items": [{}]},
        {"$": "mapping", "items": [["a"]]},
        {"$": "mapping", "items": [[["a"], 1]]},
        {"$": "mapping", "items": ["ab"]},
        {"$": "scalar", "type": "int64", "value": "a"},
    ],
)
def test_forms_that_mean_nothing_are_refused(form):
    with pytest.raises(ValueError):
        from_json([form], {})


@pytest.mark.parametrize("form", [{"$": "array", "name": "y"}, {"$": "scalar", "type": "object"}])
def test_names_that_are_not_there_are_refused(form):
    with pytest.raises(KeyError):
        from_json(form, {})


@given(st.dictionaries(st.integers() | st.text() | st.booleans(), st.floats(0, 1)))
def test_mappings_come_back_with_their_keys(value):
    again = from_json(json.loads(json.dumps(to_json(value, "x", {}))), {})
    assert again == value and list(map(repr, again)) == list(map(repr, value))

"""Python values as strict JSON that restores them exactly: type, order and repr.

A value that JSON has no form for is an object with a tag under the key ``$``, as in
``{"$": "inf"}``. Keys of ordinary dicts that start with ``$`` get one more. Arrays are stored next
to the JSON, by name.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TAG = "$"
_MOST_IN_RANGE = 1 << 24  # longest range, since readers may expand it
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_KEYS = str | bool | int | float | np.generic  # of mappings
_NUMBERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
_SCALARS = {name: np.dtype(name).type for name in ("bool", "str", *_NUMBERS.split())}


def to_json(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """The JSON form of a value; if it is an array, it is put into ``arrays`` under ``name``.

    >>> to_json([1, math.inf], "x_bound", {})
    [1, {'$': 'inf'}]
    """
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[name] = value
        return {_TAG: "array", "name": name}
    return _plain(value)


def from_json(form: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value of a JSON form.

    >>> from_json([1, {"$": "inf"}], {})
    [1, inf]
    """
    if isinstance(form, list):
        return [from_json(item, arrays) for item in form]
    if not isinstance(form, dict):
        return form
    if _TAG in form:
        return _tagged(form, arrays)
    return {key.removeprefix(_TAG): from_json(item, arrays) for key, item in form.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return {_TAG: "scalar", "type": _scalar_type(value), "value": _plain(value.item())}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: repr(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {_TAG * key.startswith(_TAG) + key: _plain(item) for key, item in value.items()}
    if isinstance(value, dict) and all(isinstance(key, _KEYS) for key in value):
        pairs = [[_plain(key), _plain(item)] for key, item in value.items()]
        return {_TAG: "mapping", "items": pairs}
    if isinstance(value, tuple):
        return {_TAG: "tuple", "items": [_plain(item) for item in value]}
    if isinstance(value, range):
        if value[_MOST_IN_RANGE:]:  # len() fails for the longest ranges
            raise ValueError(f"is a range of more than {_MOST_IN_RANGE:,} numbers; make it a list")
        return {_TAG: "range", "items": [value.start, value.stop, value.step]}
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        return {_TAG: "objects", "items": [_plain(item) for item in value]}
    raise ValueError(f"is of type {type(value).__name__}, which a model file has no form for")


def _tagged(form: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    tag = form[_TAG]
    if tag in _NOT_FINITE:
        return _NOT_FINITE[tag]
    if tag == "array":
        return arrays[form["name"]]
    if tag == "scalar":
        return _SCALARS[form["type"]](from_json(form["value"], arrays))
    items = [from_json(item, arrays) for item in form["items"]]
    if tag == "tuple":
        return tuple(items)
    if tag == "range":
        found = range(*items)
        if found[_MOST_IN_RANGE:]:
            raise ValueError(f"a range has more than {_MOST_IN_RANGE:,} numbers")
        return found
    if tag == "objects":
        return _object_array(items)
    if tag == "mapping":
        return _mapping(items)
    raise ValueError(f"a value is of unknown kind {tag!r}")


def _scalar_type(value: Any) -> str:
    name = "str" if isinstance(value, np.str_) else str(value.dtype.name)
    if name not in _SCALARS:
        raise ValueError(f"is of type {name}, which a model file has no form for")
    return name


def _mapping(items: list[Any]) -> dict[Any, Any]:
    for pair in items:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], _KEYS):
            raise ValueError("a mapping has keys other than text and numbers")
    return dict(items)


def _object_array(items: list[Any]) -> NDArray[Any]:
    if not all(isinstance(item, str | bool | int | float) for item in items):
        raise ValueError("an array of objects has other things than text and numbers")
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array

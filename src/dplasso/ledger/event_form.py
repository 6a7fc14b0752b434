"""Privacy events as JSON, and back.

>>> to_form(Repeated(BoundedRange(0.5), 3))
{'kind': 'repeated', 'event': {'kind': 'bounded_range', 'epsilon': 0.5}, 'count': 3}
"""

import math
from collections.abc import Iterator
from typing import Any

from dplasso.privacy.events import (
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    PureDP,
    Release,
    Repeated,
    Selected,
    ZeroConcentrated,
)

# The kinds of single releases, and their one parameter.
_RELEASES: dict[str, tuple[type[Release], str]] = {
    "bounded_range": (BoundedRange, "epsilon"),
    "pure_dp": (PureDP, "epsilon"),
    "gaussian": (Gaussian, "noise_multiplier"),
    "zero_concentrated": (ZeroConcentrated, "rho"),
}
_KINDS = {made: kind for kind, (made, _) in _RELEASES.items()}
_MOST_PARTS, _DEEPEST, _LARGEST_COUNT = 1000, 20, 2**63 - 1


def to_form(event: Event) -> dict[str, Any]:
    """The event as a JSON value. Events too large for a line of a ledger raise ValueError."""
    return _to_form(event, iter(range(_MOST_PARTS)), 0)


def _to_form(event: Event, room: Iterator[int], depth: int) -> dict[str, Any]:
    _check_room(room, depth)
    match event:
        case Composed(events):
            return {
                "kind": "composed",
                "events": [_to_form(part, room, depth + 1) for part in events],
            }
        case Repeated(part, count):
            _check_count(count)
            return {"kind": "repeated", "event": _to_form(part, room, depth + 1), "count": count}
        case Selected(part, stop, law):
            trial = _to_form(part, room, depth + 1)
            return {"kind": "selected", "event": trial, "stop": stop, "law": law}
    kind = _KINDS.get(type(event))
    if kind is None:
        raise ValueError(
            f"event must be a privacy event, got {type(event).__name__}: see dplasso.privacy.events"
        )
    name = _RELEASES[kind][1]
    return {"kind": kind, name: _checked(getattr(event, name))}


def from_form(form: object) -> Event:
    """The event of a JSON value; anything that `to_form` would not write raises ValueError."""
    return _from_form(form, iter(range(_MOST_PARTS)), 0)


def _from_form(form: object, room: Iterator[int], depth: int) -> Event:
    _check_room(room, depth)
    if not isinstance(form, dict):
        raise ValueError("an event must be a JSON object")
    match form:
        case {"kind": "composed", "events": list(parts), **more} if not more:
            return Composed(tuple(_from_form(part, room, depth + 1) for part in parts))
        case {"kind": "repeated", "event": part, "count": int(count), **more} if not more:
            _check_count(count)
            return Repeated(_from_form(part, room, depth + 1), count)
        case {
            "kind": "selected",
            "event": part,
            "stop": float(stop),
            "law": ("logarithmic" | "geometric") as law,
            **more,
        } if not more:
            return Selected(_from_form(part, room, depth + 1), stop, law)
        case {"kind": str(kind), **rest} if kind in _RELEASES:
            made, name = _RELEASES[kind]
            if list(rest) == [name] and isinstance(rest[name], float):
                return made(_checked(rest[name]))
    raise ValueError("an event must be of a known kind, with the parameters of that kind")


def _check_room(room: Iterator[int], depth: int) -> None:
    if next(room, None) is None or depth > _DEEPEST:
        raise ValueError(
            f"event must have at most {_MOST_PARTS} parts, nested at most {_DEEPEST} deep: "
            "charge it in several parts, or say Repeated"
        )


def _check_count(count: int) -> None:
    if count > _LARGEST_COUNT:
        raise ValueError("count of a Repeated event must fit into 63 bits")


def _checked(parameter: float) -> float:
    if not math.isfinite(parameter):
        raise ValueError("parameters of an event must be finite: JSON has no infinity")
    return parameter

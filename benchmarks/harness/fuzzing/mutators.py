"""Sound input, altered: bytes, text, and JSON values, by a `random.Random`."""

import json
import random
from typing import Any

_DEEP = "a list in a list in a list"
NUMBERS = (
    0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**32, 10**9, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64,
    10**30, 0.0, -0.0, 0.5, 1e-320, 5e-324, 1e308, -1e308, 1e-300,
)  # fmt: skip
TEXTS = (
    "", "0", "1", "inf", "nan", "$", "array", "range", "\x00", "\x1b[2J", "=1+1", "é" * 50,
    "x" * 5000, "../..", "\u202e", "private", "auto", "frank_wolfe", "gradient", "select",
)  # fmt: skip


def bent(rng: random.Random, content: bytes) -> bytes:
    """A few bytes replaced, inserted, deleted, repeated, or the end cut off."""
    altered = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        place, size = rng.randrange(len(altered) + 1), rng.choice((0, 0, 1, 1, 2, 8))
        new = rng.choice(
            (
                b"",
                rng.randbytes(1),
                bytes(altered[place : place + 20]),
                b"\x00" * 8,
                b"\xff" * 8,
                b"9",
                rng.choice((1, 2, 4, 8)).to_bytes(4, "little"),
            )
        )
        altered[place : place + size] = new
    return bytes(altered[: rng.randrange(len(altered) + 1)] if rng.random() < 0.05 else altered)


def flipped(rng: random.Random, content: bytes) -> bytes:
    """A few bytes altered in place: lengths stay."""
    altered = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if altered:
            altered[rng.randrange(len(altered))] = rng.choice(
                (0, 1, 127, 128, 255, rng.randrange(256))
            )
    return bytes(altered)


def odd_value(rng: random.Random) -> Any:
    """A JSON value that hardly anyone expects."""
    kind = rng.randrange(8)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice(TEXTS)
    if kind == 5:
        return rng.choice((None, True, False, [], {}, [[]], [0, None], {"": 0}))
    if kind == 6:
        return rng.choice(
            (
                {"$": "inf"},
                {"$": "nan"},
                {"$": "-inf"},
                {"$": "range", "items": [0, 10**9, 1]},
                {"$": "range", "items": [0, 2**62, 1]},
                {"$": "tuple", "items": [1, 2]},
                {"$": "objects", "items": ["a", "b"]},
                {"$": "array", "name": rng.choice(("weights_data", "intercept", "none"))},
                {"$": "scalar", "type": "float64", "value": {"$": "nan"}},
                {"$": "scalar", "type": "str", "value": "x"},
            )
        )
    return _DEEP


def as_json(value: Any) -> bytes:
    """The text of a value; some parts of it may be nested too deep for anyone's stack."""
    text = json.dumps(value, ensure_ascii=False).replace(f'"{_DEEP}"', "[" * 5000 + "]" * 5000)
    return text.encode("utf-8", "replace")


def bent_value(rng: random.Random, value: Any) -> Any:
    """A JSON value with one part of it replaced, doubled or left out."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = rng.choice(list(value))
        if rng.random() < 0.08:
            return {name: part for name, part in value.items() if name != key}
        if rng.random() < 0.05:
            return {**value, rng.choice(TEXTS): value[key]}
        return {**value, key: bent_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:place] + value[place + 1 :]
        if rng.random() < 0.1:
            return value[: place + 1] + value[place:]
        return [*value[:place], bent_value(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.3:
        place = rng.randrange(len(value))
        return value[:place] + rng.choice(TEXTS)[:20] + value[place + rng.randrange(3) :]
    return odd_value(rng)

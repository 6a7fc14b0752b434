"""A digest of public facts, by which a driver that goes on knows its fit again."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def fingerprint(facts: Any) -> str:
    """Digest facts of any depth: numbers, texts, arrays, containers and plain objects.

    Equal facts have equal digests in every process. Numbers count with all their bits, and an
    object with its type and its fields.

    >>> fingerprint({"bounds": np.array([1.0, 2.0])}) == fingerprint({"bounds": np.arange(1, 3.0)})
    True
    >>> fingerprint({"bounds": [1.0, 2.0]}) == fingerprint({"bounds": [1.0, 2.5]})
    False
    """
    found = hashlib.sha256()
    for part in _parts(facts):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _parts(fact: Any) -> Iterator[bytes]:
    """The fact as a sequence of texts that only equal facts have."""
    if isinstance(fact, np.generic):
        fact = fact.item()
    kind = type(fact)
    if fact is None or isinstance(fact, bool | int | float | str | bytes):
        yield f"{kind.__name__} {fact!r}".encode()
    elif isinstance(fact, np.ndarray) and fact.dtype != object:
        yield f"array {fact.dtype.str} {fact.shape}".encode()
        yield fact.tobytes()
    elif isinstance(fact, Mapping):
        yield from _inside(
            "mapping", [(name, fact[name]) for name in sorted(fact, key=fingerprint)]
        )
    elif isinstance(fact, set | frozenset):
        yield from _inside("set", sorted(map(fingerprint, fact)))
    elif isinstance(fact, list | tuple | np.ndarray):
        yield from _inside("sequence", list(fact))
    elif isinstance(fact, type) or callable(fact):
        yield f"{fact.__module__}.{fact.__qualname__}".encode()
    else:
        yield f"{kind.__module__}.{kind.__qualname__}".encode()
        yield from _parts(_fields(fact))


def _inside(kind: str, facts: list[Any]) -> Iterator[bytes]:
    yield f"{kind} of {len(facts)}".encode()
    for fact in facts:
        yield from _parts(fact)


def _fields(fact: Any) -> dict[str, Any]:
    """The fields of an object; what it has only computed from them does not count."""
    if dataclasses.is_dataclass(fact):
        return {field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)}
    return dict(vars(fact))  # a TypeError for objects without fields, which nothing describes

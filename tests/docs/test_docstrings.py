"""The docstrings of public names have the sections that numpydoc, and the site, expect."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import Validator, validate

import dplasso

CONF = Path(__file__).parents[2] / "docs" / "conf.py"
# Parameters without a name, a type or a description, and results that are not described.
WANTED = {"GL08", "PR01", "PR02", "PR04", "PR07", "RT01", "SS01", "SS02", "SS04"}


def internal() -> set[str]:
    """Methods that the site does not show."""
    found = re.search(r'_INTERNAL = """(.*?)"""', CONF.read_text(), re.DOTALL)
    assert found is not None
    return set(found[1].split())


def public() -> Iterator[str]:
    """Public functions and classes, and the methods of our own that the site shows."""
    hidden = internal()
    for name in dplasso.__all__:
        thing = getattr(dplasso, name)
        if inspect.ismodule(thing):
            continue
        yield f"{thing.__module__}.{thing.__qualname__}"
        for method in dir(thing) if inspect.isclass(thing) else ():
            if method.startswith("_") or method in hidden:
                continue
            owner = next(base for base in thing.__mro__ if method in vars(base))
            is_ours = owner.__module__.startswith("dplasso.")
            if is_ours and inspect.isroutine(getattr(thing, method)):
                yield f"{owner.__module__}.{owner.__qualname__}.{method}"


@pytest.mark.parametrize("name", sorted(set(public())))
def test_a_docstring_has_all_sections(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NumpyDocString.sections, "Formal Guarantees", "")  # our own section
    report = validate(name)
    wanted = set(WANTED)
    if "Attributes\n-" in report["docstring"]:
        wanted -= {"PR01"}  # fields of a record are its attributes
    if is_inherited(name):
        wanted -= {"GL08"}
    assert not [f"{code} {said}" for code, said in report["errors"] if code in wanted]


def is_inherited(name: str) -> bool:
    """Whether a method has no docstring of its own, so that the site shows that of its base."""
    thing = Validator._load_obj(name)
    return thing.__doc__ is None and inspect.getdoc(thing) is not None

"""A term is declared once: its name, its check, its help text and its default.

The options of the command, the keys of settings files and the texts that travel between machines
are all derived from these declarations. So a term has the same name everywhere.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

from dplasso.base import checks
from dplasso.base.wording import ParameterError, Setting
from dplasso.federated.errors import Refused
from dplasso.privacy.leaks import warn_of_former

Check = Callable[[str, Any], Any]  # takes a term's name and a value; returns the accepted value

# Names that the previous version used. They are still read, with a warning, for one version.
OLD_NAMES = {
    "rows": "n_rows",
    "labels": "label_holder",
    "label_bound": "y_bound",
    "row_budget": "max_row_budget",  # where it is a limit, in the settings of a party
}


def term(
    check: Check, help: str, *, default: Any = MISSING, example: Any = None, flags: str = ""
) -> Any:
    """Declare a field of a `Declared` dataclass.

    ``check`` returns a value in its canonical type, and raises `ValueError` for one that is not
    valid. ``help`` is one sentence for people: the help of an option, the comment in a settings
    file. Without a ``default`` the term is required; if it is None, the term may be left open. A
    new settings file shows the ``example``. ``flags`` is the spelling of the option, where it is
    not ``--`` and the name.
    """
    about = {"check": check, "help": help, "example": example, "flags": flags}
    return field(default=default, metadata=about)


class Declared:
    """Base of dataclasses whose fields are terms. Every value is checked when one is made.

    Equal values become equal texts, whatever number types they came in.
    """

    # Terms that were added after the first version. A text leaves them out where they have their
    # default, so that texts and digests of earlier jobs stay valid.
    ADDED: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for one in terms_of(type(self)):
            value = getattr(self, one.name)
            if value is not None or one.default is not None:
                object.__setattr__(self, one.name, one.metadata["check"](one.name, value))

    @classmethod
    def read(cls, content: Mapping[str, Any], **given: Any) -> Self:
        """Build one from the names and values of a message; ``given`` are other fields."""
        declared = {one.name: one.default is MISSING for one in terms_of(cls)}
        if unknown := sorted(set(content) - set(declared)):
            raise ParameterError("{term} is not known; correct or remove it", term=unknown[0])
        if missing := [name for name in declared if declared[name] and name not in content]:
            raise ParameterError("{term} is missing; set it", term=Setting(missing[0]))
        return cls(**content, **given)

    @classmethod
    def read_file(cls, place: str, content: Mapping[str, Any], **given: Any) -> Self:
        """Build one from the content of a file, which may use names of the previous version."""
        try:
            return cls.read(_with_current_names(cls, place, content), **given)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error

    def to_json(self) -> str:
        """Return the terms as canonical text: equal terms have equal texts."""
        content = asdict(self)  # type: ignore[call-overload]
        for one in terms_of(type(self)):
            if one.name in self.ADDED and content[one.name] == one.default:
                del content[one.name]
            elif content[one.name] == math.inf:
                content[one.name] = "inf"
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote. Any other text is refused."""
        try:
            return cls.read(json.loads(text))
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            raise Refused(f"this text is no {cls.__name__} of a job: {error}") from error


def terms_of(declared: type) -> list[Field[Any]]:
    """Return the declared fields of a class, in order."""
    return [one for one in fields(declared) if "check" in one.metadata]


def old_names_of(declared: type) -> dict[str, str]:
    """Return the names of the previous version that stand for terms of a class."""
    known = {one.name for one in terms_of(declared)}
    return {old: new for old, new in OLD_NAMES.items() if new in known and old not in known}


def _with_current_names(declared: type, place: str, content: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(content)
    for old, new in old_names_of(declared).items():
        if old in values and new in values:
            raise ParameterError(f"{old} is the old name of {new}; remove {old}")
        if old in values:
            warn_of_former(f"{place}: {old}", new)
            values[new] = values.pop(old)
    return values


def require(name: str, valid: bool, wanted: str) -> None:
    """Raise an error that names a term and says what it must be, unless its value is valid."""
    if not valid:
        raise ParameterError("{term} must be {wanted}", term=Setting(name), wanted=wanted)


def count(least: int, most: float = math.inf) -> Check:
    """Check an integer from ``least`` to ``most``."""
    return lambda name, value: checks.count(name, value, least, most)


def choice(literal: Any) -> Check:
    """Check one of the values of a `Literal` type."""

    def check(name: str, value: Any) -> str:
        require(name, value in get_args(literal), f"one of {', '.join(get_args(literal))}")
        return str(value)

    return check


def positive(name: str, value: Any) -> float:
    """Check a finite number above 0."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    require(name, real and 0.0 < value < math.inf, "a finite number above 0; set it")
    return float(value)


def text(name: str, value: Any) -> str:
    """Check a text that is not empty."""
    require(name, isinstance(value, str) and value != "", "a text in quotes; set it")
    return str(value)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Check a list of texts."""
    valid = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    require(name, valid, 'a list of texts, such as ["a", "b"]')
    return tuple(value)


def path(name: str, value: Any) -> Path:
    """Check the name of a file or folder."""
    return value if isinstance(value, Path) else Path(text(name, value))

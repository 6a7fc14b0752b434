"""Whom a guarantee protects: a row, or a person with any number of rows."""

from dataclasses import dataclass

from dplasso.base import checks
from dplasso.base.wording import ParameterError

ROW, PERSON = "row", "person"
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Unit:
    """The unit of protection: what one of two neighbours has, and the other has not.

    ``name`` is "row", "person", or "person: " and what identifies one. A person counts as ``rows``
    rows at most: the weights of their rows add up to no more (`dplasso.data.row_weights`).

    >>> Unit(), Unit.of_people(2, "patient_id").name
    (Unit(name='row', rows=1), 'person: patient_id')
    """

    name: str = ROW
    rows: int = 1

    @classmethod
    def of_people(cls, rows: int = 1, identifier: str | None = None) -> "Unit":
        """The unit of a fit to people whose rows share an identifier, such as a column's name."""
        checks.count("rows_per_person", rows, least=1)
        return cls(PERSON if identifier is None else f"{PERSON}: {identifier}", int(rows))

    @property
    def is_person(self) -> bool:
        return self.name != ROW


def checked_name(value: object) -> str:
    """The name of a unit, if it is one.

    >>> checked_name("person: patient_id")
    'person: patient_id'
    """
    if isinstance(value, str) and value in (ROW, PERSON):
        return value
    if isinstance(value, str) and value.startswith(f"{PERSON}: "):
        check_identifier(value.removeprefix(f"{PERSON}: "))
        return value
    raise ParameterError("{unit} must be 'row', 'person' or 'person: ' and what identifies one")


def check_identifier(value: object) -> None:
    """Reject a name of an identifier that a statement and a ledger could not show."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ParameterError(
            "{person} must be the name of what identifies a person, as a printable text, such as "
            "'patient_id'; leave it out if there is none"
        )
    if len(value) > _LONGEST_NAME:
        raise ParameterError(
            "{person} must be a name of at most {most} characters; choose a shorter one",
            most=_LONGEST_NAME,
        )

"""Columns that make no features."""

from dataclasses import dataclass
from typing import ClassVar

from dplasso.schema.roles.base import Role


@dataclass(frozen=True)
class Ignore(Role):
    """A column that is left out."""

    kind: ClassVar[str] = "ignore"

    @property
    def words(self) -> str:
        return "ignored"


@dataclass(frozen=True)
class Identifier(Role):
    """A column that names rows. It is never learned from, as it says nothing about new rows."""

    kind: ClassVar[str] = "identifier"

    @property
    def words(self) -> str:
        return "identifier, not learned from"


@dataclass(frozen=True)
class Person(Role):
    """A column that says whose row it is. It groups rows, and is never learned from or stored.

    A schema has at most one. All rows of a person are protected together.
    """

    kind: ClassVar[str] = "person"

    @property
    def words(self) -> str:
        return "the person whose row it is"


@dataclass(frozen=True)
class Undecided(Role):
    """A column whose role is left blank in a schema file."""

    kind: ClassVar[str] = ""

    @property
    def blanks(self) -> tuple[str, ...]:
        return ("role",)

    @property
    def words(self) -> str:
        return "no role yet"

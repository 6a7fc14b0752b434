"""The roles that a column of a table may have, one kind per file."""

from dplasso.schema.roles.base import Role
from dplasso.schema.roles.category import Category, Hashed, Text
from dplasso.schema.roles.date import Date
from dplasso.schema.roles.number import Number
from dplasso.schema.roles.target import Target
from dplasso.schema.roles.unused import Identifier, Ignore, Person, Undecided

# A new role needs a class in this folder and a line in this list.
ROLES: dict[str, type[Role]] = {
    role.kind: role
    for role in (Number, Category, Hashed, Date, Text, Identifier, Ignore, Person, Target)
}

__all__ = [
    "ROLES",
    "Category",
    "Date",
    "Hashed",
    "Identifier",
    "Ignore",
    "Number",
    "Person",
    "Role",
    "Target",
    "Text",
    "Undecided",
]

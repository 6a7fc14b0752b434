"""Whom the guarantee of a model protects: a row, or a person with all of their rows."""

from dataclasses import dataclass
from typing import Any

from dplasso.privacy.statement import PrivacyStatement
from dplasso.report.names import number, shortened
from dplasso.report.weights import is_private


@dataclass(frozen=True)
class Unit:
    """What one step between neighbouring data sets changes.

    ``column`` names the persons, if it is known. All rows of a person together count like
    ``rows_per_person`` rows at most.
    """

    kind: str  # "row" or "person"
    column: str | None = None
    rows_per_person: int | None = None

    @property
    def of_persons(self) -> bool:
        return self.kind == "person"


def unit_of(statement: PrivacyStatement) -> Unit:
    """Return the unit of a statement; statements of earlier versions, which have none, mean rows.

    >>> unit_of(PrivacyStatement(epsilon=1.0))
    Unit(kind='row', column=None, rows_per_person=None)
    >>> unit_of(PrivacyStatement(epsilon=1.0, unit="person: patient_id"))
    Unit(kind='person', column='patient_id', rows_per_person=None)
    """
    kind, _, column = statement.unit.partition(": ")
    counted = statement.get("public", {}).get("rows_per_person", {})
    return Unit(kind, column or None, counted.get("value"))


def declared_people(model: Any) -> int | None:
    """Return the number of people that the model's statement uses, if there is one."""
    people = model.privacy_["public"].get("n_people", {}).get("value")
    return None if people is None else int(people)


def whom(model: Any) -> str:
    """Say in a few words whom the model protects."""
    statement = model.privacy_
    if not is_private(model):
        return "Protects nobody"
    if unit_of(statement).of_persons:
        return "Protects each person"
    window = statement.get("window_rows", "all")
    return "Protects each row" if window == "all" else f"Protects each of the last {window:,} rows"


def whom_exactly(model: Any) -> str:
    """Say in a sentence or two what that means for people with several rows."""
    if not is_private(model):
        return "The model was fitted without privacy."
    unit, epsilon = unit_of(model.privacy_), number(float(model.privacy_["epsilon"]))
    if not unit.of_persons:
        more = " and a larger delta" if model.privacy_["delta"] else ""
        return (
            f"Epsilon {epsilon} is for one row. Someone with k rows is protected only at k times "
            f"that epsilon{more}."
        )
    named = "" if unit.column is None else f", as column {shortened(unit.column)} names them"
    return f"Epsilon {epsilon} is for all rows of one person together{named}."

"""Fits that protect people: whose rows they are, and how much each of them counts."""

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.base.wording import ParameterError
from dplasso.data.identifiers import people_of
from dplasso.data.row_weights import row_weights
from dplasso.estimators.declared import declared, is_of_rows
from dplasso.fitting.request import Fact, Numbers, RowCount, people_count
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import fact
from dplasso.privacy.unit import Unit, check_identifier

MOST_PEOPLE = 10**15  # more than there are; the rules compute with this number
MOST_ROWS_PER_PERSON = 10**6  # noise grows with it, and whole numbers must hold the noise


class ProtectedPeople:
    """The part of an estimator that is about people and their rows."""

    n_rows: int | None
    neighboring: Neighboring
    n_people: int | None
    rows_per_person: int
    person: str | None

    def _check_people(self) -> None:
        n_people, person = declared(self, "n_people"), declared(self, "person")
        if n_people is not None:
            checks.count("n_people", n_people, least=1, most=MOST_PEOPLE)
        most = MOST_ROWS_PER_PERSON
        checks.count("rows_per_person", declared(self, "rows_per_person"), least=1, most=most)
        if person is not None:
            check_identifier(person)

    @property
    def protects_people(self) -> bool:
        """Whether facts are declared that only fits with ``groups`` have."""
        known = declared(self, "n_people"), declared(self, "person")
        return known != (None, None) or declared(self, "rows_per_person") != 1

    def numbered_people(self, groups: object, n_rows: int) -> Ints | None:
        """Number the people of all rows, or return None if rows are protected."""
        if groups is None:
            if self.protects_people:
                raise ParameterError(
                    "{n_people}, {rows_per_person} and {person} are for fits that protect people; "
                    "pass groups, one identifier per row; left out, single rows are protected"
                )
            return None
        people = people_of(groups)
        if len(people) != n_rows:  # the number of rows may itself be private
            raise ValueError(
                "X and groups differ in their number of rows; give one identifier per row"
            )
        return people

    def _row_weights(self, people: Ints | None, encoded: Floats) -> Floats | None:
        """How much every row counts; None if every row counts fully."""
        by_class = self._class_weights()
        classes = None if by_class is None else encoded.astype(np.int64)
        return row_weights(people, int(declared(self, "rows_per_person")), classes, by_class)

    @property
    def _weighs_classes(self) -> bool:
        """Whether rows of some classes count less than others."""
        return False

    def _class_weights(self) -> Floats | None:
        """Weights of the classes, in the order of their numbers; None if all are 1."""
        return None

    def _counted(
        self, n_rows: int, found: Numbers | None
    ) -> tuple[Unit, RowCount, dict[str, Fact]]:
        """Whom a fit protects, what all rows count as, and the public facts about people.

        ``found`` are the numbers of rows and people, if people are protected.
        """
        stated = declared(self, "n_rows")
        if found is None:
            return Unit(), RowCount.of(stated, n_rows, self.neighboring), {}
        unit = Unit.of_people(int(declared(self, "rows_per_person")), declared(self, "person"))
        people = declared(self, "n_people")
        counted, facts = people_count(stated, people, found, unit.rows, self.neighboring)
        if is_of_rows(self, "rows_per_person"):
            facts["rows_per_person"] = fact(unit.rows, "declared")
        return unit, counted, facts

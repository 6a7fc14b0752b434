"""Does a person count as no more than was charged, however many rows they have?"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.audit import synthetic
from dplasso.audit.check import Check, Session, Verdict
from dplasso.audit.checks.accounting import Accounting
from dplasso.audit.checks.canary import Canary
from dplasso.audit.checks.neighbours import Range, Sensitivity
from dplasso.audit.checks.release import ReleaseCheck
from dplasso.audit.fit_subject import FitSubject
from dplasso.audit.reference import NOBODY, Table
from dplasso.audit.representation.holders import quietly
from dplasso.audit.subject import Figures
from dplasso.base.arrays import Floats, Ints

RELATIONS = ("add_remove", "replace_one")
ROWS_PER_PERSON = (1, 2, 5)
TRIES = 6  # pairs of neighbours of each version, in a quick audit
_CANARY_RUNS = 0.25  # of those of the check of rows
_LEAST_CLASS = 0.3  # weight of a class that counts less


class People(Check[FitSubject]):
    """Audits the subject as a fit that protects people, who have from 1 to 1,000 rows.

    People count as 1, 2 or 5 rows at most, and come and go or are replaced; some versions have
    weights of classes, too. What is asked are the questions of other checks. Is the account that of
    so many rows (`accounting`)? Does a person, whose rows are all the same or of two kinds, move a
    law, a sum or a count by more than that (`range`, `sensitivity`)? Are the releases those of
    weighted rows (`release`), and do they reveal a person with several equal rows no better than
    claimed (`canary`)? The weights themselves must add up to no more than a person may count as, in
    fractions; they may not depend on how identifiers are stored; and rows of nobody count nothing.
    The check finds rows that count fully, weights that are rounded up or follow from a wrong
    number, noise for one row where a person counts as several, and people taken for several. It
    does not know whether two identifiers are one person's.
    """

    name = "people"
    of = FitSubject
    share = 1.0

    def tests_of(self, subject: FitSubject) -> int:
        return Canary().tests_of(subject)

    def run(self, session: Session[FitSubject]) -> Iterator[Verdict]:
        subject = session.subject
        found = dict[str, Verdict]()
        with quietly():
            for version, check in _asked(subject, session.thorough):
                asked = replace(session, subject=version, seconds=session.seconds / 2.0)
                for verdict in check.run(asked) if check.is_for(version) else ():
                    known = found.get(verdict.tested)
                    if known is None or known.passed:
                        found[verdict.tested] = replace(
                            verdict, check=self.name, estimator=subject.name
                        )
            figures = weighed(_version(subject, RELATIONS[0], 2, by_class=False), session.rng)
        yield from found.values()
        yield from self.limited(session, figures)


def _asked(subject: FitSubject, thorough: bool) -> Iterator[tuple[FitSubject, Check[Any]]]:
    """Versions of the subject for people, each with a check that is made of it.

    A quick audit takes the other relation with one number of rows only.
    """
    own, (least, few, most) = subject.facts.neighboring, ROWS_PER_PERSON
    for relation in RELATIONS:
        for k in ROWS_PER_PERSON if thorough or relation == own else (few,):
            version = _version(subject, relation, k, by_class=k == most)
            yield from ((version, check) for check in (Accounting(), Range(), Sensitivity()))
            if relation == own and (thorough or k == most):
                yield version, ReleaseCheck()
            if relation == own and k == least:
                yield version, Canary()


def _version(subject: FitSubject, relation: str, k: int, *, by_class: bool) -> FitSubject:
    """The configuration for people who count as ``k`` rows, with fewer tries than one of rows."""
    parameters: dict[str, Any] = {"neighboring": relation, **subject.for_people(k)}
    if by_class and subject.classifies:
        weights = np.linspace(_LEAST_CLASS, 1.0, len(subject.classes)).tolist()
        parameters["class_weight"] = dict(zip(subject.classes.tolist(), weights, strict=True))
    found = type(subject)(subject.copy(**parameters), subject.name)
    found.tries = TRIES  # type: ignore[misc]
    found.canary_runs = max(int(_CANARY_RUNS * subject.canary_runs), 1)  # type: ignore[misc]
    return found


def weighed(subject: FitSubject, rng: np.random.Generator) -> Figures:
    """Figures about the weights of rows, for the same people stored in all forms."""
    sizes = (*synthetic.SIZES, *range(12, 50))
    people = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    table = _rows_of(subject, np.append(people, np.full(len(sizes), NOBODY)), rng)
    assert table.people is not None
    all_weights = [_weights(subject, table, form(table.people)) for form in FORMS]
    first = all_weights[0]
    differing = sum(int(np.sum(weights != first)) for weights in all_weights)
    most, beyond = subject.facts.rows_per_person, 0
    for person in range(len(sizes)):
        counted = sum(map(Fraction, first[table.people == person].tolist()), Fraction(0))
        beyond += counted > most
    return {
        "weights that depend on how identifiers are stored": (float(differing), 0.0),
        "people whose rows count as more than they may": (float(beyond), 0.0),
        "rows of nobody that count": (float(np.sum(first[table.people == NOBODY] != 0.0)), 0.0),
    }


def _rows_of(subject: FitSubject, people: Ints, rng: np.random.Generator) -> Table:
    X = rng.uniform(-1.0, 1.0, (len(people), subject.columns))
    return Table(X, synthetic.random_labels(len(people), subject.facts, rng), people)


def _weights(subject: FitSubject, table: Table, identifiers: Any) -> Floats:
    """As how much of a row every row counts in a fit."""
    rows, labels, _ = subject.data(*table)
    task = subject.model_for(rows.shape[1]).prepare(rows, labels, identifiers)
    found: Floats = np.ones(len(labels)) if task.weights is None else task.weights
    return found


def _texts(people: Ints) -> list[str]:
    return ["" if person == NOBODY else str(person) for person in people]


def _objects(people: Ints) -> NDArray[Any]:
    return np.array([None if person == NOBODY else int(person) for person in people], object)


def _spaced(people: Ints) -> list[str]:
    """Texts with white space around some of them."""
    return [" " * (place % 3) + text + "\t" * (place % 2) for place, text in _placed(people)]


def _mixed(people: Ints) -> list[Any]:
    """Whole numbers, texts and bytes, in turns."""
    kinds: tuple[Callable[[str], Any], ...] = (str, str.encode, lambda text: text and int(text))
    return [kinds[place % 3](text) for place, text in _placed(people)]


def _placed(people: Ints) -> Iterator[tuple[int, str]]:
    return enumerate(_texts(people))


# Ways to store the same identifiers.
FORMS: tuple[Callable[[Ints], Any], ...] = (
    _objects,
    _texts,
    lambda people: np.array(_texts(people)),
    lambda people: np.array(_texts(people)).astype("S"),
    lambda people: np.ma.MaskedArray(people, people == NOBODY),
    _spaced,
    _mixed,
)

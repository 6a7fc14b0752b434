"""Is a released bound on entries private, and is the fit that uses it?"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dplasso.audit import account, statistics, synthetic
from dplasso.audit.access import with_bits
from dplasso.audit.check import Check, Session, Verdict
from dplasso.audit.fit_subject import FitSubject
from dplasso.audit.reference import AS_IS, CANDIDATES, PRESENCE, Table, law_of_bound
from dplasso.audit.selection.reference import ROUNDED_WEIGHTS
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.subject import DrawingSubject, NoisySubject
from dplasso.fitting.private_bound import UnboundedTask
from dplasso.mechanisms.random_bits import random_bits

NEIGHBOURS = 6  # pairs of each kind, under each relation
RELATIONS = ("add_remove", "replace_one")
DRAWS = 80
_ROWS = 40
_SIZES = (-15.0, 15.0)  # sizes of entries, as powers of 2
_BOUNDS = (-6, 6)  # bounds that are given to fits, as powers of the root of 2


class Bound(Check[FitSubject]):
    """Audits the subject with ``x_bound="private"``, under both relations.

    Neighbours pass the estimator's own validation, and the two distributions from which their bound
    would be drawn are compared in exact fractions: the log-ratio may range over no more than is
    charged for the bound. Rows have one entry or many, with sizes over the whole range of the
    candidates. Then both neighbours are given the same bound, and the draws or sums of the fit are
    compared as in `range` and `sensitivity`; entries that the fit holds may not exceed the bound.
    The charge for bound and fit together is recomputed. All of this is deterministic except for
    the choice of neighbours. Finally, bounds are drawn and tested against the law in `reference`.
    The check finds rows that count once per entry, a range for the wrong relation, entries or a
    theta that do not belong to the released bound, and a bound that is not charged or not drawn.
    """

    name = "bound"
    of = FitSubject
    tests = 1

    def run(self, session: Session[FitSubject]) -> Iterator[Verdict]:
        shares = (share for relation in RELATIONS for share in _shares(session, relation))
        yield from self.worst(session, shares, 2 * NEIGHBOURS)
        own = _released_of(session.subject, session.subject.facts.neighboring)
        yield from self.doubted(session, {"bounds drawn": _law(own, session)}, DRAWS)


def _shares(session: Session[FitSubject], relation: str) -> Iterator[dict[str, float]]:
    """All figures that may be at most 1, under one relation."""
    own = _released_of(session.subject, relation)
    at_a_bound = replace(session, subject=own)
    for _ in range(NEIGHBOURS):
        yield {"widest log-ratio of a bound, over the charge": _range_share(own, session.rng)}
    for k in range(NEIGHBOURS):
        yield {"widest change at a bound, over the charge": _at_a_bound(at_a_bound, k)}
    yield _account(own, session.rng)


def _released_of(subject: FitSubject, relation: str) -> FitSubject:
    """The same configuration with a released bound."""
    row_map = AS_IS if subject.facts.row_map == PRESENCE else subject.facts.row_map
    model = subject.copy(x_bound="private", row_map=row_map, neighboring=relation)
    return type(subject)(model, subject.name)


def _unbounded(subject: FitSubject, table: Table) -> UnboundedTask:
    """A fit just before its bound is drawn."""
    task = subject.copy().prepare(*subject.data(*subject.as_declared(table)))
    assert isinstance(task, UnboundedTask)
    return task


def _range_share(subject: FitSubject, rng: np.random.Generator) -> float:
    """The range of the log-ratio of two laws of a bound, divided by the charge."""
    tasks = [_unbounded(subject, table) for table in _neighbours(subject, rng)]
    laws = zip(*(task.exponents() for task in tasks), strict=True)
    changes = [one - other for one, other in laws]
    charged = Fraction(account.ranges_of_event(tasks[1].plan.event)[0])
    return float((max(changes) - min(changes)) / charged)


def _neighbours(subject: FitSubject, rng: np.random.Generator) -> synthetic.Neighbours:
    """Tables that differ in one row of one or many entries, mostly of the least or largest size."""
    table, facts = _table(subject, rng), subject.facts
    at, rows = int(rng.integers(_ROWS)), []
    for end in rng.permutation(np.array(_SIZES)):
        size = 2.0 ** (end if rng.random() < 0.7 else rng.uniform(*_SIZES))
        held = rng.random(subject.columns) < rng.choice([0.1, 1.0])
        held[rng.integers(subject.columns)] = True
        rows.append(np.where(held, size, 0.0) * rng.choice([-1.0, 1.0], subject.columns))
    if facts.neighboring == "add_remove":
        newcomer = synthetic.newcomer(rows[0], table.y[0], facts, rng)
        return synthetic.joined(table, at, newcomer), table
    rest = synthetic.left(table, at)
    newcomers = (synthetic.newcomer(row, table.y[at], facts, rng) for row in rows)
    one, other = (synthetic.joined(rest, min(at, len(rest.y)), each) for each in newcomers)
    return one, other


def _table(subject: FitSubject, rng: np.random.Generator) -> Table:
    """Rows with one entry or many, of all sizes."""
    X = rng.choice([-1.0, 1.0], (_ROWS, subject.columns))
    X *= 2.0 ** rng.uniform(*_SIZES, (_ROWS, 1)) * rng.uniform(0.5, 2.0, X.shape)
    X *= rng.random(X.shape) < rng.uniform(0.1, 1.0, (_ROWS, 1))
    table = Table(X, synthetic.random_labels(_ROWS, subject.facts, rng))
    return synthetic.gathered(table, subject.facts, rng)


def _at_a_bound(session: Session[Any], k: int) -> float:
    """The effect of a row on the draws of a fit with a known bound, divided by the charge."""
    subject = session.subject
    bound = 2.0 ** (int(session.rng.integers(_BOUNDS[0], _BOUNDS[1] + 1)) / 2.0)
    subject.facts = replace(subject.facts, x_bound=bound)
    shares = list[float]()
    if isinstance(subject, DrawingSubject):
        shares += subject.widest_log_ratios(session, k).values()
    if isinstance(subject, NoisySubject):
        shares += subject.widest_changes(session, k).values()
    if isinstance(subject, SelectionSubject):
        shares.append(_beyond(subject, session.rng))
    return float(np.max(shares))


def _beyond(subject: SelectionSubject, rng: np.random.Generator) -> float:
    """The largest entry that the fit holds, including the constant's, divided by the bound."""
    sizes = np.abs(subject.prepare(*_table(subject, rng)).matrix.sparse().data)
    return float(sizes.max(initial=0.0)) / subject.facts.held_bound


def _account(subject: FitSubject, rng: np.random.Generator) -> dict[str, float]:
    """The cost of a bound and the fit with it, divided by the claim or the charge for both."""
    facts, recorder = subject.facts, account.Recorder()
    table = subject.as_declared(_table(subject, rng))
    table.y[: facts.classes] = np.arange(facts.classes)
    seed = int(rng.integers(1 << 31))
    # The bits are seeded so that a seed repeats an audit.
    model = with_bits(subject.copy(accountant=recorder), lambda: random_bits(seed))
    statement = model.fit(*subject.data(*table)).privacy_
    event = recorder.event()
    spent, charged = statement["releases"][0]["bounded_range"], account.ranges_of_event(event)
    on_terms = recorder.terms_differing(facts.delta, facts.neighboring, facts.unit) == 0
    cost = account.epsilon_at(account.rho_of_event(event), facts.delta) if on_terms else math.inf
    figures = {
        "epsilon of bound and fit, over the claim": cost / facts.epsilon,
        "range of a bound as stated, over the charge": account.over(spent, charged[0]),
    }
    if isinstance(subject, SelectionSubject):
        released = float(statement["bounds"]["x_bound"]["value"])
        unit = replace(subject.facts, x_bound=released).range_of_unit_theta
        (theta,) = (part["theta"] for part in statement["releases"] if "theta" in part)
        figures["range of a round at a bound, over the charge"] = account.over(
            theta * unit + ROUNDED_WEIGHTS, charged[-1]
        )
    return figures


def _law(subject: FitSubject, session: Session[FitSubject]) -> float:
    """The p-value of many drawn bounds."""
    table = _table(subject, session.rng)
    task = _unbounded(subject, table).with_drawing(bits=session.bits)
    bounds = [task.drawn() for _ in range(DRAWS)]
    epsilon = account.ranges_of_event(task.plan.event)[0]
    observed = np.bincount(np.searchsorted(CANDIDATES, bounds), minlength=len(CANDIDATES))
    return statistics.pearson(observed, law_of_bound(table, epsilon, subject.facts))

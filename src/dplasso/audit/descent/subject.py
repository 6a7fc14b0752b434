"""The audit subject for gradient descent, and its releases."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dplasso.audit.access import n_nonzero_of
from dplasso.audit.attack import Claims
from dplasso.audit.descent import changes, data, likelihood, transcript
from dplasso.audit.descent.account import gaussian_epsilon, mu_of, multipliers_of
from dplasso.audit.descent.facts import Course, DescentFacts
from dplasso.audit.descent.recording import Forgery, Recorded, Recording
from dplasso.audit.descent.reference import Rows, Walk
from dplasso.audit.facts import PRESENCE
from dplasso.audit.fit_subject import WIDE, Arm, FitSubject, Ratios
from dplasso.audit.representation.fit_holder import dense
from dplasso.audit.session import Session
from dplasso.audit.statistics import agreement, mu_between, normal_p_values
from dplasso.audit.subject import Again, Charged, Draw, Figures, NoisySubject, Pair
from dplasso.audit.synthetic import Neighbours, Table
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.gradient import DescentTask
from dplasso.mechanisms.grid_gaussian import NoiseOf
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.gradient import GradientPlan

MOST_ROWS = 4000  # most rows of the audit's own data
_APART = 0.01  # tolerance between integer and real sums, in row lengths


class DescentSubject(FitSubject, NoisySubject):
    """A configuration of gradient descent."""

    solver = "gradient"
    canary_runs = 700
    canary_batch = 50
    noise_tests = 9
    first_release = "the mass"
    facts: DescentFacts

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """The claim is epsilon 8, so that the few fits of a quick audit can certify most of it."""
        own: dict[str, Any] = {"epsilon": 8.0, "n_rows": 200, "rows": PRESENCE}
        common = {**own, "solver": cls.solver, **parameters}
        return [
            PrivateLassoClassifier(classes=[0, 1], **common),
            PrivateLassoRegressor(**common),
            PrivateLassoClassifier(classes=[0, 1, 2], **common),
        ]

    def prepare(self, X: Any, y: Floats) -> "Prepared":
        """A fit up to its first draw."""
        return Prepared(*self._started(X, y), self.facts)

    def as_declared(self, table: Table) -> Table:
        return data.filled(*table, self.facts)

    def rows_at_least(self, rows: int) -> int:
        """Where rows are replaced, there are as many as declared."""
        return self.facts.n_rows if self.facts.neighboring == "replace_one" else rows

    def usual_rows(self, rng: np.random.Generator) -> Table:
        return data.random_rows(self.columns, self.facts, rng)

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        return mu_of(_stated_multipliers(statement)) ** 2 / 2.0

    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        """A fit without an accountant is planned by the Gaussian curve, not in zCDP.

        The noise drawn is the noise requested while a fit ran, divided by the sensitivities in the
        facts.
        """
        X, y = self.usual_rows(session.rng)
        stated = mu_of(_stated_multipliers(self.copy().fit(X, self.labels(y)).privacy_))
        prepared = self.prepare(X, y)
        drawn = prepared.releases(session.bits)
        planned = multipliers_of(prepared.task.plan.event)
        cost, delta = mu_of(prepared.multipliers(drawn)), self.facts.delta
        claimed = self.facts.epsilon * ROUNDING
        return {
            "epsilon of what is stated, by the curve": (gaussian_epsilon(stated, delta), claimed),
            "epsilon of what is drawn": (gaussian_epsilon(cost, delta), claimed),
            "mu of what is drawn, not stated": (cost, stated * ROUNDING),
            "mu of what is stated, not planned": (stated, mu_of(planned) * ROUNDING),
            "releases drawn and charged that differ": (abs(len(drawn) - len(planned)), 0.0),
        }

    @property
    def own_claim(self) -> Claims:
        return {"mu": (mu_between, self.facts.mu)}

    def canary_rows(self) -> Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def released(
        self, prepared: Any, runs: int, session: Session[Any], tell: Callable[[float], None]
    ) -> Any:
        found = []
        for run in range(runs):
            found.append(prepared.run(session.bits))
            tell((run + 1) / runs)
        return found

    def log_ratios(self, arms: Sequence[Arm], released: list[list[Recorded]]) -> Ratios:
        """Log-likelihood ratios of all releases, of the mass, and of the steps."""
        prepared = arms[0].prepared
        mass, steps, squares = likelihood.of_descents(
            stacked(released),
            [Rows.of(arm.X, arm.y, self.facts) for arm in arms],
            (prepared.stated_sigma(0), prepared.stated_sigma(1)),
            prepared.course,
            self.facts,
        )
        return Ratios(np.stack([mass + steps, mass, steps], axis=1), squares)

    def again(self, session: Session[Any], k: int) -> Again:
        """Every other fit has many columns; the reference handles few columns that are all kept."""
        rng, columns = session.rng, WIDE if k % 2 else self.columns
        (X, y), other = (data.random_rows(columns, self.facts, rng) for _ in range(2))
        seed, prepared = int(rng.integers(1 << 62)), self.prepare(X, y)
        drawn = prepared.releases(random_bits(seed))
        elsewhere = self.prepare(*other)
        elsewhere.answers([release.released for release in drawn])
        own, whole = numbers_of(prepared.fitted), numbers_of(self.fitted(X, y, seed).fitted_)
        found = Again((own, whole), (own, numbers_of(elsewhere.fitted)))
        if columns != self.columns or self.facts.n_nonzero is not None:
            return found
        rebuilt, apart = self._rebuilt(prepared, drawn, Rows.of(X, y, self.facts))
        more = {"sums beyond rows and releases, in rows": (apart, _APART)}
        return found._replace(rebuilt=(own, rebuilt), more=more)

    def _rebuilt(
        self, prepared: "Prepared", drawn: list[Recorded], rows: Rows
    ) -> tuple[Floats, float]:
        """Weights and intercepts rebuilt from the releases, and the error of sums."""
        course, shape = prepared.course, (1, self.facts.outputs, -1)
        mass, *steps = drawn
        walk = Walk(mass.released[None, :].astype(np.float64), mass.sigma, course, self.facts)
        gaps = [np.linalg.norm(mass.sums - rows.mass(course))]
        for step in steps:
            gaps.append(np.linalg.norm(step.sums.reshape(shape) - walk.sums(rows)))
            walk.receive(step.released.astype(np.float64).reshape(shape))
        weights, intercepts = walk.result()
        return np.append(weights[0].ravel(), intercepts[0]), float(max(gaps)) / course.unit

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        return changes.widest(self, session.rng, k)

    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        """Noise in stated standard deviations. Draws are rounded down: half a unit is added."""
        prepared = self.prepare(*self.usual_rows(session.rng))
        return [
            np.asarray((release.noise + 0.5) / prepared.stated_sigma(place), np.float64)
            for place, release in enumerate(prepared.releases(bits))
        ]

    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        first = np.concatenate([fit[0] for fit in fits])
        steps = np.concatenate([release for fit in fits for release in fit[1:]])
        return {
            **normal_p_values(self.first_release, first),
            **normal_p_values("steps", steps),
            "signs of one release and the next": agreement(_pairs(fits)),
            "signs of one column and the next": agreement(
                (release[:-1], release[1:]) for fit in fits for release in fit
            ),
            "signs of one fit and the next": agreement(_pairs(zip(*fits, strict=True))),
        }

    def transcript(self, rng: np.random.Generator) -> Draw:
        return transcript.draw_of(self, rng)

    def held(self, task: Any) -> list[Floats]:
        return [dense(task.rows), task.rows.units]

    def _fix_settings(self) -> None:
        self._model.set_params(solver="gradient")
        self._fix_rows(PRESENCE)
        self._fix_bounds()
        self._fix_n_rows()
        # Where rows are replaced, there are as many as declared.
        if self._model.neighboring == "replace_one" and self._model.n_rows > MOST_ROWS:
            self.notes.append(f"of {self._model.n_rows} rows, {MOST_ROWS} are audited")
            self._model.set_params(n_rows=MOST_ROWS)

    def _read_facts(self) -> DescentFacts:
        return DescentFacts(
            **self._common_facts(),
            n_rows=int(self._model.n_rows),
            n_nonzero=n_nonzero_of(self._model),
        )


class Prepared:
    """A descent prepared up to its first draw, from which it can be run any number of times."""

    def __init__(self, model: Any, task: DescentTask, facts: DescentFacts) -> None:
        self.model, self.task, self._facts = model, task, facts
        self._recording = Recording()
        self._fitted: Fitted | None = None

    @property
    def fitted(self) -> Fitted:
        """The result of the last run."""
        assert self._fitted is not None
        return self._fitted

    @property
    def course(self) -> Course:
        """How the descent continues from releases."""
        return course_of(self.task.plan.descent)

    def _stated(self, place: int) -> tuple[float, float]:
        """The noise multiplier of a release, and the integer that represents a length of 1."""
        plan = self.task.plan.descent
        return plan.step_multiplier if place else plan.mass_multiplier, plan.unit

    def stated_sigma(self, place: int) -> float:
        """The noise standard deviation from the stated multiplier and the textbook sensitivity."""
        multiplier, unit = self._stated(place)
        return multiplier * unit * self._facts.sensitivity(place)

    def multipliers(self, drawn: list[Recorded]) -> list[float]:
        """Noise multipliers of the recorded noise."""
        return [
            release.sigma / (self._stated(place)[1] * self._facts.sensitivity(place))
            for place, release in enumerate(drawn)
        ]

    def run_with(self, noise_of: NoiseOf, bits: RandomBits | None) -> None:
        """Fit with another mechanism for the noise, and with its own bits if none are given."""
        task = self.task.with_drawing(noise_of=noise_of)
        self._fitted = (task if bits is None else task.with_drawing(bits=bits)).run()

    def releases(self, bits: RandomBits | None = None) -> list[Recorded]:
        """Run a fit and return its noisy sums."""
        self._recording.found.clear()
        self.run_with(self._recording, bits)
        return list(self._recording.found)

    def run(self, bits: RandomBits | None = None) -> Any:
        """Run a fit and return all its releases."""
        return self.releases(bits)

    def answers(self, releases: Sequence[Ints]) -> list[Recorded]:
        """The exact sums that a fit computes if its releases are the given ones."""
        forgery = Forgery(releases)
        self.run_with(forgery, None)
        return forgery.found


def numbers_of(fitted: Fitted) -> Floats:
    """All coefficients and intercepts of a fit."""
    return np.append(fitted.weights.toarray().ravel(), fitted.intercepts)


def stacked(fits: Sequence[list[Recorded]]) -> list[Floats]:
    """Released sums, one array per release: runs x numbers."""
    return [
        np.stack([release.released for release in place]).astype(np.float64)
        for place in zip(*fits, strict=True)
    ]


def _stated_multipliers(statement: Mapping[str, Any]) -> list[float]:
    """Noise multipliers of all releases in a statement: first the mass, then the steps."""
    mass, step = (float(release["noise_multiplier"]) for release in statement["releases"])
    return [mass] + [step] * int(statement["rounds"])


def _pairs(sequences: Any) -> Iterator[Pair]:
    """Each item with the next one, for every sequence."""
    for items in sequences:
        yield from zip(items[:-1], items[1:], strict=True)


def course_of(plan: GradientPlan) -> Course:
    """The course that the plan of a descent states."""
    return Course(
        unit=plan.unit,
        steps=plan.steps,
        step=plan.step,
        intercept_step=plan.intercept_step,
        clip=plan.clip,
        least_mass=plan.thresholds.least,
        damped_from=plan.thresholds.damped,
        centred_from=plan.thresholds.centred,
        shared_from=plan.thresholds.shared,
    )

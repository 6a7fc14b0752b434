"""The audit subject for the table solver, and its releases."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import ThreadpoolController  # scikit-learn installs it

from dplasso.audit import account, statistics, synthetic
from dplasso.audit.access import n_nonzero_of, rows_counted
from dplasso.audit.bounds import has_ranges, ranges_by_column
from dplasso.audit.descent import data as descent_data
from dplasso.audit.descent import subject as descent
from dplasso.audit.descent.recording import Recorded, square_length
from dplasso.audit.fit_subject import FitSubject, Ratios
from dplasso.audit.reference import AS_IS
from dplasso.audit.representation.holders import Holder
from dplasso.audit.session import Session
from dplasso.audit.subject import Again, Attack, Figures
from dplasso.audit.table import data, reference
from dplasso.audit.table.facts import Course, TableFacts, TableRows
from dplasso.audit.table.reference import Expected
from dplasso.base.arrays import Floats, Ints
from dplasso.data import ColumnBounds
from dplasso.data.bounds import ranges_of, sizes_of
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.fitting.auto_rules import table_part
from dplasso.fitting.table import TableTask
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.table import TablePlan

_COLUMNS = (1, 2, 3, 12, 30)  # of the tables whose sums are compared
_RUNS_PER_FIT = 200  # columns of the canary's fits, each of which counts as one run
_RUNS_BESIDE_WIDE = 150  # the same beside wide columns, some of which may be taken up
_LIBRARIES = ThreadpoolController()
_WIDE = 1001  # wide columns of a table that has some
_APART = 0.01  # tolerance between integer and real sums, in rows


class TableSubject(descent.DescentSubject):
    """A configuration of the table solver."""

    solver = "table"
    canary_runs = 8  # fits, of many columns each
    canary_batch = FitSubject.canary_batch
    tries = 20
    noise_runs: ClassVar[int] = 40
    facts: TableFacts

    def __init__(self, estimator: Any, name: str | None = None, weight: float = 1.0) -> None:
        super().__init__(estimator, name, weight)
        self._tables: dict[float, GridGaussian] = {}

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """The claim is epsilon 8, as for descents; entries are used as they are."""
        return super().examples(**{"row_map": AS_IS, **parameters})

    def model_for(self, columns: int, **parameters: Any) -> Any:
        model = self.copy(**parameters)
        if isinstance(model.x_bound, SparseBounds) and columns != len(model.x_bound):
            return model.set_params(x_bound=np.resize(model.x_bound, columns).tolist())
        return super().model_for(columns, **parameters)

    def prepare(self, X: Any, y: Floats, people: Ints | None = None) -> "TablePrepared":
        """A fit up to its first draw."""
        task = FitSubject.prepare(self, X, y, people)
        return TablePrepared(task, self.facts, self._tables)

    def stated_multipliers(self, statement: Mapping[str, Any]) -> list[float]:
        """Noise multipliers of all releases in a statement; some begin with their number."""
        found = list[float]()
        for release in statement["releases"]:
            first = release["what"].split()[0]
            found += [float(release["noise_multiplier"])] * (int(first) if first.isdigit() else 1)
        return found

    def drawn(
        self, prepared: Any, session: Session[Any], planned: int
    ) -> tuple[list[float], Figures]:
        drawn = prepared.followed(prepared.releases(session.bits))
        beyond = drawn.beyond + max(len(drawn.releases) - planned, 0)
        multipliers = [release.multiplier for release in drawn.releases]
        return multipliers, {"releases drawn, not charged": (float(beyond), 0.0)}

    # The canary.

    def attack(self, session: Session[Any]) -> Attack:
        """Fits of many columns, at an epsilon that gives each column the claim by itself.

        The canary is equally long in every column, and its residual is clipped in every step: with
        d columns and a mu of sqrt(d) times the claim, the numbers released about each column are a
        run of the claim, and runs of different columns are independent. A fit may re-weight its
        columns; the sums of a step are then turned until the canary is equally long in every
        direction (`_evenly`), which leaves their noise as it is.
        """
        facts, mixed = self.facts, self.facts.n_ranges is not None
        runs = _RUNS_BESIDE_WIDE if mixed else _RUNS_PER_FIT
        mu = math.sqrt(runs) * facts.mu
        epsilon = account.gaussian_epsilon(mu, facts.delta)
        model = self.copy(epsilon=epsilon, n_nonzero=None, **self.declaring(data.CROWD))
        wide = type(self)(model, self.name)
        wide.columns = runs
        if mixed:
            bounds = _mixed(model.x_bound, runs)
            assert bounds is not None
            wide._fix_mixed(bounds, len(bounds))
            wide.facts = wide._read_facts()
        return FitSubject.attack(wide, session)

    def canary_rows(self) -> synthetic.Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def log_ratios(self, tables: synthetic.Neighbours, prepared: Any, released: Any) -> Ratios:
        """Log-likelihood ratios by column: of all releases, of those before the steps, of steps.

        Numbers that belong to no column are left out: those of cells, of labels, of corrections, of
        intercepts, and of wide columns that were taken up.
        """
        own_columns = self.facts.in_table(self.columns)
        rows = [TableRows.of(table, self.facts) for table in tables]
        found, squares = list[Floats](), list[Floats]()
        for records in released:
            ratios, square = np.zeros((2, own_columns)), np.zeros(own_columns)
            for release in prepared.followed(records).releases:
                there, not_there = (release.expected.sums(side) for side in rows)
                noise = release.expected.noise
                columns = _columns_of(release, own_columns, self.facts.outputs)
                apart = (there - not_there) / noise
                middle = (release.released + 0.5 - 0.5 * (there + not_there)) / noise
                in_steps = int(release.kind == reference.STEPS)
                if in_steps and self.facts.outputs == 1:
                    own = columns < own_columns
                    apart[own], middle[own] = _evenly(apart[own], middle[own])
                for total, numbers in ((ratios[in_steps], middle * apart), (square, apart**2)):
                    total += np.bincount(columns, numbers, own_columns)[:own_columns]
            found.append(np.stack([ratios.sum(axis=0), *ratios], axis=1))
            squares.append(square)
        return Ratios(np.concatenate(found), np.concatenate(squares))

    # Sums and releases.

    def again(self, session: Session[Any], k: int) -> Again:
        """All sums are rebuilt from raw rows and releases, and from one row and all others."""
        rng, columns = session.rng, self._compared(3 + k % 2)
        table, other = (descent_data.random_rows(columns, self.facts, rng) for _ in range(2))
        seed, prepared = int(rng.integers(1 << 62)), self.prepare(*table)
        drawn = prepared.releases(random_bits(seed))
        own, whole = (
            descent.numbers_of(prepared.fitted),
            descent.numbers_of(self.fitted(table, seed).fitted_),
        )
        given = [release.released for release in drawn]
        elsewhere = self.prepare(*other)
        elsewhere.answers(given)
        parts = [part.answers(given) for part in prepared.without_and_with()]
        differing = sum(
            not np.array_equal(all_rows.sums, one.sums + two.sums)
            for all_rows, one, two in zip(drawn, *parts, strict=True)
        )
        more: Figures = {"sums in which rows depend on each other": (float(differing), 0.0)}
        found = Again((own, whole), (own, descent.numbers_of(elsewhere.fitted)))
        if self.facts.n_nonzero is not None:
            return found._replace(more=more)
        followed, rows = prepared.followed(drawn), TableRows.of(table, self.facts)
        # A margin at the end of a bin may be rounded into the next one.
        exact = [one for one in followed.releases if one.kind != reference.COUNTED]
        gaps = [release.gap(rows) for release in exact]
        rounding = 4.0 * len(table.y) * math.sqrt(columns + 1.0) / prepared.course.unit
        apart = float(np.max(gaps)) + followed.beyond
        more["sums beyond rows and releases, in rows"] = (apart, max(_APART, rounding))
        return found._replace(rebuilt=(own, followed.result), more=more)

    def _compared(self, k: int) -> int:
        """The number of columns of the k-th table whose sums are compared."""
        if self.facts.n_ranges is not None and k % 2 == 0:
            return self.columns
        return _COLUMNS[k % len(_COLUMNS)]

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        """The distances of the sums of two neighbours, by kind of release, divided by the charge.

        Both are given the same forged releases, in which the first neighbour's sums are noisy,
        almost exact, or drowned.
        """
        rng = session.rng
        both = data.neighbours(self._compared(k), self.facts, rng)
        form = synthetic.random_form(rng)
        pair = [self.prepare(form(table.X), *table[1:]) for table in both]
        hostile = data.Hostile(rng)
        pair[0].run_with(hostile, None)
        other = pair[1].answers([release.released for release in hostile.found])
        followed = [pair[0].followed(found) for found in (hostile.found, other)]
        one, two = (found.releases for found in followed)
        charged = pair[0].charged()
        found = {f"widest change of {kind}, over the charge": 0.0 for kind in charged}
        if len(one) != len(two) or any(found.beyond for found in followed):
            return dict.fromkeys(found, math.inf)
        for here, there in zip(one, two, strict=True):
            name = f"widest change of {here.kind}, over the charge"
            found[name] = max(found[name], here.distance(there) * charged[here.kind])
        return found

    # The noise.

    @property
    def noise_tests(self) -> int:
        return 3 * len(self._counts) + 3

    @property
    def _counts(self) -> dict[str, int]:
        return self.prepare(*self.usual_rows(np.random.default_rng(0))).counts

    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        """Noise in stated standard deviations. Draws are rounded down: half a unit is added."""
        prepared = self.prepare(*self.usual_rows(session.rng))
        found = prepared.followed(prepared.releases(bits)).releases
        self._kinds = [release.kind for release in found]
        return [
            (release.released - release.sums + 0.5) / release.expected.noise for release in found
        ]

    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        by_kind: dict[str, list[Floats]] = {}
        for fit in fits:
            for kind, noise in zip(self._kinds, fit, strict=False):
                by_kind.setdefault(kind, []).append(noise)
        found = dict[str, float]()
        for kind, draws in by_kind.items():
            found |= statistics.normal_p_values(kind, np.concatenate(draws))
        return found | statistics.sign_p_values(fits)

    def held(self, task: TableTask) -> list[Floats]:
        cells = [task.cells.astype(np.float64)]
        if task.wide is not None:
            columns = len(task.wide.at_zero)
            cells.append(task.wide.columns(range(columns)).astype(np.float64))
        return cells

    def holders(self) -> list[Holder]:
        """Fewer than for other solvers, because a fit takes longer.

        Maps of rows, and bounds that single precision does not hold, come before the cells.
        """
        own, sqrt, _, _, by_column, private, *_ = super().holders()
        return [own, sqrt, by_column, private]

    # Parts of a configuration.

    def _fix_settings(self) -> None:
        self._fix_row_map(AS_IS)
        super()._fix_settings()
        self._model.set_params(solver=self.solver)

    def _fix_bounds(self) -> None:
        """Reduce ranges by column to a few, from the narrowest to the widest."""
        x_bound = self._model.x_bound
        if (mixed := _mixed(x_bound, type(self).columns)) is not None:
            self._fix_mixed(mixed, len(x_bound))
            return
        if (ranges := _ranges(x_bound)) is not None:
            rising = ranges[np.argsort(ranges[:, 1] - ranges[:, 0], kind="stable")]
            picked = np.linspace(0, len(rising) - 1, self.columns).round().astype(np.int64)
            self._model.set_params(x_bound=rising[picked].tolist())
            if len(rising) != self.columns:
                self.notes.append(f"of {len(rising)} ranges of columns, {self.columns} are audited")
        super()._fix_bounds()

    def _fix_mixed(self, mixed: SparseBounds, given: int) -> None:
        if getattr(self._model, "y_bound", 1.0) is None:
            self._model.set_params(y_bound=1.0)  # as in a fit
        self._model.set_params(x_bound=mixed)
        self.columns = len(mixed)
        if len(mixed) != given:
            self.notes.append(f"of {given} columns, {len(mixed)} are audited")

    def _read_facts(self) -> TableFacts:
        ranges, n_ranges, x_bound = None, None, self._model.x_bound
        if isinstance(x_bound, SparseBounds):
            ranges, n_ranges = x_bound.ends(), len(x_bound.paired)
        elif has_ranges(x_bound):
            ranges = ranges_by_column(x_bound)
        common = self._common_facts()
        if ranges is not None and n_ranges is None:
            common["bounds"] = sizes_of(ranges)
            common["x_bound"] = float(common["bounds"].max())
        return TableFacts(
            **common,
            n_rows=rows_counted(self._model, 0),
            n_nonzero=n_nonzero_of(self._model),
            ranges=ranges,
            n_ranges=n_ranges,
        )


class TablePrepared(descent.Prepared):
    """A fit prepared up to its first draw, from which it can be run any number of times."""

    task: TableTask  # type: ignore[assignment]
    _facts: TableFacts

    def __init__(
        self, task: TableTask, facts: TableFacts, tables: dict[float, GridGaussian]
    ) -> None:
        super().__init__(task, facts)  # type: ignore[arg-type]
        self._recording = data.SharedRecording(tables)

    @property
    def _table(self) -> TablePlan:
        return self.task.plan.table

    @property
    def course(self) -> Course:  # type: ignore[override]
        """How the fit continues from releases."""
        plan = self._table
        stated = {
            reference.CELLS: plan.cell_multiplier,
            reference.MEANS: plan.mean_multiplier,
            reference.SPREADS: plan.spread_multiplier,
            reference.LABELS: plan.label_multiplier,
            reference.PRODUCTS: plan.product_multiplier,
            reference.SIZES: plan.scale_multiplier,
            reference.PRESENCES: plan.presence_multiplier,
            reference.STEPS: plan.step_multiplier,
        }
        if (corrected := self.task.plan.correction) is not None:
            stated[reference.COUNTED] = corrected.count_multiplier
            stated[reference.CORRECTIONS] = corrected.step_multiplier
        return Course(
            multipliers={kind: stated[kind] for kind in stated if stated[kind] < math.inf},
            columns=plan.n_columns,
            n_wide=plan.n_wide,
            most_taken=plan.most_taken,
            steps=plan.steps,
            unit=float(plan.unit),
            stretch=plan.stretch,
            clip=plan.cut,
            margin_noise=plan.pace.margin_noise,
            curvature=plan.pace.curvature,
            longest=plan.longest,
            lengthened=plan.pace.lengthened,
        )

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind of release is charged, in the order of the charge."""
        several = {
            reference.SIZES: reference.N_SIZES,
            reference.CORRECTIONS: reference.N_CORRECTIONS,
            reference.STEPS: self._table.steps,
        }
        return {kind: several.get(kind, 1) for kind in self.course.multipliers}

    def charged(self) -> dict[str, float]:
        """The noise multiplier that each kind is charged for; infinite if charges are missing."""
        charges, counts = account.multipliers_of(self.task.plan.event), self.counts
        if len(charges) != sum(counts.values()):
            return dict.fromkeys(counts, math.inf)
        left = iter(charges)
        return {kind: max(islice(left, count)) for kind, count in counts.items()}

    def followed(self, records: Sequence[Recorded]) -> "Followed":
        """Records of a fit as the releases that the reference expects."""
        # Its matrices are small: threads of BLAS would cost more than they save.
        with _LIBRARIES.limit(limits=1, user_api="blas"):
            return follow(self.course, self._facts, records)

    def without_and_with(self) -> Iterator["TablePrepared"]:
        """The same fit to all rows but the last, and to the last row alone."""
        for part in (slice(None, -1), slice(-1, None)):
            cells, labels = self.task.cells[part], self.task.labels[part]
            wide = None if self.task.wide is None else self.task.wide.of_rows(part)
            weights = None if self.task.weights is None else self.task.weights[part]
            own = replace(self.task, cells=cells, labels=labels, wide=wide, weights=weights)
            yield TablePrepared(own, self._facts, {})


@dataclass(frozen=True)
class Release:
    """A release: what the reference expects, and what a fit computed, asked for and released.

    ``records`` are its parts; each part has one noise standard deviation.
    """

    expected: Expected
    stated: float  # noise multiplier
    records: list[Recorded]

    @property
    def kind(self) -> str:
        return self.expected.kind

    @property
    def sums(self) -> Ints:
        return np.concatenate([record.sums for record in self.records])

    @property
    def released(self) -> Ints:
        return np.concatenate([record.released for record in self.records])

    @property
    def multiplier(self) -> float:
        """Noise multiplier of the noise that was asked for, by the reference's sensitivity."""
        sigmas = np.concatenate([np.full(len(r.sums), r.sigma) for r in self.records])
        return float(self.stated * np.min(sigmas / self.expected.noise))

    def gap(self, rows: TableRows) -> float:
        """The distance of the sums from the reference's, in sensitivities."""
        apart = (self.sums - self.expected.sums(rows)) / self.expected.noise
        return float(np.linalg.norm(apart)) * self.stated

    def distance(self, other: "Release") -> float:
        """The distance of the sums of two neighbours, in noise standard deviations."""
        square = 0.0
        for one, two in zip(self.records, other.records, strict=True):
            if one.sigma <= 0.0 or one.sigma != two.sigma:
                return math.inf
            square += square_length(one.sums - two.sums) / one.sigma**2
        return math.sqrt(square)


@dataclass(frozen=True)
class Followed:
    """The releases of a fit, the reference's result, and how many records were not expected."""

    releases: list[Release]
    result: Floats
    beyond: int


def follow(course: Course, facts: TableFacts, records: Sequence[Recorded]) -> Followed:
    """Hand the releases of a fit to the reference."""
    walk, left, found = reference.walk(course, facts), list(records), list[Release]()
    expected = next(walk)
    while left:
        parts = list[Recorded]()
        while left and sum(len(part.sums) for part in parts) < len(expected.noise):
            parts.append(left.pop(0))
        if sum(len(part.sums) for part in parts) != len(expected.noise):
            return Followed(found, np.full(1, np.nan), len(parts) + len(left))
        found.append(Release(expected, course.multipliers[expected.kind], parts))
        try:
            expected = walk.send(found[-1].released.astype(np.float64))
        except StopIteration as end:
            weights, intercepts = end.value
            numbers = np.append(weights.ravel(), intercepts + facts.y_middle)
            return Followed(found, numbers, len(left))
    return Followed(found, np.full(1, np.nan), 1)


def _ranges(x_bound: Any) -> Floats | None:
    """The range of every column, bounds being ranges about 0; None if no column has a range."""
    if isinstance(x_bound, SparseBounds):
        return x_bound.ends() if len(x_bound.paired) else None
    return ranges_of(list(x_bound.values()) if isinstance(x_bound, Mapping) else x_bound)


def _mixed(x_bound: Any, columns: int) -> SparseBounds | None:
    """Ranges of some columns and bounds of wide ones, both from the smallest to the largest.

    None if there are no wide columns.
    """
    given = list(x_bound.values()) if isinstance(x_bound, Mapping) else x_bound
    if np.isscalar(given) or given is None:
        return None
    bounds = ColumnBounds.of(given, len(given))
    if (paired := table_part(bounds, len(given))) is None:
        return None
    low, high = bounds.ends(len(given))
    order = paired[np.argsort((high - low)[paired], kind="stable")]
    own = order[np.linspace(0, len(order) - 1, columns).round().astype(int)]
    sizes = np.sort(np.delete(high, paired))
    sizes = sizes[np.linspace(0, len(sizes) - 1, _WIDE).round().astype(int)]
    ranges = {place: (float(low[j]), float(high[j])) for place, j in enumerate(own)}
    known = {place: max(map(abs, ends)) or 1.0 for place, ends in ranges.items()}
    known |= {len(ranges) + place: float(size) for place, size in enumerate(sizes)}
    return SparseBounds(len(known), known, ranges)


def _columns_of(release: Release, columns: int, outputs: int) -> Ints:
    """The column to which each number of a release belongs; ``columns`` if it belongs to none.

    A product of two columns belongs to one of them, and the presence of a wide column to any, in
    turns.
    """
    places = np.arange(len(release.expected.noise))
    if release.kind in (reference.MEANS, reference.SPREADS):
        found = places
    elif release.kind == reference.STEPS:
        found = places % (len(places) // outputs)
    elif release.kind == reference.PRESENCES:
        found = places % columns
    elif release.kind == reference.PRODUCTS:
        size = math.isqrt(2 * len(places))  # of size (size + 1) / 2 places
        one, other = np.triu_indices(size, 1)
        found = np.append(np.arange(size), np.where((one + other) % 2 == 0, one, other))
    else:
        found = np.full_like(places, columns)
    return np.minimum(found, columns)


def _evenly(apart: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Both vectors, reflected so that all places of the first one have the same absolute value.

    A reflection of independent normal numbers of equal variance gives such numbers again.
    """
    even = np.copysign(np.linalg.norm(apart) / math.sqrt(len(apart)), apart)
    mirror = apart - even
    square = float(mirror @ mirror)
    if square <= 1e-24 * float(even @ even):
        return apart, values
    return even, values - 2.0 * float(mirror @ values) / square * mirror

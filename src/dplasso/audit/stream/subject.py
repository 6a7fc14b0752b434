"""The audit subject for an online estimator, and streams that are short enough to test."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from dplasso.audit import statistics, synthetic
from dplasso.audit.certify import Claims
from dplasso.audit.descent.recording import square_length
from dplasso.audit.reference import AS_IS
from dplasso.audit.representation.holders import Holder, StreamHolder
from dplasso.audit.session import Session
from dplasso.audit.stream import reference
from dplasso.audit.stream.learning import READABLE, Learning, Replay, random_rows
from dplasso.audit.stream.reference import GAMMA, StreamFacts
from dplasso.audit.stream.statistics import STEPS, StreamAttack, gamma_p_values, gaussian_p_values
from dplasso.audit.subject import STREAMS, Again, Attack, Charged, Draw, Figures, NoisySubject
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.domains import Domain
from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import leaks
from dplasso.privacy.events import Event

WINDOW_STEPS = 16  # most releases of a tested window
BATCH = 8  # most rows per release
_CALL = "call"
CALL_ROWS = 3  # rows per call, where each call makes a release
_REPLAYED = 6  # steps
_BEFORE, _AFTER = 3, 2  # steps around the one in which neighbours differ
_LONG = {"gaussian": 1_400, "gamma": 400}  # steps of a long transcript, by noise
_SIGNS = 63  # number of noise signs taken per step
_LONGEST = {1: 64, 2: 512}  # longest windows, in releases, tested at full length, by norm
_LOOKED_AT = {"gaussian": (STEPS, 40), "gamma": (4, 5)}  # steps and columns whose noise is tested


class StreamSubject(NoisySubject):
    """A configuration of an online estimator."""

    solver = "online"
    lacking = frozenset({"x_bound", "row_map"})
    shown_parameters = ("construction",)
    canary_runs = 100  # of 80 columns each; all columns share one stream
    facts: StreamFacts
    _irrelevant: ClassVar[dict[str, Any]] = {"random_state": None, "n_features": None}

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Example estimators: with a window, endless, and with rows that are not scaled."""
        own = {"window": 32, "batch": 3, "row_map": AS_IS, "construction": "tree", **parameters}
        return [
            PrivateOnlineClassifier(classes=[0, 1], **{"window": 16, **parameters}),
            PrivateOnlineRegressor(**{"y_bound": 1.0, **parameters}),
            PrivateOnlineClassifier(classes=[0, 1, 2], **own),
        ]

    @classmethod
    def takes(cls, estimator: Any) -> bool:
        return isinstance(estimator, STREAMS)

    def others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from super().others()
        model = self._model
        plain = {"construction": "auto", "noise": "gaussian", "calibration": "tight"}
        for construction in ("buffered", "blocks", "band", "tree", "window_tree"):
            if construction != model.construction:
                yield construction, {**plain, "construction": construction}
        for name, value in (("noise", GAMMA), ("calibration", "paper")):
            if value != getattr(model, name):
                yield f"{name} {value}", {**plain, name: value}

    @property
    def norm(self) -> int:
        """The norm in which costs of this noise add up."""
        return 1 if self.facts.noise == GAMMA else 2

    @property
    def short_window(self) -> int | None:
        """Number of releases in which a row of a short stream is protected."""
        window = self._short["window"]
        return None if window is None else window // _least(self._short["batch"])

    @property
    def rows_per_step(self) -> int:
        """Rows per release of a short stream."""
        return _rows(self._short["batch"])

    def begun(self, columns: int, seed: Any = None, **parameters: Any) -> Learning:
        """A short stream of this configuration that has not yet learned from a row."""
        known = {"n_features": columns, "random_state": seed}
        return Learning(self.copy(**{**self._short, **known, **parameters}))

    def charged(self, rng: np.random.Generator) -> Charged:
        """Two streams of one estimator, of the declared length."""
        X = rng.uniform(-1.0, 1.0, (2 * max(self.facts.classes, 2), self.columns))
        y = self.labels(synthetic.random_labels(len(X), self.facts, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", leaks.UndeclaredBoundWarning)
            return Charged.of(self.copy(n_features=self.columns), X, y)

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        """The cost as a mu, or as an epsilon for Gamma noise."""
        return float(statement["mu" if self.norm == 2 else "epsilon"])

    def charged_cost(self, event: Event) -> float:
        return reference.cost_of_event(event)

    def epsilon_of(self, cost: float) -> float:
        return reference.epsilon_of(cost, self.facts.delta, self.norm)

    def terms(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        found = super().terms(statement)
        return found if self.norm == 2 else {**found, "delta": 0.0}

    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        """The privacy loss of a row while it is protected, by the noise matrix.

        All rows of a short stream of several windows are tested, and the first row of a window of
        the declared length, up to 512 releases.
        """
        facts, statement = self.facts, charged.statement
        short = reference.told_while_protected(
            self._matrix(self.begun(self.columns), STEPS), self.short_window, self.norm
        )
        steps = min(facts.steps_protected or STEPS, _LONGEST[self.norm])
        long = Learning(self.copy(n_features=self.columns))
        told = reference.told(self._matrix(long, steps), 0, self.norm)
        stated, rows = self.epsilon_of(self.stated_cost(statement)), statement["window_rows"]
        window = math.inf if facts.window is None else float(facts.window)
        missing = 0.0 if rows == "all" else max(0.0, window - float(rows))
        best = self.epsilon_of(float(short.max()))
        return {
            "epsilon of the row that noise hides least": (best, facts.epsilon * ROUNDING),
            "epsilon of a window's first row": (self.epsilon_of(told), stated * ROUNDING),
            "rows of the window beyond those stated": (missing, 0.0),
        }

    def _matrix(self, stream: Learning, steps: int) -> Floats:
        """The noise matrix in units that cost 1: standard deviations, or scales of Gamma noise."""
        matrix = stream.noise_matrix(steps)
        return matrix if self.norm == 2 else matrix / reference.gamma_deviation(stream.weights.size)

    @property
    def claims(self) -> Claims:
        """There are no claims for Gamma noise, because its columns are not independent."""
        return {"mu": (statistics.mu_between, 1.0)} if self.norm == 2 else {}

    def attack(self, session: Session[Any]) -> Attack:
        return StreamAttack(session)

    def again(self, session: Session[Any], k: int) -> Again:
        """The weights after every step of a stream, and of one that saw only its releases."""
        stream, blind = (self.begun(self.columns) for _ in range(2))
        replay, found = Replay(stream, blind), []
        for _ in range(_REPLAYED):
            X, y = self._step_rows(session.rng)
            found.append(replay.weights(stream.batch(X, self.labels(y))))
        own, theirs = (np.concatenate(weights) for weights in zip(*found, strict=True))
        return Again(elsewhere=(own, theirs))

    @property
    def noise_tests(self) -> int:
        return 7 if self.norm == 2 else 2

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        """The distance of the sums of two neighbours, divided by the charge.

        Both pass the estimator's own validation with the same noise, up to a step in which one
        lacks a row or has another one. After that the other gets the sum and the weights of the
        first, as if all releases were the same, and later rows must add the same to both, to the
        last bit.
        """
        rng = session.rng
        seed = int(rng.integers(1 << 62))
        one, other = (self.begun(self.columns, seed) for _ in range(2))

        def learn(steps: int) -> None:
            for _ in range(steps):
                X, y = self._step_rows(rng)
                for stream in (one, other):
                    stream.learn(stream.batch(X, self.labels(y)))

        learn(int(rng.integers(_BEFORE + 1)))
        self._differ(one, other, rng)
        apart = math.sqrt(square_length(one.exact_sum - other.exact_sum)) * one.total.unit
        other.continue_from(one)
        learn(_AFTER)
        later = np.sum(one.exact_sum != other.exact_sum) + np.sum(one.weights != other.weights)
        return {
            "widest change of a step's sums, over the charge": apart / self.facts.reach,
            "later sums that a row reaches without a release": math.inf if later else 0.0,
        }

    def _differ(self, one: Learning, other: Learning, rng: np.random.Generator) -> None:
        """Take a step in which one row is missing or replaced for the other."""
        X, y = self._step_rows(rng)
        place, form = int(rng.integers(len(y))), synthetic.random_form(rng)
        one.learn(one.batch(form(X), self.labels(y)))
        if self.facts.neighboring == "replace_one":
            (rival,), (label,) = random_rows(1, self.columns, self.facts, rng)
            X, y = X.copy(), y.copy()
            X[place], y[place] = (-X[place], y[place]) if rng.random() < 0.5 else (rival, label)
            other.learn(other.batch(form(X), self.labels(y)))
        else:
            other.learn(other.batch(form(X), self.labels(y)).without(place))

    def _step_rows(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return random_rows(self.rows_per_step, self.columns, self.facts, rng)

    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        """Released minus exact sums of a stream, step by step, in units of the sensitivity."""
        steps, columns = _LOOKED_AT[self.facts.noise]
        stream, rows = self.begun(columns, bits, **READABLE), self.rows_per_step
        X, y = random_rows(rows * steps, columns, self.facts, session.rng)
        batch, found = stream.batch(X, self.labels(y)), []
        for step in range(steps):
            stream.learn(batch.part(step * rows, (step + 1) * rows))
            exact = stream.exact_sum * stream.total.unit
            found.append((stream.released_sum - exact) / self.facts.reach)
        return found

    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        steps, columns = _LOOKED_AT[self.facts.noise]
        matrix = self.begun(columns).noise_matrix(steps)
        tests = gaussian_p_values if self.norm == 2 else gamma_p_values
        return tests(matrix, np.stack([np.stack(fit) for fit in fits]))

    def transcript(self, rng: np.random.Generator) -> Draw:
        """Signs of a step's noises, as one number: they repeat where the noises do.

        Repeated noise becomes visible after the earlier noise has decayed.
        """
        half, columns = _LONG[self.facts.noise] // 2, -(-_SIGNS // self.outputs)

        def draw(bits: RandomBits | None, halfway: Callable[[], None]) -> tuple[Ints, int]:
            total = self.begun(columns, bits, n_rows=None).total
            first = total.stretch(half).values
            halfway()
            noise = np.concatenate([first, total.stretch(half).values])
            signs = (noise[:, :_SIGNS] > 0).astype(np.int64)
            return signs @ (np.int64(1) << np.arange(signs.shape[1])), half

        return draw

    def holders(self) -> list[Holder]:
        return [StreamHolder(self, {"row_map": way}) for way in ("unit", AS_IS)]

    def _fix_settings(self) -> None:
        model = self._model
        if isinstance(model.domain, Domain):
            model.set_params(domain="l2")
            self.notes.append("the set of weights is replaced by a ball: no promise rests on it")
        if model.feature_names is not None:
            model.set_params(feature_names=None)
        if getattr(model, "y_bound", 1.0) is None:
            model.set_params(y_bound=1.0)  # as in a stream
        self._short = _shortened(model)
        for name, value in self._short.items():
            if value != getattr(model, name):
                self.notes.append(f"streams of the audit have {name} = {value}")

    def _read_facts(self) -> StreamFacts:
        model = self._model
        unit = float(getattr(model, "y_bound", 1.0))
        usual = 0.5 if model.loss == "logistic" else unit  # as documented for clip="auto"
        return StreamFacts(
            loss=model.loss,
            outputs=self.outputs,
            epsilon=float(model.epsilon),
            delta=float(model.delta),
            neighboring=model.neighboring,
            y_bound=unit,
            window=model.window,
            n_rows=model.n_rows,
            batch=_least(model.batch),
            noise=model.noise,
            clip=usual if model.clip == "auto" else float(model.clip),
        )


def _shortened(model: Any) -> dict[str, Any]:
    """The parameters of a stream with as many releases as are tested."""
    short = {"batch": model.batch, "window": model.window, "n_rows": model.n_rows}
    if model.batch != _CALL:
        short["batch"] = min(model.batch, BATCH)
    if model.window is not None:
        steps = min(-(-model.window // _least(model.batch)), WINDOW_STEPS)
        short["window"] = steps * _least(short["batch"])
    if model.n_rows is not None:
        short["n_rows"] = STEPS * _rows(short["batch"])
    return short


def _least(batch: Any) -> int:
    """The least number of rows per release."""
    return 1 if batch == _CALL else int(batch)


def _rows(batch: Any) -> int:
    """Number of rows per release in audits."""
    return CALL_ROWS if batch == _CALL else int(batch)

"""The audit subject for an online estimator, and streams that are short enough to test."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from dplasso.audit.attack import Attack, Claims
from dplasso.audit.facts import AS_IS, SQUARED
from dplasso.audit.recorder import Recorder
from dplasso.audit.representation.holder import Holder
from dplasso.audit.session import Session
from dplasso.audit.statistics import mu_between
from dplasso.audit.stream import changes, data, noise, reference, transcript
from dplasso.audit.stream.attack import STEPS, StreamAttack
from dplasso.audit.stream.facts import GAMMA, StreamFacts
from dplasso.audit.stream.holder import StreamHolder
from dplasso.audit.stream.learning import Learning
from dplasso.audit.stream.replay import Replay
from dplasso.audit.subject import STREAMS, Again, Charged, Draw, Figures, NoisySubject
from dplasso.audit.synthetic import random_labels
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats
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
_LONGEST = {1: 64, 2: 512}  # longest windows, in releases, tested at full length, by norm
_LOOKED_AT = {"gaussian": (STEPS, 40), "gamma": (4, 5)}  # steps and columns whose noise is tested


class StreamSubject(NoisySubject):
    """A configuration of an online estimator."""

    solver = "online"
    canary_runs = 100  # of 80 columns each; all columns share one stream
    facts: StreamFacts
    _irrelevant: ClassVar[dict[str, Any]] = {"random_state": None, "n_features": None}

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Example estimators: with a window, endless, and with rows that are not scaled."""
        own = {"window": 32, "batch": 3, "rows": AS_IS, "construction": "tree", **parameters}
        return [
            PrivateOnlineClassifier(classes=[0, 1], **{"window": 16, **parameters}),
            PrivateOnlineRegressor(**{"y_bound": 1.0, **parameters}),
            PrivateOnlineClassifier(classes=[0, 1, 2], **own),
        ]

    @classmethod
    def takes(cls, estimator: Any) -> bool:
        return isinstance(estimator, STREAMS)

    @classmethod
    def accepted(cls, common: Mapping[str, Any]) -> dict[str, Any]:
        names = ("epsilon", "delta", "neighboring")
        return {name: common[name] for name in names if name in common}

    def others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from super().others()
        model = self._model
        if getattr(model, "residual_bound", None) == "auto":
            yield "squared loss", {"residual_bound": float("inf")}
        plain = {"construction": "auto", "noise": "gaussian", "calibration": "tight"}
        for construction in ("buffered", "band", "tree", "window_tree"):
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
        first, second = Recorder(), Recorder()
        X = rng.uniform(-1.0, 1.0, (2 * max(self.facts.classes, 2), self.columns))
        y = self.labels(random_labels(len(X), self.facts, rng))
        model = self.copy(n_features=self.columns, accountant=first)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", leaks.UndeclaredBoundWarning)
            statement = model.fit(X, y).privacy_
            model.set_params(accountant=second).fit(X, y)
        return Charged(statement, first, second)

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
        window = float("inf") if facts.window is None else float(facts.window)
        return {
            "epsilon of the row told best": (
                self.epsilon_of(float(short.max())),
                facts.epsilon * ROUNDING,
            ),
            "epsilon of a window's first row": (self.epsilon_of(told), stated * ROUNDING),
            "rows of the window that are not stated": (
                0.0 if rows == "all" else max(0.0, window - float(rows)),
                0.0,
            ),
        }

    def _matrix(self, stream: Learning, steps: int) -> Floats:
        """The noise matrix in units that cost 1: standard deviations, or scales of Gamma noise."""
        matrix = stream.noise_matrix(steps)
        return matrix if self.norm == 2 else matrix / reference.gamma_deviation(stream.weights.size)

    @property
    def claims(self) -> Claims:
        """There are no claims for Gamma noise, because its columns are not independent."""
        return {"mu": (mu_between, 1.0)} if self.norm == 2 else {}

    def attack(self, session: Session[Any]) -> Attack:
        return StreamAttack(session)

    def again(self, session: Session[Any], k: int) -> Again:
        """The weights after every step of a stream, and of one that saw only its releases."""
        stream, blind = (self.begun(self.columns) for _ in range(2))
        replay, rows, found = Replay(stream, blind), self.rows_per_step, []
        for _ in range(_REPLAYED):
            X, y = data.random_rows(rows, self.columns, self.facts, session.rng)
            found.append(replay.weights(stream.batch(X, self.labels(y))))
        own, theirs = (np.concatenate(weights) for weights in zip(*found, strict=True))
        return Again(elsewhere=(own, theirs))

    @property
    def noise_tests(self) -> int:
        return 7 if self.norm == 2 else 2

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        return changes.widest(self, session.rng)

    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        return noise.of_stream(session, *_LOOKED_AT[self.facts.noise], bits)

    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        steps, columns = _LOOKED_AT[self.facts.noise]
        matrix = self.begun(columns).noise_matrix(steps)
        tests = noise.gaussian_p_values if self.norm == 2 else noise.gamma_p_values
        return tests(matrix, np.stack([np.stack(fit) for fit in fits]))

    def transcript(self, rng: np.random.Generator) -> Draw:
        return transcript.draw_of(self)

    def holders(self) -> list[Holder]:
        return [StreamHolder(self, {"rows": way}) for way in ("unit", AS_IS)]

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
            clip=unit if model.clip == "auto" else float(model.clip),
        )

    def _usual_name(self) -> str:
        kind = "multinomial" if self.outputs > 1 else "classifier"
        return f"{'regressor' if self.facts.loss == SQUARED else kind}, {self.solver}"

    def to_dict(self) -> dict[str, Any]:
        """The subject as the report shows it."""
        return {**super().to_dict(), "construction": self._model.construction}


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

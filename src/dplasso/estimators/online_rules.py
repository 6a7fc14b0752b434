"""Public rules of online learners: the values of "auto", and the parts that parameters select.

All are functions of the parameters and the number of columns. Their constants were chosen by sweeps
at epsilon 1 and 4 over some public data sets, and tested on others: see benchmarks/online.py and
benchmarks/online_short.py.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.domains import Box, Domain, L1Ball, L2Ball, Simplex
from dplasso.estimators.online_rows import RowForm
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.online import Leader, OracleLeader, ProjectedLeader
from dplasso.streams import RunningSum
from dplasso.streams.account import noise_of_a_release
from dplasso.streams.constructions import fits
from dplasso.streams.settings import Settings

DOMAINS = ("l2", "l1", "simplex", "box")
LEARNERS = ("projection", "oracle")
REGULARISATION = 5e-4
# Version of these rules. Streams continue, and snapshots predict, by those that they began with.
# Version 2 has a shorter intercept and clips the residuals of logistic loss at a half. Version 3
# averages weights, and therefore starts with longer steps. Version 4 starts with classes that are
# equally likely.
VERSION = 4
# Length of the intercept in a row of length 1. It takes length from all other entries, which all
# rows of a stream pay for, while one number is learned soon enough.
INTERCEPT_SHARE = 0.25
CALL = "call"  # a batch is all rows of one call
# Least share of a row in averaged weights: about 300 rows are averaged, so that weights follow a
# change of the stream. The start of averaged weights weighs less, since noise averages out.
_AVERAGED, _LIGHTER = 0.003, 0.5
# From so many numbers a row on, noise is drawn in blocks, for the numbers that rows touch.
_WIDE = 1 << 14
# Number of rows that rules assume for a stream of unknown length.
_LONG = 1 << 20


class LeaderPlan(NamedTuple):
    """The results of the rules."""

    domain: Domain
    radius: float | None
    regularisation: float
    start_rows: float
    averaging: float  # 0 if the weights of releases are not averaged


def check_version(version: Any) -> None:
    """Reject rules that this code does not have."""
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError("the stream began with rules of a later version; install that one")


def row_form(model: Any, columns: int, version: int | None = None) -> RowForm:
    """Return how rows with this many columns are read, in a new stream by default."""
    unit, intercept = model.row_map == "unit", bool(model.fit_intercept)
    share = math.sqrt(0.5) if (version or VERSION) == 1 else INTERCEPT_SHARE
    return RowForm(columns, unit=unit, intercept=intercept, share=share, names=model.feature_names)


def clip_of(model: Any, unit: float, version: int) -> float:
    """Return the bound on the length of a row's gradient over all outputs."""
    if model.clip != "auto":
        return checks.bound("clip", model.clip)
    return unit if version == 1 else unit * model._make_loss().usual_clip


def outputs_for(classes: Sequence[Any] | NDArray[Any] | None) -> int:
    """Margins per row: one for regression or two classes, otherwise one per class."""
    return 1 if classes is None or len(classes) == 2 else len(classes)


def rows_a_release(model: Any) -> int | None:
    """Rows per release; None if all rows of a call make one release."""
    return None if model.batch == CALL else int(model.batch)


def plan_of(model: Any, settings: Settings, unit: float, version: int) -> LeaderPlan:
    """Plan the set of weights and how fast they move; ``unit`` is the size of a margin."""
    dimension, clip = settings.dimension, settings.sensitivity
    averaging = averaging_of(model, settings, version)
    radius = None
    if not isinstance(model.domain, Domain):
        radius = _radius(model, dimension, unit, 5.0 if averaging else 2.0)
    regularisation = REGULARISATION
    if model.regularisation != "auto":
        regularisation = checks.bound("regularisation", model.regularisation)
    if model.start_rows == "auto":
        # The noise of the first weights, divided by the size of a margin, is then 1 / steadiness.
        steady = model._make_loss().steadiness * noise_of_a_release(settings, _LONG)
        if averaging:
            steady *= _LIGHTER
        start_rows = max(steady, 1.0) * clip / (unit * regularisation)
    else:
        start_rows = checks.budget("start_rows", model.start_rows)
    domain = _domain(model, dimension, radius)
    return LeaderPlan(domain, radius, regularisation, start_rows, averaging)


def averaging_of(model: Any, settings: Settings, version: int) -> float:
    """Return the least share of a row in averaged weights, or 0 for no averaging.

    Whoever sets ``start_rows`` decides how fast weights move.
    """
    plain = model.learner == "projection" and model.start_rows == "auto"
    if version < 3 or not plain or not settings.private:
        return 0.0
    return _AVERAGED if model.half_life is None else min(max(_AVERAGED, 6.0 / model.half_life), 0.5)


def leader_of(
    model: Any, plan: LeaderPlan, settings: Settings, form: RowForm, outputs: int, version: int
) -> Leader:
    """Return the leader, which turns releases into weights."""
    numbers = plan.domain, plan.regularisation, plan.start_rows
    if model.learner == "oracle":
        return OracleLeader(*numbers)
    start = start_of(model, plan, settings, form, outputs, version)
    return ProjectedLeader(*numbers, plan.averaging, start)


def start_of(
    model: Any, plan: LeaderPlan, settings: Settings, form: RowForm, outputs: int, version: int
) -> Floats | None:
    """Return where the weights of many classes start; None for the domain's own start, 0.

    Each of K classes is learned against the rest. At 0 its probability is 1/2 for every row, and
    most of a row's clipped gradient says that all classes are less likely than that. Intercepts of
    -log(K - 1) make it 1/K. Noise in blocks needs a start at 0, to compute few weights.
    """
    plain = version >= 4 and plan.averaging > 0.0 and model.domain == "l2"
    if not plain or outputs == 1 or model.loss != "logistic" or settings.construction == "blocks":
        return None
    length = form.facts[3]  # of the intercept's entry in a row, 0 without one
    if length == 0.0:
        return None
    start = np.zeros((outputs, form.width))
    start[:, -1] = -math.log(outputs - 1.0) / length
    return start.reshape(-1)


def sum_of(model: Any, dimension: int, clip: float, bits: RandomBits) -> RunningSum:
    """Return the running sum, whose cost is the cost of the whole stream.

    Formal guarantees
    -----------------
    A row is protected in every release that is made while it is one of the last ``window`` rows.
    With ``batch`` rows per release, there are ceil(window / batch) such releases. If the rows of a
    call make one release, there are at most ``window``, since each release has at least one row:
    the sum is then one with one row per step.
    """
    steps, batch = None, rows_a_release(model) or 1
    if model.window is None and model.n_rows is not None:
        steps = -(-model.n_rows // batch)
    settings = Settings(
        dimension,
        sensitivity=clip,
        window=None if model.window is None else int(model.window),
        steps=steps,
        batch=batch,
        epsilon=model.epsilon,
        delta=None if model.noise == "gamma" else model.delta,
        noise=model.noise,
        construction=model.construction,
        calibration=model.calibration,
        neighboring=model.neighboring,
    )
    if _is_wide(model, dimension // batch) and fits(settings, "blocks"):
        settings = dataclasses.replace(settings, construction="blocks")
    if _has_buffers(settings):
        settings = dataclasses.replace(settings, first_steps=-(-_LONG // batch))
    return RunningSum(settings, NoiseKey.drawn(bits))


def _has_buffers(settings: Settings) -> bool:
    """Whether an endless stream has noise that hardly grows with the steps of an epoch.

    A long first epoch then has less noise than many short ones. A band would not fit into memory.
    """
    plain = settings.noise == "gaussian" and settings.calibration == "tight"
    auto = settings.construction == "auto" and plain and fits(settings, "buffered")
    return settings.span is None and (auto or settings.construction in ("buffered", "blocks"))


def _is_wide(model: Any, numbers: int) -> bool:
    """Whether "auto" prefers noise in blocks, where ``numbers`` would be drawn per row.

    Few of the numbers are then looked at: the weights of all columns are not needed to know those
    of one.
    """
    plain = model.domain == "l2" and model.learner == "projection" and model.half_life is None
    usual = model.noise == "gaussian" and model.calibration == "tight"
    return bool(model.construction == "auto" and plain and usual and numbers >= _WIDE)


def _radius(model: Any, dimension: int, unit: float, longer: float) -> float:
    if model.radius != "auto":
        return checks.bound("radius", model.radius)
    if model.domain == "simplex":
        return 1.0
    # Noise is added to all columns, and makes the weights longer than the signal that it hides.
    return unit * max(10.0, (longer if model.domain == "l2" else 2.0) * math.sqrt(dimension))


def _domain(model: Any, dimension: int, radius: float | None) -> Domain:
    if isinstance(model.domain, Domain):
        if model.domain.dimension != dimension:
            raise ParameterError(
                "{domain} must have {dimension} dimensions, outputs times columns and the "
                "intercept's, got {found}; make it that wide",
                dimension=dimension,
                found=model.domain.dimension,
            )
        return model.domain
    assert radius is not None
    match model.domain:
        case "l2":
            return L2Ball(dimension, radius)
        case "l1":
            return L1Ball(dimension, radius)
        case "simplex":
            return Simplex(dimension, radius)
    return Box(dimension, -radius, radius)

"""The noise that a budget requires, and the guarantee that it gives.

Formal guarantees
-----------------
- Neighbouring: "add_remove": one row of the stream is present or replaced by 0 (removing it would
  shift all others). "replace_one": one row is replaced by another.
- The promise: for each t, releases 1 to t together are private for each of the last ``window``
  rows, those of step t included. An expired row is not protected: later releases may reveal it
  without noise. Rows may depend on earlier releases.
- Cost, "tight": the sensitivity of a construction is how far one row moves the releases, in
  standard deviations of its noise sources: sqrt(levels) for trees, `band_sensitivity` for a band,
  `buffered_sensitivity` for buffers; blocks are two sums with buffers, whose squares add up.
  The noise makes releases mu-GDP, mu = sqrt(2 rho) or `mu_of(epsilon, delta)`; Gamma noise of scale
  levels / epsilon makes them epsilon-DP. The budget is that of one row; it is not spent again as
  the window moves.
- "paper" is the published noise of the window tree (Lou and Cheung, 2020, equations 11 and 13). Its
  Gaussian noise is many times what (epsilon, delta) requires; `mu` gives its actual cost.
"""

import math

from dplasso.privacy.events import Gaussian, PureDP
from dplasso.privacy.gaussian import mu_of
from dplasso.streams.blocks import STEPS
from dplasso.streams.settings import TREES, Settings, Span

# Covers the rounding of square roots and products.
_SAFE = 1.0 + 1e-12
# An endless stream has no more epochs than this.
MOST_EPOCHS = 63
# Share of mu^2 for sums of finished blocks. What is added within a block moves weights little, and
# may have more noise.
WHOLE_SHARE = 0.75


def mu(settings: Settings) -> float:
    """The mu-GDP cost of Gaussian releases."""
    if settings.calibration == "tight" or not settings.private:
        return _mu_asked(settings)
    epochs = [epoch_span(e, settings.first_steps) for e in range(MOST_EPOCHS)]
    spans = [settings.span] if settings.span else epochs
    return max(math.sqrt(span.levels) / tree_deviation(settings, span) * _SAFE for span in spans)


def event(settings: Settings) -> Gaussian | PureDP:
    """The event of all releases for a row while it is protected."""
    if not settings.private:
        return PureDP(math.inf)
    if settings.noise == "gamma":
        return PureDP(_epsilon(settings))
    return Gaussian(1.0 / mu(settings))


def tree_deviation(settings: Settings, span: Span) -> float:
    """Standard deviation of a node's Gaussian noise, in units of a row's sensitivity."""
    if settings.calibration == "paper":
        assert settings.delta is not None  # checked with the settings
        levels = _levels(settings, span)
        return math.sqrt(8.0) * levels * math.log(2.0 / settings.delta) / _epsilon(settings)
    return deviation(settings, math.sqrt(span.levels))


def deviation(settings: Settings, moved: float) -> float:
    """Noise standard deviation for sensitivity ``moved``, in units of a row's sensitivity."""
    return moved / _mu_asked(settings) * _SAFE


def gamma_scale(settings: Settings, span: Span) -> float:
    """Scale of a node's Gamma noise, in units of a row's sensitivity."""
    return _levels(settings, span) / _epsilon(settings) * _SAFE


def node_deviation(settings: Settings, span: Span) -> float:
    """Standard deviation of a number in a node's noise, in units of a row's sensitivity."""
    if settings.noise == "gamma":
        return gamma_scale(settings, span) * math.sqrt(settings.dimension + 1.0)
    return tree_deviation(settings, span)


def noise_of_a_release(settings: Settings, longest: int) -> float:
    """Approximate noise standard deviation of a released number, in lengths of a row.

    ``longest`` is the assumed number of rows of an endless stream.
    """
    if not settings.private:
        return 0.0
    span = settings.span or Span(max(1, -(-longest // settings.batch)), slides=False)
    if settings.construction == "blocks":
        return settings.reach * math.hypot(*_block_errors(span.steps)) / _mu_asked(settings)
    if settings.construction not in TREES:
        return settings.reach * _error(span.steps) / _mu_asked(settings)
    return settings.reach * node_deviation(settings, span) * math.sqrt(span.levels)


def _block_errors(steps: int) -> tuple[float, float]:
    """Errors of the sums of finished blocks and within a block, in lengths of a row over mu."""
    return _error(-(-steps // STEPS)) / WHOLE_SHARE**0.5, _error(STEPS) / (1 - WHOLE_SHARE) ** 0.5


def _error(steps: int) -> float:
    """Approximate error of a running sum with buffers, in lengths of a row over mu."""
    return 1.07 + math.log(steps) / math.pi


def epoch_span(epoch: int, first_steps: int = 1) -> Span:
    """The steps of one epoch of an endless stream."""
    return Span(first_steps << epoch, slides=False)


def _levels(settings: Settings, span: Span) -> int:
    """Number of node sizes; the paper counts those of a sliding window for any stream."""
    return span._replace(slides=span.slides or settings.calibration == "paper").levels


def _mu_asked(settings: Settings) -> float:
    if settings.rho is not None:
        return math.sqrt(2.0 * settings.rho)
    assert settings.delta is not None  # checked with the settings
    return mu_of(_epsilon(settings), settings.delta)


def _epsilon(settings: Settings) -> float:
    assert settings.epsilon is not None  # checked with the settings
    return settings.epsilon

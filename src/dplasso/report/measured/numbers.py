"""Predicted against actual numbers, counted in cells, and the errors of a regressor."""

from dataclasses import dataclass

import numpy as np

from dplasso.base.arrays import Floats

CELLS = 24  # per side of the picture of predicted against actual numbers
BARS = 25  # of the histogram of errors, an odd number, so that one of them is around 0
GROUPS = 10  # of rows by predicted number
_BIASED = 0.1  # of the standard deviation of labels: a mean error that is large
_SLOPE = 0.2  # a distance of the slope from 1 that is large
_SURE = 2.0  # standard errors
_QUANTILE = 0.99  # errors beyond it are counted in the outermost bars


@dataclass(frozen=True)
class Residuals:
    """Errors of a regressor: actual minus predicted.

    ``cells`` are (predicted, actual, rows): middles of the cells of a grid of ``width``, and how
    many rows are in them. ``bars`` are (low, high, rows) of errors; the outermost ones also count
    the errors beyond them. ``groups`` are (mean predicted, mean actual, rows) of tenths of the rows
    by predicted number. ``slope`` is that of actual on predicted numbers, None if all predictions
    are equal.
    """

    cells: tuple[tuple[float, float, int], ...]
    width: float
    bars: tuple[tuple[float, float, int], ...]
    groups: tuple[tuple[float, float, int], ...]
    mean: float
    mean_error: float  # standard error of the mean
    size: float  # mean size
    root_mean_square: float
    median_size: float
    trivial_size: float  # mean size of the errors of the median of these labels
    spread: float  # standard deviation of the labels
    slope: float | None
    slope_error: float  # standard error of the slope

    @property
    def biased(self) -> bool:
        """Whether predictions are too high or too low on average, clearly and by much."""
        return abs(self.mean) > max(_SURE * self.mean_error, _BIASED * self.spread)

    @property
    def one_sided(self) -> bool:
        """Whether predictions are clearly too high, or too low, in all groups of rows."""
        sides = {actual > predicted for predicted, actual, _ in self.groups}
        return len(sides) == 1 and abs(self.mean) > _SURE * self.mean_error

    @property
    def askew(self) -> bool:
        """Whether differences between predictions are clearly too large or too small."""
        if self.slope is None:
            return False
        return abs(self.slope - 1.0) > max(_SURE * self.slope_error, _SLOPE)

    @property
    def off(self) -> bool:
        return self.biased or self.askew


def residuals(actual: Floats, predicted: Floats) -> Residuals:
    """Compare predicted numbers with actual ones."""
    errors, rows = actual - predicted, len(actual)
    slope, slope_error = _slope(actual, predicted)
    cells, width = _cells(actual, predicted)
    return Residuals(
        cells=cells,
        width=width,
        bars=_bars(errors),
        groups=_groups(actual, predicted),
        mean=float(errors.mean()),
        mean_error=float(errors.std() / np.sqrt(rows)),
        size=float(np.abs(errors).mean()),
        root_mean_square=float(np.sqrt(np.mean(errors**2))),
        median_size=float(np.median(np.abs(errors))),
        trivial_size=float(np.abs(actual - np.median(actual)).mean()),
        spread=float(actual.std()),
        slope=slope,
        slope_error=slope_error,
    )


def _slope(actual: Floats, predicted: Floats) -> tuple[float | None, float]:
    centred = predicted - predicted.mean()
    square = float(centred @ centred)
    if square <= 1e-12 * max(1.0, float(predicted @ predicted)):
        return None, 0.0
    slope = float(centred @ (actual - actual.mean())) / square
    rest = actual - actual.mean() - slope * centred
    return slope, float(np.sqrt(rest @ rest / max(1, len(actual) - 2) / square))


def _cells(actual: Floats, predicted: Floats) -> tuple[tuple[tuple[float, float, int], ...], float]:
    """Count rows in the cells of one grid for both axes, so that equal numbers lie on a line."""
    low = float(min(actual.min(), predicted.min()))
    high = float(max(actual.max(), predicted.max()))
    width = (high - low) / CELLS or 1.0
    across, up = (
        np.minimum(((values - low) / width).astype(np.intp), CELLS - 1)
        for values in (predicted, actual)
    )
    counts = np.bincount(across * CELLS + up, minlength=CELLS * CELLS)
    used = np.flatnonzero(counts)
    places = ((low + (part + 0.5) * width).tolist() for part in divmod(used, CELLS))
    return tuple(zip(*places, counts[used].tolist(), strict=True)), width


def _bars(errors: Floats) -> tuple[tuple[float, float, int], ...]:
    """Count errors in equal bars, of which the middle one is around 0."""
    reach = float(np.quantile(np.abs(errors), _QUANTILE)) or 1.0
    edges = np.linspace(-reach, reach, BARS + 1)
    counts, _ = np.histogram(np.clip(errors, -reach, reach), edges)
    return tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True))


def _groups(actual: Floats, predicted: Floats) -> tuple[tuple[float, float, int], ...]:
    parts = np.array_split(np.argsort(predicted, kind="stable"), GROUPS)
    return tuple(
        (float(predicted[part].mean()), float(actual[part].mean()), len(part))
        for part in parts
        if len(part)
    )

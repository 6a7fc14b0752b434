"""Whether predictions can be taken at face value, in words: a card, and a banner where not."""

from typing import NamedTuple

from dplasso.report.evaluation import Evaluation
from dplasso.report.measured import Reliability, Residuals
from dplasso.report.names import number, score_text


class Calibration(NamedTuple):
    """Whether predictions are off, the figure that says so, and what it means in words."""

    off: bool
    figure: str
    words: str
    leaning: str = ""  # to which side predictions are a little off everywhere

    @property
    def short(self) -> str:
        return "⚠ off" if self.off else self.leaning or "close"


def calibration(found: Evaluation | None) -> Calibration | None:
    """Judge the calibration of probabilities or of numbers; None if nothing is known."""
    known = calibration_of(found)
    if known is None:
        return None
    if isinstance(known, Residuals):
        leaning = f"a little too {_side(known)}" if known.one_sided else ""
        figure = f"mean error {number(known.mean)}"
        return Calibration(known.off, figure, _of_numbers(known), leaning)
    figure = f"mean error of probabilities {score_text(known.error)}"
    return Calibration(known.off, figure, _of_classes(known))


def calibration_of(found: Evaluation | None) -> Reliability | Residuals | None:
    """Return what is known about the calibration of probabilities or of numbers."""
    if found is None:
        return None
    if found.measured is not None and found.measured.residuals is not None:
        return found.measured.residuals
    return found.reliability


def _of_classes(known: Reliability) -> str:
    what = "Probabilities of its answers" if known.of_answers else "Probabilities"
    words = (
        f"{what} differ from observed shares by {score_text(known.error)} on average, and are "
        f"{known.tendency}: predicted {score_text(known.predicted)}, observed "
        f"{score_text(known.observed)}"
    )
    if known.off:
        return f"{words}. Do not take them at face value."
    return (
        f"{words}. Perfect probabilities would differ by up to {score_text(known.chance)} on these "
        "rows, by chance."
    )


def _side(known: Residuals) -> str:
    return "low" if known.mean > 0 else "high"


def _of_numbers(known: Residuals) -> str:
    words = f"Predictions are too {_side(known)} by {number(abs(known.mean))} on average"
    if known.one_sided:
        words += ", and so they are in every tenth of the rows"
    if known.askew and known.slope is not None:
        sharp = "too little" if known.slope > 1.0 else "too much"
        words += f", and differ {sharp} from each other: actual numbers differ by "
        words += f"{number(known.slope, '.2f')} where predictions differ by 1"
    return f"{words}. Do not take them at face value." if known.off else f"{words}."

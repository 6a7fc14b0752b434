"""What the constants of the default owe to the sets they were chosen on: each is left out once.

    python benchmarks/leave_one_out.py [--sets adult,a9a] [--epsilons 0.1,1,8] [--seeds 5]

Half and twice the value of each constant of ``CONSTANTS`` are tried alone, on every set and epsilon
whose fit uses it. For every set, each constant gets the value that is best on average over all
*other* sets, and the model with all these values is fitted to this set. *default* is the success of
the default as it is (accuracy, AUC of very unbalanced labels, R2 of numbers), *left out* that with
the values that the other sets choose, and *less* their difference by the same seeds, with its
standard error. Then follow the same for log-loss. The share of the correction is chosen by
log-loss, all others by success. Prints the tables and saves them as
benchmarks/results/leave_one_out.txt.
"""

import contextlib
import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

from comparison import ours, splits
from comparison.sets import SETS as KNOWN
from harness.machine import machine
from harness.measures import LOG_LOSS
from harness.options import allow_seeds, study
from harness.results import save

from dplasso.fitting import corrected, gradient
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.solvers import correction
from dplasso.solvers.gradient.plan import NARROW_COLUMNS

SETS = (
    *("california", "adult", "telco_churn", "letter"),
    *("a9a", "w8a", "phishing", "mushrooms", "splice"),
    *("rcv1_vw_small", "farm_ads", "sms_spam", "reuters21578_usa"),
)
EPSILONS = (0.1, 1.0, 8.0)
FACTORS = (0.5, 1.0, 2.0)
FRESH = 9000  # seeds from here on were not used to choose the constants
WIDE, NARROW, TABLE = "descent, many columns", "descent, few columns", "table"


class Constant(NamedTuple):
    """A constant: its name, the kinds of fits that use it, and how it is multiplied."""

    name: str
    kinds: tuple[str, ...]
    times: Callable[[float], contextlib.AbstractContextManager[Any]]
    by: str = ""  # measure it is chosen by; success if empty


def of_pace(width: str, field: str) -> Callable[[float], contextlib.AbstractContextManager[Any]]:
    """Multiply a field of the pace that a descent for two classes has."""

    def times(factor: float) -> contextlib.AbstractContextManager[Any]:
        usual = LogisticLoss.paces

        def paces(loss: LogisticLoss) -> Any:
            found = usual(loss)
            pace = getattr(found, width)
            scaled = pace._replace(**{field: factor * getattr(pace, field)})
            return found._replace(**{width: scaled})

        return patch.object(LogisticLoss, "paces", paces)

    return times


def of_table(field: str) -> Callable[[float], contextlib.AbstractContextManager[Any]]:
    """Multiply a field of the pace that tables have, whatever is predicted."""

    @contextlib.contextmanager
    def times(factor: float) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for loss in (LogisticLoss, SoftmaxLoss, SquaredLoss):
                stack.enter_context(patch.object(loss, "table_pace", _scaled(loss, field, factor)))
            yield

    return times


def _scaled(loss: Any, field: str, factor: float) -> Callable[[Any], Any]:
    usual = loss.table_pace

    def table_pace(one: Any) -> Any:
        pace = usual(one)
        return pace._replace(**{field: factor * getattr(pace, field)})

    return table_pace


@contextlib.contextmanager
def of_correction(factor: float) -> Iterator[None]:
    """Multiply the share of the budget that corrects probabilities."""
    with contextlib.ExitStack() as stack:
        for module in (correction.plan, corrected, gradient):
            stack.enter_context(patch.object(module, "SHARE", factor * correction.SHARE))
        yield


CONSTANTS = (
    Constant("clip of residuals, many columns", (WIDE,), of_pace("wide", "cut")),
    Constant("noise of margins, many columns", (WIDE,), of_pace("wide", "margin_noise")),
    Constant("noise of margins, few columns", (NARROW,), of_pace("narrow", "margin_noise")),
    Constant("clip of residuals, table", (TABLE,), of_table("cut")),
    Constant("noise of margins, table", (TABLE,), of_table("margin_noise")),
    Constant("share of the correction", (WIDE, NARROW, TABLE), of_correction, LOG_LOSS),
)


class Scores(NamedTuple):
    """By seed: success, and log-loss where classes are predicted."""

    success: list[float]
    log_loss: list[float]

    def of(self, measure: str) -> list[float]:
        return self.log_loss if measure == LOG_LOSS else self.success


class Cell(NamedTuple):
    """One set at one epsilon: the default, and the scores by constant and factor."""

    name: str
    epsilon: float
    kind: str
    default: Scores
    tried: dict[tuple[str, float], Scores]

    def gain(self, constant: Constant, factor: float) -> float | None:
        """What a factor gains on average; None if the fit does not use the constant."""
        if self.kind not in constant.kinds or not self.default.of(constant.by):
            return None
        tried = self.default if factor == 1.0 else self.tried[constant.name, factor]
        better = -1.0 if constant.by == LOG_LOSS else 1.0
        return better * statistics.fmean(differences(tried, self.default, constant.by))


def differences(one: Scores, other: Scores, measure: str) -> list[float]:
    return [a - b for a, b in zip(one.of(measure), other.of(measure), strict=True)]


def scores(name: str, epsilon: float, seeds: int) -> tuple[Scores, str]:
    """The scores of the default with the constants as they are now, and the kind of the fits."""
    measure, found, kind = KNOWN[name].measure, Scores([], []), ""
    for seed in range(FRESH, FRESH + seeds):
        split = splits.load(name, seed)
        assert split is not None
        said = ours.score(ours.DEFAULT, split, measure, epsilon, seed)
        found.success.append(said[measure])
        if LOG_LOSS in said:
            found.log_loss.append(said[LOG_LOSS])
        descent = NARROW if split.train.shape[1] <= NARROW_COLUMNS else WIDE
        kind = TABLE if said["solver"] == "table" else descent
    return found, kind


def cell(name: str, epsilon: float, seeds: int) -> Cell:
    """The default, and each constant that it uses halved and doubled."""
    default, kind = scores(name, epsilon, seeds)
    tried = {}
    for constant in CONSTANTS:
        for factor in FACTORS:
            if factor != 1.0 and kind in constant.kinds:
                with constant.times(factor):
                    tried[constant.name, factor] = scores(name, epsilon, seeds)[0]
    return Cell(name, epsilon, kind, default, tried)


def chosen(constant: Constant, cells: list[Cell]) -> float:
    """The factor that gains most on average over these cells; 1 where none uses the constant."""
    gains = {}
    for factor in sorted(FACTORS, key=lambda factor: factor != 1.0):  # 1 wins where there is a tie
        found = [each.gain(constant, factor) for each in cells]
        used = [gain for gain in found if gain is not None]
        gains[factor] = statistics.fmean(used) if used else 0.0
    return max(gains, key=lambda factor: gains[factor])


def left_out(own: Cell, factors: dict[str, float], seeds: int) -> Scores:
    """The scores of a cell with the constants that the other sets choose."""
    with contextlib.ExitStack() as stack:
        changed = False
        for constant in CONSTANTS:
            if own.kind in constant.kinds and factors[constant.name] != 1.0:
                stack.enter_context(constant.times(factors[constant.name]))
                changed = True
        return scores(own.name, own.epsilon, seeds)[0] if changed else own.default


def _difference(found: list[float]) -> str:
    if not found:
        return f"{'-':>16}"
    error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    return f"{statistics.fmean(found):+7.4f} +-{error:.4f}"


def _mean(found: list[float]) -> str:
    return f"{statistics.fmean(found):9.4f}" if found else f"{'-':>9}"


def line(own: Cell, apart: Scores) -> str:
    parts = [f"{own.name:18} {own.epsilon:7g}  {own.kind:22}"]
    for measure in ("", LOG_LOSS):
        parts += [_mean(own.default.of(measure)), _mean(apart.of(measure))]
        parts.append(_difference(differences(apart, own.default, measure)))
    return " ".join(parts)


def effects(cells: list[Cell]) -> list[str]:
    """What half and twice each constant change on average, where it is used."""
    found = [f"{'constant':32} {'cells':>5} {'half':>9} {'twice':>9}  gain of"]
    for constant in CONSTANTS:
        gains = [[each.gain(constant, factor) for each in cells] for factor in (0.5, 2.0)]
        used = [[gain for gain in one if gain is not None] for one in gains]
        if used[0]:
            half, twice = (statistics.fmean(one) for one in used)
            measure = constant.by or "success"
            found.append(
                f"{constant.name:32} {len(used[0]):5} {half:+9.4f} {twice:+9.4f}  {measure}"
            )
    return found


def summary(pairs: list[tuple[Cell, Scores]]) -> list[str]:
    """The means over all cells of what is lost by leaving a set out."""
    found = []
    for measure, name in (("", "success"), (LOG_LOSS, LOG_LOSS)):
        means = [
            statistics.fmean(differences(apart, own.default, measure))
            for own, apart in pairs
            if own.default.of(measure)
        ]
        if means:
            found.append(
                f"left out less default, {name}: mean {statistics.fmean(means):+.4f}, "
                f"from {min(means):+.4f} to {max(means):+.4f} over {len(means)} cells"
            )
    return found


def main() -> None:
    given = study(__doc__, SETS, EPSILONS, 5).parse_args()
    allow_seeds()
    cells = []
    for name in given.sets:
        if not splits.at_hand(name):
            print(f"{name:18} not at hand")
            continue
        for epsilon in given.epsilons:
            cells.append(cell(name, epsilon, given.seeds))
            print(name, epsilon, cells[-1].kind, _mean(cells[-1].default.success), flush=True)
    head = (
        f"{'set':18} epsilon  {'kind of fit':22}   default  left out             less  "
        f"log-loss  left out             less"
    )
    table, picks, pairs = [head], [], []
    for name in dict.fromkeys(each.name for each in cells):
        others = [each for each in cells if each.name != name]
        factors = {constant.name: chosen(constant, others) for constant in CONSTANTS}
        own = [each for each in cells if each.name == name]
        used = {each.kind for each in own}
        said = [
            f"{constant.name} x {factors[constant.name]:g}"
            for constant in CONSTANTS
            if used & set(constant.kinds)
        ]
        picks.append(f"{name:18} the others choose {', '.join(said)}")
        for each in own:
            pairs.append((each, left_out(each, factors, given.seeds)))
            table.append(line(*pairs[-1]))
            print(table[-1], flush=True)
    about = f"{machine()}; means of {given.seeds} seeds, and standard errors of differences"
    text = [about, *table, "", *picks, "", *effects(cells), "", *summary(pairs)]
    print("\n".join(text[len(table) + 1 :]))
    save("leave_one_out", "\n".join(text))


if __name__ == "__main__":
    main()

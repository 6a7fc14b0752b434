"""The section on groups of public rows: the same scores, group by group."""

from typing import Any

from dplasso.report.evaluation import Evaluation
from dplasso.report.features import target_equals
from dplasso.report.markup import Markup, callout, scroller, section, table, tag
from dplasso.report.measured import Subgroup, Subgroups
from dplasso.report.measured.subgroups import FEW
from dplasso.report.names import number, quoted, score_text, shortened

_NUMBERS = ("Group", "Rows", "R²", "Mean size of errors", "Mean error")
_CLASSES = ("Group", "Rows", "Accuracy", "Most common class", "Area under the ROC")
_TWO = (*_CLASSES, "Answered with it", "Are of it", "Found of these", "False alarms")


def subgroup_section(model: Any, found: Evaluation) -> Markup:
    """Return one table per column that rows were grouped by; empty if there is none."""
    every = () if found.measured is None else found.measured.subgroups
    if not every:
        return Markup()
    label = callout(
        "note",
        "Computed on data declared public.",
        "A model may serve groups unequally: compare rows of a table with each other. Differences "
        "between small groups are chance.",
    )
    return section(
        "subgroups",
        "How well it predicts in groups",
        label,
        _second_class(model, found),
        *(_table(one, found) for one in every),
    )


def _second_class(model: Any, found: Evaluation) -> Markup:
    if len(found.classes) != 2:
        return Markup()
    name = tag("strong", quoted(shortened(found.classes[1])))
    return tag("p", "“It” in the tables is ", target_equals(model), name, ".")


def _table(one: Subgroups, found: Evaluation) -> Markup:
    heads: tuple[str, ...] = _NUMBERS
    if not one.of_numbers:
        heads = _TWO if len(found.classes) == 2 else _CLASSES
    caption = f"By {shortened(one.column)}"
    rows = [_row(group, one.of_numbers, len(heads)) for group in one.groups]
    return scroller(caption, table(caption, heads, rows, "figures"))


def _row(group: Subgroup, of_numbers: bool, cells: int) -> tuple[Any, ...]:
    few = tag("small", f"⚠ fewer than {FEW} rows", class_="flag") if group.few else Markup()
    name = tag("span", quoted(shortened(group.name)), few)
    if of_numbers:
        errors = (_shown(group.size), _shown(group.error))
        return (name, f"{group.rows:,}", _score(group.score), *errors)
    scores = (group.score, group.trivial, group.auc)
    rates = (group.answered, group.actual, group.recall, group.false_alarms)
    values = (name, f"{group.rows:,}", *map(_score, scores), *map(_score, rates))
    return values[:cells]


def _score(value: float | None) -> str:
    return "–" if value is None else score_text(value)


def _shown(value: float | None) -> str:
    return "–" if value is None else number(value)

"""``dplasso evaluate``: the scores of a model on rows with labels."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, reading, say, show, show_rows
from dplasso.estimators import load
from dplasso.estimators.coefficients import without_names
from dplasso.privacy import leaks
from dplasso.reading import read_rows
from dplasso.report import Evaluation
from dplasso.report import evaluate as score

NOT_COVERED = (
    "these figures are computed from the rows of {data} without noise: the model's guarantee does "
    "not cover them. On rows it was trained on they reveal those rows and flatter the model. "
    "Publish them only if the rows are public"
)
MOST_CLASSES = 10  # with more classes, rows are not counted per class

Rows = Annotated[
    Path,
    typer.Argument(
        help="Rows with labels, in the form of the training data: a table has the same columns, "
        "svmlight the same indices, an .npz its --labels.",
        show_default=False,
    ),
]


def evaluate(
    model: o.Model,
    data: Rows,
    public: Annotated[
        bool, typer.Option("--public", help="Declare these rows public: figures may be published.")
    ] = False,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    longest_line: o.LongestLine = None,
    strict: o.Strict = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model on rows with labels, next to the score of the most common class.

    The scores are not private; see the warning.
    """
    if strict:
        leaks.set_strict(True)
    longest = o.longest_line_of(longest_line)
    fitted = load(model)
    with reading(data, quiet=quiet or json) as progress:
        rows = read_rows(
            data,
            like=fitted,
            zero_based=zero_based,
            labels=labels,
            longest_line=longest,
            progress=progress,
        )
    if not public:
        leaks.report(f"{NOT_COVERED.format(data=data.name)}, and declare that with --public")
    found = score(without_names(fitted), rows.X, rows.y)
    scores, classes = scores_of(found), per_class(found)
    if json:
        counted = {"per_class": classes} if classes else {}
        emit({"model": str(model), "data": str(data), "public": public, **scores, **counted})
    elif not quiet:
        show("Evaluation", scores)
        show_classes(classes)


def scores_of(found: Evaluation) -> dict[str, Any]:
    """Return the number of rows, the scores, and the verdict in words."""
    if found.confusion:
        area = {} if found.auc is None else {"auc": found.auc}
        scores = {"accuracy": found.score, "majority_accuracy": found.trivial, **area}
        if found.log_loss is not None:
            trivial = found.trivial_log_loss
            scores |= {"log_loss": found.log_loss, "log_loss_of_class_shares": trivial}
    else:
        scores = {"r2": found.score}
    return {"rows": found.rows, **scores, "verdict": found.verdict}


def per_class(found: Evaluation) -> dict[str, dict[str, int]]:
    """Count rows per class: with it, predicted as it, and both; nothing for many classes."""
    if len(found.classes) > MOST_CLASSES:
        return {}
    return {name: of._asdict() for name, of in found.by_class.items()}


def show_classes(classes: dict[str, dict[str, int]]) -> None:
    """Print one line per class with its recall, since accuracy may hide a poor one."""
    if not classes:
        return
    rows = []
    for name, of in classes.items():
        recall = f"{of['found'] / of['rows']:.1%}" if of["rows"] else "no rows"
        rows.append([name, *of.values(), recall])
    say()
    show_rows("By class", ["class", "rows with it", "answered", "found", "of its rows"], rows)

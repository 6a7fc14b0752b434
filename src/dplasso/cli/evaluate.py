"""``dplasso evaluate``: how good a model is on rows with labels."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, show
from dplasso.cli.scoring import nameless, rows_for
from dplasso.estimators import load
from dplasso.privacy import leaks
from dplasso.report import evaluate as score

NOT_COVERED = (
    "these figures are computed from the rows of {data} without noise: the model's guarantee does "
    "not cover them. On rows it was trained on they reveal those rows and flatter the model. "
    "Publish them only if the rows are public"
)


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
    strict: o.Strict = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model on rows with labels, beside what the commonest class would score.

    The figures are not private; see the warning.
    """
    if strict:
        leaks.set_strict(True)
    fitted = nameless(load(model))
    if not public:
        leaks.report(f"{NOT_COVERED.format(data=data.name)}; then say so with --public")
    X, y = rows_for(
        fitted, data, zero_based=zero_based, labels=labels, labelled=True, quiet=quiet or json
    )
    found = figures(fitted, X, y)
    if json:
        emit({"model": str(model), "data": str(data), "public": public, **found})
    elif not quiet:
        show("Evaluation", found)


def figures(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Rows, r2 or accuracy and what the commonest class has, auc where there is one; in words."""
    found = score(model, X, y)
    area = {} if found.auc is None else {"auc": found.auc}
    if hasattr(model, "classes_"):
        scores = {"accuracy": found.score, "majority_accuracy": found.trivial, **area}
    else:
        scores = {"r2": found.score}
    return {"rows": found.rows, **scores, "verdict": found.verdict}

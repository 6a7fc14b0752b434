"""``dplasso evaluate``: how good a model is on rows with labels."""

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


def evaluate(
    model: o.Model,
    data: o.Data,
    public: Annotated[bool, typer.Option("--public", help="These rows are public.")] = False,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    strict: o.Strict = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model. The figures are not private; see the warning."""
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
    """Rows, and accuracy or r2, and auc where there is one."""
    found = score(model, X, y)
    name = "accuracy" if hasattr(model, "classes_") else "r2"
    area = {} if found.auc is None else {"auc": found.auc}
    return {"rows": found.rows, name: found.score, **area}

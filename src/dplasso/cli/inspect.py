"""``dplasso inspect``: what a model or a column store is."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, say, show, show_rows
from dplasso.estimators import load
from dplasso.report.scale import bounds_of
from dplasso.storage import open_store

File = Annotated[Path, typer.Argument(help="A model file or a column store.", show_default=False)]


def inspect(
    file: File,
    top: Annotated[int, typer.Option(min=0, help="Largest coefficients to show.")] = 20,
    verify: Annotated[bool, typer.Option(help="Check every byte of a column store.")] = False,
    json: o.Json = False,
) -> None:
    """Describe a model (its guarantee, its largest coefficients) or a column store."""
    if file.is_dir():
        _store(file, verify, json)
    else:
        _model(file, top, json)


def _store(file: Path, verify: bool, json: bool) -> None:
    store = open_store(file, verify=verify)
    facts = {
        "rows": store.shape[0],
        "columns": store.shape[1],
        "entries": store.entries,
        "classes": store.classes,
        "verified": verify,
    }
    if json:
        emit({"store": str(file), **facts})
    else:
        show(f"Column store {file} (as private as the data)", facts)


def _model(file: Path, top: int, json: bool) -> None:
    model = load(file)
    rows = _largest(model, top)
    facts = {
        "class": type(model).__name__,
        "columns": int(model.n_features_in_),
        "nonzeros": int(model._weights.nnz),
        "rounds": int(model.n_iter_),
        "intercept": [float(value) for value in model.intercept_],
    }
    if json:
        emit({"model": str(file), **facts, "largest": rows, "privacy": model.privacy_})
        return
    show(f"Model {file}", facts)
    say()
    named = "feature" if hasattr(model, "feature_names_in_") else "column, from 0"
    classes = ["class"] if len(model.intercept_) > 1 else []
    at_bound = ["times its bound"] if bounds_of(model) is not None else []
    show_rows("Largest coefficients", [named, *classes, "coefficient", *at_bound], rows)
    say()
    say(str(model.privacy_))


def _largest(model: Any, top: int) -> list[list[Any]]:
    """By what they can add to a margin: the coefficient, times the bound where columns differ."""
    weights, bounds = model._weights.tocoo(), bounds_of(model)
    reach = weights.data if bounds is None else weights.data * bounds[weights.col]
    order = np.argsort(-np.abs(reach), kind="stable")[:top]
    names = getattr(model, "feature_names_in_", None)
    rows = []
    for k in order:
        column = int(weights.col[k])
        row: list[Any] = [str(column) if names is None else str(names[column])]
        if len(model.intercept_) > 1:
            row.append(str(model.classes_[weights.row[k]]))
        at_bound = [] if bounds is None else [float(reach[k])]
        rows.append([*row, float(weights.data[k]), *at_bound])
    return rows

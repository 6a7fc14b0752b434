"""``dplasso inspect``: describe a model or a column store."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.bucket_lookup import buckets_asked, show_buckets
from dplasso.cli.output import emit, say, say_paragraph, show, show_rows, shown
from dplasso.estimators import load
from dplasso.report.cautions import few_rows, loose_delta, noise
from dplasso.report.coefficients import largest
from dplasso.report.features import roles_of, target_of
from dplasso.report.scale import has_widths
from dplasso.report.weights import is_online, weights_of
from dplasso.storage import open_store

File = Annotated[Path, typer.Argument(help="A model file or a column store.", show_default=False)]


def inspect(
    file: File,
    top: Annotated[int, typer.Option(min=0, help="Number of largest coefficients to show.")] = 20,
    bucket: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ENTRY",
            help="A word or category that is public: show the feature it is hashed to, and its "
            "coefficient. Repeat for several.",
        ),
    ] = None,
    verify: Annotated[bool, typer.Option(help="Check every byte of a column store.")] = False,
    json: o.Json = False,
) -> None:
    """Describe a model (its guarantee, its largest coefficients) or a column store."""
    if not file.is_dir():
        _model(file, top, bucket or [], json)
    elif bucket:
        raise ValueError("--bucket is for models trained from tables; a column store has none")
    else:
        _store(file, verify, json)


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
        shown_facts = {
            **facts,
            "classes": "none, labels are numbers"
            if store.classes is None
            else ", ".join(store.classes),
            "verified": "yes, every byte" if verify else "not checked (use --verify)",
        }
        show(f"Column store {file} (as private as the data)", shown_facts)


def _model(file: Path, top: int, bucket: list[str], json: bool) -> None:
    model = load(file)
    rows, buckets, target = _largest(model, top), buckets_asked(model, bucket), target_of(model)
    predicts = {} if target is None else {"target": target}
    facts = {
        "class": type(model).__name__,
        **predicts,
        "columns": int(model.n_features_in_),
        "nonzeros": int(weights_of(model).nnz),
        **_how_long(model),
        "intercept": [float(value) for value in model.intercept_],
    }
    if json:
        asked = {"buckets": [found._asdict() for found in buckets]} if bucket else {}
        emit({"model": str(file), **facts, **asked, "largest": rows, "privacy": model.privacy_})
        return
    show(f"Model {file}", {**facts, "intercept": _intercepts(model)})
    _show_roles(model)
    show_buckets(model, buckets)
    if top:
        _show_largest(model, rows)
    of_largest = noise(model) if top else None
    for caution in filter(None, (of_largest, few_rows(model), loose_delta(model))):
        say(f"\n{caution}")
    say_paragraph(str(model.privacy_))


def _how_long(model: Any) -> dict[str, int]:
    if is_online(model):
        return {"rows_seen": int(model.rows_seen_)}
    return {"rounds": int(model.n_iter_)}


def _intercepts(model: Any) -> str:
    values = [shown(float(value)) for value in model.intercept_]
    if len(values) == 1:
        return values[0]
    named = zip(model.classes_, values, strict=True)
    return ", ".join(f"{value} for {label}" for label, value in named)


def _show_roles(model: Any) -> None:
    roles = [list(role) for role in roles_of(model)]
    if roles:
        say()
        show_rows("Columns of the table", ["column", "taken as", "features"], roles)


def _show_largest(model: Any, rows: list[list[Any]]) -> None:
    named = "feature" if hasattr(model, "feature_names_in_") else "column, from 0"
    classes = ["class"] if len(model.intercept_) > 1 else []
    at_width = ["times its width"] if has_widths(model) else []
    say()
    show_rows("Largest coefficients", [named, *classes, "coefficient", *at_width], rows)


def _largest(model: Any, top: int) -> list[list[Any]]:
    """Order by how far they can move a margin: times the width of their range, if those differ."""
    names, scaled = getattr(model, "feature_names_in_", None), has_widths(model)
    rows = []
    for column, output, value, reach in largest(model, top):
        row: list[Any] = [str(column) if names is None else str(names[column])]
        if len(model.intercept_) > 1:
            row.append(str(model.classes_[output]))
        rows.append([*row, value, *([reach] if scaled else [])])
    return rows

"""Options that several subcommands share, and how their text is read."""

import math
import os
from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli.inputs import Form
from dplasso.ledger import stores
from dplasso.reading.tables import TablePlan, buckets_for

Data = Annotated[
    Path,
    typer.Argument(
        help="svmlight text (plain, gzip, bzip2, xz, zstd), .npz, .csv, .tsv, .parquet, or a "
        "column store.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file written by train.", show_default=False)]
RowCount = Annotated[
    int | None,
    typer.Option("--rows", help="Number of rows, declared: a public round number near it will do."),
]
Features = Annotated[
    int | None, typer.Option("--features", help="Number of columns of svmlight data, declared.")
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Where svmlight indices start; at 1, or as in training, unless told.",
        show_default=False,
    ),
]
Labels = Annotated[Path | None, typer.Option(help="Labels (.npy) of an .npz matrix.")]
Names = Annotated[Path | None, typer.Option("--feature-names", help="A name of a feature a line.")]
Target = Annotated[str | None, typer.Option(help="Column of a table to predict.")]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds", help="Public bounds of numeric columns: age=0:120,weight=0:300. May repeat."
    ),
]
Hashed = Annotated[
    list[str] | None,
    typer.Option("--hash", help="Buckets of columns of categories: town=1000. May repeat."),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", help="A column of words, or note=4096 with its buckets. May repeat."),
]
Ignore = Annotated[list[str] | None, typer.Option(help="A column to leave out. May repeat.")]
Buckets = Annotated[
    int | None,
    typer.Option(
        help="Buckets of columns that name none; else a sixteenth of --rows, 256 to 65,536.",
        show_default=False,
    ),
]
Classes = Annotated[str | None, typer.Option(help="Labels there can be: 0,1 or ham,spam.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse whatever the guarantee does not cover.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")]
DEFAULT_LEDGER = stores.DEFAULT
LEDGER_VARIABLE = "DPLASSO_BUDGET"
Ledger = Annotated[
    str | None,
    typer.Option(
        "--budget", envvar=LEDGER_VARIABLE, help="A ledger to charge; see dplasso budget."
    ),
]


def form_of(
    features: int | None,
    zero_based: bool | None,
    labels: Path | None,
    names: Path | None,
    plan: TablePlan | None,
) -> Form:
    return Form(features, bool(zero_based), labels, plan, names)


def plan_of(
    target: str | None,
    bounds: list[str] | None,
    hashed: list[str] | None,
    text: list[str] | None,
    ignore: list[str] | None,
    buckets: int | None,
    rows: int | None,
    classes: list[str] | None,
) -> TablePlan | None:
    """How to read a table, where a target names one."""
    if target is None:
        return None
    words = dict(_sized(column) for column in text or ())
    sized = {name: _count(name, count) for name, count in _pairs("--hash", hashed)}
    sized.update({name: count for name, count in words.items() if count is not None})
    return TablePlan(
        target=target,
        bounds={name: _range(name, value) for name, value in _pairs("--bounds", bounds)},
        hashed=sized,
        buckets=buckets_for(rows) if buckets is None else buckets,
        text=tuple(words),
        ignore=tuple(ignore or ()),
        classes=classes,
    )


def classes_of(text: str | None) -> list[str] | None:
    """Declared labels, as they are written."""
    return None if text is None else [part.strip() for part in text.split(",")]


def numbers_of(classes: list[str]) -> list[float]:
    """Declared labels, where those of the data are numbers."""
    return [_number("--classes", label) for label in classes]


def check_output(path: Path, *, folder: bool = False) -> None:
    """Refuse a name that cannot be written to, before there is something to lose."""
    above = path.absolute().parent
    if (path.is_dir() and not folder) or not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"{path} cannot be written; give a name in a folder that you can write to")


def auto_or_number(name: str, text: str) -> float | str:
    return text if text == "auto" else _number(name, text)


def auto_or_count(name: str, text: str) -> int | str:
    number = auto_or_number(name, text)
    if isinstance(number, str):
        return number
    if not number.is_integer():
        raise ValueError(f"{name} must be a whole number or auto, got {text!r}")
    return int(number)


def _pairs(name: str, values: list[str] | None) -> list[tuple[str, str]]:
    parts = [part for value in values or () for part in _parts(value)]
    pairs = [part.rpartition("=") for part in parts]
    for column, equals, _ in pairs:
        if not column or not equals:
            raise ValueError(f"{name} must have the form column=value; see --help")
    return [(column, value) for column, _, value in pairs]


def _parts(value: str) -> list[str]:
    """Several settings in one, unless a comma is part of a name."""
    parts = value.split(",")
    return parts if all("=" in part for part in parts) else [value]


def _sized(text: str) -> tuple[str, int | None]:
    """A column, and its buckets if they are given."""
    name, _, count = text.rpartition("=")
    return (name, int(count)) if name and count.isdigit() else (text, None)


def _count(name: str, text: str) -> int:
    if not text.strip().isdigit():
        raise ValueError(f"buckets of {name!r} must be a whole number, got {text!r}")
    return int(text)


def _range(name: str, text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise ValueError(f"--bounds of {name!r} must have the form low:high, got {text!r}")
    return _number("--bounds", low), _number("--bounds", high)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, got {text!r}")
    return number

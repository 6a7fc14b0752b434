"""Options that several subcommands share, and how their text is read."""

import math
import os
from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli.inputs import same_file
from dplasso.ledger import stores

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
    typer.Option("--hash", help="Columns of categories, with their buckets: town=99. May repeat."),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", help="A column of words, or note=4096 with its buckets. May repeat."),
]
Ignore = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out: id,visit. May repeat.")
]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the columns of a .csv file; a comma by default.")
]
Buckets = Annotated[
    int | None,
    typer.Option(
        help="Buckets of columns that name none; else about a sixteenth of --rows (256 to 65,536), "
        "or 4,096.",
        show_default=False,
    ),
]
Classes = Annotated[str | None, typer.Option(help="Labels there can be: 0,1 or ham,spam.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Regression = Annotated[bool, typer.Option("--regression", help="Predict a number, not a class.")]
YBound = Annotated[float | None, typer.Option(help="Public bound on labels (regression).")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", "--random-state", help="For tests only: makes noise known."),
]
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


def classes_of(text: str | None) -> list[str] | None:
    """Declared labels, as they are written."""
    return None if text is None else [part.strip() for part in text.split(",")]


def numbers_of(classes: list[str]) -> list[float]:
    """Declared labels, where those of the data are numbers."""
    return [number_of("--classes", label) for label in classes]


def check_output(path: Path, *inputs: Path | None, folder: bool = False) -> None:
    """Refuse a name that cannot be written to, or is read, before there is something to lose."""
    above = path.absolute().parent
    if (path.is_dir() and not folder) or not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"{path} cannot be written; give a name in a folder that you can write to")
    if any(read is not None and same_file(path, read) for read in inputs):
        raise ValueError(f"{path} is also what is read; give the output another name")


def check_replaceable(path: Path, begins: bytes, kind: str) -> None:
    """Refuse to replace a file that is something else."""
    if path.is_file() and path.stat().st_size:
        with open(path, "rb") as file:
            if file.read(len(begins)).lower() != begins:
                raise ValueError(f"{path} exists and is no {kind}; give another name, or remove it")


def auto_or_number(name: str, text: str) -> float | str:
    return text if text == "auto" else number_of(name, text)


def auto_or_count(name: str, text: str) -> int | str:
    number = auto_or_number(name, text)
    if isinstance(number, str):
        return number
    if not number.is_integer():
        raise ValueError(f"{name} must be a whole number or auto, got {text!r}")
    return int(number)


def private_or_number(name: str, text: str | None) -> float | str | None:
    return text if text in (None, "private") else number_of(name, text)


def number_of(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, got {text!r}")
    return number

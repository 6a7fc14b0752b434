"""Options that several subcommands share, and how their text is read."""

import math
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from dplasso.ledger import stores
from dplasso.storage import atomic

Data = Annotated[
    list[Path],
    typer.Argument(
        help="A table (.csv, .tsv, .parquet, .feather, .xlsx), svmlight text, .npz, or a column "
        "store. Text may be compressed (gzip, bzip2, xz, zstd). Several files, or a folder of "
        "them, are read as one.",
        show_default=False,
    ),
]
MOST_ROWS = 10**15  # largest number of rows that can be declared
People = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_ROWS,
        help="Number of people in --person, as a public fact; a round number suffices.",
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(min=1, help="How many rows of a person count; 1 by default, the least noise."),
]
MOST_COLUMNS = 2**40
Model = Annotated[Path, typer.Argument(help="A model file written by train.", show_default=False)]
RowCount = Annotated[
    int | None,
    typer.Option(
        "--rows",
        min=1,
        max=MOST_ROWS,
        help="Number of rows, as a public fact; a round number near it suffices, one that is "
        "several times too large or too small makes the model worse.",
    ),
]
Epsilon = Annotated[
    float, typer.Option("--epsilon", "-e", help="Privacy budget; inf means no privacy.")
]
Delta = Annotated[float, typer.Option(help="Delta of the guarantee.")]
Neighboring = Annotated[str, typer.Option(help="Neighbouring relation: add_remove or replace_one.")]
Predictions = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File for predictions; standard output by default."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
Proba = Annotated[bool, typer.Option(help="Write the probabilities of all classes.")]
Features = Annotated[
    int | None,
    typer.Option(
        "--features",
        min=1,
        max=MOST_COLUMNS,
        help="Number of columns of svmlight data, as a public fact.",
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether svmlight indices start at 0 or 1; by default as in training, or at 1.",
        show_default=False,
    ),
]
Labels = Annotated[Path | None, typer.Option(help="Labels (.npy) of an .npz matrix.")]
Names = Annotated[
    Path | None, typer.Option("--feature-names", help="A file with one feature name per line.")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="A schema file, which states the role of every column of a table; see dplasso schema.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Numeric columns that get an indicator of missing cells. May repeat."),
]
Person = Annotated[
    str | None,
    typer.Option(help="Column that says whose row it is: all rows of a person are protected."),
]
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
    str | None, typer.Option(help="Separator of the columns of a .csv file; a comma by default.")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of .csv files: latin-1, cp1252, utf-16. By default UTF-8, or what their "
        "first bytes say; rows for a model that are not UTF-8 have the encoding of its schema."
    ),
]
Buckets = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_COLUMNS,
        help="Number of buckets of columns for which none is given. By default about a sixteenth "
        "of --rows (256 to 65,536), or 4,096.",
        show_default=False,
    ),
]
LongestLine = Annotated[
    str | None,
    typer.Option(
        help="Longest line of text, row of a .csv or page of a .parquet file to read: 500M, 2G. "
        "64M by default, 4M for rows of a .csv; about 8 times as much memory is used.",
        show_default=False,
    ),
]
Classes = Annotated[
    str | None, typer.Option(help="All possible labels, as a public fact: 0,1 or ham,spam.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Regression = Annotated[bool, typer.Option("--regression", help="Predict a number, not a class.")]
YBound = Annotated[float | None, typer.Option(help="Public bound on labels (regression).")]
YRange = Annotated[
    str | None,
    typer.Option(
        "--y-bound", help="Public bound on labels (regression), or their range: 0:500000."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        "--random-state",
        min=0,
        help="For tests only: whoever knows the seed can undo the protection.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Reject facts that the guarantee does not cover.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no tables.")]
DEFAULT_LEDGER = stores.DEFAULT
LEDGER_VARIABLE = "DPLASSO_BUDGET"
Ledger = Annotated[
    str | None,
    typer.Option(
        "--budget", envvar=LEDGER_VARIABLE, help="A ledger to charge; see dplasso budget."
    ),
]


Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="For programs: leave texts unchanged. By default a text that a spreadsheet would read "
        "as a formula (= + - @) gets an apostrophe in front, and quotes if it would be split.",
    ),
]
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def bytes_of(name: str, text: str) -> int:
    """Return the bytes of a size such as 500M or 2G."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{name} must be a size such as 500M or 2G, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def longest_line_of(text: str | None) -> int | None:
    """Return the longest line to read in bytes, if it was given."""
    if text is None:
        return None
    size = bytes_of("--longest-line", text)
    if not 1 <= size < 1 << 31:
        raise ValueError(f"--longest-line must be from 1 byte to below 2G, got {text!r}")
    return size


def classes_of(text: str | None) -> list[str] | None:
    """Return declared labels as they are written."""
    if text is None:
        return None
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("--classes must be text in UTF-8; write it in that encoding")
    return [part.strip() for part in text.split(",")]


def numbers_of(classes: list[str]) -> list[float]:
    """Return declared labels as numbers, for data whose labels are numbers."""
    return [number_of("--classes", label) for label in classes]


def check_output(path: Path, *inputs: Path | None, folder: bool = False) -> None:
    """Reject an output that cannot be written or is also an input, before any work is done."""
    remedy = "give a name in a folder that you can write to"
    if path.is_dir() and not folder:
        raise ValueError(f"{path} cannot be written: it is a folder; {remedy}")
    try:
        if folder:
            atomic.check_folder(str(path.absolute().parent))
        else:
            atomic.check_replaceable(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}; {remedy}") from None
    if any(same_file(path, read) for read in inputs):
        raise ValueError(f"{path} is also an input; give the output another name")


def check_unused(path: Path, force: bool) -> None:
    """Reject an output that exists, unless it is to be replaced."""
    if os.path.lexists(path) and not force:
        raise ValueError(f"{path} exists; give another name, or --force to replace it")


def same_file(first: Path, second: Path | None) -> bool:
    """Whether both exist and are the same file."""
    there = second is not None and first.exists() and second.exists()
    return there and os.path.samefile(first, second or first)


def check_replaceable(path: Path, begins: bytes, kind: str) -> None:
    """Reject replacing a file that is of another kind."""
    if path.is_file() and path.stat().st_size:
        with open(path, "rb") as file:
            if file.read(len(begins)).lower() != begins:
                raise ValueError(f"{path} exists and is no {kind}; give another name, or remove it")


def auto_or_number(name: str, text: str) -> float | str:
    return text if text == "auto" else number_of(name, text, "a number or auto")


def auto_or_count(name: str, text: str) -> int | str:
    number = auto_or_number(name, text)
    if isinstance(number, str):
        return number
    if not number.is_integer():
        raise ValueError(f"{name} must be a whole number or auto, got {text!r}")
    return int(number)


def auto_all_or_count(name: str, text: str) -> int | str | None:
    return None if text == "all" else auto_or_count(name, text)


def private_or_number(name: str, text: str | None) -> float | str | None:
    return text if text in (None, "private") else number_of(name, text)


def number_or_range(name: str, text: str) -> float | tuple[float, float]:
    """A number, or two of them with a colon between: the low and the high end."""
    try:
        found = tuple(map(float, text.split(":")))
    except ValueError:
        found = ()
    if len(found) == 1:
        return found[0]
    if len(found) == 2:
        return found[0], found[1]
    raise ValueError(f"{name} must be a number, or two with a colon between (0:90), got {text!r}")


def number_of(name: str, text: str, wanted: str = "a number") -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"{name} must be {wanted}, got {text!r}")
    return number

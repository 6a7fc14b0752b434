"""``dplasso export``: write a model for programs that do not have dplasso."""

import pickle
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.base import checks
from dplasso.base.wording import ParameterError, Setting
from dplasso.cli import endings
from dplasso.cli import options as o
from dplasso.cli.output import say
from dplasso.estimators import load
from dplasso.estimators.export.coefficient_table import BESIDE
from dplasso.storage.atomic import replace_file

_BY_SUFFIX = {
    ".onnx": "onnx",
    ".pkl": "sklearn",
    ".pickle": "sklearn",
    ".joblib": "sklearn",
    ".csv": "csv",
}
# How files of a format begin: others are not replaced.
_BEGINS = {
    "onnx": (b"\x08", "ONNX file"),
    "sklearn": (b"\x80", "pickle"),
    "csv": (b"column,class,", "table of coefficients"),
}
FORMATS = tuple(dict.fromkeys(_BY_SUFFIX.values()))


def export(
    model: o.Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    format: Annotated[
        str | None,
        typer.Option(
            help="onnx; sklearn, a pickle of a scikit-learn object (A PICKLE RUNS CODE when it is "
            "loaded: load only files that nobody else could write); or csv, the coefficients. By "
            "default by the name of the output: .onnx, .pkl, .csv.",
            show_default=False,
        ),
    ] = None,
    inputs: Annotated[
        str,
        typer.Option(
            help="Of onnx: all columns as a matrix, the used columns, or entries (column and "
            "value). auto is all for up to 10,000 columns."
        ),
    ] = "auto",
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a model for programs that do not have dplasso: ONNX, scikit-learn or CSV.

    The privacy statement goes with it: in the metadata of ONNX, as the attribute privacy_ of a
    scikit-learn object, and beside a .csv in a file that ends with .privacy.json.
    """
    kind = _format_of(output, format)
    if inputs != "auto" and kind != "onnx":
        raise ParameterError("{inputs} is for {onnx}; leave it out", onnx=Setting("format", "onnx"))
    o.check_output(output, model)
    o.check_replaceable(output, *_BEGINS[kind])
    o.check_unused(output, force)
    if kind == "csv":
        beside = output.with_name(output.name + BESIDE)
        o.check_output(beside, model)
        o.check_replaceable(beside, b"{", "statement")
        o.check_unused(beside, force)
    endings.begin(output, "export")
    fitted = load(model)
    told = _write(fitted, output, kind, inputs)
    if not quiet:
        say(f"wrote {output}{told}")


def _format_of(output: Path, asked: str | None) -> str:
    if asked is not None:
        checks.choice("format", asked, FORMATS)
        return asked
    found = _BY_SUFFIX.get(output.suffix.lower())
    if found is None:
        raise ParameterError(
            "{output} ends with none of {suffixes}; name the {format}",
            suffixes=", ".join(_BY_SUFFIX),
        )
    return found


def _write(fitted: Any, output: Path, kind: str, inputs: str) -> str:
    """Write the file, and return what there is to say about it."""
    if kind == "onnx":
        found = fitted.to_onnx(output, inputs=inputs)
        return {
            "all": f", which takes all {fitted.n_features_in_:,} columns as X in double precision",
            "used": ", which takes the columns that its metadata list, as X in double precision",
            "entries": ", which takes the columns and values of entries",
        }[found]
    if kind == "csv":
        return f" and {fitted.to_csv(output)}"
    replace_file(output, pickle.dumps(fitted.to_sklearn()), released=True)
    return ", a pickle, which runs code when it is loaded"

"""Write coefficients as a CSV file, and beside it what they mean and promise."""

import json
import os
from collections.abc import Iterator

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.estimators.export.portable import Portable, RowSteps
from dplasso.storage.atomic import check_replaceable, replace_file
from dplasso.storage.prediction_lines import label_text
from dplasso.storage.spreadsheet import cell

INTERCEPT = "(intercept)"
BESIDE = ".privacy.json"  # appended to the name of the table


def write_table(model: Portable, path: str | os.PathLike[str]) -> str:
    """Write both files; return the path of the one with the statement.

    The statement is written first: there is never a table without one.
    """
    beside = os.fsdecode(path) + BESIDE
    check_replaceable(path)
    stated = {
        "privacy": model.statement,
        "privacy_text": str(model.privacy),
        "rows": model.steps.words(),
        "outcome": model.outcome,
        "columns": model.steps.n_features,
        "classes": [] if model.classes is None else model.classes.tolist(),
        "label_range": None if model.label_range is None else list(model.label_range),
    }
    replace_file(beside, json.dumps(stated, indent=1).encode() + b"\n", released=True)
    lines = "".join(f"{line}\r\n" for line in table_lines(model))
    replace_file(path, lines.encode(), released=True)
    return beside


def table_lines(model: Portable) -> Iterator[str]:
    """Return the lines of the table: a header, intercepts, then all coefficients that are not 0.

    If entries are cut to ranges, intercepts are of entries that are cut and not shifted. Columns
    without a range, beside others that are centred, have no ends.
    """
    weights, steps, ends = model.weights, model.steps, _ends(model.steps)
    ranges = ends is not None
    yield "column,class,coefficient" + (",low,high" if ranges else "")
    for output, value in enumerate(_intercepts(model)):
        yield f"{INTERCEPT},{_class(model, output)},{float(value)!r}" + (",," if ranges else "")
    read = model.read_weights
    for output in range(weights.shape[0]):
        places = slice(read.indptr[output], read.indptr[output + 1])
        for place, value in zip(read.indices[places], read.data[places], strict=True):
            if value == 0.0:
                continue
            column = int(place if steps.columns is None else steps.columns[place])
            line = f"{_column(model, column)},{_class(model, output)},{float(value)!r}"
            if ends is not None:
                line += "," + ends.get(int(place), ",")
            yield line


def _ends(steps: RowSteps) -> dict[int, str] | None:
    """Return low and high ends by place, as cells; None if no column has ends."""
    if steps.centring is not None:
        ends, places = steps.centring.ends, steps.centring.places
    elif steps.ends is not None:
        ends, places = steps.ends, np.arange(steps.width)
    else:
        return None
    listed = zip(places.tolist(), *(part.tolist() for part in ends), strict=True)
    return {place: f"{low!r},{high!r}" for place, low, high in listed}


def _intercepts(model: Portable) -> Floats:
    zeros = model.steps.zeros
    found: Floats = model.intercepts
    return found if zeros is None else found - model.read_weights @ zeros


def _column(model: Portable, column: int) -> str:
    names = model.feature_names
    return str(column) if names is None else cell(str(names[column]), ",")


def _class(model: Portable, output: int) -> str:
    """Return the class that a coefficient speaks for: of two, the second."""
    if model.classes is None:
        return ""
    place = 1 if len(model.classes) == 2 else output
    return cell(label_text(model.classes.tolist()[place]), ",")

"""Check rows and labels as scikit-learn does, with error messages of our own.

Errors of scikit-learn and numpy quote what they reject: entries, labels, texts, numbers of rows.
Only errors that name nothing but columns are passed on.
"""

import copy
import re
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from dplasso.base.arrays import Floats, Labels
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data import ColumnMatrix
from dplasso.data.structure import is_real, sound

SPARSE = ("csr", "csc", "coo")  # `sound` leaves no other format
Rows: TypeAlias = NDArray[np.generic] | sp.sparray  # the type of checked rows
Found = TypeVar("Found")
Given = ParamSpec("Given")

# Names of columns and their number are public.
_PASSED_ON = re.compile(
    r"The feature names should match those that were passed during fit\.\n.*"
    r"|X has \d+ features, but \w+ is expecting \d+ features as input\.",
    re.DOTALL,
)
# From a part of an error message of scikit-learn or numpy to the message that replaces it.
_ROWS = {
    "np.matrix": "X must not be a numpy.matrix; pass numpy.asarray of it",
    "Expected 2D": "X must have two dimensions. Reshape your data: one row each, or one column; "
    "encode a list of texts by HashingVectorizer, which learns nothing from them, or by a Schema",
    "with dim": "X must have two dimensions. Reshape your data: one row each, or one column",
    "Complex data": "Complex data not supported: X must hold real numbers; take them apart first",
    # scikit-learn's own checks require this form; the number of rows is left out.
    "0 feature(s)": "X is empty: 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    "0 sample(s)": "X has no rows; give at least one",
    "contains NaN": "X holds NaN; replace or remove such entries by a rule that reads no rows",
    "infinity": "X holds NaN or infinity; replace or remove such entries by a rule that reads no "
    "rows",
    "could not convert": "X must hold numbers, got text; encode it first, or describe its columns "
    "by a Schema: fit to read_rows(frame, schema=schema).described(), or use a TableEncoder",
    "": "X must be a table of real numbers, one row each; give an array, a sparse matrix or a "
    "frame of numbers",
}
_LABELS = {
    "Complex data": "Complex data not supported: y must hold labels that are real numbers or text",
    "": "y must have one dimension, one label per row; pass one column",
}
_GAPS = {
    "contains NaN": "Input y contains NaN; remove those rows first",
    "infinity": "Input y contains infinity or a value too large for dtype('float64').",
    "": "y must hold labels without gaps; remove rows that have none",
}
_NUMBERS = {"": "Unknown label type: y must hold real numbers"}
_CLASSES = {
    "": Message(
        "Unknown label type: y must hold classes; declare them with {classes}, or use {regressor} "
        "to predict numbers",
        regressor=Setting("PrivateLassoRegressor"),
    )
}
CLASSES_READ = Message(
    "classes were read from y, which reveals which labels occur; declare them with {classes}"
)
_ORDER = {"": "y holds labels that have no order among them; give labels of one kind"}
_SCORED = {
    "": "y must have one label per row of X, of the kind the model was fitted to, and so must "
    "sample_weight have weights; give such"
}


def checked_rows(model: BaseEstimator, X: object, *, reset: bool) -> Rows:
    """Check the shape, type and missing values of ``X``, and store or compare feature names.

    Formal guarantees
    -----------------
    An error names the kind of problem and the columns. It contains no value of the data and not the
    number of rows. A sparse matrix is checked before anything converts it.
    """
    X = sound(X.rows() if isinstance(X, ColumnMatrix) else X)
    found: Rows = _in_our_words(
        _ROWS, validate_data, model, X, accept_sparse=SPARSE, dtype="numeric", reset=reset
    )
    if found.dtype == np.longdouble:
        return _in_our_words(_ROWS, _in_double_precision, found)
    # scikit-learn accepts dates, and frames of categories, as objects.
    return found if is_real(found.dtype) else _in_our_words(_ROWS, _numbers, found)


def _in_double_precision(X: Rows) -> Rows:
    """Convert rows to double precision without merging repeated entries."""
    if isinstance(X, np.ndarray):
        return _numbers(X)
    found = copy.copy(X)
    found.data = _numbers(X.data)
    return found


def _numbers(X: NDArray[np.generic]) -> Floats:
    if X.dtype.kind not in "Of":
        raise ValueError
    with np.errstate(all="ignore"):
        numbers = np.asarray(X, np.float64)
    assert_all_finite(numbers, input_name="X")
    return numbers


def checked_target(model: object, y: object) -> Labels:
    """Return the labels of a fit as a one-dimensional array."""
    if y is None:
        name = type(model).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    return checked_vector(y)


def check_lengths(X: Rows | ColumnMatrix, y: Labels) -> None:
    """Reject rows and labels that are not equally many."""
    # The number of rows may itself be private, so the message does not state it.
    if len(y) != X.shape[0]:
        raise ValueError("X and y differ in their number of rows; give one label per row")


def checked_vector(y: object) -> Labels:
    """Return labels as a one-dimensional array; booleans are such, also if stored as objects."""
    labels: Labels = _in_our_words(_LABELS, column_or_1d, sound(y, "y"), warn=True)
    if labels.dtype == object and all(isinstance(label, bool | np.bool_) for label in labels):
        return labels.astype(np.bool_)
    return labels


def check_gaps(y: Labels) -> None:
    """Reject labels that are NaN or infinite."""
    _in_our_words(_GAPS, assert_all_finite, y, input_name="y")


def checked_numbers(y: Labels) -> Floats:
    """Return labels as finite numbers."""
    numbers: Floats = _in_our_words(_NUMBERS, y.astype, np.float64)
    check_gaps(numbers)
    return numbers


def check_classes(y: Labels) -> None:
    """Reject labels that are not classes; its warning about many classes depends on the data."""
    _in_our_words(_CLASSES, check_classification_targets, y)


def distinct(labels: ArrayLike) -> Labels:
    """Return the distinct labels in increasing order."""
    found: Labels = _in_our_words(_ORDER, np.unique, np.asarray(labels))
    return found


def check_enough(classes: Labels, *, declared: bool) -> None:
    """Reject fewer than two classes."""
    if len(classes) >= 2:
        return
    if declared:
        raise ParameterError("{classes} must list at least two distinct labels, got 1 class")
    raise ParameterError(
        "y holds one class only; a classifier needs two, declare them with {classes}"
    )


def scored(
    metric: Callable[..., float], y: object, predicted: Labels, sample_weight: object
) -> float:
    """Compute a metric of scikit-learn."""
    labels = checked_vector(y)
    return float(_in_our_words(_SCORED, metric, labels, predicted, sample_weight=sample_weight))


def _in_our_words(
    words: Mapping[str, str | Message],
    call: Callable[Given, Found],
    *args: Given.args,
    **options: Given.kwargs,
) -> Found:
    """Return the result of the call, or raise its error with a message that holds no data.

    The new error is raised outside the handler, so that it does not carry the original error.
    """
    try:
        return call(*args, **options)
    except Warning:  # if warnings are errors; those of scikit-learn name only types
        raise
    except MemoryError:
        error: Exception = MemoryError("X or y do not fit into memory; give fewer rows, or sparse")
    except Exception as raised:
        said = str(raised)
        if _PASSED_ON.fullmatch(said):
            error = ValueError(said)
        elif isinstance(raised, TypeError) and "argument must be" in said:
            error = TypeError(
                "X holds things that are no numbers: an argument must be a string or a real "
                "number; encode them first"
            )
        else:
            error = ValueError(next(ours for theirs, ours in words.items() if theirs in said))
    raise error

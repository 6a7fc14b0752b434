"""Rows and labels as scikit-learn checks them, refused in words of our own.

scikit-learn's errors, and numpy's, quote what they refuse: entries, labels, texts, numbers of rows.
None is passed on but those that name columns alone.
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
from dplasso.base.wording import Message, ParameterError
from dplasso.data import ColumnMatrix
from dplasso.data.structure import is_real, sound

SPARSE = ("csr", "csc", "coo")  # `sound` leaves no other
Rows: TypeAlias = NDArray[np.generic] | sp.sparray  # as they are once they have been checked
Found = TypeVar("Found")
Given = ParamSpec("Given")

# Names of columns and their number are public.
_PASSED_ON = re.compile(
    r"The feature names should match those that were passed during fit\.\n.*"
    r"|X has \d+ features, but \w+ is expecting \d+ features as input\.",
    re.DOTALL,
)
# What an error of scikit-learn or numpy contains, and what is said instead.
_ROWS = {
    "np.matrix": "X must not be a numpy.matrix; pass numpy.asarray of it",
    "Expected 2D": "X must have two dimensions. Reshape your data: one row each, or one column",
    "with dim": "X must have two dimensions. Reshape your data: one row each, or one column",
    "Complex data": "Complex data not supported: X must hold real numbers; take them apart first",
    # The form that scikit-learn's own checks ask for, without the number of rows.
    "0 feature(s)": "X is empty: 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    "0 sample(s)": "X has no rows; give at least one",
    "contains NaN": "X holds NaN; replace or remove such entries by a rule that reads no rows",
    "infinity": "X holds NaN or infinity; replace or remove such entries by a rule that reads no "
    "rows",
    "could not convert": "X must hold numbers, got text; encode it first",
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
        "Unknown label type: y must hold classes; declare them with {classes}, or use a regressor"
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
    """``X`` checked for shape, kind and gaps; feature names are noted, or held against those known.

    Formal guarantees
    -----------------
    An error says what kind of thing is wrong, and which columns; it has no value of the data, and
    not their number of rows. A sparse matrix is checked before anything converts it.
    """
    X = sound(X.rows() if isinstance(X, ColumnMatrix) else X)
    found: Rows = _in_our_words(
        _ROWS, validate_data, model, X, accept_sparse=SPARSE, dtype="numeric", reset=reset
    )
    if found.dtype == np.longdouble:
        return _in_our_words(_ROWS, _in_double_precision, found)
    # scikit-learn lets dates through, and frames of categories, as objects.
    return found if is_real(found.dtype) else _in_our_words(_ROWS, _numbers, found)


def _in_double_precision(X: Rows) -> Rows:
    """Rows in the widest precision that is computed in; repeated entries stay apart."""
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


def checked_vector(y: object) -> Labels:
    """Labels as an array of one dimension."""
    labels: Labels = _in_our_words(_LABELS, column_or_1d, sound(y, "y"), warn=True)
    return labels


def check_gaps(y: Labels) -> None:
    """Refuse labels that are NaN or infinite."""
    _in_our_words(_GAPS, assert_all_finite, y, input_name="y")


def checked_numbers(y: Labels) -> Floats:
    """Labels as finite numbers."""
    numbers: Floats = _in_our_words(_NUMBERS, y.astype, np.float64)
    check_gaps(numbers)
    return numbers


def check_classes(y: Labels) -> None:
    """Refuse labels that are no classes; it warns where they are many, a fact of the data."""
    _in_our_words(_CLASSES, check_classification_targets, y)


def distinct(labels: ArrayLike) -> Labels:
    """The labels there are, in order."""
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
    """A metric of scikit-learn's."""
    labels = checked_vector(y)
    return float(_in_our_words(_SCORED, metric, labels, predicted, sample_weight=sample_weight))


def _in_our_words(
    words: Mapping[str, str | Message],
    call: Callable[Given, Found],
    *args: Given.args,
    **options: Given.kwargs,
) -> Found:
    """What the call returns; what it raises is raised in words that hold no data.

    The new error is raised outside of the handler, or it would carry the other with it.
    """
    try:
        return call(*args, **options)
    except Warning:  # where they are errors; those of scikit-learn name types of things
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

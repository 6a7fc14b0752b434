"""Rows as scikit-learn checks them, without its habit of quoting what it refuses."""

from typing import Any

from sklearn.utils.validation import validate_data

SPARSE = ("csr", "csc", "coo")  # other formats are converted to the first


def checked_rows(model: Any, X: Any, *, reset: bool) -> Any:
    """``X`` checked for shape, kind and gaps; feature names are noted, or held against those known.

    Formal guarantees
    -----------------
    An error says what kind of thing is wrong. Two of scikit-learn's show values of the data: that
    of an array of one dimension, which it prints, and that of a text that is no number.
    """
    try:
        return validate_data(model, X, accept_sparse=SPARSE, dtype="numeric", reset=reset)
    except ValueError as error:
        message = str(error)
        if message.startswith("Expected 2D"):
            message = "X must have two dimensions. Reshape your data: one row each, or one column"
        elif "contains NaN" in message:
            message = "X holds NaN; replace or remove such entries by a rule that reads no rows"
        elif "could not convert" in message:
            message = "X must hold numbers, got text; encode it first"
        else:
            raise
    raise ValueError(message)

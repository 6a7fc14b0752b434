"""Save and load fitted models. The format is described in docs/reference/model_format.md."""

import dataclasses
import operator
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplasso.base import checks
from dplasso.base.arrays import Ints, Labels
from dplasso.data.bounds import by_position
from dplasso.data.columns import positive_bound
from dplasso.data.row_maps import ROW_MAPS
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.estimators import online_saving
from dplasso.estimators.base import PrivateLasso
from dplasso.estimators.classifier import PrivateLassoClassifier
from dplasso.estimators.model_header import (
    ENTRIES,
    check_entries,
    checked_parameters,
    parameter_forms,
)
from dplasso.estimators.regressor import PrivateLassoRegressor
from dplasso.estimators.statement import in_current_words
from dplasso.fitting import private_bound, registry
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.plan import NEW_ROWS
from dplasso.fitting.request import XBound
from dplasso.fitting.row_reader import RowReader
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.privacy.stated import check_statement
from dplasso.privacy.statement import PrivacyStatement
from dplasso.schema import FeatureNames, FeatureSpace, Schema
from dplasso.solvers.correction import Correction
from dplasso.storage import ModelFileError, read, write
from dplasso.storage.values import from_json, to_json

_Path = str | os.PathLike[str]
_Arrays = dict[str, NDArray[Any]]
_Header = dict[str, Any]  # parsed JSON
_CLASSES: dict[str, type[PrivateLasso]] = {
    found.__name__: found for found in (PrivateLassoClassifier, PrivateLassoRegressor)
}

_ENTRIES: dict[str, tuple[type, ...]] = {  # types in JSON
    **ENTRIES,
    "n_iter": (int,),
    "sparse_coef": (bool,),
    "table_plan": (dict, type(None)),
}
_ARRAYS = {  # dtype and dimensions
    "weights_data": (np.float64, 1),
    "weights_indices": (np.int64, 1),
    "weights_indptr": (np.int64, 1),
    "intercept": (np.float64, 1),
    "vertices": (np.int64, 2),
}
_CORRECTION = "correction"  # optional array: a scale, and one shift per output
# An entry that is true if columns with a range were centred and scaled by it, and that is missing
# otherwise, as in files of earlier versions.
_CENTRED = "centred"
_MOST_FEATURES = 1 << 62  # column numbers have 64 bits


def save(model: PrivateLasso, path: _Path) -> None:
    """Write a fitted model to a file, which is replaced in one step if it exists."""
    if type(model) not in _CLASSES.values():
        raise ValueError(
            f"model must be one of {', '.join(_CLASSES)}, got {type(model).__name__}; "
            "save the estimator itself"
        )
    check_is_fitted(model, "fitted_")
    try:
        header, arrays = _content(model)
        _model(header, arrays)  # do not write a file that could not be read back
    except ValueError as error:
        raise ModelFileError(f"{os.fsdecode(path)} was not written: {error}") from error
    write(path, header, arrays)


def load(path: _Path) -> Any:
    """Load a model from a file; its predictions are the same to the last bit.

    Loading runs no code from the file.

    Parameters
    ----------
    path : str or path
        File that ``save`` of an estimator wrote.

    Returns
    -------
    estimator
        The fitted model. An online model predicts, but does not continue to learn.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or is of a newer version. It is a `ValueError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dplasso import PrivateLassoClassifier, load
    >>> X, y = np.tile([[1.0, 0.0], [0.0, 1.0]], (500, 1)), np.tile([1, 0], 500)
    >>> model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=1000, x_bound=1.0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model")
    ...     bool((load(Path(folder) / "model").predict(X) == model.predict(X)).all())
    True
    """
    header, arrays = read(path)
    try:
        if header.get("class") in online_saving.NAMES:
            return online_saving.loaded(header, arrays)
        return _model(header, arrays)
    # The author of the file may have chosen any values, which may raise any error.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{os.fsdecode(path)} holds no model to load: {reason}") from error


def _content(model: PrivateLasso) -> tuple[_Header, _Arrays]:
    """Build the header and arrays of a fitted model."""
    from dplasso import __version__

    arrays = arrays_of(model.fitted_)
    header = {
        "class": type(model).__name__,
        "written_by": __version__,
        "parameters": parameter_forms(model, arrays, partial(_held, model)),
        "classes": to_json(getattr(model, "classes_", None), "classes", arrays),
        "feature_names": to_json(_names_to_keep(model), "features", arrays),
        "n_features": int(model.n_features_in_),
        "n_iter": int(model.n_iter_),
        "sparse_coef": model.sparsified_,
        "privacy": to_json(model.privacy_, "privacy", arrays),
        "table_plan": to_json(getattr(model, "table_plan_", None), "table_plan", arrays),
        **({_CENTRED: True} if model.fitted_.reader.centres else {}),
    }
    return header, arrays


def arrays_of(fitted: Fitted) -> _Arrays:
    """Return the arrays of a model file that hold the result of the fit."""
    weights, found = fitted.weights, fitted.correction
    correction = {} if found is None else {_CORRECTION: np.append(found.scale, found.shifts)}
    return {
        **correction,
        "weights_data": weights.data,
        "weights_indices": weights.indices.astype(np.int64),
        "weights_indptr": weights.indptr.astype(np.int64),
        "intercept": fitted.intercepts,
        "vertices": fitted.released,
    }


def _names_to_keep(model: PrivateLasso) -> Labels | None:
    """Return the feature names, or None if the model's table plan implies them."""
    names = getattr(model, "feature_names_in_", None)
    space = _planned(getattr(model, "table_plan_", None), model.n_features_in_)
    if names is None:
        return None
    if space is not None and _same(space.names, names):
        return None
    return np.asarray(names)


def _is_planned(model: PrivateLasso, x_bound: object) -> bool:
    space = _planned(getattr(model, "table_plan_", None), model.n_features_in_)
    if space is None:
        return False
    if isinstance(x_bound, SparseBounds):
        return bool(x_bound == space.bounds)
    if len(space.bounds.paired):  # an array has no ranges
        return False
    return isinstance(x_bound, np.ndarray) and np.array_equal(space.bounds, x_bound)


def _same(names: FeatureNames, others: Sequence[str]) -> bool:
    if isinstance(others, FeatureNames):
        return bool(names == others)
    return len(names) == len(others) and all(map(operator.eq, names, others))


def _planned(plan: _Header | None, columns: int) -> FeatureSpace | None:
    """Return the features that a schema makes, if there are as many as the model has."""
    if plan is None or "target" not in plan:
        return None
    space = FeatureSpace(Schema.from_dict(plan), plan.get("scaled", False))
    return space if space.size == columns else None


def _held(model: PrivateLasso, name: str, value: Any) -> Any:
    """Return what the file holds of a parameter: not bounds that the table plan implies.

    Facts that were declared with the rows of the fit are those of the model from now on.
    """
    value = vars(model).get("declared_", {}).get(name, value)
    if name == "x_bound" and _is_planned(model, value):
        return None
    if isinstance(value, SparseBounds):
        return value.with_pairs() if len(value.paired) else np.asarray(value)
    return dataclasses.asdict(value) if isinstance(value, Sparsifier) else value


def _model(header: _Header, arrays: _Arrays) -> PrivateLasso:
    """Build the fitted model from a header and arrays, and check everything it relies on."""
    _check_entries(header, arrays)
    model = _unfitted(header["class"], header["parameters"], arrays)
    columns, outputs = header["n_features"], len(arrays["intercept"])
    model.n_features_in_ = columns
    if header["feature_names"] is not None:
        model.feature_names_in_ = _feature_names(
            from_json(header["feature_names"], arrays), columns
        )
    if isinstance(model, PrivateLassoClassifier):
        model.classes_ = _labels(from_json(header["classes"], arrays), outputs)
    elif outputs != 1:
        raise ValueError("a regressor has more than one output")
    shape = outputs, columns
    weights, released = _weights(arrays, shape), _vertices(arrays["vertices"], shape)
    model.privacy_ = PrivacyStatement(in_current_words(from_json(header["privacy"], arrays)))
    check_statement(model.privacy_, header["class"], columns)
    if header["table_plan"] is not None:
        model.table_plan_ = from_json(header["table_plan"], arrays)
        space = _planned(model.table_plan_, columns)
        if space is not None and header["feature_names"] is None:
            model.feature_names_in_ = space.names
        stated = model.privacy_["bounds"].get("x_bound", {}).get("source", "declared")
        if space is not None and model.x_bound is None and stated == "declared":
            model.x_bound = space.bounds
    fitter, reader = _solver_and_reader(model, released, header.get(_CENTRED, False))
    fitted = Fitted(
        *(fitter.name, weights, arrays["intercept"], released, header["n_iter"], reader),
        correction=_correction(arrays.get(_CORRECTION), outputs),
    )
    return model.restore(fitted, sparsified=header["sparse_coef"])


def _correction(found: NDArray[Any] | None, outputs: int) -> Correction | None:
    """Build the correction of probabilities, which files of earlier versions do not have."""
    if found is None:
        return None
    if found.dtype != np.float64 or found.shape != (1 + outputs,):
        raise ValueError(f"array {_CORRECTION} is not a scale and one shift per output")
    if not np.all(np.isfinite(found)) or found[0] <= 0.0:
        raise ValueError(f"array {_CORRECTION} is not finite, or its scale not positive")
    return Correction(float(found[0]), found[1:])


def _solver_and_reader(
    model: PrivateLasso, released: Ints, centres: bool
) -> tuple[Fitter, RowReader]:
    """Derive how new rows are mapped from the statement and the parameters."""
    fitter = registry.fitter_of(str(model.privacy_.get("solver", registry.UNNAMED)))
    if not fitter.releases_intercept and np.any(released[:, 0] == model.n_features_in_):
        raise ValueError("vertices of chosen columns name the intercept, which is none")
    row_map, x_bound = _row_map(model.privacy_), _x_bound(model)
    room = model.privacy_.get(NEW_ROWS)  # not in files of earlier versions
    if room is not None:
        checks.bound(NEW_ROWS, room)
    reader = fitter.reader(row_map, model.n_features_in_, x_bound, released, room, centres)
    reader.bounds(np.empty(0, np.int64))  # checks the bounds without expanding any column's
    _check_bounds(model.privacy_, fitter)
    return fitter, reader


def _x_bound(model: PrivateLasso) -> XBound:
    """Return the bound that a model was fitted with: declared, 1 by default, or released."""
    stated = model.privacy_["bounds"].get("x_bound", {})
    if stated.get("source") == private_bound.SOURCE:
        return float(stated["value"])
    names = getattr(model, "feature_names_in_", None)
    found: XBound = 1.0 if model.x_bound is None else by_position(model.x_bound, names)
    return found


def _check_bounds(statement: PrivacyStatement, fitter: Fitter) -> None:
    """Reject stated bounds that are not positive numbers: reports scale values by them."""
    stated = statement["bounds"].get("x_bound", {}).get("value")
    if not isinstance(stated, str):
        positive_bound(stated)
    for name in fitter.stated_bounds:
        checks.bound(name, statement["bounds"].get(name, {}).get("value"))


def _row_map(statement: PrivacyStatement) -> str:
    """Return the map of rows; files of earlier versions have no entry and used the first map."""
    found = statement.get("row_map", ROW_MAPS[0])
    if found not in ROW_MAPS:
        raise ValueError(f"row_map {found!r} is unknown; upgrade dplasso to read it")
    return str(found)


def _check_entries(header: _Header, arrays: _Arrays) -> None:
    """Reject missing entries, unknown entries, and entries of the wrong type."""
    if header.get(_CENTRED, True) is not True:
        raise ValueError(f"header entry {_CENTRED!r} is not true; leave it out instead")
    for name in header.keys() - _ENTRIES.keys() - {_CENTRED}:
        raise ValueError(f"header entry {name!r} is unknown; upgrade dplasso to read it")
    check_entries(header, _ENTRIES)
    for name, (dtype, dimensions) in _ARRAYS.items():
        found = arrays.get(name)
        if found is None or found.dtype != dtype or found.ndim != dimensions:
            raise ValueError(f"array {name} is missing or of the wrong type")
    if not 1 <= header["n_features"] <= _MOST_FEATURES:
        raise ValueError("n_features is below 1 or beyond 64 bits")
    if header["n_iter"] < 0:
        raise ValueError("n_iter is below 0")


def _unfitted(name: str, forms: _Header, arrays: _Arrays) -> PrivateLasso:
    if name not in _CLASSES:
        raise ValueError(f"class {name!r} is unknown; upgrade dplasso to read it")
    parameters = {key: from_json(form, arrays) for key, form in forms.items()}
    parameters = checked_parameters(parameters, _CLASSES[name])
    if isinstance(parameters.get("n_nonzero"), dict):
        parameters["n_nonzero"] = Sparsifier(**parameters["n_nonzero"])
    return _CLASSES[name](**parameters)


def _feature_names(names: object, columns: int) -> Labels:
    if not (
        isinstance(names, np.ndarray)
        and names.shape == (columns,)
        and names.dtype == object
        and all(isinstance(name, str) for name in names)
    ):
        raise ValueError("feature_names are not one text per column")
    return names


def _labels(labels: object, outputs: int) -> Labels:
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or len(labels) < 2:
        raise ValueError("classes are not a list of at least two labels")
    if outputs != (1 if len(labels) == 2 else len(labels)):
        raise ValueError("classes do not fit the number of intercepts")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("classes are not finite")
    if len(set(labels.tolist())) < len(labels):
        raise ValueError("classes have a label twice")
    return labels


def _weights(arrays: _Arrays, shape: tuple[int, int]) -> sp.csr_array:
    """Build the weights; reject arrays that a compiled loop would read out of bounds."""
    data, indices, starts = (arrays[f"weights_{part}"] for part in ("data", "indices", "indptr"))
    if not (
        len(starts) == shape[0] + 1
        and starts[0] == 0
        and starts[-1] == len(indices) == len(data)
        and np.all(starts[1:] >= starts[:-1])
    ):
        raise ValueError("weights_indptr does not fit the other arrays")
    rows = np.repeat(np.arange(shape[0]), np.diff(starts))
    rising = (indices[1:] > indices[:-1]) | (rows[1:] > rows[:-1])
    if not np.all(rising) or not np.all((indices >= 0) & (indices < shape[1])):
        raise ValueError("weights_indices are not in order, or beyond the last column")
    if not np.all(np.isfinite(data)) or not np.all(np.isfinite(arrays["intercept"])):
        raise ValueError("weights_data or intercept are not finite")
    return sp.csr_array((data, indices, starts), shape=shape)


def _vertices(vertices: Ints, shape: tuple[int, int]) -> Ints:
    """Check released vertices: column (the last is the intercept), sign, class if more than two."""
    outputs, columns = shape
    if vertices.shape[1] != (2 if outputs == 1 else 3):
        raise ValueError("vertices do not have 2 columns, or 3 for more than two classes")
    lowest = np.array([0, -1, 0])[: vertices.shape[1]]
    highest = np.array([columns, 1, outputs - 1])[: vertices.shape[1]]
    if np.any((vertices < lowest) | (vertices > highest)) or np.any(vertices[:, 1] == 0):
        raise ValueError("vertices have columns, signs or classes that do not exist")
    return vertices

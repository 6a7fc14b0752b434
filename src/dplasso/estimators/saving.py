"""Fitted models to files and back. The format is described in docs/model_format.md."""

import dataclasses
import operator
import os
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplasso.base import checks
from dplasso.data import ColumnBounds
from dplasso.data.columns import positive_bound
from dplasso.data.row_maps import ROW_MAPS
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.estimators import online_saving, private_bound
from dplasso.privacy.stated import check_statement
from dplasso.privacy.statement import PrivacyStatement
from dplasso.reading.plans import FeatureNames, FeatureSpace, TablePlan
from dplasso.storage import ModelFileError, read, write
from dplasso.storage.values import from_json, to_json

_Path = str | os.PathLike[str]
_Arrays = dict[str, NDArray[Any]]

_ENTRIES = {  # types in JSON
    "class": (str,),
    "written_by": (str,),
    "parameters": (dict,),
    "classes": (dict, type(None)),
    "feature_names": (dict, type(None)),
    "n_features": (int,),
    "n_iter": (int,),
    "sparse_coef": (bool,),
    "privacy": (dict,),
    "table_plan": (dict, type(None)),
}
_ARRAYS = {  # dtype and dimensions
    "weights_data": (np.float64, 1),
    "weights_indices": (np.int64, 1),
    "weights_indptr": (np.int64, 1),
    "intercept": (np.float64, 1),
    "vertices": (np.int64, 2),
}
_MOST_FEATURES = 1 << 62  # numbers of columns take 64 bits


def save(model: Any, path: _Path) -> None:
    """Write a fitted model to a file, which is replaced in one step if it exists.

    An accountant is not saved, nor a random_state other than a whole number: None takes its place.
    """
    if type(model) not in _classes().values():
        raise ValueError(
            f"model must be one of {', '.join(_classes())}, got {type(model).__name__}; "
            "save the estimator itself"
        )
    check_is_fitted(model, "_weights")
    try:
        header, arrays = _content(model)
        _model(header, arrays)  # what could not be read back is not written
    except ValueError as error:
        raise ModelFileError(f"{os.fsdecode(path)} was not written: {error}") from error
    write(path, header, arrays)


def load(path: _Path) -> Any:
    """The model that was saved in a file; its predictions are the same to the last bit.

    Loading runs nothing that is in the file. One that is damaged, foreign or of a newer version
    raises `ModelFileError`, which is a `ValueError`.
    """
    header, arrays = read(path)
    try:
        if header.get("class") in online_saving.NAMES:
            return online_saving.loaded(header, arrays)
        return _model(header, arrays)
    # Whoever wrote the file chose every value in it: there is no telling what they trip.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{os.fsdecode(path)} holds no model to load: {reason}") from error


def _classes() -> dict[str, Any]:
    # Estimators have a save() of their own, which would otherwise close a circle of imports.
    from dplasso.estimators.classifier import PrivateLassoClassifier
    from dplasso.estimators.regressor import PrivateLassoRegressor

    return {found.__name__: found for found in (PrivateLassoClassifier, PrivateLassoRegressor)}


def _content(model: Any) -> tuple[dict[str, Any], _Arrays]:
    """Header and arrays of a fitted model."""
    from dplasso import __version__

    weights = model._weights
    arrays = {
        "weights_data": weights.data,
        "weights_indices": weights.indices.astype(np.int64),
        "weights_indptr": weights.indptr.astype(np.int64),
        "intercept": model.intercept_,
        "vertices": model.vertices_,
    }
    header = {
        "class": type(model).__name__,
        "written_by": __version__,
        "parameters": _parameters(model, arrays),
        "classes": to_json(getattr(model, "classes_", None), "classes", arrays),
        "feature_names": to_json(_names_to_keep(model), "features", arrays),
        "n_features": int(model.n_features_in_),
        "n_iter": int(model.n_iter_),
        "sparse_coef": model._kept_sparse,
        "privacy": to_json(model.privacy_, "privacy", arrays),
        "table_plan": to_json(getattr(model, "table_plan_", None), "table_plan", arrays),
    }
    return header, arrays


def _names_to_keep(model: Any) -> NDArray[Any] | None:
    """Names of the features, unless the model's plan of a table says them in fewer words."""
    names = getattr(model, "feature_names_in_", None)
    space = _planned(getattr(model, "table_plan_", None), model.n_features_in_)
    if space is None or names is None:
        return names
    same = names == space.names if isinstance(names, FeatureNames) else _same(space.names, names)
    return None if same else np.asarray(names)


def _is_planned(model: Any, x_bound: Any) -> bool:
    space = _planned(getattr(model, "table_plan_", None), model.n_features_in_)
    if space is None:
        return False
    if isinstance(x_bound, SparseBounds):
        return bool(x_bound == space.bounds)
    return isinstance(x_bound, np.ndarray) and np.array_equal(space.bounds, x_bound)


def _same(names: FeatureNames, others: Any) -> bool:
    return len(names) == len(others) and all(map(operator.eq, names, others))


def _planned(plan: dict[str, Any] | None, columns: int) -> FeatureSpace | None:
    """The features that a plan of a table makes, if they are those of the model."""
    if plan is None or "target" not in plan:
        return None
    space = FeatureSpace(TablePlan.from_dict(plan))
    return space if space.size == columns else None


def _parameters(model: Any, arrays: _Arrays) -> dict[str, Any]:
    forms = {}
    for name, value in model.get_params(deep=False).items():
        seeded = isinstance(value, Integral) and not isinstance(value, bool)
        if name == "accountant" or (name == "random_state" and not seeded):
            value = None
        if name == "x_bound" and _is_planned(model, value):
            value = None
        if isinstance(value, SparseBounds):
            value = np.asarray(value)
        if name == "sparsify" and dataclasses.is_dataclass(value):
            value = dataclasses.asdict(value)  # type: ignore[arg-type]
        try:
            forms[name] = to_json(value, f"parameter_{name}", arrays)
        except ValueError as error:
            raise ValueError(
                f"parameter {name} {error}; replace it with set_params() before saving"
            ) from error
    return forms


def _model(header: dict[str, Any], arrays: _Arrays) -> Any:
    """The fitted model of a header and arrays, which are checked for all that it relies on."""
    _check_entries(header, arrays)
    model = _unfitted(header["class"], header["parameters"], arrays)
    columns, outputs = header["n_features"], len(arrays["intercept"])
    model.n_features_in_ = columns
    if header["feature_names"] is not None:
        model.feature_names_in_ = _feature_names(
            from_json(header["feature_names"], arrays), columns
        )
    if hasattr(model, "classes"):
        model.classes_ = _labels(from_json(header["classes"], arrays), outputs)
    elif outputs != 1:
        raise ValueError("a regressor has more than one output")
    model.intercept_ = arrays["intercept"]
    model._weights = _weights(arrays, (outputs, columns))
    model._dense, model._kept_sparse = None, header["sparse_coef"]
    model.vertices_ = _vertices(arrays["vertices"], (outputs, columns))
    model.n_iter_ = header["n_iter"]
    model.privacy_ = PrivacyStatement(from_json(header["privacy"], arrays))
    check_statement(model.privacy_, header["class"], columns)
    model.solver_ = _known(model.privacy_, "solver", ("frank_wolfe", "gradient", "select"))
    if model.solver_ == "select" and np.any(model.vertices_[:, 0] == columns):
        raise ValueError("vertices of chosen columns name the intercept, which is none")
    model.rows_ = _known(model.privacy_, "rows", ROW_MAPS)
    if header["table_plan"] is not None:
        model.table_plan_ = from_json(header["table_plan"], arrays)
        space = _planned(model.table_plan_, columns)
        if space is not None and header["feature_names"] is None:
            model.feature_names_in_ = space.names
        if space is not None and model.x_bound is None:
            model.x_bound = space.bounds
    _check_bounds(model)
    return model


def _check_bounds(model: Any) -> None:
    """Bounds that rows to predict are clipped to are sound; no column's is written out."""
    names, none = getattr(model, "feature_names_in_", None), np.empty(0, np.int64)
    ColumnBounds.of(private_bound.bound_of(model), model.n_features_in_, names, none)
    stated = model.privacy_["bounds"].get("x_bound", {}).get("value")
    if not isinstance(stated, str):
        positive_bound(stated)
    if model.solver_ == "frank_wolfe":
        checks.bound("radius", model.privacy_["bounds"].get("radius", {}).get("value"))


def _known(statement: PrivacyStatement, name: str, known: tuple[str, ...]) -> str:
    """How rows are read; files of earlier code do not say, and know the first way only."""
    found = statement.get(name, known[0])
    if found not in known:
        raise ValueError(f"{name} {found!r} is unknown; upgrade dplasso to read it")
    return str(found)


def _check_entries(header: dict[str, Any], arrays: _Arrays) -> None:
    """Whether everything is there, nothing else, and of the right type."""
    for name in header.keys() - _ENTRIES.keys():
        raise ValueError(f"header entry {name!r} is unknown; upgrade dplasso to read it")
    for name, types in _ENTRIES.items():
        if name not in header or type(header[name]) not in types:
            raise ValueError(f"header entry {name!r} is missing or of the wrong type")
    for name, (dtype, dimensions) in _ARRAYS.items():
        found = arrays.get(name)
        if found is None or found.dtype != dtype or found.ndim != dimensions:
            raise ValueError(f"array {name} is missing or of the wrong type")
    if not 1 <= header["n_features"] <= _MOST_FEATURES:
        raise ValueError("n_features is below 1 or beyond 64 bits")
    if header["n_iter"] < 0:
        raise ValueError("n_iter is below 0")


def _unfitted(name: str, forms: dict[str, Any], arrays: _Arrays) -> Any:
    from dplasso.estimators.sparsifier import Sparsifier

    if name not in _classes():
        raise ValueError(f"class {name!r} is unknown; upgrade dplasso to read it")
    parameters = {key: from_json(form, arrays) for key, form in forms.items()}
    online_saving.check_parameter_names(parameters, _classes()[name])
    if isinstance(parameters.get("sparsify"), dict):
        parameters["sparsify"] = Sparsifier(**parameters["sparsify"])
    return _classes()[name](**parameters)


def _feature_names(names: Any, columns: int) -> NDArray[Any]:
    sound = isinstance(names, np.ndarray) and names.shape == (columns,) and names.dtype == object
    if not sound or not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names are not one text a column")
    found: NDArray[Any] = names
    return found


def _labels(labels: Any, outputs: int) -> NDArray[Any]:
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
    """Weights in compressed rows, refused where a compiled loop would run out of their arrays."""
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


def _vertices(vertices: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Released vertices: column (the last is the intercept), sign, and class if there are many."""
    outputs, columns = shape
    if vertices.shape[1] != (2 if outputs == 1 else 3):
        raise ValueError("vertices do not have 2 columns, or 3 for more than two classes")
    lowest = np.array([0, -1, 0])[: vertices.shape[1]]
    highest = np.array([columns, 1, outputs - 1])[: vertices.shape[1]]
    if np.any((vertices < lowest) | (vertices > highest)) or np.any(vertices[:, 1] == 0):
        raise ValueError("vertices have columns, signs or classes that do not exist")
    return vertices

"""Online models to files and back: snapshots, which are public, and states, which are secret."""

import contextlib
import os
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplasso.estimators.online_rows import RowForm
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.storage import ModelFileError, read, write
from dplasso.storage.values import from_json, to_json
from dplasso.streams import State

_Path = str | os.PathLike[str]
_Arrays = dict[str, NDArray[Any]]

NAMES = ("PrivateOnlineClassifier", "PrivateOnlineRegressor")
STATE, VERSION = "dplasso-online-state", 1
_ENTRIES = {
    "class": str,
    "written_by": str,
    "parameters": dict,
    "classes": (dict, type(None)),
    "feature_names": (dict, type(None)),
    "n_features": int,
    "rows_seen": int,
    "privacy": dict,
}


def save(model: Any, path: _Path) -> None:
    """Write a snapshot: weights and what is public of them. An accountant is not saved."""
    check_is_fitted(model, "_weights")
    try:
        header, arrays = _described(model)
        header |= {
            "rows_seen": model.rows_seen_,
            "privacy": to_json(dict(model.privacy_), "privacy", arrays),
        }
        arrays["weights"] = np.ascontiguousarray(model._weights)
    except ValueError as error:
        raise ModelFileError(f"{os.fsdecode(path)} was not written: {error}") from error
    write(path, header, arrays)


def loaded(header: dict[str, Any], arrays: _Arrays) -> Any:
    """The model of a snapshot: it predicts as it did, and does not go on learning."""
    for name, kind in _ENTRIES.items():
        if not isinstance(header.get(name), kind):  # type: ignore[arg-type]
            raise ValueError(f"header entry {name!r} is missing or of the wrong type")
    model = _unfitted(header, arrays)
    _describe(model, header, arrays)
    weights, columns = arrays.get("weights"), header["n_features"]
    shape = (model._outputs(), columns + bool(model.fit_intercept))
    if weights is None or weights.dtype != np.float64 or weights.shape != shape:
        raise ValueError("weights are missing, or do not fit the classes and columns")
    model._form = RowForm(
        columns,
        unit=model.rows == "unit",
        intercept=bool(model.fit_intercept),
        names=model.feature_names,
    )
    model._weights, model._run, model._rows_seen = weights, None, header["rows_seen"]
    model._stated = OnlineStatement(from_json(header["privacy"], arrays))
    return model


def save_state(model: Any, path: _Path, more: dict[str, Any] | None = None) -> None:
    """Write the secret state, readable by its owner alone; ``more`` is kept beside it."""
    check_is_fitted(model, "_weights")
    if vars(model).get("_run") is None:
        raise ValueError("this model is a copy or was loaded, and has no state to save")
    header, arrays = _described(model)
    state = model._run.state()
    receipt = None if model._receipt is None else list(model._receipt)
    header |= {"kind": STATE, "version": VERSION, "state": state.header, "receipt": receipt}
    with owner_only():
        write(path, {**header, "more": more or {}}, {**arrays, **state.arrays})


def load_state(model: Any, path: _Path) -> dict[str, Any]:
    """Have an unfitted model go on from a state; returns what was kept beside it."""
    header, arrays = read(path)
    if header.get("kind") != STATE or header.get("version") != VERSION:
        raise ModelFileError(f"{os.fsdecode(path)} holds no state of an online model")
    ours, usual = (_described(known, fitted=False)[0] for known in (model, type(model)()))
    for name, form in ours["parameters"].items():
        # A parameter that was not there yet had the value it now has unless told.
        then = header["parameters"].get(name, usual["parameters"][name])
        if then != form and name != "random_state":
            raise ValueError(
                f"{name} is not what it was when {os.fsdecode(path)} was written; "
                "a stream goes on with the parameters it began with"
            )
    model._check_parameters()
    _describe(model, header, arrays)
    receipt = header["receipt"]
    model._receipt = None if receipt is None else Receipt(*receipt)
    model._begin(header["n_features"], State(header["state"], arrays))
    more: dict[str, Any] = header["more"]
    return more


@contextlib.contextmanager
def owner_only() -> Iterator[None]:
    """Files made within are for their owner's eyes."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _described(model: Any, fitted: bool = True) -> tuple[dict[str, Any], _Arrays]:
    """Parameters, and what is publicly known of labels and columns."""
    from dplasso import __version__

    arrays: _Arrays = {}
    header: dict[str, Any] = {
        "class": type(model).__name__,
        "written_by": __version__,
        "parameters": {
            name: _form_of(name, value, arrays)
            for name, value in model.get_params(deep=False).items()
        },
    }
    if fitted:
        classes, names = (vars(model).get(key) for key in ("classes_", "feature_names_in_"))
        header["classes"] = to_json(classes, "classes", arrays)
        header["feature_names"] = to_json(names, "features", arrays)
        header["n_features"] = int(model.n_features_in_)
    return header, arrays


def _form_of(name: str, value: Any, arrays: _Arrays) -> Any:
    seeded = isinstance(value, Integral) and not isinstance(value, bool)
    if name == "accountant" or (name == "random_state" and not seeded):
        value = None
    if name in ("classes", "feature_names") and value is not None:
        value = list(np.asarray(value).tolist())
    try:
        return to_json(value, f"parameter_{name}", arrays)
    except ValueError as error:
        raise ValueError(
            f"parameter {name} {error}; replace it with set_params() before saving"
        ) from error


def _describe(model: Any, header: dict[str, Any], arrays: _Arrays) -> None:
    if header["classes"] is not None:
        model.classes_ = from_json(header["classes"], arrays)
        if not isinstance(model.classes_, np.ndarray) or len(model.classes_) < 2:
            raise ValueError("classes are not a list of at least two labels")
    if header["feature_names"] is not None:
        model.feature_names_in_ = from_json(header["feature_names"], arrays)
    if not 1 <= header["n_features"] < 1 << 31:
        raise ValueError("n_features is below 1 or beyond 31 bits")
    model.n_features_in_ = header["n_features"]


def _unfitted(header: dict[str, Any], arrays: _Arrays) -> Any:
    from dplasso.estimators.online_classifier import PrivateOnlineClassifier
    from dplasso.estimators.online_regressor import PrivateOnlineRegressor

    kinds: dict[str, Any] = dict(
        zip(NAMES, (PrivateOnlineClassifier, PrivateOnlineRegressor), strict=True)
    )
    parameters = {key: from_json(form, arrays) for key, form in header["parameters"].items()}
    kind = kinds[header["class"]]
    for unknown in parameters.keys() - kind().get_params(deep=False).keys():
        raise ValueError(f"parameter {unknown!r} is unknown; upgrade dplasso to read it")
    return kind(**parameters)

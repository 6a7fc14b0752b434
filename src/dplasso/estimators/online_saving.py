"""Online models to files and back: snapshots, which are public, and states, which are secret."""

import functools
import os
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplasso.estimators.online_rows import RowForm
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.privacy.stated import check_statement
from dplasso.privacy.statement import READ
from dplasso.storage import ModelFileError, read, single_use, write
from dplasso.storage.private_files import check_own
from dplasso.storage.values import from_json, to_json
from dplasso.streams import State

_Path = str | os.PathLike[str]
_Arrays = dict[str, NDArray[Any]]

NAMES = ("PrivateOnlineClassifier", "PrivateOnlineRegressor")
STATE, VERSION = "dplasso-online-state", 1
_ENTRIES = {
    "class": (str,),
    "written_by": (str,),
    "parameters": (dict,),
    "classes": (dict, type(None)),
    "feature_names": (dict, type(None)),
    "n_features": (int,),
    "rows_seen": (int,),
    "privacy": (dict,),
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
    for name, kinds in _ENTRIES.items():
        if type(header.get(name)) not in kinds:
            raise ValueError(f"header entry {name!r} is missing or of the wrong type")
    model = _unfitted(header, arrays)
    _describe(model, header, arrays)
    weights, columns = arrays.get("weights"), header["n_features"]
    shape = (model._outputs(), columns + bool(model.fit_intercept))
    if weights is None or weights.dtype != np.float64 or weights.shape != shape:
        raise ValueError("weights are missing, or do not fit the classes and columns")
    if not np.all(np.isfinite(weights)) or header["rows_seen"] < 0:
        raise ValueError("weights are not finite, or rows_seen is below 0")
    model._form = RowForm(
        columns,
        unit=model.rows == "unit",
        intercept=bool(model.fit_intercept),
        names=model.feature_names,
    )
    model._weights, model._run, model._rows_seen = weights, None, header["rows_seen"]
    model._stated = OnlineStatement(from_json(header["privacy"], arrays))
    check_statement(model._stated, header["class"], columns)
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
    write(path, {**header, "more": more or {}}, {**arrays, **state.arrays}, released=False)


def _refusing_damage(
    read_state: Callable[[Any, _Path], dict[str, Any]],
) -> Callable[[Any, _Path], dict[str, Any]]:
    """Whoever altered a state chose every value in it: there is no telling what they trip."""

    @functools.wraps(read_state)
    def reading(model: Any, path: _Path) -> dict[str, Any]:
        try:
            return read_state(model, path)
        except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
            raise ModelFileError(
                f"{os.fsdecode(path)} holds no state that a stream can go on from; bring back the "
                "one that was saved"
            ) from error

    return reading


@_refusing_damage
def load_state(model: Any, path: _Path) -> dict[str, Any]:
    """Have an unfitted model go on from a state; returns what was kept beside it.

    The file stays: for callers that keep a journal of the rows that follow it.
    """
    check_own(path)  # whoever has written it knows the noise
    header, arrays = read(path)
    single_use.refuse_used(path, header)
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
    more: dict[str, Any] = header["more"]
    if type(more) is not dict:
        raise TypeError("what was kept beside the state is no mapping")
    receipt = header["receipt"]
    model._receipt = None if receipt is None else Receipt(*receipt)
    model._begin(header["n_features"], State(header["state"], arrays))
    return more


def hand_over(model: Any, path: _Path) -> None:
    """Save a state that replaces the one saved before, if that was not used yet.

    The model notes where it is: before it learns on, `reclaim` takes the state back. Saving may be
    interrupted when the file is there already: whatever raises, no second state is left behind.
    """
    earlier, is_state = model._saved, _is_state_of(model)
    model._saved = os.path.abspath(os.fsdecode(path))
    try:
        if earlier is None:
            save_state(model, path)
        else:
            with single_use.taken(earlier, is_state, instead=path):
                if os.path.realpath(path) != os.path.realpath(earlier):
                    single_use.leave_note(earlier)
                save_state(model, path)
    except BaseException:
        if earlier is None:
            single_use.withdraw(path, is_state)
        model._saved = earlier
        raise


def reclaim(model: Any) -> None:
    """Make the state that a model has saved useless, before the model learns on."""
    if model._saved is not None:
        with single_use.taken(model._saved, _is_state_of(model)):
            single_use.leave_note(model._saved)
        model._saved = None


def take_over(model: Any, path: _Path) -> None:
    """Have an unfitted model go on from a state that nobody can load again."""
    if "saves" in load_state(model, path):
        raise ModelFileError(
            f"{os.fsdecode(path)} belongs to `dplasso online`, whose journal has rows that follow "
            "it; go on with the command"
        )
    with single_use.taken(path, _is_state_of(model)):
        single_use.leave_note(path)


def _is_state_of(model: Any) -> Callable[[dict[str, Any]], bool]:
    """Whether a header is that of the state a model is in: its key, and how far it has come."""
    now = model._run.total.place

    def is_state(header: dict[str, Any]) -> bool:
        known = header.get("state", {}).get("sum", {})
        return bool((known.get("key"), known.get("position")) == now)

    return is_state


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
        if classes is not None:
            header["classes_source"] = vars(model).get("_classes_source")
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
        if not isinstance(model.classes_, np.ndarray) or model.classes_.ndim != 1:
            raise ValueError("classes are not a list of labels")
        if not 2 <= len(set(model.classes_.tolist())) == len(model.classes_):
            raise ValueError("classes are not two or more different labels")
        # States of earlier versions do not say it; what was not declared was read.
        usual = READ if model.classes is None else "declared"
        model._classes_source = str(header.get("classes_source") or usual)
    if header["feature_names"] is not None:
        names = from_json(header["feature_names"], arrays)
        whole = isinstance(names, np.ndarray) and names.shape == (header["n_features"],)
        if not whole or not all(isinstance(name, str) for name in names):
            raise ValueError("feature_names are not one text per column")
        model.feature_names_in_ = names
    if type(header["n_features"]) is not int or not 1 <= header["n_features"] < 1 << 31:
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
    check_parameter_names(parameters, kind)
    return kind(**parameters)


def check_parameter_names(parameters: dict[str, Any], kind: Any) -> None:
    """Parameters that are known; a file never holds an accountant, nor a generator."""
    for unknown in parameters.keys() - kind().get_params(deep=False).keys():
        raise ValueError(f"parameter {unknown!r} is unknown; upgrade dplasso to read it")
    if parameters.get("accountant") is not None:
        raise ValueError("parameter 'accountant' is not null; pass the ledger after loading")
    seed = parameters.get("random_state")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral)):
        raise ValueError("parameter 'random_state' is neither null nor a whole number")

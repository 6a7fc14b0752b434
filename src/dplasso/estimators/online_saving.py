"""Save and load online models: snapshots, which are public, and states, which are secret."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplasso.base import checks
from dplasso.base.wording import ParameterError, Setting
from dplasso.estimators.model_header import (
    ENTRIES,
    check_entries,
    checked_parameters,
    parameter_forms,
)
from dplasso.estimators.online_checks import check_parameters
from dplasso.estimators.online_rules import check_version, outputs_for, row_form
from dplasso.estimators.online_run import OnlineRun, Snapshot
from dplasso.estimators.parameters import current_names
from dplasso.estimators.statement import in_current_words
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.privacy.stated import check_statement
from dplasso.privacy.statement import READ
from dplasso.schema import FeatureSpace, Schema
from dplasso.storage import ModelFileError, read, single_use, write
from dplasso.storage.private_files import check_own
from dplasso.storage.values import from_json, to_json
from dplasso.streams import State

_Path = str | os.PathLike[str]
_Arrays = dict[str, NDArray[Any]]

NAMES = ("PrivateOnlineClassifier", "PrivateOnlineRegressor")
STATE, VERSION = "dplasso-online-state", 1


@dataclass(frozen=True)
class Known:
    """Public facts about the labels and columns of a stream."""

    n_features: int
    classes: NDArray[Any] | None
    classes_source: str | None
    feature_names: NDArray[Any] | None

    def describe(self, model: Any) -> None:
        """Set these facts as attributes of a fitted model."""
        model.n_features_in_ = self.n_features
        if self.classes is not None:
            model.classes_, model.classes_source_ = self.classes, self.classes_source
        if self.feature_names is not None:
            model.feature_names_in_ = self.feature_names


@dataclass(frozen=True)
class SavedState:
    """A state that was read from a file; ``more`` has the further entries saved with it."""

    known: Known
    receipt: Receipt | None
    state: State
    more: dict[str, Any]


def save(model: Any, path: _Path) -> None:
    """Write a snapshot: weights and public facts. An accountant is not saved."""
    check_is_fitted(model)
    try:
        header, arrays = _described(model)
        header |= {
            "rows_seen": model.rows_seen_,
            "rules": model.stream_.rules,
            "privacy": to_json(dict(model.privacy_), "privacy", arrays),
        }
        arrays["weights"] = np.ascontiguousarray(model.stream_.weights)
    except ValueError as error:
        raise ModelFileError(f"{os.fsdecode(path)} was not written: {error}") from error
    write(path, header, arrays)


def loaded(header: dict[str, Any], arrays: _Arrays) -> Any:
    """Return the model of a snapshot: it makes the same predictions, but does not learn."""
    check_entries(header, {**ENTRIES, "rows_seen": (int,)})
    model = _unfitted(header, arrays)
    check_parameters(model)
    known = _known(model, header, arrays)
    weights, rows_seen = arrays.get("weights"), header["rows_seen"]
    version = header.get("rules", 1)
    check_version(version)
    form = row_form(model, known.n_features, version)
    shape = (outputs_for(known.classes), form.width)
    if weights is None or weights.dtype != np.float64 or weights.shape != shape:
        raise ValueError("weights are missing, or do not fit the classes and columns")
    if not np.all(np.isfinite(weights)) or rows_seen < 0:
        raise ValueError("weights are not finite, or rows_seen is below 0")
    stated = OnlineStatement(in_current_words(from_json(header["privacy"], arrays)))
    check_statement(stated, header["class"], known.n_features)
    known.describe(model)
    if header.get("table_plan") is not None:
        model.table_plan_ = _checked_plan(from_json(header["table_plan"], arrays), known)
    model.stream_ = Snapshot(form, weights, rows_seen, stated, version)
    return model


def _checked_plan(plan: Any, known: Known) -> dict[str, Any]:
    """Check and return how rows of a table become the features of a model."""
    if FeatureSpace(Schema.from_dict(plan)).size != known.n_features:
        raise ValueError("table_plan does not make the columns of the model")
    return dict(plan)


def save_state(model: Any, path: _Path, more: dict[str, Any] | None = None) -> None:
    """Write the secret state, readable only by its owner; ``more`` is saved with it."""
    check_is_fitted(model)
    stream = model.stream_
    if not isinstance(stream, OnlineRun):
        raise ValueError("this model is a copy or was loaded, and has no state to save")
    header, arrays = _described(model)
    state = stream.state()
    receipt = None if stream.receipt is None else list(stream.receipt)
    header |= {"kind": STATE, "version": VERSION, "state": state.header, "receipt": receipt}
    write(path, {**header, "more": more or {}}, {**arrays, **state.arrays}, released=False)


@contextmanager
def refusing_damage(path: _Path) -> Iterator[None]:
    """Report any error as damage: someone who alters a state can choose every value in it."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
        raise ModelFileError(
            f"{os.fsdecode(path)} holds no state that a stream can continue from; bring back the "
            "one that was saved"
        ) from error


def read_state(model: Any, path: _Path) -> SavedState:
    """Read the state of a stream whose model has these parameters. The file is not removed."""
    check_own(path)  # the author of the file knows the noise
    header, arrays = read(path)
    single_use.refuse_used(path, header)
    if header.get("kind") != STATE or header.get("version") != VERSION:
        raise ModelFileError(f"{os.fsdecode(path)} holds no state of an online model")
    _check_same(model, header["parameters"], path)
    more, receipt = header["more"], header["receipt"]
    if type(more) is not dict:
        raise TypeError("what was kept with the state is no mapping")
    return SavedState(
        _known(model, header, arrays),
        None if receipt is None else Receipt(*receipt),
        State(header["state"], arrays),
        more,
    )


def _check_same(model: Any, parameters: dict[str, Any], path: _Path) -> None:
    """Reject a state of other parameters. A seed may differ, since the state has the noise key."""
    ours, usual = (_described(known, fitted=False)[0] for known in (model, type(model)()))
    parameters = current_names(parameters, ours["parameters"], silent=True)
    for name, form in ours["parameters"].items():
        # A parameter that did not exist yet had the value that is now its default.
        then = parameters.get(name, usual["parameters"][name])
        if then != form and name != "random_state":
            raise ParameterError(
                "{parameter} is not what it was when {path} was written; a stream continues with "
                "the parameters it began with",
                parameter=Setting(name),
                path=os.fsdecode(path),
            )


def _described(model: Any, fitted: bool = True) -> tuple[dict[str, Any], _Arrays]:
    """Header and arrays of the parameters and the public facts about labels and columns."""
    from dplasso import __version__

    arrays: _Arrays = {}
    stream = vars(model).get("stream_") if fitted else None
    given = model
    if isinstance(stream, OnlineRun):  # whatever was set since then concerns the next stream
        given = SimpleNamespace(get_params=lambda deep: stream.given)
    header: dict[str, Any] = {
        "class": type(model).__name__,
        "written_by": __version__,
        "parameters": parameter_forms(given, arrays, _listed),
    }
    if fitted:
        classes, names = (vars(model).get(key) for key in ("classes_", "feature_names_in_"))
        header["classes"] = to_json(classes, "classes", arrays)
        if classes is not None:
            header["classes_source"] = model.classes_source_
        header["feature_names"] = to_json(names, "features", arrays)
        header["n_features"] = int(model.n_features_in_)
        if "table_plan_" in vars(model):
            header["table_plan"] = to_json(model.table_plan_, "table_plan", arrays)
    return header, arrays


def _listed(name: str, value: Any) -> Any:
    listed = name in ("classes", "feature_names") and value is not None
    return list(np.asarray(value).tolist()) if listed else value


def _known(model: Any, header: dict[str, Any], arrays: _Arrays) -> Known:
    """Check and return the facts about labels and columns in a file."""
    classes, source, names = None, None, None
    if header["classes"] is not None:
        classes = from_json(header["classes"], arrays)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1:
            raise ValueError("classes are not a list of labels")
        if not 2 <= len(set(classes.tolist())) == len(classes):
            raise ValueError("classes are not two or more different labels")
        # States of earlier versions have no source; classes that were not declared were read.
        usual = READ if model.classes is None else "declared"
        source = str(header.get("classes_source") or usual)
    if header["feature_names"] is not None:
        names = from_json(header["feature_names"], arrays)
        whole = isinstance(names, np.ndarray) and names.shape == (header["n_features"],)
        if not whole or not all(isinstance(name, str) for name in names):
            raise ValueError("feature_names are not one text per column")
    if type(header["n_features"]) is not int or not 1 <= header["n_features"] < 1 << 31:
        raise ValueError("n_features is below 1 or beyond 31 bits")
    return Known(header["n_features"], classes, source, names)


def _unfitted(header: dict[str, Any], arrays: _Arrays) -> Any:
    from dplasso.estimators.online_classifier import PrivateOnlineClassifier
    from dplasso.estimators.online_regressor import PrivateOnlineRegressor

    kinds: dict[str, Any] = dict(
        zip(NAMES, (PrivateOnlineClassifier, PrivateOnlineRegressor), strict=True)
    )
    parameters = {key: from_json(form, arrays) for key, form in header["parameters"].items()}
    kind, y_bound = kinds[header["class"]], parameters.get("y_bound")
    if y_bound is not None:
        checks.bound("y_bound", y_bound)  # streams take no range
    return kind(**checked_parameters(parameters, kind))

"""Convert models to objects of scikit-learn, numpy and scipy alone."""

from operator import methodcaller
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, StandardScaler

from dplasso.base import memory
from dplasso.base.arrays import Floats, Ints
from dplasso.data.table_cells import CELL
from dplasso.estimators.export.portable import Centring, Portable, RowSteps


def scikit_model(model: Portable) -> Any:
    """Return a fitted object of scikit-learn that predicts the same.

    It is a plain linear model if rows are weighed as they are. Otherwise it is a pipeline that maps
    rows first. Predicted numbers are clipped by a ``TransformedTargetRegressor`` around it.
    """
    weights = model.weights if model.steps.plain else model.read_weights
    _check_memory(model, weights)
    found = entrance = _linear(model, weights)
    if not model.steps.plain:
        steps = _row_steps(model.steps)
        found, entrance = Pipeline([*steps, ("model", found)]), steps[0][1]
        # Whatever scikit-learn is set to: its frames cannot hold sparse rows.
        found.set_output(transform="default")
        found.columns_ = model.steps.columns
    entrance.n_features_in_ = model.steps.n_features
    names = model.names_of(None)
    if names is not None:
        entrance.feature_names_in_ = names
    if model.label_range is not None:
        found = _clipped(found, *model.label_range)
    found.privacy_ = model.statement
    found.privacy_text_ = str(model.privacy)
    return found


def _linear(model: Portable, weights: sp.csr_array) -> Any:
    """Return the plain linear model of mapped rows."""
    # These imports take a tenth of a second.
    from sklearn.linear_model import (
        LinearRegression,
        LogisticRegression,
        SGDClassifier,
        SGDRegressor,
    )
    from sklearn.svm import LinearSVC

    coefficients = weights if model.sparse_coef else weights.toarray()
    if model.outcome == "numbers" and model.sparse_coef:
        plain = SGDRegressor()  # LinearRegression takes no sparse coefficients
        plain.coef_, plain.intercept_ = coefficients, model.intercepts.copy()
    elif model.outcome == "numbers":
        plain = LinearRegression()
        plain.coef_, plain.intercept_ = coefficients[0], float(model.intercepts[0])
    else:
        kinds = {
            "scores": LinearSVC,
            "logistic": LogisticRegression,
            "softmax": LogisticRegression,
            # Its probabilities are one against the rest, scaled to sum to 1.
            "one_against_rest": lambda: SGDClassifier(loss="log_loss"),
        }
        plain = kinds[model.outcome]()
        plain.coef_, plain.intercept_ = coefficients, model.intercepts.copy()
        plain.classes_ = np.asarray(model.classes)
        plain.n_iter_ = np.array([model.n_iter], dtype=np.int32)
    plain.n_features_in_ = weights.shape[1]
    return plain


def _row_steps(steps: RowSteps) -> list[tuple[str, Any]]:
    """Return named transformers that map rows, dense or sparse, as the model does.

    They compute with sparse rows, except for columns with ranges.
    """
    # A copy: the methods of scipy that follow sort the entries of the matrix that they are given.
    found: list[tuple[str, Any]] = [
        (
            "rows",
            FunctionTransformer(
                sp.csr_array,
                validate=True,
                accept_sparse=True,
                kw_args={"dtype": np.float64, "copy": True},
            ),
        )
    ]
    if steps.columns is not None:
        found.append(("columns", _columns(steps.columns)))
    if steps.ends is not None and steps.zeros is not None:
        low, high = steps.ends
        found.append(("dense", _called("toarray")))
        found.append(("cut", FunctionTransformer(np.clip, kw_args={"a_min": low, "a_max": high})))
        # The mean of one row is that row: this takes off what entries of 0 are cut to.
        found.append(("shift", StandardScaler(with_std=False).fit(steps.zeros[None, :])))
    if steps.stretch is not None:
        found.append(("stretch", _called("dot", _diagonal(steps.stretch))))
    if steps.limit is not None:
        found.append(("below", _called("minimum", steps.limit)))
        found.append(("above", _called("maximum", -steps.limit)))
    if steps.centring is not None:
        found.extend(_centred_and_others(steps, steps.centring))
    elif steps.row_map != "as_is":
        found.append(("map", _entry_map(steps, steps.width)))
    found.extend((f"length {norm}", Normalizer(norm)) for norm in steps.lengths)
    return found


def _centred_and_others(steps: RowSteps, centring: Centring) -> list[tuple[str, Any]]:
    """Return the steps that centre columns with ranges, and map and scale the others."""
    others = centring.others(steps.width)
    if not len(others):
        return [("centred", _centred(centring))]
    rest = [_columns(others)]
    if steps.row_map != "as_is":
        rest.append(_entry_map(steps, len(others)))
    mapped = make_pipeline(*rest, _called("__truediv__", centring.divisor))
    if not len(centring.places):
        return [("map", mapped)]
    ranged = make_pipeline(_columns(centring.places), _centred(centring))
    order = np.argsort(np.concatenate([others, centring.places]))
    return [
        ("centred and map", FeatureUnion([("map", mapped), ("centred", ranged)])),
        ("order", _columns(order)),
    ]


def _centred(centring: Centring) -> Pipeline:
    """Return the transformer of columns with ranges. Its order keeps every bit of an entry."""
    gain, shift = centring.scales
    return make_pipeline(
        _called("toarray"),
        _called("__sub__", centring.start),
        _called("__truediv__", centring.width),
        _called("__mul__", float(CELL)),
        FunctionTransformer(np.rint),
        FunctionTransformer(np.clip, kw_args={"a_min": 0.0, "a_max": float(CELL)}),
        _called("__mul__", gain),
        _called("__add__", shift),
    )


def _columns(places: Ints) -> FunctionTransformer:
    return _called("__getitem__", (slice(None), places))


def _entry_map(steps: RowSteps, width: int) -> Any:
    """Return the transformer of a row map."""
    if steps.row_map == "presence":
        return make_pipeline(_called("__abs__"), Binarizer())
    if steps.row_map == "sqrt":
        positive = make_pipeline(_called("maximum", 0.0), _called("sqrt"))
        negative = make_pipeline(_called("minimum", 0.0), _called("__abs__"), _called("sqrt"))
        parts = {"positive": (positive, 1.0), "negative": (negative, -1.0)}
    else:
        parts = {
            "entries": (_called("copy"), 0.5),
            "signs": (_called("sign"), 0.5 * steps.bound),
        }
    beside = FeatureUnion(
        [(name, part) for name, (part, _) in parts.items()],
        transformer_weights={name: weight for name, (_, weight) in parts.items()},
    )
    same = _diagonal(np.ones(width))
    return make_pipeline(beside, _called("dot", sp.vstack([same, same], format="csr")))


def _called(method: str, *arguments: Any) -> FunctionTransformer:
    """Return a transformer that calls a method of the rows; it needs no code of ours."""
    return FunctionTransformer(methodcaller(method, *arguments))


def _diagonal(values: Floats) -> sp.csr_array:
    return sp.csr_array(sp.diags_array(values))


def _clipped(regressor: Any, low: float, high: float) -> Any:
    """Return the regressor with its predictions clipped."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression

    clip = FunctionTransformer(inverse_func=np.clip, inv_kw_args={"a_min": low, "a_max": high})
    clip.set_output(transform="default")
    # Fitted to one made-up row, and only then given the regressor, which must not be fitted again.
    found = TransformedTargetRegressor(LinearRegression(), transformer=clip, check_inverse=False)
    found.fit(np.zeros((1, 1)), np.array([low]))
    found.regressor = found.regressor_ = regressor
    return found


def _check_memory(model: Portable, weights: sp.csr_array) -> None:
    outputs, columns = weights.shape
    dense = 0 if model.sparse_coef else 2 * 8 * outputs * columns  # two copies
    steps = 0 if model.steps.plain else 128 * columns  # matrices that map columns to columns
    memory.check(
        dense + steps + model.name_bytes,
        "writing out all coefficients and names of features",
        "keep the model as it is, or call sparsify() on one without names",
    )

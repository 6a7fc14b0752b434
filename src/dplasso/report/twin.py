"""The facts of a page as a JSON document, for programs.

docs/how_to/report.md explains the fields.
"""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from dplasso.report.calibrated import calibration, calibration_of
from dplasso.report.coefficients import largest
from dplasso.report.evaluation import Evaluation
from dplasso.report.facts import digest_of, not_protected_items, today
from dplasso.report.features import target_of
from dplasso.report.guarantee import beliefs
from dplasso.report.headline import day_of_fit, epsilon_of, nonzeros, warnings
from dplasso.report.importance import importances
from dplasso.report.measured import Reliability
from dplasso.report.names import column_name, output_name
from dplasso.report.protects import unit_of, whom, whom_exactly
from dplasso.report.subject import Subject
from dplasso.report.weights import is_private

FORMAT, VERSION = "dplasso-report", 1


def describe(model: Any, **options: Any) -> dict[str, Any]:
    """Return the facts of the page that `render` makes of the same parameters.

    All values are of JSON: infinite numbers are the text "inf".

    Formal guarantees
    -----------------
    As for `render`: apart from ``evaluation`` and ``progress`` it is post-processing.

    Examples
    --------
    >>> from dplasso import PrivateLassoClassifier
    >>> known = {"classes": [0, 1], "n_rows": 20_000, "x_bound": 1.0}
    >>> model = PrivateLassoClassifier(1.0, **known).fit([[0.0], [1.0]], [0, 1])
    >>> facts = describe(model)
    >>> facts["protects"]["unit"], facts["privacy"]["epsilon"], facts["quality"]
    ('row', 1.0, None)
    """
    given = {name: value for name, value in options.items() if value is not None}
    return document_of(Subject(model, **given))


def document_of(subject: Subject) -> dict[str, Any]:
    """Return the facts of a model's page."""
    model, found, standing = subject.model, subject.evaluation, subject.standing
    document = {
        "format": FORMAT,
        "version": VERSION,
        "title": subject.heading,
        "written_on": today(),
        "command": subject.command or None,
        "model": _model(subject),
        "protects": _protects(model),
        "privacy": dict(model.privacy_),
        "statement": str(model.privacy_),
        "beliefs": _beliefs(model),
        "not_protected": not_protected_items(model),
        "warnings": [
            dict(zip(("kind", "title", "text"), box, strict=True)) for box in warnings(model, found)
        ],
        "about": subject.about.given,
        "ledger": None if standing is None else asdict(standing),
        "quality": None if found is None else _quality(found),
        "subgroups": [] if found is None else _subgroups(found),
        "progress": None if subject.progress is None else asdict(subject.progress),
        "columns": [_column(one) for one in importances(model)],
        "coefficients": _coefficients(model),
    }
    plain: dict[str, Any] = jsonable(document)
    return plain


def jsonable(value: Any) -> Any:
    """Return a value as JSON holds it: numbers that are not finite become texts.

    >>> jsonable({"epsilon": math.inf, "classes": (1, 2)})
    {'epsilon': 'inf', 'classes': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(name): jsonable(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(held) for held in value]
    if isinstance(value, np.generic):
        return jsonable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _model(subject: Subject) -> dict[str, Any]:
    model, path = subject.model, subject.path
    classes = getattr(model, "classes_", None)
    return {
        "kind": type(model).__name__,
        "file": None if path is None else path.name,
        "sha256": None if path is None else digest_of(model, path),
        "target": target_of(model),
        "classes": None if classes is None else classes.tolist(),
        "features": int(model.n_features_in_),
        "nonzeros": nonzeros(model),
        "intercepts": model.intercept_.tolist(),
        "steps": None if subject.of_stream else int(model.n_iter_),
        "fitted_on": day_of_fit(model),
    }


def _protects(model: Any) -> dict[str, Any]:
    unit = unit_of(model.privacy_)
    named = asdict(unit)
    kind = named.pop("kind")
    words = {"text": whom(model), "meaning": whom_exactly(model)}
    return {"unit": kind if is_private(model) else None, **named, **words}


def _beliefs(model: Any) -> list[dict[str, float]]:
    if not is_private(model):
        return []
    names = ("before", "at_least", "at_most")
    found = beliefs(epsilon_of(model.privacy_))
    return [dict(zip(names, belief, strict=True)) for belief in found]


def _quality(found: Evaluation) -> dict[str, Any]:
    measured, curve = found.measured, found.curve
    return {
        "rows": found.rows,
        "data": found.data_name or None,
        "score_name": found.score_name,
        "score": found.score,
        "trivial": found.trivial,
        "trivial_answer": found.trivial_answer,
        "verdict": found.verdict,
        "auc": found.auc,
        "log_loss": found.log_loss,
        "trivial_log_loss": found.trivial_log_loss,
        "classes": list(found.classes),
        "confusion": found.confusion,
        "by_class": {name: of._asdict() for name, of in found.by_class.items()},
        "calibration": _calibration(found),
        "reliability": None if found.reliability is None else asdict(found.reliability),
        "roc": found.roc,
        "ranking": _ranking(found),
        "residuals": None
        if measured is None or measured.residuals is None
        else asdict(measured.residuals),
        "curve": None if curve is None else asdict(curve),
    }


def _calibration(found: Evaluation) -> dict[str, Any] | None:
    known, words = calibration_of(found), calibration(found)
    if known is None or words is None:
        return None
    figures: dict[str, float | None]
    if isinstance(known, Reliability):
        figures = {
            "error": known.error,
            "chance": known.chance,
            "predicted": known.predicted,
            "observed": known.observed,
        }
    else:
        figures = {"mean_error": known.mean, "slope": known.slope}
    return {"off": words.off, "text": words.words, **figures}


def _ranking(found: Evaluation) -> dict[str, Any] | None:
    ranking = None if found.measured is None else found.measured.ranking
    if ranking is None:
        return None
    return {**asdict(ranking), "thresholds": [at._asdict() for at in ranking.thresholds]}


def _subgroups(found: Evaluation) -> list[dict[str, Any]]:
    every = () if found.measured is None else found.measured.subgroups
    return [
        {
            "column": one.column,
            "groups": [{**asdict(group), "few": group.few} for group in one.groups],
        }
        for one in every
    ]


def _column(one: Any) -> dict[str, Any]:
    return {
        "column": one.column,
        "importance": one.size,
        "features": one.features,
        "parts": [part._asdict() for part in one.parts],
    }


def _coefficients(model: Any) -> list[dict[str, Any]]:
    return [
        {
            "column": found.column,
            "feature": column_name(model, found.column),
            "class": output_name(model, found.output),
            "value": found.value,
            "reach": found.reach,
        }
        for found in largest(model)
    ]

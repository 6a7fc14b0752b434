"""The whole page: one file that needs no other file and makes no network request."""

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.report.coefficients import coefficients
from dplasso.report.evaluation import Evaluation
from dplasso.report.facts import how_to_verify, not_protected, public_facts, today
from dplasso.report.features import target_of
from dplasso.report.growth import growth
from dplasso.report.guarantee import guarantee
from dplasso.report.headline import headline
from dplasso.report.markup import Markup, join, tag
from dplasso.report.progress import Progress, progress_section
from dplasso.report.quality import quality
from dplasso.report.weights import is_online, is_private
from dplasso.storage.atomic import replace_file


def render(
    model: Any,
    *,
    model_file: Path | None = None,
    evaluation: Evaluation | None = None,
    progress: Progress | None = None,
    title: str | None = None,
) -> str:
    """Return an HTML page about a fitted classifier or regressor, which may be an online one.

    The page shows the digest of a ``model_file``, the result of `evaluate` on public data, and the
    ``progress`` of a stream, whose scores are not private.

    Formal guarantees
    -----------------
    Apart from ``evaluation`` and ``progress``, the page is post-processing: it is computed from the
    releases of the fit and from public facts.
    """
    of_stream = is_online(model)
    if not of_stream and not isinstance(model, PrivateLassoClassifier | PrivateLassoRegressor):
        raise ValueError(
            "model must be a classifier or regressor of dplasso, "
            f"got {type(model).__name__}; give the estimator itself"
        )
    if progress is not None and not of_stream:
        raise ValueError("progress must be that of a stream, got a model that is not; leave it out")
    check_is_fitted(model)
    heading = title or _title(model)
    path = None if model_file is None else Path(model_file)
    parts = [
        headline(model, heading, evaluation, today()),
        guarantee(model),
        Markup() if evaluation is None else quality(model, evaluation),
        Markup() if progress is None else progress_section(progress),
        coefficients(model),
        Markup() if of_stream else growth(model),
        public_facts(model),
        not_protected(model),
        how_to_verify(model, path),
    ]
    return _document(heading, tag("main", *parts, id="main", tabindex=-1))


def write_report(path: str | os.PathLike[str], model: Any, **options: Any) -> None:
    """Write the page of `render` to a file, which is replaced in one step if it exists."""
    replace_file(path, render(model, **options).encode("utf-8"), released=True)


def _title(model: Any) -> str:
    task = "classifier" if is_classifier(model) else "regression"
    target = target_of(model)
    what = task if target is None else f"{task} of {target}"
    private = is_private(model)
    if is_online(model):
        return (
            f"Private {what} of a stream"
            if private
            else f"{what.capitalize()} of a stream, not private"
        )
    return f"Private sparse {what}" if private else f"Sparse {what} without privacy"


def _document(title: str, main: Markup) -> str:
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        # The policy comes before everything that it restricts.
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        tag("title", title),
        tag("style", style),
    )
    skip = tag("a", "Skip to the report", href="#main", class_="skip")
    theme = tag("button", "Dark mode", type="button", id="theme", aria_pressed="false")
    body = tag("body", skip, theme, main, tag("script", script))
    return f"<!doctype html>\n{tag('html', join(head, body), lang='en')}\n"


def _resource(name: str) -> Markup:
    return Markup(files("dplasso.report").joinpath(name).read_text("utf-8"))


def _hash(text: str) -> str:
    """Return the hash by which a content security policy allows one style or script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

"""The page of one model: its sections, in order."""

import os
from pathlib import Path
from typing import Any

from dplasso.ledger import Budget
from dplasso.report.about import About, about_section
from dplasso.report.coefficients import coefficients
from dplasso.report.evaluation import Evaluation
from dplasso.report.facts import how_to_verify, not_protected, public_facts, today
from dplasso.report.growth import growth
from dplasso.report.guarantee import guarantee
from dplasso.report.headline import headline
from dplasso.report.html_document import html_document
from dplasso.report.importance_section import importance_section
from dplasso.report.ledger_section import ledger_section
from dplasso.report.markup import Markup, tag
from dplasso.report.progress import Progress, progress_section
from dplasso.report.quality import quality
from dplasso.report.subgroup_section import subgroup_section
from dplasso.report.subject import Subject
from dplasso.storage.atomic import replace_file


def render(
    model: Any,
    *,
    model_file: Path | None = None,
    evaluation: Evaluation | None = None,
    progress: Progress | None = None,
    title: str | None = None,
    about: About | None = None,
    ledger: Budget | None = None,
    command: str = "",
) -> str:
    """Return an HTML page about a fitted classifier or regressor, which may be an online one.

    Parameters
    ----------
    model : fitted classifier or regressor
    model_file : path, default=None
        The file of the model, whose digest is shown.
    evaluation : Evaluation, default=None
        Result of `examine` (all charts) or `evaluate` (scores) on public rows.
    progress : Progress, default=None
        Scores of a stream. They are not private.
    title : str, default=None
        Heading of the page.
    about : About, default=None
        Intended use, owner and contact.
    ledger : Budget, default=None
        The ledger that the fit was charged to. It is verified, and the page says what is left now.
        Without it, the page has what the receipt in the model says.
    command : str, default=""
        The command that writes the page.

    Formal guarantees
    -----------------
    Apart from ``evaluation`` and ``progress``, the page is post-processing: it is computed from the
    releases of the fit, from public facts, and from the entries of the ledger.
    """
    subject = Subject(
        model,
        model_file=model_file,
        evaluation=evaluation,
        progress=progress,
        title=title,
        about=about or About(),
        ledger=ledger,
        command=command,
    )
    return page_of(subject)


def page_of(subject: Subject) -> str:
    """Return the page of a model."""
    model, found, standing = subject.model, subject.evaluation, subject.standing
    parts = [
        headline(model, subject.heading, found, standing, today()),
        about_section(subject.about),
        guarantee(model),
        Markup() if standing is None else ledger_section(standing),
        Markup() if found is None else quality(model, found),
        Markup() if found is None else subgroup_section(model, found),
        Markup() if subject.progress is None else progress_section(subject.progress),
        importance_section(model),
        coefficients(model),
        Markup() if subject.of_stream else growth(model),
        public_facts(model),
        not_protected(model),
        how_to_verify(model, subject.path, subject.command, drawn_anew=_has_curve(found)),
    ]
    return html_document(subject.heading, tag("main", *parts, id="main", tabindex=-1))


def _has_curve(found: Evaluation | None) -> bool:
    return found is not None and found.curve is not None and bool(found.curve.points)


def write_report(path: str | os.PathLike[str], model: Any, **options: Any) -> None:
    """Write the page of `render` to a file, which is replaced in one step if it exists."""
    replace_file(path, render(model, **options).encode("utf-8"), released=True)


def write_page(path: str | os.PathLike[str], subject: Subject) -> None:
    """Write the page of a model to a file, which is replaced in one step if it exists."""
    replace_file(path, page_of(subject).encode("utf-8"), released=True)

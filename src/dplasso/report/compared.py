"""Several models on one page, side by side: privacy, quality, size, and the largest columns."""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from dplasso.base.wording import ParameterError
from dplasso.ledger import Budget
from dplasso.report.about import About, about_section
from dplasso.report.calibrated import calibration
from dplasso.report.charts import length_bar
from dplasso.report.facts import digest_of, today, written_by
from dplasso.report.features import target_of
from dplasso.report.headline import day_of_fit, epsilon_of, nonzeros, warnings
from dplasso.report.html_document import html_document
from dplasso.report.importance import importances
from dplasso.report.ledger_section import percent
from dplasso.report.markup import Markup, callout, join, scroller, section, tag
from dplasso.report.names import number, quoted, score_text, shortened
from dplasso.report.protects import unit_of, whom
from dplasso.report.standing import spent_together
from dplasso.report.subject import Subject
from dplasso.report.twin import FORMAT, VERSION, document_of
from dplasso.report.weights import is_private
from dplasso.storage.atomic import replace_file

TITLE = "Models side by side"
TOP = 10  # columns per model

Cell = Callable[[Subject], Any]


def render_several(
    subjects: Sequence[Subject],
    *,
    title: str | None = None,
    about: About | None = None,
    command: str = "",
) -> str:
    """Return one HTML page that compares several models.

    ``about`` has texts about all of them, ``command`` writes the page.

    Formal guarantees
    -----------------
    As for `render`: apart from evaluations it is post-processing of releases and public facts.
    """
    _check(subjects)
    heading = title or TITLE
    parts = [
        tag(
            "header",
            tag("h1", quoted(heading)),
            tag("p", f"{len(subjects)} models; page written on ", tag("time", today()), "."),
            *_cautions(subjects),
        ),
        Markup() if about is None else about_section(about, "About these models"),
        _facts("privacy", "Whom they protect", subjects, _PRIVACY),
        _facts("quality", "How well they predict", subjects, _QUALITY, note=_rows_of(subjects)),
        _facts("size", "What they are", subjects, _SIZE),
        _columns(subjects),
        _verification(subjects, command),
    ]
    return html_document(heading, tag("main", *parts, id="main", tabindex=-1))


def describe_several(
    subjects: Sequence[Subject],
    *,
    title: str | None = None,
    about: About | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Return the facts of several models as values of JSON."""
    _check(subjects)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title or TITLE,
        "written_on": today(),
        "command": command or None,
        "about": {} if about is None else about.given,
        "together": together(subjects),
        "models": [document_of(subject) for subject in subjects],
    }


def write_several(
    path: str | os.PathLike[str], subjects: Sequence[Subject], **options: Any
) -> None:
    """Write the page of `render_several` to a file, which is replaced in one step."""
    page = render_several(subjects, **options)
    replace_file(path, page.encode("utf-8"), released=True)


def together(subjects: Sequence[Subject]) -> dict[str, float] | None:
    """Return epsilon and delta of all models together, if they were fitted to the same data.

    Guarantees of releases from the same data add up: epsilons and deltas, each. A ledger that was
    given and has all of them says exactly what they cost, which is less. It is None if a model has
    no privacy, or if units or relations differ.
    """
    statements = [subject.model.privacy_ for subject in subjects]
    units = [unit_of(found) for found in statements]
    kinds = {
        (unit.kind, unit.column, found["neighboring"])
        for unit, found in zip(units, statements, strict=True)
    }
    if len(kinds) > 1 or not all(is_private(subject.model) for subject in subjects):
        return None
    if (ledger := _common_ledger(subjects)) is not None:
        return spent_together([subject.model for subject in subjects], ledger)
    return {
        "epsilon": math.fsum(map(epsilon_of, statements)),
        "delta": math.fsum(float(found["delta"]) for found in statements),
    }


def _common_ledger(subjects: Sequence[Subject]) -> Budget | None:
    """Return the ledger that was given for all of the models, if it is one."""
    ledgers = [subject.ledger for subject in subjects]
    known = {None if ledger is None else ledger.shown for ledger in ledgers}
    return ledgers[0] if len(known) == 1 else None


def _names(subjects: Sequence[Subject]) -> list[str]:
    """Return a name per model; models of the same name are numbered."""
    names = [subject.name for subject in subjects]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


def _check(subjects: Sequence[Subject]) -> None:
    if len(subjects) < 2:
        raise ParameterError("{subjects} must be two models or more; use render for one")


def _cautions(subjects: Sequence[Subject]) -> list[Markup]:
    total = together(subjects)
    words = "They cannot be added up: a model has no privacy, or they protect different things."
    if total is not None and _common_ledger(subjects) is not None:
        words = (
            "All of these models were charged to one ledger, which was verified when this page was "
            f"written: together they are epsilon {number(total['epsilon'])} at delta "
            f"{number(total['delta'])}."
        )
    elif total is not None:
        words = (
            "If these models were fitted to the same data, their guarantees add up: together they "
            f"are epsilon {number(total['epsilon'])} and delta {number(total['delta'])} at most. A "
            "ledger may show that it is less."
        )
    boxes = [callout("note", "Each guarantee is of one model alone.", words)]
    for called, subject in zip(_names(subjects), subjects, strict=True):
        for kind, heading, told in warnings(subject.model, subject.evaluation):
            name = tag("strong", quoted(shortened(called)), ": ")
            boxes.append(tag("div", name, callout(kind, heading, told), class_="of-model"))
    return boxes


def _facts(
    name: str,
    heading: str,
    subjects: Sequence[Subject],
    rows: dict[str, Cell],
    note: Markup | None = None,
) -> Markup:
    """Return a table with a column per model; rows that no model has are left out."""
    cells = {called: [cell(subject) for subject in subjects] for called, cell in rows.items()}
    known = {called: found for called, found in cells.items() if any(f is not None for f in found)}
    if not known:
        return Markup()
    body = (
        tag(
            "tr",
            tag("th", called, scope="row"),
            *(tag("td", "–" if cell is None else cell) for cell in found),
        )
        for called, found in known.items()
    )
    return section(name, heading, note or Markup(), _side_by_side(heading, subjects, *body))


def _side_by_side(caption: str, subjects: Sequence[Subject], *body: Markup) -> Markup:
    names = (tag("th", quoted(shortened(name)), scope="col") for name in _names(subjects))
    head = tag("tr", tag("td", ""), *names)
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", *body),
        class_="side-by-side",
    )
    return scroller(caption, whole)


def _rows_of(subjects: Sequence[Subject]) -> Markup:
    found = {
        (subject.evaluation.rows, subject.evaluation.data_name)
        for subject in subjects
        if subject.evaluation is not None
    }
    if not found:
        return Markup()
    words = "The rows are not protected by the guarantee."
    if len(found) == 1:
        ((rows, name),) = found
        of = (" of ", quoted(shortened(name))) if name else ()
        words = join(f"All scores are of the same {rows:,} rows", *of, ". ", words)
    return callout("note", "Computed on data declared public.", words)


def _epsilon(subject: Subject) -> str:
    return number(epsilon_of(subject.model.privacy_)) if is_private(subject.model) else "∞"


def _delta(subject: Subject) -> str | None:
    return number(subject.model.privacy_["delta"]) if is_private(subject.model) else None


def _relation(subject: Subject) -> str:
    words = {"add_remove": "added or removed", "replace_one": "replaced"}
    unit, relation = unit_of(subject.model.privacy_).kind, subject.model.privacy_["neighboring"]
    return f"one {unit} {words[relation]}"


def _ledger(subject: Subject) -> Any:
    found = subject.standing
    if found is None:
        return None
    share = "" if found.own is None else f", {percent(found.own)} of its budget"
    return f"entry {found.entry:,}{share}"


_PRIVACY: dict[str, Cell] = {
    "Protects": lambda subject: whom(subject.model).removeprefix("Protects "),
    "Epsilon": _epsilon,
    "Delta": _delta,
    "Neighbours": _relation,
    "Random bits": lambda subject: (
        "secure" if subject.model.privacy_["secure_rng"] else "NOT SECURE"
    ),
    "Ledger": _ledger,
}


def _scored(field: str, form: Callable[[Any], str] = score_text) -> Cell:
    def cell(subject: Subject) -> str | None:
        value = None if subject.evaluation is None else getattr(subject.evaluation, field)
        return None if value is None else form(value)

    return cell


def _calibration(subject: Subject) -> Any:
    known = calibration(subject.evaluation)
    return None if known is None else join(known.short, tag("small", known.figure))


_QUALITY: dict[str, Cell] = {
    "Score": _scored("score_name", str),
    "This model": _scored("score"),
    "The trivial answer": _scored("trivial"),
    "Verdict": _scored("verdict", str),
    "Area under the ROC": _scored("auc"),
    "Log-loss": _scored("log_loss", lambda value: f"{value:.4f}"),
    "Log-loss of the shares of the classes": _scored(
        "trivial_log_loss", lambda value: f"{value:.4f}"
    ),
    "Calibration": _calibration,
}
_SIZE: dict[str, Cell] = {
    "Kind": lambda subject: type(subject.model).__name__,
    "Predicts": lambda subject: target_of(subject.model),
    "Features": lambda subject: f"{subject.model.n_features_in_:,}",
    "Nonzero coefficients": lambda subject: f"{nonzeros(subject.model):,}",
    "Solver": lambda subject: subject.model.privacy_.get("solver"),
    "Fitted on": lambda subject: day_of_fit(subject.model),
}


def _columns(subjects: Sequence[Subject]) -> Markup:
    """Return the most important columns of any of the models, by the mean of their shares."""
    found = [{one.column: one.size for one in importances(subject.model)} for subject in subjects]
    largest = [max(sizes.values(), default=0.0) for sizes in found]
    chosen = {name for sizes in found for name in sorted(sizes, key=lambda n: -sizes[n])[:TOP]}
    if not chosen:
        return Markup()

    def share(name: str) -> float:
        parts = zip(found, largest, strict=True)
        return math.fsum(sizes.get(name, 0.0) / most for sizes, most in parts if most > 0.0)

    body = (
        tag(
            "tr",
            tag("th", quoted(shortened(name)), scope="row"),
            *(
                _bar_cell(sizes.get(name, 0.0), most)
                for sizes, most in zip(found, largest, strict=True)
            ),
        )
        for name in sorted(chosen, key=lambda name: (-share(name), name))
    )
    words = (
        "How far a column can move what a model predicts, by its coefficients times the widths of "
        f"public ranges. The {TOP} largest columns of each model are listed. Bars are relative to "
        "the largest column of the same model."
    )
    caption = "Importance of the columns"
    return section("columns", caption, tag("p", words), _side_by_side(caption, subjects, *body))


def _bar_cell(size: float, largest: float) -> Markup:
    if size == 0.0:
        return tag("td", "–")
    return tag("td", number(size, ".3g"), length_bar(size, largest), class_="with-bar")


def _verification(subjects: Sequence[Subject], command: str) -> Markup:
    rows = [
        tag(
            "li",
            tag("code", subject.path.name),
            ": ",
            tag("code", digest_of(subject.model, subject.path), class_="digest"),
        )
        for subject in subjects
        if subject.path is not None
    ]
    listed = (tag("p", "The SHA-256 of the model files:"), tag("ul", *rows)) if rows else ()
    return section("verify", "How to verify the models", *listed, written_by(command))

"""The facts that the guarantee depends on, its limits, and how to check the file."""

import hashlib
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.estimators.saving import arrays_of
from dplasso.privacy.statement import READ
from dplasso.report.columns import columns_declared
from dplasso.report.headline import day_of_fit
from dplasso.report.markup import Markup, join, section, table, tag
from dplasso.report.names import number
from dplasso.report.protects import unit_of
from dplasso.report.weights import is_online, is_private
from dplasso.storage import read

_LONGEST = 300  # characters that a value may have
_CALLED = {  # facts of the statement in plain words, for readers who do not know the parameters
    "x_bound": "Size of entries, at most",
    "y_bound": "Size of labels, at most, or their range",
    "radius": "Radius: what sizes of coefficients add up to, at most",
    "n_features": "Features",
    "feature_names": "Names of features",
    "n_rows": "Rows",
    "n_people": "People",
    "rows_per_person": "Rows that a person counts as, at most",
    "class_weight": "Weights of classes",
    "residual": "Size of residuals (predictions minus labels), at most",
    "max_iter": "Rounds",
    "steps": "Steps",
    "n_nonzero": "Coefficients kept",
    "solver": "Solver",
    "centred_columns": "Columns with a range, which are centred",
    "wide_columns": "Columns without a range, kept if frequent",
    "loss": "Loss",
    "classes": "Classes",
    "clip": "Length of a row's gradients, at most",
    "row_map": "How rows are read",
    "rows_seen": "Rows so far",
    "regularisation": "Regularisation of every row's loss",
    "start_rows": "Rows that the start weighs like",
    "rows_per_call": "Number of rows that is public",
    "averaging": "Least share of a row in averaged weights",
    "half_life": "Rows after which a row counts half",
}
_CALLED_OF_PEOPLE = {"n_rows": "Rows that all people together count as, at most"}
_SOURCES = {
    "the shape of X": "follows from the columns of the matrix or table that was read",
    "declared by the shape of X": "follows from the columns of the matrix or table that was read",
    "public rule": "a public rule: epsilon, delta, rows and features in, a number out",
    "given": "given by whoever fitted the model",
    "not used": "not declared, and not used",
}
_NOT_PROTECTED = (
    "The facts above that were taken as public.",
    "What is true of people in general: a model may teach something about someone who is not in "
    "the data at all.",
    "Other releases from the same data: each fit costs its own budget, and budgets add up.",
    "Running time and memory traffic of the fit, and anyone on the machine that did it.",
)
_OF_ROWS = (
    "A person who has several rows: with k of them, the odds can change by the factor to the "
    "power of k."
)
_OF_PERSONS = (
    "A person who is in the data under several identifiers, and what a household has in common."
)
_NOT_CHARGED = (
    "This fit was charged to no budget ledger: nothing on this page counts what else was released."
)
_OF_STREAMS = (
    "Rows that have expired, where there is a window.",
    "How many rows came in so far.",
    "Predictions and scores of rows: they are for the owner of the data only.",
)


def public_facts(model: Any) -> Markup:
    """List the public facts and the clipping bounds, each with its source."""
    statement = model.privacy_
    words = "The guarantee holds given these facts, which anyone may know."
    if not is_private(model):
        words = "There is no guarantee. These are the settings of the fit."
    return section(
        "public",
        "What was taken as public",
        tag("p", words),
        _facts(
            f"Bounds; {'gradients' if is_online(model) else 'entries'} and labels beyond theirs "
            "were clipped",
            statement["bounds"],
        ),
        columns_declared(model),
        _facts("Other public facts", statement["public"]),
    )


def not_protected_items(model: Any) -> list[str]:
    """Return what the guarantee does not cover, a sentence each."""
    if not is_private(model):
        return ["Nothing is protected: any row may show in the model."]
    items = [*(_OF_STREAMS if is_online(model) else ()), *_NOT_PROTECTED]
    items.append(_OF_PERSONS if unit_of(model.privacy_).of_persons else _OF_ROWS)
    if "ledger" not in model.privacy_:
        items.append(_NOT_CHARGED)
    return items


def not_protected(model: Any) -> Markup:
    items = not_protected_items(model)
    listed = tag("ul", *(tag("li", item) for item in items))
    if len(items) == 1:
        listed = tag("p", *items)
    return section("not-protected", "What is not protected", listed)


def how_to_verify(
    model: Any, model_file: Path | None, command: str = "", *, drawn_anew: bool = False
) -> Markup:
    """Return the digest of the file, if there is one, and commands to check it and the page."""
    from dplasso import __version__

    if model_file is None:
        name, words = "model.dpl", tag("p", "No model file was given with this page.")
    else:
        name = model_file.name
        digest = tag("code", digest_of(model, model_file), class_="digest")
        words = tag("p", "The SHA-256 of ", tag("code", name), " is ", digest)
    load = "import dplasso, sys; print(dplasso.load(sys.argv[1]).privacy_)"
    commands = f"sha256sum {shlex.quote(name)}\npython -c '{load}' {shlex.quote(name)}"
    fitted = model.privacy_.get("version", "unknown")
    made = "Learned" if is_online(model) else "Fitted"
    return section(
        "verify",
        "How to verify the model",
        words,
        tag("p", "The first command must show the digest, the second the statement of this page:"),
        tag("pre", tag("code", commands), tabindex=0, aria_label="Commands"),
        tag(
            "p",
            f"{made} with dplasso {fitted}{_on(day_of_fit(model))}; page written with "
            f"dplasso {__version__}{_on(today())}.",
        ),
        written_by(command, drawn_anew=drawn_anew),
    )


def written_by(command: str, *, drawn_anew: bool = False) -> Markup:
    """Return the command that writes the page again; empty if it is not known.

    ``drawn_anew`` says whether it makes fits, which are random.
    """
    if not command:
        return Markup()
    words = "This command writes the page again, in the folder of the files that it names"
    words += "; fits at other epsilons are then drawn anew, and differ:" if drawn_anew else ":"
    return join(tag("p", words), tag("pre", tag("code", command), class_="wrapped"))


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def _on(day: str | None) -> str:
    """Return the day in words, if it is known."""
    return "" if day is None else f" on {day}"


def _facts(caption: str, facts: dict[str, dict[str, Any]]) -> Markup:
    rows, named = [], _CALLED | (_CALLED_OF_PEOPLE if "n_people" in facts else {})
    for name, known in facts.items():
        called = named.get(name)
        label = join(called, tag("small", name)) if called else name
        value = _value(known["value"])
        if "of" in known:
            value = join(value, tag("small", f" {known['of']}"))
        rows.append((label, value, _source(known["source"])))
    return table(caption, ("Fact", "Value", "Where it came from"), rows)


def _value(value: Any) -> Any:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = "–" if value is None else str(value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    shown = f"{value:,}" if isinstance(value, int) else number(value)
    return tag("span", shown, class_="number")


def _source(source: str) -> Markup:
    if READ not in source:
        return tag("span", _SOURCES.get(source, source), class_="source")
    return tag("strong", f"⚠ {source}", class_="flag")


def digest_of(model: Any, path: Path) -> str:
    """Return the SHA-256 of the whole file, after checking that it holds this model."""
    _, arrays = read(path)
    expected = {"weights": model.stream_.weights} if is_online(model) else arrays_of(model.fitted_)
    if not all(np.array_equal(arrays.get(name, ()), kept) for name, kept in expected.items()):
        raise ValueError(f"{path} holds another model; save this one and give its file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

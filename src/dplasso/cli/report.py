"""``dplasso report``: write one HTML page about a model, or about several side by side."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import endings
from dplasso.cli import options as o
from dplasso.cli.output import emit, note, reading, say
from dplasso.estimators import load
from dplasso.estimators.coefficients import without_names
from dplasso.ledger import Budget
from dplasso.reading import read_rows
from dplasso.reading.files import Files
from dplasso.reading.formats import format_of
from dplasso.reading.options import ReadingOptions
from dplasso.reading.reader import like_options
from dplasso.report import (
    About,
    Evaluation,
    Progress,
    Subject,
    accuracy_curve,
    describe_several,
    examine,
    write_several,
)
from dplasso.report.page import write_page
from dplasso.report.twin import document_of
from dplasso.report.weights import is_online
from dplasso.schema import Schema


def report(
    models: Annotated[
        list[Path],
        typer.Argument(help="Model files written by train; several are compared."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the page.")] = Path(
        "report.html"
    ),
    public_data: Annotated[
        Path | None,
        typer.Option(
            help="Public rows with labels, in the form of the training data. They add the accuracy "
            "next to that of the most common class, charts, and fits at other epsilons."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of the public rows, a table: adds scores of its groups. May repeat."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="The ledger of the fit: adds what is left of it now."),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            help="metrics.json of a stream's state: adds how well its rows were predicted. "
            "NOT PRIVATE: such a page is for the data owner only."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    intended_use: Annotated[str | None, typer.Option(help="What the model is for.")] = None,
    owner: Annotated[str | None, typer.Option(help="Who is responsible for it.")] = None,
    contact: Annotated[str | None, typer.Option(help="Whom to ask about it.")] = None,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    json: Annotated[
        bool, typer.Option("--json", help="Also write the facts of the page to standard output.")
    ] = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a self-contained HTML page: whom it protects, how well it predicts, what it holds.

    Several models are compared on one page. The page of a stream's snapshot shows what is
    protected, what has expired, and the coefficients.
    """
    o.check_output(output, *models, public_data, labels, metrics)
    o.check_replaceable(output, b"<!doctype html", "page")
    o.check_unused(output, force)
    endings.begin(output, "page")
    of_rows = (labels, zero_based, by or None, delimiter, encoding)
    if public_data is None and any(option is not None for option in of_rows):
        raise ValueError(
            "--labels, --by, --delimiter, --encoding and index options are for --public-data; give "
            "that too"
        )
    one = len(models) == 1
    if not one and (metrics is not None or by):
        raise ValueError("--metrics and --by are for the page of one model; give one model")
    about = About(intended_use or "", owner or "", contact or "")
    files = {"--output": output, "--public-data": public_data, "--labels": labels}
    command = again(
        [*models],
        {**files, "--by": by, "--budget": budget, "--metrics": metrics, "--title": title},
        {"--intended-use": intended_use, "--owner": owner, "--contact": contact},
        {"--zero-based": zero_based, "--one-based": zero_based is False},
        {"--delimiter": delimiter, "--encoding": encoding},
    )
    ledger = None if budget is None else Budget.open(budget)
    progress = None if metrics is None else Progress.read(metrics)
    subjects = []
    for path in models:
        fitted = load(path)
        found = None
        if public_data is not None:
            how = ReadingOptions(
                zero_based=zero_based, labels=labels, delimiter=delimiter, encoding=encoding
            )
            found = _examined(fitted, public_data, how, by or (), one=one, quiet=quiet or json)
        charged = one or "ledger" in fitted.privacy_
        subjects.append(
            Subject(
                fitted,
                model_file=path,
                evaluation=found,
                progress=progress,
                title=title if one else None,
                about=about if one else About(),
                ledger=ledger if charged else None,
                command=command,
            )
        )
    of_all: dict[str, Any] = {"title": title, "about": about, "command": command}
    if one:
        write_page(output, subjects[0])
    else:
        write_several(output, subjects, **of_all)
    if json:
        emit(document_of(subjects[0]) if one else describe_several(subjects, **of_all))
    elif not quiet:
        say(f"wrote {output}")


def again(models: Sequence[Path], *options: Mapping[str, Any]) -> str:
    """Return the command that writes the page again, with the names of files but not their folders.

    The address of a ledger may say where it is, and is left to fill in.

    >>> again([Path("a/model.dpl")], {"--title": "Our model", "--by": ["sex"], "--budget": None})
    "dplasso report model.dpl --title 'Our model' --by sex"
    """
    words = ["dplasso", "report", *(path.name for path in models)]
    for option, value in (item for part in options for item in part.items()):
        if value is None or value is False:
            continue
        for one in value if isinstance(value, list) else [value]:
            words.append(option)
            if option == "--budget":
                words.append("LEDGER")
            elif one is not True:
                words.append(one.name if isinstance(one, Path) else str(one))
    return shlex.join(words)


def _examined(
    fitted: Any,
    data: Path,
    how: ReadingOptions,
    by: Sequence[str],
    *,
    one: bool,
    quiet: bool,
) -> Evaluation:
    """Score a model on public rows, with a curve over epsilon for the page of one model."""
    files = Files.of(data)
    without_person = _schema_without_person(files, how, fitted)
    if without_person is not None and not quiet:
        note(f"{files.name} does not say whose its rows are; the curve over epsilon is of rows")
    with reading(files, quiet=quiet) as progress:
        rows = read_rows(
            data,
            like=fitted,
            schema=without_person,
            zero_based=how.zero_based,
            labels=how.labels,
            delimiter=how.delimiter,
            encoding=how.encoding,
            progress=progress,
        )
    like = like_options(files, how, fitted)
    groups = {column: list(format_of(files).column_texts(files, column, like)) for column in by}
    # Fits to rows in another order would not be this stream.
    fits = one and not is_online(fitted)
    curve = accuracy_curve(fitted, rows.X, rows.y, groups=rows.groups) if fits else None
    plain = without_names(fitted)
    return examine(plain, rows.X, rows.y, by=groups, curve=curve, data_name=data.name)


def _schema_without_person(files: Files, how: ReadingOptions, fitted: Any) -> Schema | None:
    """The schema of a model without its person, if a public table has no such column."""
    like = like_options(files, how, fitted)
    kept = like.known
    if kept is None or kept.person is None:
        return None
    if format_of(files).has_column(files, kept.person, like):
        return None
    columns = {name: role for name, role in kept.columns.items() if name != kept.person}
    return replace(
        kept,
        columns=columns,
        n_people=None,
        rows_per_person=None,
        encoding=like.fallback_encoding,
    )

"""``dplasso convert``: a column store from a file of any size, in bounded memory."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli import options as o
from dplasso.cli.inputs import chunks_of
from dplasso.cli.output import emit, reading_bar, show
from dplasso.cli.table_options import form_of
from dplasso.privacy import leaks
from dplasso.reading.byte_source import LONGEST_LINE
from dplasso.storage import build_store, open_store

_LINES_IN_MEMORY = 8  # a line takes about so many times its bytes
_LEAST_LINE = 4 << 20  # bytes


def convert(
    data: o.Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="The store: a new folder.")],
    memory: Annotated[str, typer.Option(help="Most memory to use: 500M, 2G.")] = "2G",
    features: o.Features = None,
    zero_based: o.ZeroBased = None,
    classes: o.Classes = None,
    rows: o.RowCount = None,
    target: o.Target = None,
    bounds: o.Bounds = None,
    hashed: o.Hashed = None,
    text: o.Text = None,
    ignore: o.Ignore = None,
    delimiter: o.Delimiter = None,
    buckets: o.Buckets = None,
    names: o.Names = None,
    longest_line: o.LongestLine = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a store of this name.")] = False,
    strict: o.Strict = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Convert data once into a column store; training from it does not load it."""
    if strict:
        leaks.set_strict(True)
    o.check_output(output, data, folder=True)
    form = form_of(
        data,
        target=target,
        bounds=bounds,
        hashed=hashed,
        text=text,
        ignore=ignore,
        buckets=buckets,
        delimiter=delimiter,
        rows=rows,
        classes=o.classes_of(classes),
        features=features,
        zero_based=zero_based,
        names=names,
    )
    most = o.bytes_of("--memory", memory)
    longest = o.longest_line_of(longest_line)
    if longest is None:
        longest = min(LONGEST_LINE, max(_LEAST_LINE, most // _LINES_IN_MEMORY))
    form = replace(form, longest_line=longest)
    with reading_bar("converting", quiet=quiet or json, rows=form.plan is not None) as progress:
        chunks, columns, known = chunks_of(data, form, progress)
        built = build_store(output, chunks, columns, memory=most, overwrite=overwrite, **known)
    store = open_store(built)
    facts = {
        "store": str(output),
        "rows": store.shape[0],
        "columns": store.shape[1],
        "entries": store.entries,
    }
    if json:
        emit(facts)
    elif not quiet:
        show("Converted (as private as the data)", facts)

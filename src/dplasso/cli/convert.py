"""``dplasso convert``: a column store from a file of any size, in bounded memory."""

from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, reading, show
from dplasso.cli.table_options import reading_options
from dplasso.privacy import leaks
from dplasso.reading import convert as convert_file
from dplasso.storage import open_store


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
    how = reading_options(
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
        longest_line=longest_line,
    )
    most = o.bytes_of("--memory", memory)
    with reading(data, quiet=quiet or json, what="converting") as progress:
        built = convert_file(
            data, output, memory=most, overwrite=overwrite, progress=progress, **how
        )
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

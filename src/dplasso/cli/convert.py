"""``dplasso convert``: a column store from a file of any size, in bounded memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, reading, show
from dplasso.cli.signatures import options_of
from dplasso.cli.table_options import ReadingOptions
from dplasso.privacy import leaks
from dplasso.reading import convert as convert_file
from dplasso.storage import open_store


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(ReadingOptions):
    """The options of the command, which are these fields."""

    output: Annotated[Path, typer.Option("--output", "-o", help="The store, a new folder.")]
    memory: Annotated[str, typer.Option(help="Most memory to use: 500M, 2G.")] = "2G"
    overwrite: Annotated[bool, typer.Option(help="Replace a store of this name.")] = False


@options_of(ConvertOptions)
def convert(**given: Any) -> None:
    """Convert data once into a column store; training from it does not load it."""
    options = ConvertOptions(**given)
    if options.strict:
        leaks.set_strict(True)
    data, output = options.data, options.output
    o.check_output(output, data, folder=True)
    how, most = options.reading(), o.bytes_of("--memory", options.memory)
    with reading(data, quiet=not options.watched, what="converting") as progress:
        built = convert_file(
            data, output, memory=most, overwrite=options.overwrite, progress=progress, **how
        )
    store = open_store(built)
    facts = {
        "store": str(output),
        "rows": store.shape[0],
        "columns": store.shape[1],
        "entries": store.entries,
    }
    if options.json:
        emit(facts)
    elif options.watched:
        show("Converted (as private as the data)", facts)

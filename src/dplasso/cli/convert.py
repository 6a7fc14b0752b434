"""``dplasso convert``: a column store from a file of any size, in bounded memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import endings
from dplasso.cli import options as o
from dplasso.cli.output import emit, reading, show
from dplasso.cli.signatures import options_of, with_former
from dplasso.cli.table_options import ReadingOptions
from dplasso.privacy import leaks
from dplasso.reading import convert as convert_file
from dplasso.storage import open_store


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(ReadingOptions):
    """The options of the command, which are these fields."""

    output: Annotated[Path, typer.Option("--output", "-o", help="The store, a new folder.")]
    memory: Annotated[str, typer.Option(help="Most memory to use: 500M, 2G.")] = "2G"
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=99_999,
            help="Write a folder of this many stores, for dplasso train --cluster.",
        ),
    ] = None
    force: o.Force = False


@with_former({"overwrite": "force"})
@options_of(ConvertOptions)
def convert(**given: Any) -> None:
    """Convert data once into a column store; training from it does not load it."""
    options = ConvertOptions(**given)
    if options.strict:
        leaks.set_strict(True)
    data, output = options.files, options.output
    o.check_output(output, *data.paths, folder=True)
    o.check_unused(output, options.force)
    endings.begin(output, "store")
    how, most = options.reading(), o.bytes_of("--memory", options.memory)
    with reading(data, quiet=not options.watched, what="converting") as progress:
        built = convert_file(
            *(data, output),
            memory=most,
            overwrite=options.force,
            shards=options.shards,
            progress=progress,
            **how,
        )
    places = [built] if options.shards is None else sorted(built.iterdir())
    stores = [open_store(place) for place in places]
    facts = {
        "store": str(output),
        "rows": sum(store.shape[0] for store in stores),
        "columns": stores[0].shape[1],
        "entries": sum(store.entries for store in stores),
    }
    if options.shards is not None:
        facts["shards"] = len(stores)
    if options.json:
        emit(facts)
    elif options.watched:
        show("Converted (as private as the data)", facts)

"""``dplasso schema``: a schema file to fill in, from the names of a table's columns alone."""

from pathlib import Path
from typing import Annotated

import typer

from dplasso.base.wording import ParameterError
from dplasso.cli import options as o
from dplasso.cli.output import note, say
from dplasso.reading.files import Files
from dplasso.reading.formats import format_of
from dplasso.schema.draft import draft
from dplasso.storage.atomic import replace_file


def schema(
    data: Annotated[
        Path,
        typer.Argument(help="A table: .csv, .tsv, .parquet, .arrow, .xlsx.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The schema file; standard output by default."),
    ] = None,
    target: o.Target = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    quiet: o.Quiet = False,
) -> None:
    """Write a schema file that lists the columns of a table, with blanks to fill in.

    Roles are guessed from the names of the columns, and from their types if the file declares them.
    No row is read: fill in what is publicly known.
    """
    kind = format_of(Files.of(data))
    if "schema" not in kind.options:
        raise ValueError(f"{data} is {kind.name}; a schema describes a table")
    if output is not None:
        o.check_output(output, data)
        if output.exists():
            raise ValueError(f"{output} exists, and may state facts; give another name")
    # Tables need an extra, which commands about other files do without.
    from dplasso.reading.table_header import read_header

    header = read_header(data, delimiter, encoding)
    if target is not None and target not in header.names:
        raise ParameterError("{target} must be a column of {data}", data=data)
    text = draft(data.name, header.names, header.kinds, target, delimiter, encoding)
    if output is None:
        say(text)
        return
    replace_file(output, text.encode(), released=True)
    if not quiet:
        note(f"wrote {output}: fill in its blanks, then train with --schema {output}")

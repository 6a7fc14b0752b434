"""``dplasso federated``: learn from parties that hold different features of the same people."""

import time
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dplasso.base.extras import require
from dplasso.cli.federated_terms import proposal_of, with_terms
from dplasso.cli.options import Force, Json, Quiet, Raw, check_output, check_unused
from dplasso.cli.output import emit, note, say, show, show_rows
from dplasso.federated.deployment.kits import open_kit
from dplasso.federated.deployment.names import DEFAULT_PORT
from dplasso.storage.atomic import replace_file

if TYPE_CHECKING:  # NVFlare is an extra, and takes a second to import
    from dplasso.federated.deployment.administration import Administration, JobStatus, Status

app = typer.Typer(
    name="federated",
    help="Learn from parties that hold different features of the same people (needs NVFlare).",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Kit = Annotated[Path, typer.Argument(help="A kit made by init.", show_default=False)]
Job = Annotated[str, typer.Argument(help="The id that submit printed.", show_default=False)]
_PAUSE = 2.0  # seconds between two looks at the server


@app.callback()
def _needs_nvflare() -> None:
    require("nvflare", extra="federated", purpose="a federation")


@app.command()
def init(
    project: Annotated[Path, typer.Argument(help="A new folder for the kits.", show_default=False)],
    server: Annotated[str, typer.Option(help="Host name by which parties reach the server.")],
    party: Annotated[list[str], typer.Option(help="Name of a party; repeat for each.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server.")] = DEFAULT_PORT,
    quiet: Quiet = False,
) -> None:
    """Make a federation: an authority, and a kit with key and certificate per participant."""
    from dplasso.federated.deployment.provisioning import make_federation

    kits = make_federation(project, server, party, port)
    if not quiet:
        rows: list[list[Any]] = [[kit.role, kit.name, str(kit.folder)] for kit in kits]
        show_rows("Kits", ["for the", "named", "folder"], rows)
        say()
        say(
            "Hand each kit to its owner over a safe channel, and to nobody else: it has a private "
            "key.\nEach party sets its data and its limits in party.toml. Store "
            f"{project / 'authority'} safely:\nit can make certificates for anyone."
        )


@app.command()
def configure(
    kit: Kit,
    data: Annotated[
        Path | None, typer.Option(help="A table (.csv, .tsv, .parquet) with one row per person.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Its schema file (dplasso schema), with all blanks filled.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column with the identifiers, alike at all parties.")
    ] = None,
    max_epsilon: Annotated[
        float | None, typer.Option(help="Limit on epsilon of all jobs together.")
    ] = None,
    max_delta: Annotated[
        float | None, typer.Option(help="Limit on delta of all jobs together.")
    ] = None,
    max_row_budget: Annotated[
        float | None, typer.Option(help="Limit on a row's squared shared entries, per job.")
    ] = None,
    max_asks: Annotated[
        int | None, typer.Option(help="Limit on how often a job may ask this party.")
    ] = None,
) -> None:
    """Set what a party holds, and its limits, in party.toml of its kit.

    Limits on epsilon and delta that a ledger was begun with can only be raised, which its ledger
    records. A party that runs follows new settings after a restart.
    """
    from dplasso.federated.deployment.settings import (
        PARTY_FILE,
        changed_party_settings,
        party_ledger_of,
        read_party_settings,
    )
    from dplasso.federated.party_ledger import raise_limits

    opened = open_kit(kit, "party")
    given: dict[str, Any] = {
        "data": data and data.absolute(),
        "schema": schema and schema.absolute(),
        "id_column": id_column,
        "max_epsilon": max_epsilon,
        "max_delta": max_delta,
        "max_row_budget": max_row_budget,
        "max_asks": max_asks,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise ValueError("there is nothing to set; give --data, --max-epsilon or another option")
    text = changed_party_settings(opened.folder, changes)
    ledger = party_ledger_of(opened.folder)
    if raise_limits(ledger, max_epsilon, max_delta):
        note(f"raised the limits of {ledger}; it has them on record")
    place = opened.folder / PARTY_FILE
    replace_file(place, text.encode())
    try:
        read_party_settings(opened.folder, opened.name)
    except ValueError as error:
        note(f"wrote {place}; the party cannot start yet: {error}")
    else:
        note(f"wrote {place}")


@app.command()
def renew(
    authority: Annotated[
        Path, typer.Argument(help="The folder authority that init made.", show_default=False)
    ],
    certificates: Annotated[
        list[Path],
        typer.Argument(
            help="Kits, or copies of the certificates in their folders startup.", show_default=False
        ),
    ],
    quiet: Quiet = False,
) -> None:
    """Renew certificates in place, for about a year, with the same names and keys.

    Certificates are public. So their owners may send them, and keep their keys.
    """
    from dplasso.federated.deployment.renewal import Authority

    renewed = Authority(authority).renew(certificates)
    if not quiet:
        rows: list[list[Any]] = [[one.name, f"{one.until:%Y-%m-%d}", one.path] for one in renewed]
        show_rows("Renewed", ["named", "valid until", "file"], rows)


@app.command()
def server(kit: Kit) -> None:
    """Coordinate jobs, in the foreground, until SIGTERM or SIGINT."""
    from dplasso.federated.deployment.foreground import run_server

    run_server(open_kit(kit, "server"))


@app.command()
def party(
    kit: Kit,
    data: Annotated[
        Path | None, typer.Option(help="The table; by default the one in party.toml.")
    ] = None,
) -> None:
    """Take part, in the foreground, until SIGTERM or SIGINT.

    The party releases no more than party.toml allows, whatever the server asks. It may be stopped
    or killed at any time: after a restart it continues its jobs, and draws nothing twice.
    """
    from dplasso.federated.deployment.foreground import run_party

    run_party(open_kit(kit, "party"), data)


@app.command()
@with_terms
def submit(
    kit: Kit,
    party: Annotated[
        list[str] | None, typer.Option(help="A party that takes part; by default all do.")
    ] = None,
    json: Json = False,
    **terms: Any,
) -> None:
    """Submit a job, with an admin's kit, and print its id."""
    known = open_kit(kit, "admin").parties
    proposal = proposal_of(terms, party or known, known)
    with _administering(kit) as admin:
        job = admin.submit(proposal)
    if json:
        emit({**asdict(proposal), "job": job})
    else:
        say(job)


@app.command()
def status(
    kit: Kit,
    follow: Annotated[
        bool, typer.Option("--follow", help="Look again until all jobs have ended.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the server, the parties and the jobs, with an admin's kit."""
    with _administering(kit) as admin:
        shown = None
        while True:
            seen = admin.status()
            if seen != shown:
                emit(asdict(seen)) if json else _show_status(seen)
            shown = seen
            if not follow or not any(job.is_active for job in seen.jobs):
                return
            time.sleep(_PAUSE)


@app.command()
def stop(kit: Kit, job: Job) -> None:
    """End a job, with an admin's kit. Its model card covers the rounds so far."""
    with _administering(kit) as admin:
        admin.stop(job)


@app.command()
def fetch(
    kit: Kit,
    job: Job,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the model card.")],
    force: Force = False,
    json: Json = False,
) -> None:
    """Get the model card of a job that has ended, with an admin's kit.

    Each party has its own coefficients by name, in state/JOB/coefficients.csv of its kit.
    """
    check_output(output)
    check_unused(output, force)
    with _administering(kit) as admin:
        card, outcome = admin.fetch(job)
    replace_file(output, card, released=True)
    if json:
        emit(outcome)
    else:
        note(f"wrote {output}: {outcome['ended']}")


@app.command()
def margins(
    kit: Kit,
    job: Job,
    data: Annotated[Path, typer.Argument(help="New rows, in a table as for training.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A CSV file: id, margin.")],
    force: Force = False,
) -> None:
    """Compute a party's part of the predictions for new rows, with its own kit.

    Margins are not private: they reveal something of the new rows. Share them only where allowed.
    """
    check_output(output, data)
    check_unused(output, force)
    from dplasso.cli.federated_margins import margins_of, table
    from dplasso.federated.deployment.settings import read_party_settings
    from dplasso.federated.party_protocols import load_model
    from dplasso.federated.service import MODEL

    opened = open_kit(kit, "party")
    settings, _ = read_party_settings(opened.folder, opened.name, data)
    model = settings.state / job / MODEL
    if not model.exists():
        raise ValueError(f"there are no coefficients of job {job} here; wait until it has ended")
    found = margins_of(settings, load_model(model), data)
    replace_file(output, table(found, "margin"))
    note(f"wrote {output}: {len(found.rows):,} rows")


@app.command()
def combine(
    files: Annotated[list[Path], typer.Argument(help="The margins of all parties.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A CSV file: id, prediction.")],
    model: Annotated[
        Path | None,
        typer.Option(help="The label holder's model.json (moments): adds classes, probabilities."),
    ] = None,
    raw: Raw = False,
    force: Force = False,
) -> None:
    """Add up the margins of all parties to predictions. Of two classes, above 0 is the second."""
    check_output(output, *files)
    check_unused(output, force)
    from dplasso.cli.federated_margins import combined, table
    from dplasso.federated.moments.party_model import MomentPartyModel

    of_classes = None if model is None else MomentPartyModel.load(model)
    found = combined(files)
    replace_file(output, table(found, "prediction", raw, of_classes))
    note(f"wrote {output}: {len(found.rows):,} rows")


def _administering(kit: Path) -> "AbstractContextManager[Administration]":
    from dplasso.federated.deployment.administration import administering

    return administering(open_kit(kit, "admin"))


def _show_status(seen: "Status") -> None:
    show("Federation", {"server": seen.server, "up since (UTC)": seen.up_since})
    say()
    rows: list[list[Any]] = [
        [name, "connected" if here else "away"] for name, here in seen.parties.items()
    ]
    show_rows("Parties", ["party", "is"], rows)
    if seen.jobs:
        say()
        heads = ["job", "submitted (UTC)", "is", "rounds", "remarks"]
        show_rows("Jobs", heads, [_row(job) for job in seen.jobs])


def _row(job: "JobStatus") -> list[Any]:
    rounds = "" if job.rounds is None else f"{job.rounds_done} of {job.rounds}"
    return [job.job, job.submitted, job.state, rounds, job.remarks]

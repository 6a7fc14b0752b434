"""``dplasso federated``: learn from parties that hold different features of the same people."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dplasso.base.extras import require
from dplasso.cli.federated_terms import check_terms
from dplasso.cli.options import MOST_ROWS, Json, Quiet, Raw, check_output
from dplasso.cli.output import emit, note, say, show, show_rows
from dplasso.federated.deployment.names import DEFAULT_PORT
from dplasso.federated.roles import Proposal

if TYPE_CHECKING:  # NVFlare is an extra, and takes a second to import
    from dplasso.federated.deployment.administration import JobStatus, Status

app = typer.Typer(
    name="federated",
    help="Learn from parties that hold different features of the same people (needs NVFlare).",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Kit = Annotated[Path, typer.Argument(help="A kit made by init.", show_default=False)]
Job = Annotated[str, typer.Argument(help="What submit has printed.", show_default=False)]
BETWEEN_LOOKS = 2.0  # seconds


@app.callback()
def _needs_nvflare() -> None:
    require("nvflare", extra="federated", purpose="a federation")


@app.command()
def init(
    project: Annotated[Path, typer.Argument(help="A new folder for the kits.", show_default=False)],
    server: Annotated[str, typer.Option(help="Host name that parties reach the server by.")],
    party: Annotated[list[str], typer.Option(help="Name of a party; repeat for each.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server.")] = DEFAULT_PORT,
    quiet: Quiet = False,
) -> None:
    """Make a federation: an authority, and a kit with key and certificate for each participant."""
    from dplasso.federated.deployment.provisioning import make_federation

    kits = make_federation(project, server, party, port)
    if not quiet:
        rows: list[list[Any]] = [[kit.role, kit.name, str(kit.folder)] for kit in kits]
        show_rows("Kits", ["for the", "named", "folder"], rows)
        say()
        say(
            "Hand each kit to its owner over a safe channel, and to nobody else: it has a private "
            "key.\nEach party sets its data and its limits in party.toml. Put away "
            f"{project / 'authority'}: it can\nmake certificates for anyone."
        )


@app.command()
def server(kit: Kit) -> None:
    """Coordinate jobs, in the foreground, until SIGTERM or SIGINT."""
    from dplasso.federated.deployment.foreground import run_server
    from dplasso.federated.deployment.kits import open_kit

    run_server(open_kit(kit, "server"))


@app.command()
def party(
    kit: Kit,
    data: Annotated[
        Path | None, typer.Option(help="Features and row identifiers; else as in party.toml.")
    ] = None,
) -> None:
    """Take part, in the foreground, until SIGTERM or SIGINT.

    Releases no more than party.toml allows, whatever the server asks. May be stopped or killed at
    any time: started again, it goes on with its jobs, and draws nothing twice.
    """
    from dplasso.federated.deployment.foreground import run_party
    from dplasso.federated.deployment.kits import open_kit

    run_party(open_kit(kit, "party"), data)


@app.command()
def submit(
    kit: Kit,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Of all parties together.")],
    delta: Annotated[float, typer.Option(help="Chance that epsilon fails.")],
    rows: Annotated[
        int, typer.Option(min=1, max=MOST_ROWS, help="Number of people, declared: public.")
    ],
    labels: Annotated[str, typer.Option(help="The party that holds the labels.")],
    radius: Annotated[float, typer.Option(help="Bound on the L1 norm of the weights.")] = 5.0,
    rounds: Annotated[
        int | None, typer.Option("--rounds", "-T", min=1, help="Rounds; else by a public rule.")
    ] = None,
    tau: Annotated[
        int | None, typer.Option(min=1, help="Features a party looks at in a round; else all.")
    ] = None,
    sketch_size: Annotated[
        int | None,
        typer.Option(
            "--sketch-size", "-m", min=1, help="Numbers in a sketch; else by a public rule."
        ),
    ] = None,
    label_bound: Annotated[
        float, typer.Option(help="Bound on labels, as their holder has it; 1 for classes.")
    ] = 1.0,
    party: Annotated[
        list[str] | None, typer.Option(help="Who takes part; all parties if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """Hand in a job, with an admin's kit, and print its id."""
    from dplasso.federated.deployment.administration import administering
    from dplasso.federated.deployment.kits import open_kit

    opened = open_kit(kit, "admin")
    parties = party or list(opened.parties)
    terms = Proposal(epsilon, delta, rows, labels, radius, rounds, tau, sketch_size, label_bound)
    check_terms(terms, parties, opened.parties)
    with administering(opened) as admin:
        job = admin.submit(terms, parties)
    if json:
        emit({"job": job, "parties": parties, **asdict(terms)})
    else:
        say(job)


@app.command()
def status(
    kit: Kit,
    follow: Annotated[
        bool, typer.Option("--follow", help="Look again until no job goes on.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the server, the parties and the jobs, with an admin's kit."""
    from dplasso.federated.deployment.administration import administering
    from dplasso.federated.deployment.kits import open_kit

    with administering(open_kit(kit, "admin")) as admin:
        shown = None
        while True:
            seen = admin.status()
            if seen != shown:
                emit(asdict(seen)) if json else _show_status(seen)
            shown = seen
            if not follow or not any(job.goes_on for job in seen.jobs):
                return
            time.sleep(BETWEEN_LOOKS)


@app.command()
def stop(kit: Kit, job: Job) -> None:
    """End a job, with an admin's kit; its model card is of the rounds so far."""
    from dplasso.federated.deployment.administration import administering
    from dplasso.federated.deployment.kits import open_kit

    with administering(open_kit(kit, "admin")) as admin:
        admin.stop(job)


@app.command()
def fetch(
    kit: Kit,
    job: Job,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model card.")],
    json: Json = False,
) -> None:
    """Get the model card of a job that has ended, with an admin's kit.

    Each party has its own coefficients by name, in state/JOB/coefficients.csv of its kit.
    """
    from dplasso.federated.deployment.administration import administering
    from dplasso.federated.deployment.kits import open_kit
    from dplasso.storage.atomic import replace_file

    check_output(output)
    with administering(open_kit(kit, "admin")) as admin:
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
    data: Annotated[Path, typer.Argument(help="New rows, a table as in training.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A CSV file: id, margin.")],
) -> None:
    """A party's part of the predictions of new rows, with its own kit and coefficients.

    Margins are not private: they tell of the new rows. Hand them on only where that is allowed.
    """
    from dplasso.cli.federated_margins import margins_of, table
    from dplasso.federated.deployment.kits import open_kit
    from dplasso.federated.deployment.settings import read_party_settings
    from dplasso.federated.model import PartyModel
    from dplasso.federated.service import MODEL
    from dplasso.storage.atomic import replace_file

    check_output(output, data)
    opened = open_kit(kit, "party")
    settings, _ = read_party_settings(opened.folder, opened.name, data)
    model = settings.state / job / MODEL
    if not model.exists():
        raise ValueError(f"there are no coefficients of job {job} here; has it ended?")
    rows = margins_of(settings, PartyModel.load(model), data)
    replace_file(output, table(rows, "margin"))
    note(f"wrote {output}: {len(rows):,} rows")


@app.command()
def combine(
    files: Annotated[list[Path], typer.Argument(help="Margins of all parties.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A CSV file: id, prediction.")],
    raw: Raw = False,
) -> None:
    """Add up all parties' margins: the predictions. Of two classes, above 0 is the second."""
    from dplasso.cli.federated_margins import combined, table
    from dplasso.storage.atomic import replace_file

    check_output(output, *files)
    rows = combined(files)
    replace_file(output, table(rows, "prediction", raw))
    note(f"wrote {output}: {len(rows):,} rows")


def _show_status(seen: "Status") -> None:
    show("Federation", {"server": seen.server, "up since (UTC)": seen.up_since})
    say()
    rows: list[list[Any]] = [
        [name, "connected" if here else "away"] for name, here in seen.parties.items()
    ]
    show_rows("Parties", ["party", "is"], rows)
    if seen.jobs:
        say()
        heads = ["job", "submitted (UTC)", "is", "exchanges", "remarks"]
        show_rows("Jobs", heads, [_row(job) for job in seen.jobs])


def _row(job: "JobStatus") -> list[Any]:
    return [job.job, job.submitted, job.state, job.exchanges or 0, job.remarks]

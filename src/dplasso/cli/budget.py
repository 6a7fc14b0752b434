"""``dplasso budget``: the ledger that fits and other releases are charged to."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli.options import DEFAULT_LEDGER, LEDGER_VARIABLE, Json, Quiet
from dplasso.cli.output import emit, say, show, show_rows
from dplasso.ledger import Budget, Charge
from dplasso.ledger.chain import Chain
from dplasso.privacy.events import Event, Gaussian, PureDP, ZeroConcentrated
from dplasso.privacy.zcdp import epsilon_of

BAR = 40  # characters

app = typer.Typer(
    name="budget",
    help="Keep a budget for all releases from one set of data.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Store = Annotated[
    str,
    typer.Argument(
        envvar=LEDGER_VARIABLE,
        show_envvar=True,
        help="A SQLite file, or postgresql://user@host/database#ledger.",
    ),
]


@app.command()
def init(
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The most to spend.")],
    delta: Annotated[float, typer.Option(help="Chance that epsilon fails.")],
    store: Store = DEFAULT_LEDGER,
    neighboring: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a ledger; one that is there must have the same numbers."""
    budget = Budget(epsilon, delta, store, neighboring)
    facts = _facts(budget, budget.verify())
    if json:
        emit(facts)
    elif not quiet:
        show("Ledger", _told(facts))


@app.command("show")
def show_budget(store: Store = DEFAULT_LEDGER, json: Json = False) -> None:
    """Verify a ledger and show what was spent, and on what."""
    budget = Budget.open(store)
    chain = budget.verify()
    facts, rows = _facts(budget, chain), [_row(chain, charge) for charge in chain.charges]
    if json:
        emit({**facts, "entries": [dict(zip(_NAMES, row, strict=True)) for row in rows]})
        return
    show("Ledger", _told(facts))
    say()
    percent = facts["spent_percent"]
    full = round(BAR * percent / 100)
    say(f"[{'#' * full}{'.' * (BAR - full)}] {percent:.1f} % of rho is spent")
    if rows:
        say()
        show_rows("Charges", [*_told(dict.fromkeys(_NAMES))], rows)


@app.command()
def spend(
    label: Annotated[str, typer.Option(help="What is released.")],
    store: Store = DEFAULT_LEDGER,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="It is epsilon-DP, with delta = 0.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="It is rho-zCDP.")] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(help="It has Gaussian noise of so many times the L2 sensitivity."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Charge a release that is made elsewhere. Make it only if this succeeds."""
    budget = Budget.open(store)
    receipt = budget.charge(
        _event(epsilon, rho, noise_multiplier),
        delta=budget.delta,
        neighboring=budget.neighboring,
        label=label,
    )
    if json:
        emit(receipt._asdict())
    elif not quiet:
        show("Charged", _told(receipt._asdict()))


@app.command()
def export(
    store: Store = DEFAULT_LEDGER,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file; standard output if left out.")
    ] = None,
) -> None:
    """Verify a ledger and write it as JSON lines, to keep elsewhere."""
    budget = Budget.open(store)
    if output is not None:
        chain = budget.export(output)
        say(f"wrote {output}: {len(chain.charges)} charges, head {chain.head.hash}")
        return
    chain = budget.verify()
    for entry in (chain.genesis, *chain.charges):
        typer.echo(entry.line)


@app.command()
def verify(
    store: Store = DEFAULT_LEDGER,
    against: Annotated[Path | None, typer.Option(help="An earlier export.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every entry; against an earlier export, also that none is missing or rewritten."""
    budget = Budget.open(store)
    chain = budget.verify(against)
    facts = {"ledger": budget.shown, "entries": len(chain.charges), "head": chain.head.hash}
    if json:
        emit({**facts, "against": None if against is None else str(against), "sound": True})
    elif not quiet:
        show("Sound", facts)


_NAMES = ("entry", "time", "label", "rho", "percent", "epsilon_so_far")


def _facts(budget: Budget, chain: Chain) -> dict[str, Any]:
    """What a ledger is, and how full, as of one moment."""
    genesis, head = chain.genesis, chain.head
    spent, left = chain.rho_of(head.total), chain.rho_of(genesis.cap - head.total)
    return {
        "ledger": budget.shown,
        "neighboring": genesis.neighboring,
        "delta": genesis.delta,
        "epsilon": genesis.epsilon,
        "spent_epsilon": epsilon_of(spent, genesis.delta),
        "remaining_epsilon": epsilon_of(left, genesis.delta),
        "spent_rho": spent,
        "remaining_rho": left,
        "spent_percent": 100 * head.total / genesis.cap,
        "charges": len(chain.charges),
        "head": head.hash,
    }


def _told(facts: dict[str, Any]) -> dict[str, Any]:
    """Names as people write them."""
    return {name.replace("_", " "): value for name, value in facts.items()}


def _row(chain: Chain, charge: Charge) -> list[Any]:
    so_far = epsilon_of(chain.rho_of(charge.total), chain.genesis.delta)
    share = 100 * charge.cost / chain.genesis.cap
    time = f"{charge.time[:10]} {charge.time[11:19]}"
    return [charge.sequence, time, charge.label, charge.rho, share, so_far]


def _event(epsilon: float | None, rho: float | None, noise_multiplier: float | None) -> Event:
    given = [value for value in (epsilon, rho, noise_multiplier) if value is not None]
    if len(given) != 1:
        raise ValueError("say what it costs with one of --epsilon, --rho and --noise-multiplier")
    if epsilon is not None:
        return PureDP(epsilon)
    return Gaussian(given[0]) if rho is None else ZeroConcentrated(rho)

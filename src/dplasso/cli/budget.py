"""``dplasso budget``: the ledger that fits and other releases are charged to."""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli.options import DEFAULT_LEDGER, LEDGER_VARIABLE, Delta, Json, Neighboring, Quiet
from dplasso.cli.output import emit, say, show, show_rows
from dplasso.estimators import load
from dplasso.ledger import Budget, Charge
from dplasso.ledger.allowance import epsilon_per_fit, rounded_down
from dplasso.ledger.chain import Chain, taken_by
from dplasso.ledger.errors import BudgetError
from dplasso.ledger.search_cost import epsilon_of
from dplasso.privacy.events import Event, Gaussian, PureDP, ZeroConcentrated
from dplasso.privacy.statement import protects
from dplasso.privacy.unit import ROW

BAR = 40  # characters

app = typer.Typer(
    name="budget",
    help="Keep a budget for all releases from one set of data. Epsilons do not add; rho does.",
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
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="Epsilon of all releases together.")
    ],
    delta: Delta,
    store: Store = DEFAULT_LEDGER,
    neighboring: Neighboring = "add_remove",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a ledger; an existing one must have the same numbers."""
    budget = Budget(epsilon, delta, store, neighboring)
    facts = _facts(budget, budget.verify())
    if json:
        emit(facts)
    elif not quiet:
        show("Ledger", _with_spaces(facts, _LEFT))


@app.command("show")
def show_budget(
    store: Store = DEFAULT_LEDGER,
    fits: Annotated[
        int | None,
        typer.Option(min=1, help="Number of planned fits: show the epsilon that each may have."),
    ] = None,
    json: Json = False,
) -> None:
    """Verify a ledger and show what was spent, and on what.

    Epsilons do not add; rho does. The share of rho shows how much is spent. The epsilons of the
    charges, of all charges together and of the rest do not add up to the epsilon of the ledger.
    """
    budget = Budget.open(store)
    chain = budget.verify()
    planned = {} if fits is None else {"fits": fits, "epsilon_per_fit": _left(chain, fits)}
    facts, rows = _facts(budget, chain), [_row(chain, charge) for charge in chain.charges]
    if json:
        emit({**facts, **planned, "entries": rows})
        return
    _say_share(chain)
    if fits is not None:
        each = rounded_down(_left(chain, fits), 6)
        say(f"Planned fits: {fits:,}, of epsilon {each} each at most.")
    say()
    show("Ledger", _with_spaces(facts, _LEFT))
    if rows:
        say()
        times = [{**row, "time": f"{row['time'][:10]} {row['time'][11:19]}"} for row in rows]
        heads = ["time (UTC)" if name == "time" else name for name in _with_spaces(rows[0])]
        show_rows("Charges", heads, [[*row.values()] for row in times])


@app.command()
def spend(
    label: Annotated[str, typer.Option(help="Name of the release.")],
    store: Store = DEFAULT_LEDGER,
    model: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="The release is this model, which was fitted without a ledger: its statement "
            "says what it cost and whom it protects.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The release is epsilon-DP with delta = 0 (pure)."),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The release is rho-zCDP.")] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(help="The release has Gaussian noise of this multiple of the L2 sensitivity."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            show_default=ROW,
            help="Whom the release protects: row, person, or 'person: patient_id' (what "
            "identifies one). All charges of a ledger protect the same.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Charge a release that is made elsewhere. Make the release only if this succeeds.

    With --model, enter a model that was fitted before there was a ledger.
    """
    budget = Budget.open(store)
    neighboring = budget.neighboring
    if model is not None:
        if (unit, epsilon, rho, noise_multiplier) != (None,) * 4:
            raise ValueError(
                "--model says what was spent and whom it protects; leave out --epsilon, --rho, "
                "--noise-multiplier and --unit"
            )
        rho, neighboring, unit = _cost_of(model)
        label = _label_of(model, label, budget)
    event = _event(epsilon, rho, noise_multiplier)
    try:
        receipt = budget.charge(
            event, delta=budget.delta, neighboring=neighboring, label=label, unit=unit or ROW
        )
    except BudgetError as error:
        if model is None or rho is None or rho <= budget.remaining_rho:
            raise
        raise BudgetError(
            f"{model} costs rho {rho:.6g}, and {budget.remaining_rho:.6g} is left of epsilon "
            f"{budget.epsilon:g} at delta {budget.delta:g}. It exists already, so more has been "
            "released than this ledger allows: raise the ledger with dplasso budget raise, if "
            "that is agreed, or withdraw the model"
        ) from error
    if json:
        emit(receipt._asdict())
    elif not quiet:
        show("Charged", _with_spaces(receipt._asdict()))
        say()
        _say_share(budget.verify())


@app.command("raise")
def raise_budget(
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", help="Epsilon of all releases together, so far and later."),
    ],
    store: Store = DEFAULT_LEDGER,
    delta: Annotated[
        float | None, typer.Option(help="Delta of all of them; by default it stays as it is.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Raise the budget of a ledger, as an entry of its own. What was charged stays charged.

    People whose data these are were promised less: raise a budget only if that is agreed.
    """
    budget = Budget.open(store)
    budget.raise_to(epsilon, delta)
    facts = _facts(budget, budget.verify())
    if json:
        emit(facts)
    elif not quiet:
        show("Ledger", _with_spaces(facts, _LEFT))


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
    for entry in chain.entries:
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
    facts = {"ledger": budget.shown, "entries": len(chain.entries) - 1, "head": chain.head.hash}
    if json:
        emit({**facts, "against": None if against is None else str(against), "sound": True})
    elif not quiet:
        show("Sound", facts)


def _facts(budget: Budget, chain: Chain) -> dict[str, Any]:
    """Return what a ledger is, and how much of it is spent, at one moment."""
    limits, head = chain.limits, chain.head
    spent, left = chain.rho_of(head.total), chain.rho_of(chain.left)
    return {
        "ledger": budget.shown,
        "neighboring": limits.neighboring,
        "protects": "nobody yet" if budget.unit is None else protects(budget.unit),
        "delta": limits.delta,
        "epsilon": limits.epsilon,
        "spent_percent": _percent(chain, limits.cap - chain.left),
        "spent_rho": spent,
        "remaining_rho": left,
        "spent_epsilon": epsilon_of(head.total, head.total_beyond, limits.delta),
        "remaining_epsilon": _left(chain),
        "charges": len(chain.charges),
        "raised": [f"entry {one.sequence}: {one.epsilon:g}, {one.delta:g}" for one in chain.raises],
        "head": head.hash,
    }


def _percent(chain: Chain, units: int) -> float:
    return 100 * units / chain.limits.cap


def _left(chain: Chain, fits: int = 1) -> float:
    """Return the epsilon that each of ``fits`` more fits may have."""
    return epsilon_per_fit(chain.left, fits, chain.limits.delta)


def _say_share(chain: Chain) -> None:
    """Print how much of a ledger is spent, in rho, since readers would add epsilons."""
    limits, head = chain.limits, chain.head
    percent = _percent(chain, limits.cap - chain.left)
    full = round(BAR * percent / 100)
    together = epsilon_of(head.total, head.total_beyond, limits.delta)
    say(f"[{'#' * full}{'.' * (BAR - full)}] {percent:.1f} % of rho is spent")
    say(
        f"Epsilons do not add; rho does. Of epsilon {limits.epsilon:g} at delta "
        f"{limits.delta:g}, all charges\ntogether are {together:.3g}, and one more fit may have "
        f"{rounded_down(_left(chain))}."
    )


_LEFT = ("remaining_rho", "remaining_epsilon")


def _with_spaces(facts: dict[str, Any], left: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return names with spaces; what is left is rounded down, so that it can be spent."""
    rounded = {name: rounded_down(facts[name], 6) for name in left}
    texts = {name: "; ".join(value) for name, value in facts.items() if isinstance(value, list)}
    shown = {**facts, **rounded, **texts}
    return {name.replace("_", " "): value for name, value in shown.items() if value != ""}


def _row(chain: Chain, charge: Charge) -> dict[str, Any]:
    delta = chain.limits.delta
    return {
        "entry": charge.sequence,
        "time": charge.time,
        "label": charge.label,
        "rho": charge.rho,
        "percent": _percent(chain, taken_by(chain.limits, charge)),
        "epsilon_alone": epsilon_of(charge.cost, charge.beyond, delta),
        "epsilon_so_far": epsilon_of(charge.total, charge.total_beyond, delta),
    }


def _cost_of(path: Path) -> tuple[float, str, str]:
    """Return the rho of a model that is in no ledger, its neighbouring relation and its unit."""
    statement = load(path).privacy_
    if "ledger" in statement:
        raise ValueError(
            f"--model: {path} was charged to a ledger when it was fitted; do not charge it again"
        )
    rho = statement.get("rho")
    if not isinstance(rho, float):  # JSON has no infinity: that is a text
        raise ValueError(
            f"--model: the statement of {path} has no rho (it was chosen by a search, has noise "
            "that is not Gaussian, or has no privacy), and cannot be entered afterwards; begin "
            "the ledger with an epsilon and a delta that are smaller by the model's"
        )
    # The statement rounds to a double, by less than this.
    return rho * (1.0 + 1e-12), statement["neighboring"], statement.get("unit", ROW)


def _label_of(path: Path, label: str, budget: Budget) -> str:
    """Return a label that names the model by the hash of its file, unless the ledger has it."""
    named = f"model {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    if any(charge.label.endswith(named) for charge in budget.entries()):
        raise ValueError(f"--model: {path} is in this ledger already; do not charge it again")
    return f"{label}: {named}"


def _event(epsilon: float | None, rho: float | None, noise_multiplier: float | None) -> Event:
    """Return the release that the one given option describes."""
    options = {"--epsilon": epsilon, "--rho": rho, "--noise-multiplier": noise_multiplier}
    given = {name: value for name, value in options.items() if value is not None}
    if len(given) != 1:
        raise ValueError(
            "give the cost as one of --epsilon, --rho and --noise-multiplier, or by --model"
        )
    ((name, value),) = given.items()
    if not 0.0 < value < math.inf:
        raise ValueError(
            f"{name} must be a finite number above 0, got {value:g}; a release without cost need "
            "not be charged, and one without privacy cannot be"
        )
    kinds: dict[str, Callable[[float], Event]]
    kinds = {"--epsilon": PureDP, "--rho": ZeroConcentrated, "--noise-multiplier": Gaussian}
    return kinds[name](value)

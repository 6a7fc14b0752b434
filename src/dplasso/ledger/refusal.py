"""The messages that explain why a charge is not admitted, and what to do.

Suggested numbers are rounded towards less privacy cost, so that a release made with them is
admitted.
"""

from dplasso.base.wording import Message, Setting
from dplasso.ledger import allowance
from dplasso.ledger.allowance import rounded_down, rounded_up
from dplasso.ledger.chain import Position
from dplasso.ledger.entry import Charge, Limits
from dplasso.ledger.search_cost import epsilon_of
from dplasso.privacy.events import Gaussian, PureDP, ZeroConcentrated
from dplasso.privacy.statement import protects
from dplasso.privacy.unit import ROW

_NOTHING = 10**9  # less than the cap divided by this counts as nothing left


def refusal(asked: Charge, position: Position, shown: str) -> str:
    """The cost of the charge, the remaining budget, and remedies."""
    limits, left = position.limits, position.left
    spent = left * _NOTHING < limits.cap
    match asked.event:
        case PureDP(epsilon):
            return _of_release(asked, f"a pure epsilon of {epsilon:g} costs", left, spent, shown)
        case Gaussian(multiplier):
            kind = f"a noise multiplier of {multiplier:g} costs"
            return _of_release(asked, kind, left, spent, shown)
        case ZeroConcentrated():
            return _of_release(asked, "it costs", left, spent, shown)
    return _of_fit(asked, limits, left, spent, shown)


def of_other_unit(asked: Charge, known: str, shown: str) -> Message:
    """Whom the charge and the ledger protect, and how to fit a model that protects the same."""
    return Message(
        "{label} protects {asked}, and the charges in the ledger {ledger} protect {known}: costs "
        "of the two do not add; {remedy}",
        label=asked.label,
        asked=protects(asked.unit),
        ledger=shown,
        known=protects(known),
        remedy=_remedy(asked.unit, known),
    )


def _remedy(asked: str, known: str) -> Message:
    """What to do if a ledger protects others. Nobody is asked to protect people less."""
    if known == ROW:
        return Message(
            "begin another ledger for people, and enter there what the charges for rows cost a "
            "person"
        )
    return Message("{same}, or use another ledger", same=_same_people(asked, known))


def _same_people(asked: str, known: str) -> Message:
    """How to protect the people whom the ledger protects."""
    _, _, identifier = known.partition(": ")
    if identifier:
        return Message(
            "let it protect the same people (a fit by {person}, or by the role person in its "
            "schema; another release by its unit)",
            person=Setting("person", identifier),
        )
    if asked == ROW:
        return Message("give the identifier of each row's person")
    return Message("leave out {person}")


def _of_release(asked: Charge, costs: str, left: int, spent: bool, shown: str) -> str:
    if spent:
        room = f"and nothing is left in {shown}"
    else:
        room = (
            f"and rho {rounded_down(allowance.rho(left), 4)} is left in {shown}: room for a pure "
            f"epsilon of at most {rounded_down(allowance.pure_epsilon(left))}, or a noise "
            f"multiplier of at least {rounded_up(allowance.noise_multiplier(left))}"
        )
    return (
        f"{asked.label}: {costs} rho {asked.rho:.4g}, {room}. Nothing was charged; do not make "
        "this release"
    )


def _of_fit(asked: Charge, limits: Limits, left: int, spent: bool, shown: str) -> str:
    wanted = epsilon_of(asked.cost, asked.beyond, asked.delta)
    free = 0.0 if spent else allowance.epsilon_per_fit(left, 1, asked.delta)
    room = (
        f"epsilon {rounded_down(free)} (rho {rounded_down(allowance.rho(left), 4)})"
        if free
        else "nothing"
    )
    remedy = f"lower epsilon to {rounded_down(free)} or less, or " if free else ""
    if any(asked.beyond) and free:
        room = f"room for a fit of {room}"
        remedy = "lower epsilon or the number of trials, or "
    return (
        f"{asked.label} asks for epsilon {wanted:.6g} (rho {asked.rho:.4g}) at delta "
        f"{asked.delta:g}, and {room} is left of epsilon {limits.epsilon:g} (delta "
        f"{limits.delta:g}) in {shown}. Nothing was drawn; {remedy}let whoever answers for these "
        "data raise the budget"
    )

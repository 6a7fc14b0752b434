"""The message that explains why a charge exceeds the remaining budget.

Suggested numbers are rounded towards less privacy cost, so that a release made with them is
admitted.
"""

from dplasso.ledger import allowance
from dplasso.ledger.allowance import rounded_down, rounded_up
from dplasso.ledger.chain import Position
from dplasso.ledger.entry import Charge, Genesis
from dplasso.ledger.search_cost import epsilon_of
from dplasso.privacy.events import Gaussian, PureDP, ZeroConcentrated

_NOTHING = 10**9  # less than the cap divided by this counts as nothing left


def refusal(asked: Charge, position: Position, shown: str) -> str:
    """The cost of the charge, the remaining budget, and remedies."""
    genesis, left = position.genesis, position.left
    spent = left * _NOTHING < genesis.cap
    match asked.event:
        case PureDP(epsilon):
            return _of_release(asked, f"a pure epsilon of {epsilon:g} costs", left, spent, shown)
        case Gaussian(multiplier):
            kind = f"a noise multiplier of {multiplier:g} costs"
            return _of_release(asked, kind, left, spent, shown)
        case ZeroConcentrated():
            return _of_release(asked, "it costs", left, spent, shown)
    return _of_fit(asked, genesis, left, spent, shown)


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


def _of_fit(asked: Charge, genesis: Genesis, left: int, spent: bool, shown: str) -> str:
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
        f"{asked.delta:g}, and {room} is left of epsilon {genesis.epsilon:g} (delta "
        f"{genesis.delta:g}) in {shown}. Nothing was drawn; {remedy}stop using these data"
    )

"""The position of a fit in its budget ledger: its share, what came before, what is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dplasso.base.wording import ParameterError
from dplasso.ledger import Budget
from dplasso.ledger.allowance import epsilon_per_fit, rounded_down
from dplasso.ledger.chain import Chain, taken_by
from dplasso.ledger.search_cost import epsilon_of
from dplasso.privacy import zcdp


@dataclass(frozen=True)
class Standing:
    """Where a fit stands in a ledger. Shares are of the ledger's budget in rho; they add up to 1.

    What is known from the receipt of the model alone is as of the fit: ``charges``, ``later`` and
    the epsilons of now are None then. Shares are None if the fit was a search, whose cost is not
    rho alone, and count earlier searches of the same ledger by their epsilon.
    """

    entry: int
    hash: str
    epsilon_cap: float
    delta: float
    epsilon_spent: float  # of all charges up to this one
    before: float | None = None
    own: float | None = None
    later: float | None = None
    left: float | None = None
    charges: int | None = None  # in the ledger when the page was written
    epsilon_now: float | None = None  # of all of them
    epsilon_left: float | None = None  # that one more fit may have

    @property
    def current(self) -> bool:
        """Whether the ledger itself was read."""
        return self.charges is not None


def standing_of(model: Any, ledger: Budget | None = None) -> Standing | None:
    """Return where a fit stands, from its receipt and, if given, from the ledger.

    It is None if the fit was charged to none. The ledger is verified, and must have the entry.
    """
    receipt = model.privacy_.get("ledger")
    if receipt is None:
        if ledger is not None:
            raise ParameterError(
                "{accountant} was given, but the model's statement names no ledger: its fit was "
                "not charged; leave it out"
            )
        return None
    facts = {
        "entry": receipt["entry"],
        "hash": receipt["hash"],
        "epsilon_cap": receipt["epsilon_cap"],
        "delta": receipt["delta"],
        "epsilon_spent": receipt["epsilon_spent"],
    }
    if ledger is not None:
        return Standing(**facts, **_shares(ledger.verify(), receipt))
    return Standing(**facts, **_shares_of_receipt(model, receipt))


def spent_together(models: Sequence[Any], ledger: Budget) -> dict[str, float]:
    """Return epsilon and delta of models that were charged to one ledger, of these alone.

    The ledger is verified, and must have the entries. Their costs add up exactly, in rho.
    """
    chain = ledger.verify()
    own = {_entry_of(chain, model.privacy_["ledger"]) for model in models}
    charges = [chain.charges[place] for place in sorted(own)]
    beyond = charges[0].beyond
    for charge in charges[1:]:
        beyond = beyond.plus(charge.beyond)
    spent = epsilon_of(sum(charge.cost for charge in charges), beyond, chain.limits.delta)
    return {"epsilon": spent, "delta": chain.limits.delta}


def _entry_of(chain: Chain, receipt: dict[str, Any]) -> int:
    """Return the place of a receipt among the charges of its ledger."""
    stated = int(receipt["entry"]), receipt["hash"]
    known = ((charge.sequence, charge.hash) for charge in chain.charges)
    place = next((k for k, one in enumerate(known) if one == stated), None)
    if place is None:
        raise ParameterError(
            "{accountant} is another ledger than the model was charged to: it has no entry of the "
            "model's number and hash; give the ledger of the fit"
        )
    return place


def _shares(chain: Chain, receipt: dict[str, Any]) -> dict[str, Any]:
    place = _entry_of(chain, receipt)
    limits, charges = chain.limits, chain.charges
    taken = [taken_by(limits, charge) / limits.cap for charge in charges]
    head, left = chain.head, epsilon_per_fit(chain.left, 1, chain.limits.delta)
    return {
        "before": sum(taken[:place]),
        "own": taken[place],
        "later": sum(taken[place + 1 :]),
        "left": chain.left / limits.cap,
        "charges": len(charges),
        "epsilon_now": epsilon_of(head.total, head.total_beyond, limits.delta),
        "epsilon_left": float(rounded_down(left, 6)),
    }


def _shares_of_receipt(model: Any, receipt: dict[str, Any]) -> dict[str, Any]:
    """Return shares as of the fit, if costs are rho alone: then epsilons convert back to rho."""
    own, delta = model.privacy_.get("rho"), receipt["delta"]
    if own is None or "search" in model.privacy_ or delta <= 0.0:
        return {}
    cap = zcdp.rho_of(receipt["epsilon_cap"], delta)
    spent = zcdp.rho_of(receipt["epsilon_spent"], delta)
    if not 0.0 < own <= spent * (1.0 + 1e-6) <= cap * (1.0 + 1e-6):
        return {}
    before = max(0.0, spent - own)
    return {"before": before / cap, "own": own / cap, "left": max(0.0, 1.0 - spent / cap)}

"""The privacy statement of a fit: its plan, who made it, when, and what it was charged to."""

from datetime import UTC, datetime
from typing import Any

from dplasso.estimators.parameters import FORMER
from dplasso.fitting.plan import Plan
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.statement import PrivacyStatement


def statement(model: Any, plan: Plan, receipt: Receipt | None, *, secure: bool) -> PrivacyStatement:
    """State what a fit that followed ``plan`` promises.

    ``secure`` says whether its random bits were secret.
    """
    from dplasso import __version__

    found = PrivacyStatement(
        model=type(model).__name__,
        **plan.to_dict(model.n_iter_),
        secure_rng=secure,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),  # only a day: the time depends on the rows
    )
    if (counted := model.fitted_.miscounted) is not None:
        told = found["public"]["n_rows"]
        source = f"{told['source']}; the released counts say about {counted.found:,.0f}"
        found["public"] = {**found["public"], "n_rows": {**told, "source": source}}
    if receipt is not None:
        found["ledger"] = receipt._asdict()
    return found


def in_current_words(stated: dict[str, Any]) -> dict[str, Any]:
    """Return a statement of any version with the names of today."""
    found = {FORMER.get(name, name): value for name, value in stated.items()}
    if isinstance(public := found.get("public"), dict):
        found["public"] = {FORMER.get(name, name): fact for name, fact in public.items()}
    return found

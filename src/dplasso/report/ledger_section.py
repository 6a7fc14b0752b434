"""The section on the ledger: how much of the budget this fit took, and what is left."""

from typing import Any

from dplasso.report.charts import stacked, swatch
from dplasso.report.markup import Markup, join, section, table, tag
from dplasso.report.names import number
from dplasso.report.standing import Standing

_CALLED = {
    "before": "Charges before this fit",
    "own": "This fit",
    "later": "Charges after this fit",
    "left": "Left",
}


def ledger_section(found: Standing) -> Markup:
    """Return the position in words, as a bar, and as a table."""
    parts = shares_of(found)
    shown: list[Markup] = []
    if parts:
        rows: list[tuple[Any, ...]] = [
            (join(swatch(name), " ", _CALLED[name]), percent(share))
            for name, share in parts.items()
        ]
        told = "; ".join(f"{_CALLED[name]} {percent(share)}" for name, share in parts.items())
        shown = [
            stacked("ledger-bar", "Shares of the budget", told, parts),
            table("Shares of the ledger's budget, in rho", ("Part", "Share"), rows, "figures"),
        ]
    return section("ledger", "Position in the budget ledger", *_words(found), *shown)


def shares_of(found: Standing) -> dict[str, float]:
    """Return the known shares of the budget in order; they add up to 1."""
    shares = {name: getattr(found, name) for name in _CALLED}
    return {name: share for name, share in shares.items() if share is not None}


def percent(share: float) -> str:
    """Write a share as a percentage that is not broken over two lines.

    >>> percent(0.27281)
    '27.3\\xa0%'
    """
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def _words(found: Standing) -> list[Markup]:
    charged = tag(
        "p",
        f"This fit was charged as entry {found.entry:,} of a ledger of epsilon "
        f"{number(found.epsilon_cap)} at delta {number(found.delta)}, before any noise was drawn. "
        f"All charges up to it are epsilon {number(found.epsilon_spent)} together. Its hash is ",
        tag("code", found.hash, class_="digest"),
        ".",
    )
    if found.epsilon_now is None or found.epsilon_left is None:
        now = (
            "The ledger itself was not read for this page: later charges are not known, and shares "
            "are as of the fit."
        )
    else:
        charges = "1 charge" if found.charges == 1 else f"{found.charges:,} charges"
        now = (
            f"The ledger was verified when this page was written: it has {charges}, epsilon "
            f"{number(found.epsilon_now)} together, and one more fit may have "
            f"{number(found.epsilon_left)}."
        )
    adding = " Epsilons do not add up; shares of the budget, which are in rho, do."
    return [charged, tag("p", join(now, adding))]

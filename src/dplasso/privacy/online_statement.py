"""The privacy statement of an online learner, for machines and auditors."""

from typing import Any

from dplasso.privacy.statement import PrivacyStatement


class OnlineStatement(PrivacyStatement):
    """A plain dict, ready for JSON, whose ``str`` is a paragraph.

    In addition to the keys of all statements it has ``window_rows``, the number of protected rows
    ("all" if none expires), ``rows_seen``, ``rows_expired``, and ``whole_stream``, the cost of all
    releases for any row ("inf" if rows expire).
    """

    def _promise(self) -> str:
        held = "every row, for good"
        if self["window_rows"] != "all":
            held = f"each of the last {self['window_rows']} rows"
        return (
            f"All weights that this {self['model']} has released so far are together "
            f"({self['epsilon']:g}, {self['delta']:g})-differentially private for {held}: they are "
            f"almost as likely whether {_OTHERWISE[self['neighboring']]}. {self._expired()}"
        )

    def _expired(self) -> str:
        if self["window_rows"] == "all":
            return f"{self['rows_seen']} rows were learned from."
        return (
            f"Older rows have expired, {self['rows_expired']} of {self['rows_seen']} so far, and "
            "are NOT PROTECTED: weights may show them, and over the whole stream no row is."
        )

    def _releases(self) -> str:
        cost = f"{self['epsilon']:g}-DP, without a delta,"
        if "mu" in self:
            cost = f"{self['mu']:.6g}-GDP (Gaussian differential privacy)"
        return (
            f"Released: running sums of clipped gradients, one every {_every(self['batch'])} "
            f"({self['mechanism']}), {cost} for a row while it is protected. All else is computed "
            "from these."
        )

    def _bounds(self) -> str:
        bounds = ", ".join(_told(name, bound) for name, bound in self["bounds"].items())
        return f"Bounds: {bounds}; gradients and labels beyond theirs were clipped."


_OTHERWISE = {
    "add_remove": "the row was there or was nothing in its place",
    "replace_one": "the row was this one or any other",
}


def _every(batch: int | str) -> str:
    return "row" if batch == 1 else "call" if batch == "call" else f"{batch} rows"


def _told(name: str, known: dict[str, Any]) -> str:
    return f"{name} = {known['value']:g} ({known['source']})"

"""The privacy statement of a fit, for machines and auditors."""

from typing import Any

import numpy as np

from dplasso.privacy.unit import ROW

READ = "READ FROM THE DATA"  # the source of a fact that was not declared
_RELATIONS = {
    "add_remove": "adding or removing one row",
    "replace_one": "replacing one row, the number of rows being public",
}
_RELATIONS_OF_PEOPLE = {
    "add_remove": "adding or removing all rows of one person",
    "replace_one": "replacing all rows of one person by those of another, the number of people "
    "being public",
}
# With one bound per column, the ball of the coefficients is weighted by these bounds.
BY_BOUNDS = (
    "of coefficients times their column's bound over the largest bound, the intercept's being 1"
)
# With ranges, it is that of the weights of columns that are centred and scaled by them.
BY_RANGES = (
    "of the weights of columns that are centred and scaled by their range, or scaled by their "
    "bound, and of the intercept of these columns"
)
OF_MAPPED = "of coefficients of mapped columns, and of the intercept"


class PrivacyStatement(dict[str, Any]):
    """A plain dict, ready for JSON, whose ``str`` is a paragraph.

    Infinite numbers are the string ``"inf"``, because JSON has none.

    Examples
    --------
    >>> statement = PrivacyStatement(
    ...     model="Model", epsilon="inf", delta=1e-6, bounds={}, public={}, secure_rng=True
    ... )
    >>> print(statement)
    This Model is NOT PRIVATE: it was fitted with epsilon = infinity, and may reveal any row.
    """

    def __str__(self) -> str:
        if self["epsilon"] == "inf":
            return (
                f"This {self['model']} is NOT PRIVATE: it was fitted with epsilon = infinity, "
                "and may reveal any row."
            )
        sentences = (self._promise(), self._releases(), self._bounds(), self._public())
        return " ".join(filter(None, (*sentences, self._randomness(), self._ledger())))

    def unit_of(self, bound: str) -> str:
        """Say what a bound limits, if its name does not; otherwise return an empty string.

        Parameters
        ----------
        bound : str
            The name of an entry of ``bounds``.

        Returns
        -------
        str
        """
        bounds = self["bounds"]
        # Statements of earlier versions lack it for the radius, but describe such bounds in words.
        by_bounds = bound == "radius" and isinstance(bounds["x_bound"]["value"], str)
        return str(bounds[bound].get("of", BY_BOUNDS if by_bounds else ""))

    @property
    def unit(self) -> str:
        """Whom it protects: "row", "person" or "person: " and what identifies one."""
        return str(self.get("unit", ROW))  # statements of earlier versions have none

    def _promise(self) -> str:
        if self.unit != ROW:
            return self._promise_to_people()
        return (
            f"This {self['model']} is ({self['epsilon']:g}, {self['delta']:g})-differentially "
            f"private with respect to {_RELATIONS[self['neighboring']]}: what is released is "
            "almost as likely whatever any one row says."
        )

    def _promise_to_people(self) -> str:
        most = self["public"]["rows_per_person"]["value"]
        return (
            f"This {self['model']} protects {protects(self.unit)}: it is ({self['epsilon']:g}, "
            f"{self['delta']:g})-differentially private with respect to "
            f"{_RELATIONS_OF_PEOPLE[self['neighboring']]}, so what is released is almost as likely "
            "whatever all rows of any one person say. "
            f"Everyone counts as {most:,} {'row' if most == 1 else 'rows'} at most, and rows "
            "without an identifier, if there are any, count nothing."
        )

    def _releases(self) -> str:
        parts = [release_text(part) for part in self["releases"]]
        if "search" in self:
            return self._trials(parts)
        if "mu" in self:
            return (
                f"Released: {'; '.join(parts)}. All else is computed from these. Together they are "
                f"{self['mu']:.6g}-GDP (Gaussian differential privacy), converted once."
            )
        return (
            f"Released: {'; '.join(parts)}. All else is computed from these. Their costs add up "
            f"in zero-concentrated differential privacy to rho = {self['rho']:.6g}, converted once."
        )

    def _trials(self, parts: list[str]) -> str:
        search = self["search"]
        return (
            f"Released: of a random and secret number of trials ({search['trials']:.6g} on "
            f"average, {search['law']}), the one of the best score, that is: {'; '.join(parts)}. "
            f"All else is computed from these. {'A row is' if self.unit == ROW else 'A person is'} "
            "read by the fit of a trial or by its score; "
            f"either costs rho = {search['trial_rho']:.6g} in zero-concentrated differential "
            "privacy, and the choice is paid for on top of it."
        )

    def _bounds(self) -> str:
        bounds = [
            fact_text(name, bound, self.unit_of(name)) for name, bound in self["bounds"].items()
        ]
        if not bounds:
            return ""
        return f"Bounds: {', '.join(bounds)}; entries and labels beyond theirs were clipped."

    def _public(self) -> str:
        facts = [fact_text(name, known) for name, known in self["public"].items()]
        return f"Taken as public, and not protected: {', '.join(facts)}."

    def _randomness(self) -> str:
        if self["secure_rng"]:
            return "Random bits: ChaCha20, keyed by the operating system."
        return (
            "Random bits came from a seed or generator given by the caller: whoever knows it can "
            "undo the protection, so this fit is for tests only."
        )

    def _ledger(self) -> str:
        if "ledger" not in self:
            return ""
        receipt = self["ledger"]
        return (
            f"Charged beforehand to a budget ledger, as entry {receipt['entry']} "
            f"({receipt['hash'][:16]}): {receipt['epsilon_spent']:.6g} of its epsilon "
            f"{receipt['epsilon_cap']:g} at delta {receipt['delta']:g} was then spent."
        )


def protects(unit: str) -> str:
    """Whom a unit of protection means, in words.

    >>> protects("person: patient_id")
    'each person (column patient_id), however many rows they have'
    >>> protects("row")
    'each row'
    """
    if unit == ROW:
        return "each row"
    _, _, identifier = unit.partition(": ")
    return (
        f"each person{f' (column {identifier})' if identifier else ''}, however many rows they have"
    )


def fact(value: Any, source: str, of: str = "") -> dict[str, Any]:
    """A fact that a guarantee rests on: its value, its source and, if not obvious, its subject.

    >>> fact(3.0, "given")
    {'value': 3.0, 'source': 'given'}
    """
    plain = value.item() if isinstance(value, np.generic) else value  # a plain Python number
    return {"value": plain, "source": source} | ({"of": of} if of else {})


def jsonable(value: float) -> float | str:
    """A number in a form that JSON can hold."""
    return "inf" if value == float("inf") else float(value)


def fact_text(name: str, known: dict[str, Any], of: str = "") -> str:
    """A fact in words.

    >>> fact_text("n_rows", fact(1000, "declared"))
    'n_rows = 1000 (declared)'
    """
    value = known["value"]
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, list):
        shown = " / ".join(map(str, value))
    return f"{name} = {shown} ({known['source']}{f'; {of}' if of else ''})"


def release_text(part: dict[str, Any]) -> str:
    """A release in words: its content, its mechanism and its noise."""
    if "epsilon" in part:
        return f"{part['what']} ({part['mechanism']}, {part['epsilon']:.6g}-DP)"
    if "noise_multiplier" in part:
        return f"{part['what']} ({part['mechanism']}, multiplier {part['noise_multiplier']:.6g})"
    if "selection" not in part:
        return f"{part['what']} ({part['mechanism']}, {part['bounded_range']:.6g}-bounded-range)"
    return (
        f"{part['what']} ({part['mechanism']}, each {part['bounded_range']:.6g}-bounded-range, "
        f"drawn by the rule {part['selection']})"
    )

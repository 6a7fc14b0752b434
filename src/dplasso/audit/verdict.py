"""The findings of an audit: one verdict per test, and the report of all verdicts."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

ROUNDING = 1.0 + 1e-9  # tolerance for figures whose limit is computed in another way
NO_PROOF = (
    "No alarm means that these tests found nothing: it is not a proof. They see the code that is "
    "installed, the configurations listed, and faults as large as their runs can show."
)
ALARMED = (
    "Release nothing that this code fits with these settings. Run the audit again with another "
    "seed; if the alarm stays, report it as SECURITY.md describes. A figure of nan is an alarm."
)


@dataclass(frozen=True)
class Verdict:
    """One test: the measured figure, and the limit beyond which it is an alarm; so is NaN."""

    check: str
    estimator: str  # the audited subject
    tested: str  # a short description
    figure: float
    limit: float
    alarm: Literal["above", "below"] = "above"  # on which side of the limit
    error: float = 0.0  # largest probability that correct code alarms; 0 for deterministic tests
    runs: int = 1  # number of fits or draws on which the figure rests
    details: dict[str, Any] = field(default_factory=dict)  # more figures

    @property
    def passed(self) -> bool:
        """Whether there is no alarm."""
        inside = self.figure <= self.limit if self.alarm == "above" else self.figure >= self.limit
        return bool(inside)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        numbers = {"figure": _number(self.figure), "limit": _number(self.limit)}
        return {**vars(self), **numbers, "passed": self.passed}


@dataclass(frozen=True)
class AuditReport:
    """The verdicts of an audit, in order; ``str`` is a table, ``to_json`` what a machine reads.

    It names no machine and no time. A quick audit with a seed can be repeated exactly, except for
    the test of secure bits, which have no seed; a thorough one makes as many runs as time allows.
    """

    verdicts: tuple[Verdict, ...]
    facts: dict[str, Any]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def passed(self) -> bool:
        """Whether no test alarmed. An audit without tests has not passed."""
        return bool(self.verdicts) and not self.alarms

    @property
    def alarms(self) -> tuple[Verdict, ...]:
        """The verdicts that are alarms."""
        return tuple(verdict for verdict in self.verdicts if not verdict.passed)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "passed": self.passed,
            **self.facts,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "note": NO_PROOF,
        }

    def to_json(self) -> str:
        """One JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def __str__(self) -> str:
        heads = ("check", "estimator", "tested", "figure", "alarm if", "verdict")
        rows = [heads, *(_row(verdict) for verdict in self.verdicts)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(heads))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, "", self._conclusion(), ALARMED if self.alarms else NO_PROOF])

    def _conclusion(self) -> str:
        if not self.alarms:
            tests = "1 test" if len(self.verdicts) == 1 else f"{len(self.verdicts)} tests"
            return f"No alarm in {tests}."
        checks = ", ".join(dict.fromkeys(verdict.check for verdict in self.alarms))
        return f"ALARM in {len(self.alarms)} of {len(self.verdicts)} tests ({checks})."


def _row(verdict: Verdict) -> tuple[str, ...]:
    sign = ">" if verdict.alarm == "above" else "<"
    return (
        verdict.check,
        verdict.estimator,
        verdict.tested,
        f"{verdict.figure:.6g}",
        f"{sign} {verdict.limit:.6g}",
        "passed" if verdict.passed else "ALARM",
    )


def _number(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))

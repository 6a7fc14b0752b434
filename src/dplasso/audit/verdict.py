"""What an audit finds: one verdict a test, and the report they make."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

ROUNDING = 1.0 + 1e-9  # of figures that are compared with a limit computed in another way
NO_PROOF = (
    "No alarm means that these tests found nothing: it is not a proof. They see the code that is "
    "installed, the configurations listed, and faults as large as their runs can show."
)


@dataclass(frozen=True)
class Verdict:
    """One test: what was measured, and beyond which limit it would have been an alarm.

    Attributes
    ----------
    check, estimator : the check it is part of and what was audited.
    tested : in a few words.
    figure, limit, alarm : an alarm is a figure above, or below, the limit; or none at all (NaN).
    error : chance that correct code alarms, at most; 0 where nothing is left to chance.
    runs : fits or draws the figure rests on.
    details : more figures, by name.
    """

    check: str
    estimator: str
    tested: str
    figure: float
    limit: float
    alarm: Literal["above", "below"] = "above"
    error: float = 0.0
    runs: int = 1
    details: dict[str, Any] = field(default_factory=dict)

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

    It names no machine and no time. With a seed a quick audit is the same again, but for the test
    of secure bits, which have none; a thorough one makes as many runs as time allows.
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
        return "\n".join([*lines, "", self._conclusion(), NO_PROOF])

    def _conclusion(self) -> str:
        if not self.alarms:
            return f"No alarm in {len(self.verdicts)} tests."
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

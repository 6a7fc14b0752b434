"""One line of a ledger: an exact JSON form, sealed by its hash and chained to the previous line.

The hash of a line is the SHA-256 of its text without the hash itself, `,"hash":"..."`, which comes
last. Reading is strict: a text that differs by a byte from what writing it again gives is rejected.
docs/how_to/ledger.md describes the fields.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, get_args

from dplasso.base import checks
from dplasso.base.wording import ParameterError
from dplasso.ledger import fixed_point
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.event_form import from_form, to_form
from dplasso.ledger.search_cost import NOTHING, Beyond
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import Event
from dplasso.privacy.unit import ROW, checked_name

FORMAT = "dplasso budget ledger 1"
LONGEST_LINE = 200_000
_LONGEST_LABEL = 200
_CLOCK = "%Y-%m-%dT%H:%M:%S.%fZ"
_HEX = re.compile(r"[0-9a-f]*")


class _Line:
    """What all lines have: a text and a hash, computed from the fields."""

    def fields(self) -> dict[str, Any]:
        raise NotImplementedError

    @cached_property
    def _body(self) -> str:
        return json.dumps(self.fields(), separators=(",", ":"), allow_nan=False)

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(self._body.encode("ascii")).hexdigest()

    @cached_property
    def line(self) -> str:
        """The line without its line break, as it is stored, exported and compared."""
        return f'{self._body[:-1]},"hash":"{self.hash}"}}'


@dataclass(frozen=True)
class Genesis(_Line):
    """Line 0: the budget. Amounts are whole multiples of 1e-50 rho."""

    id: str
    time: str
    epsilon: float
    delta: float
    neighboring: str
    cap: int

    sequence = 0
    total = 0
    total_beyond = NOTHING
    unit = None  # nobody is protected yet

    def fields(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "sequence": 0,
            "id": self.id,
            "time": self.time,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighboring": self.neighboring,
            "cap": fixed_point.to_text(self.cap),
        }


@dataclass(frozen=True)
class Raised(_Line):
    """A line that raises the budget from here on. What was charged stays charged."""

    sequence: int
    id: str
    time: str
    epsilon: float
    delta: float
    neighboring: str
    cap: int
    total: int
    previous: str
    total_beyond: Beyond = NOTHING
    unit: str | None = None  # whom the charges before it protect

    def fields(self) -> dict[str, Any]:
        beyond = {} if self.total_beyond == NOTHING else self.total_beyond.to_form()
        return {
            "sequence": self.sequence,
            "id": self.id,
            "time": self.time,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighboring": self.neighboring,
            "unit": self.unit,
            "cap": fixed_point.to_text(self.cap),
            "total": fixed_point.to_text(self.total),
            **({"total_beyond": beyond} if beyond else {}),
            "previous": self.previous,
        }


@dataclass(frozen=True)
class Charge(_Line):
    """Any other line: a release about to happen. Amounts are whole multiples of 1e-50 rho."""

    sequence: int
    id: str
    time: str
    label: str
    neighboring: str
    delta: float
    event: Event
    cost: int
    total: int
    previous: str
    beyond: Beyond = NOTHING  # cost of a search in addition to rho
    total_beyond: Beyond = NOTHING
    unit: str = ROW  # whom the release protects

    @property
    def rho(self) -> float:
        """The cost as a double."""
        return fixed_point.to_float(self.cost)

    def fields(self) -> dict[str, Any]:
        return {
            "sequence": self.sequence,
            "id": self.id,
            "time": self.time,
            "label": self.label,
            "neighboring": self.neighboring,
            **self._stated_unit(),
            "delta": self.delta,
            "event": to_form(self.event),
            "rho": fixed_point.to_text(self.cost),
            "total": fixed_point.to_text(self.total),
            **self._stated_beyond(),
            "previous": self.previous,
        }

    def _stated_unit(self) -> dict[str, Any]:
        """Whom it protects; left out for rows, as in ledgers that knew nothing else."""
        return {} if self.unit == ROW else {"unit": self.unit}

    def _stated_beyond(self) -> dict[str, Any]:
        """The additional cost of searches; empty in a ledger without searches."""
        if self.total_beyond == NOTHING:
            return {}
        return {"beyond": self.beyond.to_form(), "total_beyond": self.total_beyond.to_form()}


Entry = Genesis | Raised | Charge
Limits = Genesis | Raised  # entries that state a budget


def new_id() -> str:
    """A unique identifier."""
    return secrets.token_hex(16)


def now() -> str:
    return datetime.now(UTC).strftime(_CLOCK)


def parse(line: object) -> Entry:
    """The entry of a line; a LedgerError for any line that this module cannot have written."""
    try:
        if not isinstance(line, str) or len(line) > LONGEST_LINE:
            raise ValueError(f"it is not a text of at most {LONGEST_LINE} characters")
        fields = json.loads(line)
        if not isinstance(fields, dict):
            raise ValueError("it is not a JSON object")
        entry = _kind_of(fields)(fields)
        if entry.line != line:
            raise ValueError("its hash, or the form it is written in, is not what it must be")
    except KeyError as missing:
        raise LedgerError(f"a line of the ledger has no entry {missing}") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if not isinstance(error, json.JSONDecodeError) else "it is not JSON"
        raise LedgerError(f"a line of the ledger was altered or damaged: {reason}") from None
    return entry


def _kind_of(fields: dict[str, Any]) -> Callable[[dict[str, Any]], Entry]:
    if "format" in fields:
        return _genesis
    return _raised if "cap" in fields else _charge


def _raised(fields: dict[str, Any]) -> Raised:
    unit = fields["unit"]
    return Raised(
        sequence=checks.count("sequence", fields["sequence"], least=1),
        id=_hex("id", fields["id"], 32),
        time=_time(fields["time"]),
        epsilon=checks.bound("epsilon", fields["epsilon"]),
        delta=checks.probability("delta", fields["delta"]),
        neighboring=relation(fields["neighboring"]),
        cap=fixed_point.from_text(fields["cap"]),
        total=fixed_point.from_text(fields["total"]),
        previous=_hex("previous", fields["previous"], 64),
        total_beyond=Beyond.from_form(fields["total_beyond"])
        if "total_beyond" in fields
        else NOTHING,
        unit=None if unit is None else checked_name(unit),
    )


def _genesis(fields: dict[str, Any]) -> Genesis:
    if fields["format"] != FORMAT:
        raise ValueError("its format is unknown; upgrade dplasso to read it")
    return Genesis(
        id=_hex("id", fields["id"], 32),
        time=_time(fields["time"]),
        epsilon=checks.bound("epsilon", fields["epsilon"]),
        delta=checks.probability("delta", fields["delta"]),
        neighboring=relation(fields["neighboring"]),
        cap=fixed_point.from_text(fields["cap"]),
    )


def _charge(fields: dict[str, Any]) -> Charge:
    event = from_form(fields["event"])
    return Charge(
        sequence=checks.count("sequence", fields["sequence"], least=1),
        id=_hex("id", fields["id"], 32),
        time=_time(fields["time"]),
        label=label(fields["label"]),
        neighboring=relation(fields["neighboring"]),
        delta=checks.probability("delta", fields["delta"]),
        event=event,
        cost=fixed_point.from_text(fields["rho"]),
        total=fixed_point.from_text(fields["total"]),
        previous=_hex("previous", fields["previous"], 64),
        beyond=Beyond.from_form(fields["beyond"]) if "beyond" in fields else NOTHING,
        total_beyond=Beyond.from_form(fields["total_beyond"]) if "beyond" in fields else NOTHING,
        unit=checked_name(fields.get("unit", ROW)),
    )


def label(value: object, longest: int = _LONGEST_LABEL) -> str:
    """A label that a line and a screen can hold."""
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        got = f"one of {len(value)}" if isinstance(value, str) else type(value).__name__
        raise ParameterError(
            "{label} must be a text of 1 to {longest} characters, got {got}",
            longest=longest,
            got=got,
        )
    if not value.isprintable():
        raise ParameterError(
            "{label} must be printable; leave out line breaks and control characters"
        )
    return value


def relation(value: object) -> str:
    """A neighbouring relation."""
    if not isinstance(value, str) or value not in get_args(Neighboring):
        raise ParameterError("{neighboring} must be 'add_remove' or 'replace_one'")
    return value


def _hex(name: str, value: object, length: int) -> str:
    if not isinstance(value, str) or len(value) != length or not _HEX.fullmatch(value):
        raise ValueError(f"{name} must be {length} hexadecimal digits")
    return value


def _time(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("time must be a text")
    datetime.strptime(value, _CLOCK)
    return value

"""What searches cost beside rho, in exact amounts, and what that leaves of a cap.

A search (`dplasso.privacy.events.Selected`) takes the rho of one trial, an epsilon, and a factor of
delta (`dplasso.privacy.trials`). A ledger adds up all three. Without searches the two others are 0,
and its lines and its cap are as if there were none.

Formal guarantees
-----------------
Amounts are rounded up to whole numbers of 1e-50, once, when an event is priced; sums are exact. The
cap with them is what `fixed_point.cap_of` grants to the rest of the ledger's (epsilon, delta).
"""

import math
from fractions import Fraction
from typing import NamedTuple

from dplasso.ledger import fixed_point
from dplasso.privacy import trials
from dplasso.privacy.events import Composed, Event, Repeated, Selected


class Beyond(NamedTuple):
    """Amounts of epsilon, and of the logarithm of what delta is divided by."""

    epsilon: int
    log_delta: int

    def plus(self, other: "Beyond", times: int = 1) -> "Beyond":
        return Beyond(
            self.epsilon + times * other.epsilon, self.log_delta + times * other.log_delta
        )

    @property
    def shift(self) -> trials.Shift:
        return trials.Shift(
            Fraction(self.epsilon, fixed_point.UNIT), Fraction(self.log_delta, fixed_point.UNIT)
        )

    def to_form(self) -> dict[str, str]:
        return {name: fixed_point.to_text(units) for name, units in self._asdict().items()}

    @classmethod
    def from_form(cls, form: object) -> "Beyond":
        """The amounts of a JSON value as `to_form` writes it; anything else raises ValueError."""
        if not isinstance(form, dict) or list(form) != list(cls._fields):
            raise ValueError("amounts beyond rho must be of epsilon and log_delta")
        return cls(*map(fixed_point.from_text, form.values()))


NOTHING = Beyond(0, 0)


def price_beyond(event: Event) -> Beyond:
    """What an event costs beside `fixed_point.price`."""
    match event:
        case Composed(events):
            total = NOTHING
            for part in events:
                total = total.plus(price_beyond(part))
            return total
        case Repeated(part, count):
            return NOTHING.plus(price_beyond(part), count)
        case Selected(part, stop, law):
            rho = Fraction(fixed_point.price(part), fixed_point.UNIT)
            return Beyond(
                *(math.ceil(x * fixed_point.UNIT) for x in trials.shift_of(rho, stop, law))
            )
    return NOTHING


def cap_with(cap: int, epsilon: float, delta: float, beyond: Beyond) -> int:
    """What may be spent in rho beside `beyond`: the ledger's own cap where there is none."""
    if beyond == NOTHING:
        return cap
    left, rest = beyond.shift.left_of(epsilon, delta)
    return fixed_point.price_at_most(left, rest) if left else 0


def epsilon_of(units: int, beyond: Beyond, delta: float) -> float:
    """The epsilon of what was spent, or of one charge, at `delta`."""
    return trials.epsilon_with(fixed_point.to_float(units), beyond.shift, delta)

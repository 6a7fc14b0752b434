"""The exact cost of searches in addition to rho, and the cap that it leaves.

A search (`dplasso.privacy.events.Selected`) costs the rho of one trial, an epsilon, and a factor of
delta (`dplasso.privacy.trials`). A ledger adds up all three. Without searches the last two are 0,
and the lines and the cap of a ledger are unaffected.

Formal guarantees
-----------------
Amounts are rounded up to whole multiples of 1e-50, once, when an event is priced; sums are exact.
The cap that they leave is what `fixed_point.cap_of` grants to the rest of the ledger's
(epsilon, delta).
"""

import math
from fractions import Fraction
from typing import NamedTuple

from dplasso.ledger import fixed_point
from dplasso.privacy import trials
from dplasso.privacy.events import Composed, Event, Repeated, Selected


class Beyond(NamedTuple):
    """Amounts of epsilon and of the logarithm of the divisor of delta."""

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
    """The cost of an event in addition to `fixed_point.price`."""
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
    """The cap in rho that remains with `beyond`: the ledger's own cap if that is zero."""
    if beyond == NOTHING:
        return cap
    left, rest = beyond.shift.left_of(epsilon, delta)
    return fixed_point.price_at_most(left, rest) if left else 0


def epsilon_of(units: int, beyond: Beyond, delta: float) -> float:
    """The epsilon of all charges, or of one, at `delta`."""
    return trials.epsilon_with(fixed_point.to_float(units), beyond.shift, delta)

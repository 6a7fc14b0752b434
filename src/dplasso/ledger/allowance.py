"""Convert an amount of rho into the parameters of releases that it allows.

Formal guarantees
-----------------
Every number here errs towards less cost: a release made with it, or the given number of fits, is
admitted to a ledger that has this amount left. So nothing here weakens the cap.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from dplasso.base import checks
from dplasso.ledger import fixed_point
from dplasso.privacy import zcdp
from dplasso.privacy.events import Event, Gaussian, PureDP, ZeroConcentrated

_DIGITS = 12  # digits of an epsilon; a thirteenth would be of no practical use


def epsilon_per_fit(units: int, fits: int, delta: float) -> float:
    """The largest epsilon for each of a number of fits, all stated at `delta`.

    The result has at most twelve digits, so that a whole budget of 1.0 is 1.0 again; it is 0.0 if
    too little is left.

    Formal guarantees
    -----------------
    A fit calibrated to it costs at most `fixed_point.price_at_most`. The given number of such fits
    costs at most `units`, in exact arithmetic.
    """
    fits, delta = checks.count("fits", fits, least=1), checks.probability("delta", delta)
    near = zcdp.epsilon_of(fixed_point.to_float(units // fits), delta)
    if near == 0.0:
        return 0.0
    place = Decimal(near).adjusted() + 1 - _DIGITS
    digits = math.ceil(Decimal(near).scaleb(-place))
    step = 1
    while digits > 0:
        epsilon = float(Decimal(digits).scaleb(place))
        if fits * fixed_point.price_at_most(epsilon, delta) <= units:
            return epsilon
        digits, step = digits - step, 2 * step
    return 0.0


def rho(units: int) -> float:
    """The largest rho of one release."""
    return _admitted(units, fixed_point.to_float(units), ZeroConcentrated, towards=0.0)


def pure_epsilon(units: int) -> float:
    """The largest epsilon of one release with delta = 0."""
    return _admitted(units, math.sqrt(2.0 * fixed_point.to_float(units)), PureDP, towards=0.0)


def noise_multiplier(units: int) -> float:
    """The least noise multiplier of one release with Gaussian noise."""
    left = fixed_point.to_float(units)
    nearest = math.sqrt(0.5 / left) if left else math.inf
    return _admitted(units, nearest, Gaussian, towards=math.inf)


def rounded_down(value: float, digits: int = 3) -> str:
    """The number as text that people may enter again, rounded down."""
    return f"{float(Context(digits, ROUND_FLOOR).create_decimal(value)):g}"


def rounded_up(value: float, digits: int = 3) -> str:
    """The number as text that people may enter again, rounded up."""
    return f"{float(Context(digits, ROUND_CEILING).create_decimal(value)):g}"


def _admitted(
    units: int, nearest: float, event: Callable[[float], Event], *, towards: float
) -> float:
    """The admitted number closest to `nearest`, which is a rounded root; prices are exact."""
    while fixed_point.price(event(nearest)) > units:
        nearest = math.nextafter(nearest, towards)
    return nearest

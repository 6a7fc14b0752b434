"""Calibration of private selection: the inverse temperature theta that a budget allows.

A round draws a signed coordinate (j, s) of the scores alpha with probability proportional to
exp(theta * s * alpha_j). `calibrate` turns a budget into theta, `spent` turns theta back into the
budget, and `selection_event` returns the event of the rounds.

Formal guarantees
-----------------
- Neighbouring: "add_remove" (one row more or less) or "replace_one" (one row changed, the number
  of rows fixed and public).
- Assumption: a row enters every score alpha_j as one term of absolute value at most
  x_bound * gradient_bound, for entries of absolute value at most `x_bound` and a loss whose
  derivative is at most `gradient_bound`. Bounds, `rounds` and `delta` are public.
- Cost: one row moves every log-weight theta * s * alpha_j by at most theta * x_bound *
  gradient_bound in either direction, twice that if it is replaced. A round is thus bounded-range
  with eps0 = 2 (or 4) * theta * x_bound * gradient_bound. The scores may depend on the outputs of
  earlier rounds: costs add in rho, which makes rounds * eps0^2 / 8, converted once.
- Rounding: the engine's scores are sums of whole numbers, so one row moves them by no more than the
  bound, exactly. Their weights exp(theta * s * alpha_j) are computed in double precision: the log
  of a weight is off by at most a few units in the last place of theta * alpha_j, which n rows can
  make n * eps0 / 2. That enlarges eps0 by a factor of at most 1 + 7e-16 n. A factor 1 + 1e-7 is set
  aside here and charged in the event: it covers the 2^27 rows that a score has room for. Besides,
  the logarithm of an exponential is off by up to 5e-14, which adds at most 2e-13 to eps0, whatever
  the data: that is charged, too.
- The draw itself is assumed to follow the law above.
"""

import math
from typing import Literal, get_args

from dplasso.base import checks
from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange, Repeated
from dplasso.privacy.zcdp import epsilon_of, rho_of

Neighboring = Literal["add_remove", "replace_one"]

_ROUNDED_WEIGHTS = 1.0 + 1e-7
_ROUNDED_EXPONENTIALS = 2e-13  # added to the eps0 of a round


def calibrate(
    epsilon: float,
    delta: float,
    rounds: int,
    x_bound: float = 1.0,
    neighboring: Neighboring = "add_remove",
    gradient_bound: float = 1.0,
) -> float:
    """Find the largest theta at which `rounds` selections are (epsilon, delta)-DP together.

    Parameters
    ----------
    epsilon, delta : float
        Budget of all rounds together. ``epsilon=math.inf`` gives ``math.inf``: every round then
        takes the largest score, without privacy.
    rounds : int
        Number of selections.
    x_bound : float, default 1
        Public bound on the absolute value of entries.
    neighboring : "add_remove" or "replace_one", default "add_remove"
        The neighbouring relation.
    gradient_bound : float, default 1
        Bound on the derivative of the loss.

    Returns
    -------
    float

    Formal guarantees
    -----------------
    See the module. Rounds may be adaptive under `neighboring`, and rounded weights are allowed for.

    Examples
    --------
    >>> theta = calibrate(1.0, 1e-6, rounds=100)
    >>> round(theta, 4), spent(theta, 1e-6, rounds=100) <= 1.0
    (0.0221, True)
    """
    epsilon, delta = checks.target("epsilon", epsilon), checks.probability("delta", delta)
    return theta_for(rho_of(epsilon, delta), rounds, x_bound, neighboring, gradient_bound)


def theta_for(
    rho: float,
    rounds: int,
    x_bound: float = 1.0,
    neighboring: Neighboring = "add_remove",
    gradient_bound: float = 1.0,
) -> float:
    """The largest theta at which `rounds` selections cost `rho` together.

    Formal guarantees
    -----------------
    See the module. Rounds may be adaptive under `neighboring`, and rounded weights are allowed for.
    """
    rho, rounds = checks.target("rho", rho), checks.count("rounds", rounds, least=1)
    unit = range_of_unit_theta(x_bound, neighboring, gradient_bound)
    return theta_of_range(math.sqrt(8.0 * rho / rounds), unit)


def spent(
    theta: float,
    delta: float,
    rounds: int,
    x_bound: float = 1.0,
    neighboring: Neighboring = "add_remove",
    gradient_bound: float = 1.0,
) -> float:
    """Compute the epsilon of `rounds` selections with `theta`, at the given `delta`.

    Parameters
    ----------
    theta : float
        Inverse temperature of the selections.
    delta : float
        The delta at which epsilon is stated.
    rounds : int
        Number of selections.
    x_bound : float, default 1
        Public bound on the absolute value of entries.
    neighboring : "add_remove" or "replace_one", default "add_remove"
        The neighbouring relation.
    gradient_bound : float, default 1
        Bound on the derivative of the loss.

    Returns
    -------
    float

    Formal guarantees
    -----------------
    See the module. `spent(calibrate(epsilon, ...), ...)` is at most `epsilon`.
    """
    event = selection_event(theta, rounds, x_bound, neighboring, gradient_bound)
    return epsilon_of(zcdp.rho(event), delta)


def selection_event(
    theta: float,
    rounds: int,
    x_bound: float = 1.0,
    neighboring: Neighboring = "add_remove",
    gradient_bound: float = 1.0,
) -> Repeated:
    """The event of `rounds` selections with `theta`, to be composed with others.

    Formal guarantees
    -----------------
    See the module. The event's epsilon is eps0 with the allowance for rounded weights.
    """
    theta = checks.budget("theta", theta)
    rounds = checks.count("rounds", rounds, least=1)
    unit = range_of_unit_theta(x_bound, neighboring, gradient_bound)
    return Repeated(BoundedRange(range_of_theta(theta, unit)), rounds)


def range_of_theta(theta: float, unit: float) -> float:
    """The eps0 of one round at ``theta``, ``unit`` being `range_of_unit_theta`."""
    return theta * unit + _ROUNDED_EXPONENTIALS


def theta_of_range(epsilon: float, unit: float) -> float:
    """The theta at which a round has the eps0 ``epsilon``, up to rounding."""
    if not epsilon > _ROUNDED_EXPONENTIALS:
        raise ValueError(
            "epsilon leaves a round less than weights are rounded by; raise it, or lower rounds."
        )
    return (epsilon - _ROUNDED_EXPONENTIALS) / unit


def range_of_unit_theta(x_bound: float, neighboring: Neighboring, gradient_bound: float) -> float:
    """The eps0 of one round per unit of theta, without the part that does not depend on theta."""
    if neighboring not in get_args(Neighboring):
        raise ValueError(
            f"neighboring must be a known relation, got {neighboring!r}: "
            "choose 'add_remove' or 'replace_one'."
        )
    row = checks.bound("x_bound", x_bound) * checks.bound("gradient_bound", gradient_bound)
    if not 1e-100 <= row <= 1e100:
        # Beyond these limits theta could overflow to math.inf, which means no privacy.
        raise ValueError(
            f"x_bound * gradient_bound must lie between 1e-100 and 1e100, got {row!r}: "
            "rescale the features by a public factor."
        )
    return (2.0 if neighboring == "add_remove" else 4.0) * row * _ROUNDED_WEIGHTS

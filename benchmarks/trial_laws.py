"""What the number of trials of a private search should be drawn from.

    python benchmarks/trial_laws.py

For a search at (epsilon, 1e-6): the epsilon of each trial, when the law of the number of trials is
set so that one good setting among m is tried with a given chance, and the mean number of trials
that takes. Poisson is by Theorem 6 of Papernot and Steinke (2022), over a grid of orders. Prints a
table and saves it as benchmarks/results/trial_laws.txt.
"""

import math

import numpy as np
from harness.machine import machine
from harness.results import save
from scipy.optimize import brentq

from dplasso.privacy import trials, zcdp

DELTA = 1e-6
MOST = 20_000  # trials, beyond which a law is cut here
CASES = [(1.0, 5, 0.5), (1.0, 5, 0.7), (1.0, 10, 0.5), (1.0, 10, 0.7), (1.0, 30, 0.5)]
CASES += [(0.5, 10, 0.5), (3.0, 10, 0.5)]


def chance(stop: float, law: str, settings: int) -> float:
    """That one setting among so many is tried."""
    k = np.arange(1, MOST + 1)
    weights = (1.0 - stop) ** k / (k if law == "logarithmic" else 1)
    return 1.0 - float(weights @ (1.0 - 1.0 / settings) ** k / weights.sum())


def tried(epsilon: float, settings: int, wanted: float, law: str) -> str:
    least = 5e-4  # the law is not cut short above it
    if chance(least, law, settings) < wanted:
        return "too many"
    stop = brentq(lambda stop: chance(stop, law, settings) - wanted, least, 0.999)
    rho = trials.rho_of(epsilon, DELTA, stop, law)
    return f"{zcdp.epsilon_of(rho, DELTA):.3f} ({trials.mean_trials(stop, law):.1f})"


def poisson(epsilon: float, settings: int, wanted: float) -> str:
    mean = -math.log(1.0 - wanted) * settings

    def cost(rho: float, order: float) -> float:
        extra = mean * zcdp.delta_of(rho, math.log1p(1.0 / (order - 1.0)))
        curve = order * rho + extra + math.log(mean) / (order - 1.0)
        return curve + math.log1p(-1.0 / order) - math.log(DELTA * order) / (order - 1.0)

    orders = 1.0 + np.exp(np.linspace(-2.0, 9.0, 300))
    rho = brentq(lambda rho: min(cost(rho, a) for a in orders) - epsilon, 1e-9, 50.0, rtol=1e-5)
    return f"{zcdp.epsilon_of(rho, DELTA):.3f} ({mean:.1f})"


def main() -> None:
    head = f"{'epsilon':>7} {'m':>3} {'chance':>6} {'logarithmic':>15} {'geometric':>14}"
    lines = ["epsilon of a trial (mean number of trials), delta 1e-6", f"{head} {'Poisson':>14}"]
    for case in CASES:
        laws = [tried(*case, law) for law in ("logarithmic", "geometric")]
        epsilon, settings, wanted = case
        line = f"{epsilon:7g} {settings:3} {wanted:6.0%} {laws[0]:>15} {laws[1]:>14}"
        lines.append(f"{line} {poisson(*case):>14}")
        print(lines[-1], flush=True)
    stop = trials.stop_for(20.0, "logarithmic")
    lines.append(f"logarithmic, mean 20: one trial only in {(1 - stop) / -math.log(stop):.0%}")
    lines.append(machine())
    print("\n".join(lines[-2:]))
    save("trial_laws", "\n".join(lines))


if __name__ == "__main__":
    main()

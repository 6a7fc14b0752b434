"""
Choosing bounds
===============

Noise has to hide the largest entry that a row *may* have. The bounds are public facts that you
declare: values beyond them are clipped. Bounds that are much too wide drown the model in noise, and
bounds that are much too narrow clip what it should learn from. This example measures both.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score

from dplasso import OnlyNoiseWarning, PrivateLassoRegressor

# %%
# Amounts of 10,000 customers to learn from: nearly all below 2,000, a few beyond.

rng = np.random.default_rng(0)
amounts = rng.gamma(2.0, 300.0, size=(15_000, 5))
spent = amounts @ [0.8, 0.4, 0.0, 0.2, 0.0] + rng.normal(0, 200, 15_000)
train, test = slice(0, 10_000), slice(10_000, None)
for high in (500, 2_000, 5_000):
    print(f"{(amounts > high).mean():.2%} of the amounts are above {high:,}")


def r2(upper, epsilon):
    model = PrivateLassoRegressor(
        epsilon, x_bound=[(0, upper)] * 5, y_bound=(0, 5_000), n_rows=10_000
    )
    with warnings.catch_warnings():  # bounds that are far too wide are told
        warnings.simplefilter("ignore", OnlyNoiseWarning)
        model.fit(amounts[train], spent[train])
    return r2_score(spent[test], model.predict(amounts[test]))


# %%
# Three fits for every bound, of which the middle one counts.

uppers = [100, 400, 1_000, 3_000, 10_000, 30_000, 100_000]
scores = {
    epsilon: [np.median([r2(upper, epsilon) for _ in range(3)]) for upper in uppers]
    for epsilon in (0.3, 3.0)
}

# %%
# The best bounds lie near the largest values that matter: here about 3,000. A bound of 400 clips
# most of the signal, and no epsilon brings it back. A bound of 100,000 "to be safe" costs most of
# the model at epsilon 0.3. The number need not be exact, and it has to come from what you know
# about the world: the largest value in the rows is somebody's.

for upper, *found in zip(uppers, *scores.values(), strict=True):
    print(f"bound {upper:>7,}: R2 {found[0]:.3f} at epsilon 0.3, {found[1]:.3f} at epsilon 3")

figure, axes = plt.subplots()
for color, (epsilon, values), place in zip(
    ("C1", "C0"), scores.items(), ((-16, -4), (0, 12)), strict=True
):
    axes.plot(uppers, values, "o-", color=color)
    axes.annotate(
        f"epsilon {epsilon:g}",
        (uppers[-1], values[-1]),
        place,
        textcoords="offset points",
        ha="right",
        color=color,
    )
axes.set_xscale("log")
axes.annotate("too narrow:\nclips the signal", (110, 0.55), color="0.35", ha="left")
axes.annotate("too wide:\nmore noise", (4_000, 0.3), color="0.35", ha="left")
axes.set(
    xlabel="declared upper bound of the amounts (log scale)",
    ylabel="R² on test rows",
    ylim=(-0.05, 1),
    title="Bounds may be rough, but not wild",
)
plt.show()

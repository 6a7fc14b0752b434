"""
Predicting a number
===================

``PrivateLassoRegressor`` predicts numbers. It needs one more public fact, the range of the labels
(``y_bound``): labels and predictions are clipped to it. This example draws predictions against true
values, at two epsilons and without privacy.
"""

import math
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score

from dplasso import PrivateLassoRegressor

# %%
# Synthetic rents of 12,000 flats. The ranges are what a landlord knows before seeing any flat.

rng = np.random.default_rng(0)
n_flats = 15_000
area = np.clip(rng.gamma(8.0, 9.0, n_flats), 15, 200)
floor = rng.integers(0, 10, n_flats)
distance = np.clip(rng.gamma(2.0, 2.5, n_flats), 0, 25)
year = rng.integers(1900, 2025, n_flats)
X = np.column_stack([area, floor, distance, year])
rent = 200 + 11 * area + 8 * floor - 35 * distance + 2 * (year - 1960) + rng.normal(0, 120, n_flats)
ranges = [(15, 200), (0, 10), (0, 25), (1900, 2025)]
train, test = slice(0, 12_000), slice(12_000, None)

predictions = {}
for epsilon in (0.01, 0.3, math.inf):
    model = PrivateLassoRegressor(epsilon, x_bound=ranges, y_bound=(0, 2_500), n_rows=12_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predictions[epsilon] = model.fit(X[train], rent[train]).predict(X[test])
    told = "".join(f", {warning.category.__name__}" for warning in caught)
    off = np.abs(predictions[epsilon] - rent[test]).mean()
    print(f"epsilon {epsilon:<5g} R2 {r2_score(rent[test], predictions[epsilon]):.3f}, ", end="")
    print(f"off by {off:.0f} on average{told}")
off = np.abs(np.median(rent[train]) - rent[test]).mean()
print(f"always the median: off by {off:.0f} on average")

# %%
# At epsilon 0.3 the private predictions are as good as those without privacy: 12,000 rows and four
# columns leave little for the noise to hide. At 0.01 the noise would hide everything. The fit
# notices this from what it has released, returns the released mean (noisy, too) instead of a random
# model, and gives an ``OnlyNoiseWarning``.

figure, panels = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(7.0, 3.1))
for axes, (epsilon, predicted) in zip(panels, predictions.items(), strict=True):
    axes.plot([0, 2500], [0, 2500], color="0.5", ls="--", lw=1)
    axes.plot(rent[test], predicted, ".", ms=2.5, alpha=0.25)
    name = "without privacy" if math.isinf(epsilon) else f"epsilon {epsilon:g}"
    axes.set(
        title=f"{name}\nR² {r2_score(rent[test], predicted):.2f}",
        xlabel="true rent",
        xlim=(0, 2500),
        ylim=(0, 2500),
        aspect="equal",
    )
panels[0].set_ylabel("predicted rent")
plt.show()

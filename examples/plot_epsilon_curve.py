"""
How accuracy grows with epsilon
===============================

A smaller epsilon protects each row better and adds more noise. This example fits the same notes at
several epsilons. It draws the accuracy between two public landmarks: the share of the most frequent
label, which needs no data, and the model without privacy.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from dplasso import PrivateLassoClassifier
from dplasso.datasets import make_notes

# %%
# Synthetic notes: 20,000 rows to learn from, 5,000 to test on, and 30,000 possible words.

X, y = make_notes(25_000, 30_000)
X_train, y_train, X_test, y_test = X[:20_000], y[:20_000], X[20_000:], y[20_000:]


def fitted(epsilon):
    model = PrivateLassoClassifier(epsilon, x_bound=1.0, classes=[0, 1], n_rows=20_000)
    return model.fit(X_train, y_train)


# %%
# Every private fit draws fresh noise, so we fit three times at each epsilon. On real data, each of
# these fits would have to be paid for; here nobody is behind the rows.

epsilons = [0.01, 0.03, 0.1, 0.3, 1, 3]
accuracies = np.array(
    [[fitted(epsilon).score(X_test, y_test) for _ in range(3)] for epsilon in epsilons]
)
without_privacy = fitted(math.inf).score(X_test, y_test)
trivial = max(y_test.mean(), 1 - y_test.mean())

for epsilon, fits in zip(epsilons, accuracies, strict=True):
    print(f"epsilon {epsilon:<5g} accuracy {fits.mean():.3f}")
print(f"without privacy {without_privacy:.3f}, always the most frequent label {trivial:.3f}")

# %%
# At epsilon 0.01, 20,000 rows are too few: the model does little better than the most frequent
# label. From 0.3 on, more budget buys almost nothing, because the noise of privacy is by then
# smaller than the noise that is in the notes anyway. More rows move the whole curve to the left:
# twice the rows at half the epsilon are worth about the same.

figure, axes = plt.subplots()
axes.plot(epsilons, accuracies.mean(axis=1), "o-")
axes.plot(np.repeat(epsilons, 3), accuracies.ravel(), "o", color="C0", alpha=0.3, ms=4)
axes.axhline(without_privacy, color="0.4", ls="--", lw=1.2)
axes.axhline(trivial, color="0.4", ls=":", lw=1.2)
axes.set_xscale("log")
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.minorticks_off()
axes.margins(y=0.1)
axes.text(epsilons[0], without_privacy, "without privacy", va="bottom", color="0.3")
axes.text(epsilons[-1], trivial, "the most frequent label", va="bottom", ha="right", color="0.3")
axes.annotate(
    "dplasso, mean of 3 fits",
    (1, accuracies[4].mean()),
    (0, -20),
    ha="center",
    textcoords="offset points",
    color="C0",
)
axes.set(
    xlabel="epsilon (log scale)",
    ylabel="accuracy on test rows",
    title="Accuracy is bought between epsilon 0.01 and 0.3",
)
plt.show()

"""
The regret of a private stream
==============================

Regret is the loss of an online model so far, minus that of the best fixed model in hindsight. If it
grows more slowly than the number of rows, the model catches up. This example draws the regret of
a stream with privacy and without.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from dplasso import PrivateOnlineClassifier

# %%
# 60,000 rows of length 1 with ten features.

rng = np.random.default_rng(1)
n_rows = 60_000
X = rng.normal(size=(n_rows, 10))
X /= np.linalg.norm(X, axis=1, keepdims=True)
y = X @ rng.normal(scale=3.0, size=10) + rng.logistic(size=n_rows) > 0


def log_losses(margins, labels):
    return np.logaddexp(0.0, np.where(labels, -margins, margins))


def losses_of_stream(**settings):
    """The log-loss of every row, just before it is learned from."""
    model = PrivateOnlineClassifier(
        classes=[False, True], batch=100, fit_intercept=False, **settings
    )
    found = [np.full(100, np.log(2.0))]
    for start in range(100, n_rows, 100):
        model.partial_fit(X[start - 100 : start], y[start - 100 : start])
        rows = slice(start, start + 100)
        found.append(log_losses(model.decision_function(X[rows]), y[rows]))
    return np.concatenate(found)


# %%
# The best fixed model in hindsight is fitted to all rows at once, without privacy. The trivial
# learner never learns, and its regret grows in proportion to the rows.

best = LogisticRegression(C=1e4, fit_intercept=False).fit(X, y)
of_best = log_losses(best.decision_function(X), y)
streams = {
    "epsilon 0.2": losses_of_stream(epsilon=0.2, n_rows=n_rows),
    "epsilon 0.4": losses_of_stream(epsilon=0.4, n_rows=n_rows),
    "epsilon 1": losses_of_stream(epsilon=1.0, n_rows=n_rows),
    "without privacy": losses_of_stream(epsilon=math.inf),
    "never learns": np.full(n_rows, np.log(2.0)),
}
regrets = {name: np.cumsum(losses - of_best) for name, losses in streams.items()}
for name, regret in regrets.items():
    print(f"{name:<16} regret per row: {regret[5_999] / 6000:.4f} after 6,000 rows, ", end="")
    print(f"{regret[-1] / n_rows:.4f} at the end")

# %%
# Every curve of a learner bends: what a row costs on top of the best model shrinks. Privacy makes
# the start dearer, since the first weights are mostly noise; later the curves are almost parallel.

figure, axes = plt.subplots(figsize=(6.2, 3.8))
colors = {"never learns": "0.6", "without privacy": "0.3"}
for name, regret in regrets.items():
    (line,) = axes.plot(regret[::50], color=colors.get(name), lw=1.6)
    line.set_xdata(np.arange(0, n_rows, 50))
    shown = min(regret[-1], 2800)
    if name != "never learns":
        axes.text(n_rows * 1.01, shown, name, color=line.get_color(), va="center")
axes.text(8_000, 2500, "never learns", color="0.5", ha="left")
axes.set(
    xlabel="rows",
    ylabel="regret (sum of log-loss)",
    xlim=(0, n_rows),
    ylim=(0, 2800),
    title="Regret grows more slowly than the number of rows",
)
plt.show()

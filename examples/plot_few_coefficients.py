"""
A model with few coefficients
=============================

A model of tens of thousands of words is easier to check, to explain and to serve if it uses only a
few of them. ``n_nonzero=k`` keeps at most k coefficients. This costs no budget. This example asks
how many are enough.
"""

import matplotlib.pyplot as plt
import numpy as np

from dplasso import PrivateLassoClassifier
from dplasso.datasets import make_notes

# %%
# In these notes only 25 of 30,000 words are informative: words 5 to 29. A private model has to
# find them.

X, y = make_notes(25_000, 30_000)
X_train, y_train, X_test, y_test = X[:20_000], y[:20_000], X[20_000:], y[20_000:]


def fitted(epsilon, n_nonzero):
    model = PrivateLassoClassifier(
        epsilon, x_bound=1.0, classes=[0, 1], n_rows=20_000, n_nonzero=n_nonzero
    )
    return model.fit(X_train, y_train)


kept = [5, 10, 25, 50, 200, 1000, 5000]
accuracies = {
    epsilon: [np.mean([fitted(epsilon, k).score(X_test, y_test) for _ in range(2)]) for k in kept]
    for epsilon in (0.1, 3.0)
}

# %%
# Which words does a model of 25 coefficients keep? The words are known here, so we can count.

chosen = np.flatnonzero(fitted(3.0, 25).coef_[0])
informative = np.isin(chosen, np.arange(5, 30)).sum()
print(f"{informative} of {len(chosen)} coefficients are of informative words")

# %%
# With a large budget, 25 coefficients are as good as 5,000. With a small one, the model finds some
# of the informative words late, so a few hundred are better than 25; thousands are worse again,
# because every coefficient that is kept carries noise of its own. The default,
# ``n_nonzero="auto"``, is a rule of public facts alone.

automatic = fitted(0.1, "auto")
print(f'n_nonzero="auto" keeps {np.count_nonzero(automatic.coef_):,} of 30,000 coefficients')

figure, axes = plt.subplots()
for color, (epsilon, scores) in zip(("C1", "C0"), accuracies.items(), strict=True):
    axes.plot(kept, scores, "o-", color=color)
    axes.annotate(
        f"epsilon {epsilon:g}",
        (kept[-1], scores[-1]),
        (0, -14),
        textcoords="offset points",
        ha="right",
        color=color,
    )
axes.axvline(25, color="0.5", ls=":", lw=1.2)
axes.text(26, axes.get_ylim()[0], " 25 words are informative", va="bottom", color="0.3")
axes.set_xscale("log")
axes.set(
    xlabel="coefficients kept (log scale)",
    ylabel="accuracy on test rows",
    title="A few dozen of 30,000 coefficients are enough",
)
plt.show()

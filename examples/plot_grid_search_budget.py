"""
What a grid search costs
========================

Every fit to private rows costs budget, also the fits of a search that nobody keeps. An ordinary
``GridSearchCV`` pays for all of them, and its scores are not private. ``PrivateSearch`` keeps the
best of a random, secret number of fits and is charged once. A ledger shows the difference.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from dplasso import Budget, PrivateLassoClassifier, PrivateSearch
from dplasso.datasets import make_notes
from dplasso.privacy.zcdp import epsilon_of

X, y = make_notes(20_000, 50_000)
X_test, y_test = make_notes(5_000, 50_000, random_state=1)
grid = {"n_nonzero": [5, 10, 30, 100, 300]}
folder = Path(tempfile.mkdtemp())

# %%
# Five settings and three folds are 15 fits, and one more at the end. ``GridSearchCV`` clones the
# estimator for each of them, and all clones charge the same ledger. Each fit has epsilon 0.25. Two
# of three folds have 13,333 of the 20,000 rows, and that is the number to declare. With
# ``error_score="raise"`` a rejected fit ends the search. Without it, scikit-learn would turn a
# rejected fit into a score of NaN and spend the rest of the budget on the others.

ledger = Budget(epsilon=2.0, delta=1e-6, store=folder / "grid.sqlite")
model = PrivateLassoClassifier(0.25, x_bound=1.0, classes=[0, 1], n_rows=13_333, accountant=ledger)
grid_search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
spent = [epsilon_of(rho, 1e-6) for rho in np.cumsum([fit.rho for fit in ledger.entries()])]
print(f"{len(spent)} fits cost epsilon {ledger.spent_epsilon:.2f}")
print(f"accuracy {grid_search.score(X_test, y_test):.3f}, {grid_search.best_params_}")

# %%
# ``PrivateSearch`` with epsilon 0.5 gives each of its trials about as much, and makes 20 of them on
# average. It is one entry of the ledger.

whole = Budget(epsilon=2.0, delta=1e-6, store=folder / "search.sqlite")
model = PrivateLassoClassifier(x_bound=1.0, classes=[0, 1], n_rows=20_000)
search = PrivateSearch(model, grid, epsilon=0.5, trials=20, accountant=whole).fit(X, y)
in_each = epsilon_of(search.privacy_["search"]["trial_rho"], 1e-6)
print(f"one charge of epsilon {whole.spent_epsilon:.2f}; each trial had epsilon {in_each:.2f}")
print(f"accuracy {search.score(X_test, y_test):.3f}, {search.best_params_}")

# %%
# Both find models of about the same accuracy. The grid search cost more than twice as much, the
# next one would add to it, and the scores by which it chose are not covered by any guarantee.

figure, axes = plt.subplots()
axes.plot(range(1, 17), spent, "o-", color="C1", ms=4)
axes.annotate(
    "GridSearchCV: every fit is charged",
    (16, spent[-1]),
    (-18, 8),
    textcoords="offset points",
    ha="right",
    color="C1",
)
axes.axhline(0.5, color="C0")
axes.text(16, 0.51, "PrivateSearch: one charge in all", ha="right", va="bottom", color="C0")
axes.set(
    xlabel="fits so far",
    ylabel="epsilon spent (delta 1e-6)",
    ylim=(0, 1.4),
    title="A search that is charged as a whole costs less",
)
plt.show()

"""
A million columns in seconds
============================

Words, products, diagnoses and genes make tables with very many columns, most of them empty in any
row. dplasso never makes such a matrix dense. This example measures the time of a private fit as the
number of columns grows and the number of entries stays the same.
"""

import time

import matplotlib.pyplot as plt

from dplasso import PrivateLassoClassifier
from dplasso.datasets import make_notes

# %%
# Two ways to fit: gradient descent, which ``solver="auto"`` takes for text, and Frank-Wolfe with
# lazy selection, which releases one coefficient per round. A time is that of one fit, and includes
# all checks of the matrix. The first fit of each only compiles.

solvers = {"Frank-Wolfe": "frank_wolfe", "gradient descent": "auto"}
columns = [10_000, 100_000, 1_000_000]


def fitted(solver, X, y):
    model = PrivateLassoClassifier(
        1.0, x_bound=1.0, classes=[0, 1], n_rows=X.shape[0], solver=solver
    )
    return model.fit(X, y)


times = {name: [] for name in solvers}
models = {}  # those of the most columns remain
for solver in solvers.values():
    fitted(solver, *make_notes(10_000, 10_000))
for n_columns in columns:
    X, y = make_notes(10_000, n_columns)
    for name, solver in solvers.items():
        start = time.perf_counter()
        models[name] = fitted(solver, X, y)
        times[name].append(time.perf_counter() - start)
        print(f"{n_columns:>9,} columns: {times[name][-1]:6.3f} s  {name}")
print(f"as a dense matrix, these notes would take {8 * X.shape[0] * X.shape[1] / 2**30:.0f} GiB")

# %%
# Accuracy is the other half of the answer. With so few rows for a million words, the descent is the
# better choice, and that is why ``solver="auto"`` takes it.

X_test, y_test = make_notes(5_000, 1_000_000, random_state=1)
for name, model in models.items():
    print(f"{name:<18} accuracy {model.score(X_test, y_test):.3f}")

# %%
# Frank-Wolfe hardly notices the number of columns: a round costs what the column it picks has in
# entries. The descent adds noise to every column that it still holds, so its time grows with their
# number, but a million columns are a matter of seconds.

figure, axes = plt.subplots()
for (name, values), color, above in zip(times.items(), ("C2", "C0"), (-18, 8), strict=True):
    axes.plot(columns, values, "o-", color=color)
    axes.annotate(
        name,
        (columns[-1], values[-1]),
        (0, above),
        textcoords="offset points",
        ha="right",
        color=color,
    )
axes.margins(y=0.2)
axes.set(
    xscale="log",
    yscale="log",
    xlabel="columns (log scale)",
    ylabel="seconds (log scale)",
    title="Time of one fit to 10,000 short notes",
)
plt.show()

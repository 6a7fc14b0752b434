"""
Do probabilities come true?
===========================

A probability is calibrated if, of all visits that are predicted to be followed by a readmission
with probability 0.3, about 30 % are. Noise tends to make a model too sure of itself. dplasso
therefore spends 5 % of a fit's budget on a private correction. This example checks the result.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dplasso import PrivateLassoClassifier, Schema, read_rows
from dplasso.datasets import make_visits
from dplasso.schema import Category, Number, Target

# %%
# A table of hospital visits. The schema declares what is publicly known of its columns; no bound
# and no level is read from the rows.

schema = Schema(
    {
        "age": Number(18, 100),
        "ward": Category(["medicine", "surgery", "cardiology", "maternity", "emergency"]),
        "creatinine": Number(0.2, 12, log=True),
        "earlier_visits": Number(0, 10),
        "readmitted": Target(["no", "yes"]),
    },
    n_rows=32_000,
)
visits = pd.DataFrame(make_visits(48_000))[list(schema.columns)]
train, test = read_rows(visits[:32_000], schema=schema), read_rows(visits[32_000:], schema=schema)

# %%
# We compare probabilities with what happened, in ten groups of equal size.


def reliability(probabilities, happened, groups=10):
    order = np.argsort(probabilities)
    predicted = [part.mean() for part in np.array_split(probabilities[order], groups)]
    observed = [part.mean() for part in np.array_split(happened[order], groups)]
    return np.array(predicted), np.array(observed)


readmitted = test.y == "yes"
figure, panels = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(7.0, 2.9))
for axes, epsilon in zip(panels, (0.02, 0.1, 1.0), strict=True):
    model = PrivateLassoClassifier(epsilon).fit(train.described(), train.y)
    predicted, observed = reliability(model.predict_proba(test.described())[:, 1], readmitted)
    error = np.abs(predicted - observed).mean()
    print(f"epsilon {epsilon:g}: mean calibration error {error:.3f}")
    axes.plot([0, 0.6], [0, 0.6], color="0.5", ls="--", lw=1)
    axes.plot(predicted, observed, "o-")
    axes.set(title=f"epsilon {epsilon:g}", aspect="equal")
    axes.set_xlabel("predicted probability")
panels[0].set_ylabel("share readmitted")
panels[0].text(0.3, 0.23, "calibrated", rotation=45, color="0.4", ha="center", va="center")
plt.show()

# %%
# The points follow the dashed line: probabilities can be read as they are, also at a small epsilon.
# With less budget the model knows less and spreads its probabilities less; it does not claim more
# than it knows.

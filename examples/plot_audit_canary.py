"""
An attack on our own guarantee
==============================

Does a model keep its promise? An attacker who knows all rows but one plants a *canary*: a row that
no other resembles. He fits models with and without it, and guesses from a model whether the canary
was there. How often he is right gives a lower bound on epsilon, with confidence. A bound above
the claim would prove a fault.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from dplasso import PrivateOnlineClassifier
from dplasso.audit.certify import certify

# %%
# The easiest case for the attacker: a short stream in which all other rows are empty, so that
# nothing but the canary has the first feature. He looks at its coefficient.


def coefficient(epsilon, present):
    """The coefficient of the canary's feature in one private stream."""
    model = PrivateOnlineClassifier(
        epsilon, window=16, classes=[0, 1], n_features=4, fit_intercept=False
    )
    rows, labels = np.zeros((16, 4)), np.arange(16) % 2
    if present:
        rows[0, 0], labels[0] = 1.0, 1
    return model.partial_fit(rows, labels).coef_[0, 0]


# %%
# ``certify`` chooses a threshold on a third of the runs and counts hits and false alarms on the
# others. Rates p and q prove an epsilon of at least ln((p - delta) / q), here with 95 % confidence.


def proved(hits, false_alarms):
    return math.log((hits - 1e-6) / false_alarms) if hits > false_alarms else 0.0


attacks = {}
for epsilon in (1.0, 8.0):
    present = np.array([coefficient(epsilon, True) for _ in range(500)])
    absent = np.array([coefficient(epsilon, False) for _ in range(500)])
    bound, _ = certify(present[:, None], absent[:, None], proved, error=0.05)
    attacks[epsilon] = present, absent, bound
    print(f"claimed epsilon {epsilon:g}: the attack proves at least {bound:.2f}")

# %%
# At epsilon 1 the two histograms overlap, and the attacker can hardly tell them apart. At epsilon 8
# he is right more often, as the larger epsilon allows. Both bounds are far below their claims,
# because this attack looks at one number of each run. ``dplasso audit`` uses everything that is
# released, makes more runs, and compares releases with laws that it computes a second time.

figure, panels = plt.subplots(1, 2, figsize=(6.8, 3.2), sharey=True)
bins = np.linspace(-3.5, 3.5, 29)
for axes, (epsilon, (present, absent, bound)) in zip(panels, attacks.items(), strict=True):
    axes.hist(absent, bins, color="0.6", alpha=0.6)
    axes.hist(present, bins, histtype="step", color="C1", lw=1.8)
    axes.set_title(f"claimed {epsilon:g}, proved {bound:.2f}")
figure.supxlabel("coefficient of the canary's feature", fontsize="medium")
panels[0].set_ylabel("runs")
panels[1].text(-3.4, 40, "without\nthe canary", color="0.4")
panels[1].text(3.4, 40, "with it", color="C1", ha="right")
plt.show()

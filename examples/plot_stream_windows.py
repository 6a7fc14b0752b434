"""
A stream: how long should a row stay protected?
===============================================

An online model releases new weights all the time. ``window=W`` protects the last W rows; older rows
have expired, and the weights may reveal them. Without a window, every row is protected forever.
This example measures what longer protection costs.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from dplasso import PrivateOnlineClassifier
from dplasso.privacy.gaussian import mu_of
from dplasso.streams import running_sum

# %%
# Weights follow from a running sum of gradients with noise. The size of this noise can be measured
# before there is any row: release the running sum of zeros. For comparison, the noise that each of
# W releases would need if they all had fresh noise of their own.

windows = [10, 100, 1_000, 10_000]
noise = []
for window in windows:
    sums = running_sum(1000, window=window, epsilon=1.0, delta=1e-6, sensitivity=1.0)
    for _ in range(2 * window):
        released = sums.add(np.zeros(1000))
    noise.append(released.std())
fresh = np.sqrt(windows) / mu_of(1.0, 1e-6)
for window, ours, theirs in zip(windows, noise, fresh, strict=True):
    print(f"window {window:>6,}: noise {ours:5.1f}, fresh noise would be {theirs:6.1f}")

# %%
# Now a stream of 30,000 rows. Each prediction is made just before its row is learned from.

rng = np.random.default_rng(0)
n_rows = 30_000
X = rng.normal(size=(n_rows, 20))
y = X @ rng.normal(size=20) + rng.normal(size=n_rows) > 0


def share_right(epsilon, window=None):
    model = PrivateOnlineClassifier(epsilon, window=window, classes=[False, True])
    right = model.predict_then_learn(X, y) == y
    return np.convolve(right, np.ones(1500) / 1500, mode="valid")


streams = {
    "without privacy": share_right(math.inf),
    "last 100 rows protected": share_right(0.3, 100),
    "all rows protected, forever": share_right(0.3),
}
for name, curve in streams.items():
    print(f"{name:<28} {curve[1_500]:.3f} right around row 2,000, {curve[-1]:.3f} at the end")

# %%
# A window that is a thousand times longer needs about twice the noise, because the releases share
# it. (Fresh noise would have to grow with the square root of the window.) Longer protection is felt
# at the start of a stream, while the sum is small beside its noise. After some ten thousand rows,
# protection forever costs only a little more than that of the last hundred rows.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6), width_ratios=(1, 1.25))
left.plot(windows, noise, "o-", color="C0")
left.plot(windows, fresh, "o--", color="C1")
left.text(900, noise[2] * 0.72, "dplasso", color="C0", va="top")
left.text(800, fresh[2] * 1.15, "fresh noise\nper release", color="C1", ha="right")
left.set(
    xscale="log",
    yscale="log",
    xlabel="window, rows",
    ylabel="noise on the sum (std)",
    title="Noise",
)
rows = np.arange(1500, n_rows + 1)
for color, (name, curve) in zip(("0.45", "C0", "C3"), streams.items(), strict=True):
    right.plot(rows[::20], curve[::20], color=color, label=name)
right.legend(loc="lower right")
right.set(
    xlabel="row",
    ylabel="share right, last 1,500 rows",
    ylim=(0.5, 1),
    title="Accuracy at epsilon 0.3",
)
plt.show()

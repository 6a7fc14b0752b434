"""Seconds from a cold interpreter to a first small fit, on a warm cache of compiled code."""

import statistics
import subprocess
import sys
import time

FIT = """
import numpy as np, dplasso
X, y = np.random.default_rng(0).random((100, 5)), np.arange(100) % 2
theta = dplasso.calibrate(1.0, 1e-6, 50)
dplasso.frank_wolfe(X, y, loss=dplasso.LogisticLoss(), radius=1.0, rounds=50, theta=theta)
"""


def main() -> None:
    times = []
    for _ in range(6):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIT], check=True)
        times.append(time.perf_counter() - start)
    print(f"import and first fit: {statistics.median(times[1:]):.2f} s (median of 5)")


if __name__ == "__main__":
    main()

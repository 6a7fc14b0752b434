"""Fits of diffprivlib's linear regression, in its own environment.

    python linear_worker.py FOLDER

Reads rows.npz (train, labels, test, low, high) and requests.json (a list of epsilon and seed) from
the folder, and writes predictions.npy there: a row for every request.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LinearRegression


def main() -> None:
    folder = Path(sys.argv[1])
    rows = np.load(folder / "rows.npz")
    warnings.simplefilter("ignore")
    predictions = []
    for epsilon, seed in json.loads((folder / "requests.json").read_text()):
        model = LinearRegression(
            epsilon=epsilon,
            bounds_X=(rows["low"], rows["high"]),
            bounds_y=(-1.0, 1.0),
            random_state=seed,
        )
        predictions.append(model.fit(rows["train"], rows["labels"]).predict(rows["test"]))
    np.save(folder / "predictions.npy", np.array(predictions))


if __name__ == "__main__":
    main()

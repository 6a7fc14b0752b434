"""Fits of diffprivlib's logistic regression, in its own environment.

    python worker.py FOLDER

Reads train.npy, labels.npy, test.npy and requests.json (a list of epsilon, C and seed) from the
folder, and writes margins.npy there: a row for every request.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LogisticRegression


def main() -> None:
    folder = Path(sys.argv[1])
    train, labels, test = (np.load(folder / f"{name}.npy") for name in ("train", "labels", "test"))
    warnings.simplefilter("ignore")  # a minimum that noise has put far off may not be reached
    margins = []
    for epsilon, C, seed in json.loads((folder / "requests.json").read_text()):
        model = LogisticRegression(
            epsilon=epsilon, data_norm=1.0, C=C, max_iter=500, random_state=seed
        )
        margins.append(model.fit(train, labels).decision_function(test))
    np.save(folder / "margins.npy", np.array(margins))


if __name__ == "__main__":
    main()

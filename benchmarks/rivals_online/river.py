"""river's logistic regression, which is not private, in an environment of its own."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RIVER = """
import json, sys, time
import numpy as np
from river import linear_model
parts = np.load(sys.argv[1])
starts, columns, values, labels = (parts[name] for name in ("p", "i", "v", "y"))
rows = [
    dict(zip(columns[a:b].tolist(), values[a:b].tolist()))
    for a, b in zip(starts[:-1], starts[1:])
]
labels, model, right = labels.astype(bool).tolist(), linear_model.LogisticRegression(), 0
start = time.perf_counter()
for row, label in zip(rows, labels):
    right += model.predict_one(row) == label
    model.learn_one(row, label)
print(json.dumps([len(rows) / (time.perf_counter() - start), right / len(rows)]))
"""


def river_python() -> Path:
    """An interpreter that has river: this one, or one that is made where there is none yet."""
    if importlib.util.find_spec("river") is not None:
        return Path(sys.executable)
    folder = Path(os.environ.get("RIVER_VENV") or Path(tempfile.gettempdir()) / "dplasso-river")
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "river>=0.21"], check=True)
    return python


def river(X: sp.csr_array, y: np.ndarray) -> tuple[float, float]:
    """Rows per second, and progressive accuracy."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file.name, p=X.indptr, i=X.indices, v=X.data, y=y)
        done = subprocess.run(
            [river_python(), "-c", RIVER, file.name], check=True, capture_output=True, text=True
        )
    return tuple(json.loads(done.stdout))

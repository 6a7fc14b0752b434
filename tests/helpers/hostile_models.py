"""Model files that claim more than they hold. Shared with benchmarks/fuzz_models.py."""

import numpy as np

from dplasso import PrivateLassoClassifier
from dplasso.schema import Hashed, Number, Schema, Target
from dplasso.storage import read, write

BILLION = 10**9


def small_model(path, **options):
    """A model of 6 columns in a file: header and arrays."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1, 1, (40, 6)), 2)
    given = {"classes": ["no", "yes"], "n_rows": 40, "x_bound": 1.0, **options}
    model = PrivateLassoClassifier(3.0, **given)
    model.fit(X, np.where(X[:, 0] > 0, "yes", "no")).save(path)
    return read(path)


def wide_model(path, columns=BILLION, *, bounds=None, **options):
    """A file of a few kilobytes with as many columns as a hashed plan says."""
    header, arrays = small_model(path, **options)
    bounds = {"age": (0.0, 120.0)} if bounds is None else bounds
    roles = {name: Number(*ends, missing="indicator", fill=0.0) for name, ends in bounds.items()}
    roles["town"] = Hashed(columns - 2 * len(bounds))
    plan = Schema({**roles, "y": Target()})
    header["n_features"] = columns
    header["table_plan"] = plan.to_dict()
    header["parameters"]["x_bound"] = None
    header["privacy"]["public"]["n_features"]["value"] = columns
    header["privacy"]["bounds"]["x_bound"]["value"] = "one per column, at most 120"
    write(path, header, arrays)
    return path

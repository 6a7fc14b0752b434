"""Ordinary tables of the data folder: what is public of each, its rows, and fresh splits.

The tables lie in the folder ``tables`` of the data folder (see `harness.datasets`), as CSV files
packed by gzip. Ranges are those of the README there. The levels of categories are read from the
file and count as public. A missing number goes to the middle of its range.
"""

import csv
import gzip
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from harness import datasets

Range = tuple[float, float]
TRAINED = 0.8  # share of the rows


class Schema(NamedTuple):
    """The public facts of a table. ``y_range`` is None where the target is a class."""

    target: str
    numbers: dict[str, Range]
    categories: tuple[str, ...] = ()
    y_range: Range | None = None


SCHEMAS = {
    "california": Schema(
        "median_house_value",
        {
            "longitude": (-125, -114),
            "latitude": (32, 42),
            "housing_median_age": (0, 52),
            "total_rooms": (0, 20_000),
            "total_bedrooms": (0, 4_000),
            "population": (0, 10_000),
            "households": (0, 4_000),
            "median_income": (0, 15),
        },
        ("ocean_proximity",),
        y_range=(0, 500_000),
    ),
    "adult": Schema(
        "classification",
        {
            "age": (17, 90),
            "education-num": (1, 16),
            "capital-gain": (0, 100_000),
            "capital-loss": (0, 5_000),
            "hours-per-week": (0, 99),
        },
        (
            *("workclass", "education", "marital-status", "occupation", "relationship", "race"),
            *("sex", "native-country"),
        ),
    ),
    "telco_churn": Schema(
        "Churn",
        {
            "tenure": (0, 72),
            "MonthlyCharges": (0, 150),
            "TotalCharges": (0, 10_000),
            "SeniorCitizen": (0, 1),
        },
        (
            *("gender", "Partner", "Dependents", "PhoneService", "MultipleLines"),
            *("InternetService", "OnlineSecurity", "OnlineBackup", "DeviceProtection"),
            *("TechSupport", "StreamingTV", "StreamingMovies", "Contract", "PaperlessBilling"),
            "PaymentMethod",
        ),
    ),
    "letter": Schema(
        "letter",
        dict.fromkeys(
            (
                *("x-box", "y-box", "width", "height", "onpix", "x-bar", "y-bar", "x2bar"),
                *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
            ),
            (0, 15),
        ),
    ),
}


class Table:
    """Rows in their own units, the range of every column, and labels.

    Numbers to predict are shifted so that their range is symmetric: ``y_bound`` is half of it.
    Classes are the whole numbers below ``n_classes``, which is 0 where numbers are predicted.
    ``n_numbers`` columns come first, then one column of 0 and 1 for every level of every category.
    A table with hashed columns is sparse; ``cells`` and ``centred`` are for others.
    """

    def __init__(
        self,
        name: str,
        X: Any,
        y: np.ndarray,
        ranges: Sequence[Range | float],
        *,
        n_classes: int = 0,
        y_bound: float = 1.0,
        n_numbers: int | None = None,
        n_categories: int = 0,
    ) -> None:
        self.name, self.X, self.y, self.n_classes, self.y_bound = name, X, y, n_classes, y_bound
        self.ranges = list(ranges)
        self.n_numbers = X.shape[1] if n_numbers is None else n_numbers
        self.n_categories = n_categories

    def halves(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The places of the training rows and of the test rows: a fresh split for every seed."""
        order = np.random.default_rng((seed, 80_20)).permutation(len(self.y))
        cut = int(TRAINED * len(order))
        return order[:cut], order[cut:]

    @cached_property
    def cells(self) -> np.ndarray:
        """Every entry as a share of its range."""
        low, high = np.array(self.ranges).T
        return np.clip((self.X - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)

    @cached_property
    def centred(self) -> np.ndarray:
        """Numbers between -1 and 1 instead; columns of categories as they are."""
        cells = self.cells.copy()
        cells[:, : self.n_numbers] = 2.0 * cells[:, : self.n_numbers] - 1.0
        return cells


MIXED = {"adult_hashed": "adult", "telco_text": "telco_churn"}  # and the table that each is made of
HASHED = ("education", "native-country")  # of adult
BUCKETS = 4096  # per column, as for columns that the product hashes


def load(name: str) -> Table | None:
    """A table of the data folder; None where it is not at hand.

    ``adult_hashed`` is adult with two categories hashed; the numbers and the other categories stay.
    ``telco_text`` is telco_churn with one column of text instead of its categories: a word
    "category=level" for each of them, hashed.
    """
    plain = MIXED.get(name, name)
    path = datasets.folder() / "tables" / f"{plain}.csv.gz"
    if not path.is_file():
        return None
    cells, schema = _read(path), SCHEMAS[plain]
    columns: list[np.ndarray] = []
    ranges: list[Range | float] = []
    for column, (low, high) in schema.numbers.items():
        columns.append(np.array([_number(cell, (low + high) / 2.0) for cell in cells[column]]))
        ranges.append((low, high))
    hashed = {"adult_hashed": HASHED, "telco_text": schema.categories}.get(name, ())
    for column in schema.categories:
        if column not in hashed:
            found = np.array(cells[column])
            for level in np.unique(found):
                columns.append((found == level).astype(np.float64))
                ranges.append((0, 1))
    X: Any = np.column_stack(columns)
    if hashed:
        wide = _hashed({column: cells[column] for column in hashed}, apart=name == "adult_hashed")
        X = sp.csr_array(sp.hstack([sp.csr_array(X), wide], format="csr"))
        ranges += [1.0] * wide.shape[1]  # wide columns have one bound
    shape: dict[str, Any] = {"n_numbers": len(schema.numbers)}
    shape["n_categories"] = len(schema.categories)
    if schema.y_range is None:
        classes, y = np.unique(np.array(cells[schema.target]), return_inverse=True)
        shape["n_classes"] = len(classes)
    else:
        low, high = schema.y_range
        y = np.array(cells[schema.target], dtype=np.float64) - (low + high) / 2.0
        shape["y_bound"] = (high - low) / 2.0
    return Table(name, X, y, ranges, **shape)


def cells_of(name: str) -> dict[str, list[str]]:
    """The columns of a table of the data folder, by name, as text."""
    return _read(datasets.folder() / "tables" / f"{name}.csv.gz")


def _read(path: Path) -> dict[str, list[str]]:
    """The columns of a packed CSV file, by name."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file, skipinitialspace=True)
    filled = (row for row in rows if row)
    return dict(zip(names, map(list, zip(*filled, strict=True)), strict=True))


def _number(cell: str, otherwise: float) -> float:
    try:
        return float(cell)
    except ValueError:
        return otherwise


def _hashed(cells: dict[str, list[str]], *, apart: bool) -> sp.csr_array:
    """Presence of "category=level" in buckets: those of all categories together, or apart."""
    indices = np.empty((len(next(iter(cells.values()))), len(cells)), dtype=np.int64)
    for place, (column, levels) in enumerate(cells.items()):
        buckets = {level: _bucket(f"{column}={level}") for level in set(levels)}
        indices[:, place] = [buckets[level] + apart * place * BUCKETS for level in levels]
    rows = np.repeat(np.arange(len(indices)), indices.shape[1])
    width = BUCKETS * (len(cells) if apart else 1)
    ones = np.ones(indices.size)
    found = sp.csr_array((ones, (rows, indices.ravel())), shape=(len(indices), width))
    found.data[:] = 1.0  # two words of a row may share a bucket
    return found


def _bucket(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little") % BUCKETS

"""Random pairs of data sets that differ in all rows of one person.

The rows of the person may all be the same, so that what they add points in one direction; and their
number is often one by which nothing can be divided without a rest.
"""

from typing import Any

import numpy as np

from dplasso.data.identifiers import people_of
from dplasso.data.row_weights import row_weights
from neighbour_pairs import Neighbours, kept_as, labels_of, numbers_of

SIZES = (1, 2, 3, 4, 5, 7, 11, 64, 97, 499, 997, 1000)
ROWS_PER_PERSON = (1, 1, 2, 3, 7)
CLASSES = {"logistic": 2, "softmax": 3}


def person(rng: np.random.Generator, loss: str, columns: int, size: int) -> tuple[Any, Any]:
    """Rows and labels of one person."""
    X, y = numbers_of(rng, size, columns), labels_of(rng, loss, size)
    if rng.random() < 0.6:
        X, y = np.repeat(X[:1], size, axis=0), np.repeat(y[:1], size)
    return X, y


def people(rng: np.random.Generator, loss: str) -> Neighbours:
    """A random pair."""
    k, columns = int(rng.choice(ROWS_PER_PERSON)), int(rng.integers(1, 9))
    others = [person(rng, loss, columns, int(rng.choice(SIZES[:7]))) for _ in range(3)]
    by_class = None
    if loss in CLASSES and rng.random() < 0.3:
        by_class = rng.choice([1.0, 0.3, 0.01], CLASSES[loss])
    replaced = bool(rng.random() < 0.5)
    found = []
    for comes in (replaced, True):
        own = [person(rng, loss, columns, int(rng.choice(SIZES)))] if comes else []
        found.append(data_of(rng, [*others, *own], k, by_class))
    (one, first), (other, second) = found
    pair = (kept_as(rng, one[0]), one[1]), (kept_as(rng, other[0]), other[1])
    return Neighbours(*pair, 2 if replaced else 1, one[0].shape, (first, second), k)


def data_of(
    rng: np.random.Generator, crowd: list[Any], k: int, by_class: np.ndarray | None
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The rows of some people in any order, with labels and weights."""
    X, y = np.vstack([rows for rows, _ in crowd]), np.concatenate([own for _, own in crowd])
    owner = np.repeat(np.arange(len(crowd)), [len(own) for _, own in crowd])
    order = rng.permutation(len(y))
    X, y, owner = X[order], y[order], owner[order]
    classes = None if by_class is None else y.astype(np.int64)
    weights = row_weights(people_of(_stored(rng, owner)), k, classes, by_class)
    assert weights is not None
    return (X, y), weights


def _stored(rng: np.random.Generator, owner: np.ndarray) -> Any:
    """Identifiers in some form."""
    texts = [f"person {number}" for number in owner]
    forms = (owner, owner.astype(np.uint8), owner.tolist(), texts, np.array(texts))
    return forms[rng.integers(len(forms))]

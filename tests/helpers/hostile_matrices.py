"""Sparse matrices whose arrays were tampered with, and how every entry point must handle them.

Conversions and kernels trust a matrix that has passed an entry point ("door"), so these run in a
separate process (`hostile_runs`): a door that accepts a bad matrix may kill it.
"""

import contextlib

import numpy as np
import scipy.sparse as sp

import dplasso
from dplasso import ColumnMatrix, PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.data import ColumnBounds
from dplasso.data.row_maps import clipped, mapped
from dplasso.data.unit_rows import UnitRows
from dplasso.federated import simulate
from dplasso.federated.agreement import agree
from dplasso.federated.model import PartyModel
from dplasso.report import evaluate
from dplasso.report.curve_fits import accuracy_curve
from dplasso.search import PrivateSearch
from dplasso.streams import running_sum

ROWS, COLUMNS = 12, 8
SECRET = 7391.25  # occurs in every matrix; no message may repeat it
# These do not check for gaps, or not everywhere: their results are checked later.
MAPS = ("into_bounds", "into_map", "into_clip", "into_margins")
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
FAR = (-1, -5, 8, 12, 13, 97, 2**31 - 1, -(2**31), 2**31, 2**40, 2**63 - 1, -(2**63))


def table(rng):
    X = np.where(
        rng.random((ROWS, COLUMNS)) < 0.4, np.round(rng.normal(size=(ROWS, COLUMNS)), 2), 0
    )
    X[0, 0], X[3, 2] = SECRET, 0.5
    return X


def healthy(rng, form, kind="array"):
    """A sound matrix of a format."""
    X = getattr(sp, f"coo_{kind}")(table(rng)).asformat(form)
    return X.astype(rng.choice([np.float64, np.float64, np.float32]))


def parts_of(X):
    """Names of the arrays of a matrix."""
    return {
        "csr": ("data", "indices", "indptr"),
        "csc": ("data", "indices", "indptr"),
        "bsr": ("data", "indices", "indptr"),
        "coo": ("data", "row", "col"),
        "dia": ("data", "offsets"),
        "lil": ("data", "rows"),
        "dok": (),
    }[X.format]


def bent_array(rng, array):
    """An array with changed entries, type, length or dimensions."""
    if not isinstance(array, np.ndarray):
        return array
    how = rng.integers(16)
    whole = array.dtype.kind in "iu"
    if how < 6 and array.size:
        array = array.astype(np.int64 if whole else np.float64)
        far = rng.choice(FAR) if whole else rng.choice([0.0, 1.0, np.nan, np.inf, -1e300])
        array.flat[rng.integers(array.size)] = far
    elif how == 6:
        array = array[: rng.integers(len(array) + 1)]
    elif how == 7:
        array = np.concatenate([array, array])
    elif how == 8:
        array = array.reshape(-1, 1)
    elif how == 9:
        array = array.astype(rng.choice([">i4", "u8", "i2", ">f8", "c16", "f2", "?", "U9", "O"]))
    elif how == 10:
        array = array[::-1]
    elif how == 11:
        array = rng.permutation(array)
    elif how == 12:
        array = np.ma.masked_array(array, np.zeros(array.shape, bool))
    elif how == 13:
        array = array.tolist()
    elif how == 14:
        array = np.zeros_like(array)
    else:
        array = array.astype(np.int64 if whole else np.float32)
    return array


def tamper(rng, X):
    """Replace arrays, the shape, or keys; then mark the matrix as canonical."""
    for _ in range(rng.integers(1, 3)):
        names = parts_of(X)
        if rng.random() < 0.1:
            X._shape = ((5, 8), (12, 5), (12, 9), (0, 0), (12, 2**40), (-12, 8))[rng.integers(6)]
        elif X.format == "dok":
            X._dict[tuple(int(rng.choice(FAR)) for _ in range(rng.integers(1, 4)))] = 1.0
        elif X.format == "lil":
            _bend_lists(rng, X)
        elif X.format == "coo":
            _bend_coordinates(rng, X)
        else:
            name = names[rng.integers(len(names))]
            part = getattr(X, name)
            if isinstance(part, np.ndarray):
                setattr(X, name, bent_array(rng, part))
    if X.format in ("csr", "csc", "coo") and rng.random() < 0.5:
        with contextlib.suppress(AttributeError):
            X.has_canonical_format = True  # false, where entries are repeated
    return X


def _bend_lists(rng, X):
    row = rng.integers(len(X.rows))
    if rng.random() < 0.7:
        X.rows[row] = [*X.rows[row], int(rng.choice(FAR))]
    if rng.random() < 0.7:
        X.data[row] = [*X.data[row], [1.0, "text", 1j, None][rng.integers(4)]]
    if rng.random() < 0.1:
        X.rows[row] = None


def _bend_coordinates(rng, X):
    place = rng.integers(3)
    try:
        if place == 2:
            X.data = bent_array(rng, X.data)
        else:
            coords = list(X.coords)
            coords[place] = bent_array(rng, coords[place])
            X.coords = tuple(coords)
    except (TypeError, ValueError):
        pass  # scipy itself rejects it


def read_slowly(X):
    """The table that a matrix stands for, read entry by entry; None where it is not sound."""
    try:
        found = np.zeros((rows := int(X.shape[0]), columns := int(X.shape[1])))
        entries = list(_entries(X))
    except (
        AttributeError,
        IndexError,
        KeyError,
        MemoryError,
        OverflowError,
        TypeError,
        ValueError,
    ):
        return None
    for i, j, value in entries:
        if not (0 <= i < rows and 0 <= j < columns):
            return None
        found[i, j] += value
    return found if found.size else None


def _entries(X):
    """Row, column and value of every entry that the arrays lead to."""
    if X.format in ("csr", "csc", "bsr"):
        yield from _compressed_entries(X)
    elif X.format == "coo":
        _demand(X.data, 1), [_demand_whole(one) for one in X.coords]
        if len({len(X.data), *map(len, X.coords)}) != 1:
            raise ValueError
        yield from zip(
            *(one.tolist() for one in X.coords), X.data.astype(float).tolist(), strict=True
        )
    elif X.format == "dia":
        _demand(X.data, 2), _demand_whole(X.offsets)
        if len(set(X.offsets.tolist())) != len(X.data) or len(X.offsets) != len(X.data):
            raise ValueError
        for offset, line in zip(X.offsets.tolist(), X.data.astype(float).tolist(), strict=True):
            for j, value in enumerate(line[: X.shape[1]]):
                if 0 <= j - offset < X.shape[0] and value != 0:
                    yield j - offset, j, value
    elif X.format == "lil":
        if not len(X.rows) == len(X.data) == X.shape[0]:
            raise ValueError
        for i, (places, values) in enumerate(zip(X.rows, X.data, strict=True)):
            yield from zip([i] * len(places), places, map(_number, values), strict=True)
    else:
        for (i, j), value in X.items():
            yield i, j, float(value)


def _number(value):
    if isinstance(value, str | complex):
        raise TypeError
    return float(value)


def _compressed_entries(X):
    blocks = X.format == "bsr"
    _demand(X.data, 3 if blocks else 1), _demand_whole(X.indices), _demand_whole(X.indptr)
    high, wide = X.data.shape[1:] if blocks else (1, 1)
    across = X.format != "csc"
    if X.shape[0] % high or X.shape[1] % wide:
        raise ValueError
    indptr, size = X.indptr.tolist(), X.shape[0] // high if across else X.shape[1]
    sound = len(indptr) == size + 1 and indptr[0] == 0 and indptr == sorted(indptr)
    if not sound or indptr[-1] > min(len(X.indices), len(X.data)):
        raise ValueError
    for k in range(size):
        for p in range(indptr[k], indptr[k + 1]):
            i, j = (k, int(X.indices[p])) if across else (int(X.indices[p]), k)
            for a in range(high):
                for b in range(wide):
                    value = X.data[p, a, b] if blocks else X.data[p]
                    yield i * high + a, j * wide + b, float(value)


def _demand(array, dimensions):
    sound = type(array) is np.ndarray and array.ndim == dimensions and array.dtype.kind in "fiub"
    if not sound:
        raise ValueError


def _demand_whole(array):
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError
    if array.size and int(array.max()) >= 2**63:
        raise ValueError


class Doors:
    """Every function that takes a matrix: named calls, and models that are fitted once."""

    def __init__(self):
        rng = np.random.default_rng(0)
        X, self.y = np.round(rng.normal(size=(ROWS, COLUMNS)), 1), np.arange(ROWS) % 2
        fits = {
            "plain": PrivateLassoClassifier(1.0, classes=[0, 1], max_iter=5),
            "bounds": PrivateLassoClassifier(1.0, classes=[0, 1], x_bound=np.arange(1.0, 9.0)),
            "presence": PrivateLassoClassifier(1.0, classes=[0, 1], row_map="presence", max_iter=5),
            "sqrt": PrivateLassoClassifier(1.0, classes=[0, 1], row_map="sqrt", max_iter=5),
            "gradient": PrivateLassoClassifier(1.0, classes=[0, 1], solver="gradient"),
            "private": PrivateLassoClassifier(1.0, classes=[0, 1], x_bound="private", max_iter=5),
            "regressor": PrivateLassoRegressor(1.0, max_iter=5),
            "online": dplasso.PrivateOnlineClassifier(n_rows=10**6, classes=[0, 1]),
            "online regressor": dplasso.PrivateOnlineRegressor(n_rows=10**6),
        }
        self.unfitted, self.party = fits, PartyModel("p", "j", 1.0, COLUMNS, [2], [0.5], 0.1)
        self.fitted = {name: _fresh(model).fit(X, self.y) for name, model in fits.items()}
        self.terms = agree({"p": COLUMNS}, "p", n_rows=ROWS, epsilon=1.0, delta=1e-6, rounds=2)
        self.names = sorted(name for name in dir(self) if name.startswith("into_"))

    def calls(self):
        """Names of doors, with the model each is tried with."""
        for name in self.names:
            models = self.fitted if name in ("into_fit", "into_predict") else [""]
            yield from ((name, model) for model in models)

    def into_fit(self, X, model):
        _fresh(self.unfitted[model]).fit(X, self.y)

    def into_predict(self, X, model):
        return self.fitted[model].predict(X)

    def into_partial_fit(self, X, _):
        dplasso.PrivateOnlineClassifier(n_rows=10**6, classes=[0, 1]).partial_fit(X, self.y)

    def into_score(self, X, _):
        return self.fitted["plain"].score(X, self.y)

    def into_column_matrix(self, X, _):
        return ColumnMatrix.of(X, 2.0).rows().toarray()

    def into_unit_rows(self, X, _):
        return UnitRows.of(X, "unit").units

    def into_bounds(self, X, _):
        return ColumnBounds.of(np.arange(1.0, 9.0), COLUMNS).apply(X).toarray()

    def into_map(self, X, _):
        return mapped(X, "presence").toarray()

    def into_clip(self, X, _):
        return clipped(X, 1.0).toarray()

    def into_margins(self, X, _):
        return self.party.margins(X)

    def into_party(self, X, _):
        simulate(self.terms, {"p": X}, self.y)

    def into_frank_wolfe(self, X, _):
        loss = dplasso.LogisticLoss()
        dplasso.frank_wolfe(X, self.y, loss=loss, radius=1.0, rounds=3, theta=0.1)

    def into_search(self, X, _):
        model = PrivateLassoClassifier(classes=[0, 1], n_rows=ROWS)
        PrivateSearch(model, {"max_iter": [2]}, trials=1.5).fit(X, self.y)

    def into_evaluation(self, X, _):
        return evaluate(self.fitted["plain"], X, self.y).score

    def into_curve(self, X, _):
        accuracy_curve(self.fitted["plain"], X, self.y)

    def into_running_sum(self, X, _):
        window = running_sum(COLUMNS, sensitivity=1.0, window=50, rho=1.0, too_long="clip")
        window.add(X)

    def judged(self, name, model, X):
        """The error in how a door handles a matrix, or None."""
        wanted = read_slowly(X)
        try:
            found = getattr(self, name)(X, model)
        except (TypeError, ValueError) as error:
            said = str(error)
            if not said or str(SECRET) in said or "7391" in said:
                return f"an error that tells of the data: {said[:200]}"
            fits = wanted is not None and wanted.shape == (ROWS, COLUMNS)
            fits = fits and np.isfinite(wanted).all()
            if fits and name not in ("into_party", "into_running_sum"):
                return f"a sound matrix was refused: {said[:200]}"
            return None
        except Exception as error:
            return f"raised {type(error).__name__}: {str(error)[:200]}"
        sound = wanted is not None and (np.isfinite(wanted).all() or name in MAPS)
        empty = 0 in X.shape and name in MAPS
        if not (sound or empty or name == "into_curve"):
            return "a matrix that is not sound was taken"
        if found is not None and not empty:
            again = getattr(self, name)(sp.csr_array(wanted), model)
            if not np.allclose(np.asarray(found, float), np.asarray(again, float), equal_nan=True):
                return "a matrix was taken for another"
        return None


def _fresh(model):
    from sklearn.base import clone

    return clone(model)


def case(seed):
    """A tampered matrix."""
    rng = np.random.default_rng(seed)
    form = FORMATS[rng.integers(len(FORMATS))]
    return tamper(rng, healthy(rng, form, ("array", "matrix")[rng.integers(2)]))


def judged(doors, seed):
    """A case at one of the doors, which the seed also chooses."""
    calls = list(doors.calls())
    name, model = calls[np.random.default_rng([seed, 1]).integers(len(calls))]
    try:
        X = case(seed)
    except (TypeError, ValueError, OverflowError):
        return None  # numpy or scipy would not make it
    found = doors.judged(name, model, X)
    return None if found is None else f"{X.format} {name} {model}: {found}"


def judge():
    """A function that judges a case by its seed."""
    doors = Doors()
    return lambda seed: judged(doors, seed)

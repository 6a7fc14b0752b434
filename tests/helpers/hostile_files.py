"""Malicious column stores and .npz files, and how they must be handled.

Anyone who writes a store can compute its digests, so most cases have valid digests.
"""

import hashlib
import io
import json
import math
import shutil
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import hostile_matrices
from dplasso import PrivateLassoClassifier
from dplasso.reading import read_rows
from dplasso.reading.npz import read_npz
from dplasso.storage.column_format import ColumnStoreError, sealed
from dplasso.storage.column_store import open_store
from stores import build

ROWS, COLUMNS = 15, 6
SECRET = 7391.25
FAR = (-1, -7, 0, 1, 6, 14, 15, 16, 99, 2**31 - 1, -(2**31), 2**40, 2**63 - 1)
ODD = (math.nan, math.inf, -math.inf, -1.0, 0.0, 0.5, 1e300, -7.0, 1e-320)
ANYTHING = (None, True, -1, 0, 3, 2**40, 10**30, 0.5, math.inf, math.nan, "x", "<f8", [], {}, [1])


def judge():
    """A function that judges a case by its seed."""
    cases = Cases(Path(tempfile.mkdtemp(prefix="hostile-")))
    return cases.judged


class Cases:
    """Sound files of every kind, which the cases damage."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(0)
        X = sp.random_array((ROWS, COLUMNS), density=0.5, rng=rng, format="csr")
        X.data = np.round(4 * X.data - 2, 2)
        ones, bounds = X.copy(), np.arange(1.0, COLUMNS + 1)
        ones.data = np.ones_like(X.data)
        y, names = np.arange(ROWS) % 2.0, [f"f{k}" for k in range(COLUMNS)]
        self.stores = [
            _content(build(folder / "a", X, y, feature_names=names, classes=["no", "yes"])),
            _content(build(folder / "b", ones, y)),
            _content(build(folder / "c", X, y, bounds=bounds, source={"rows": 15})),
        ]
        self.model = PrivateLassoClassifier(1.0, classes=[0, 1], max_iter=4, n_rows=ROWS)
        self.fitted = PrivateLassoClassifier(1.0, classes=[0, 1], max_iter=4).fit(X, y)

    def judged(self, seed):
        rng = np.random.default_rng([seed, 2])
        kinds = (self._store, self._store, self._npz, self._archive)
        return kinds[rng.integers(len(kinds))](rng)

    def _store(self, rng):
        content, path = bent_store(rng, self.stores[rng.integers(3)]), self.folder / "x.dpc"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for name, data in content.items():
            (path / name).write_bytes(data)
        try:
            return self._used(path, [0.5, 1.0, 3.0, None][rng.integers(4)])
        except (ColumnStoreError, FileNotFoundError) as error:
            return None if str(path) in str(error) else f"an error without a path: {error}"
        except Exception as error:
            return f"store: raised {type(error).__name__}: {str(error)[:200]}"

    def _used(self, path, x_bound):
        """A store that opens gives a matrix that kernels may trust, and valid facts."""
        store = open_store(path)
        matrix = store.matrix(x_bound)
        wrong = unsound(matrix) or unsound(matrix.with_constant())
        rows = read_rows(path, x_bound=x_bound)
        if wrong is None and len(rows.y) != store.shape[0]:
            wrong = "there is not one label per row"
        if wrong is None and store.shape == (ROWS, COLUMNS):
            self.fitted.predict(rows.X)
            if matrix.stretch is None and matrix.x_bound < 1e3:
                self.model.set_params(x_bound=matrix.x_bound).fit(matrix, np.arange(ROWS) % 2)
        return None if wrong is None else f"store: {wrong}"

    def _npz(self, rng):
        """The parts of a tampered matrix in an archive."""
        try:
            X = hostile_matrices.case(int(rng.integers(2**40)))
            archive = packed(X, compressed=rng.random() < 0.5)
        except (TypeError, ValueError, OverflowError, AttributeError, KeyError):
            return None  # numpy would not write it
        return self._read(archive, hostile_matrices.read_slowly(X))

    def _archive(self, rng):
        """A sound archive with bytes or headers altered."""
        X = hostile_matrices.healthy(rng, ("csr", "csc", "coo", "bsr", "dia")[rng.integers(5)])
        archive, wanted = packed(X), hostile_matrices.read_slowly(X)
        return self._read(bent_archive(rng, archive), wanted, any_other=True)

    def _read(self, archive, wanted, any_other=False):
        path = self.folder / "x.npz"
        path.write_bytes(archive)
        try:
            found = read_npz(path)
        except ValueError as error:
            said = str(error)
            if str(path) not in said or "7391" in said:
                return f"npz: an error without a path, or with an entry: {said[:200]}"
            if wanted is not None and wanted.size and not any_other:
                return f"npz: a sound matrix was refused: {said[:200]}"
            return None
        except Exception as error:
            return f"npz: raised {type(error).__name__}: {str(error)[:200]}"
        if any_other:
            found.astype(np.float64).tocsr()  # would crash on an unsound one
            return None
        if wanted is None and 0 not in found.shape:
            return "npz: a matrix that is not sound was taken"
        read = found.astype(np.float64)
        same = 0 in found.shape or np.allclose(read.toarray(), wanted, 1e-5, equal_nan=True)
        return None if same else "npz: a matrix was taken for another"


def _content(path):
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def bent_store(rng, content):
    """Change bytes, entries, files or header facts, nearly always with valid digests."""
    content = dict(content)
    header = json.loads(content["store.json"])
    header.pop("sha256")
    for _ in range(rng.integers(1, 3)):
        names = [name for name in content if name != "store.json"]
        how, name = rng.integers(10), names[rng.integers(len(names))]
        if how < 6:
            content[name] = _bent_file(rng, content[name], header["files"][name])
        elif how == 6:
            content[name] = content[name][: rng.integers(max(len(content[name]), 1))]
        else:
            _bend_header(rng, header)
    if rng.random() < 0.9:
        for name, file in header["files"].items():
            if name in content and isinstance(file, dict):
                file["sha256"] = hashlib.sha256(content[name]).hexdigest()
    content["store.json"] = sealed(header)
    return content


def _bent_file(rng, data, file):
    kind = file.get("dtype")
    if kind not in ("<i4", "<i8", "<f4", "<f8") or len(data) % np.dtype(kind).itemsize:
        texts = (b"[]", b"{}", b"[1]", b"[" * 9999, b"\xff", b'["a", 1]', b'["x", "x", "x"]')
        return texts[rng.integers(len(texts))]
    array = np.frombuffer(data or bytes(8), kind).copy()
    for _ in range(rng.integers(1, 4)):
        values = FAR if kind[1] == "i" else ODD
        value = values[rng.integers(len(values))]
        with np.errstate(all="ignore"):
            array[rng.integers(len(array))] = np.array([value]).astype(kind)[0]
    if rng.random() < 0.1:
        array = array[::-1]
    return array.tobytes()


def _bend_header(rng, header):
    """Replace a fact of the header, or of one of its files, by anything."""
    value = ANYTHING[rng.integers(len(ANYTHING))]
    keys = list(header)
    key = keys[rng.integers(len(keys))]
    files = [name for name, file in header["files"].items() if isinstance(file, dict)]
    if key == "files" and files:
        file = header["files"][files[rng.integers(len(files))]]
        if rng.random() < 0.2:
            del file[list(file)[rng.integers(len(file))]]
        elif file:
            file[list(file)[rng.integers(len(file))]] = value
    elif key == "shape":
        header["shape"][rng.integers(2)] = value
    elif key == "source":
        plans = (value, {"plan": value}, {"rows": value}, {"plan": {"target": value, "bounds": []}})
        header["source"] = plans[rng.integers(len(plans))]
    elif key != "files":
        header[key] = value


def packed(X, compressed=False):
    """An archive of the parts of a matrix, as scipy would write it."""
    parts = {name: getattr(X, name) for name in hostile_matrices.parts_of(X)}
    if X.format not in ("csr", "csc", "bsr", "dia", "coo") or any(
        type(part) is not np.ndarray or part.dtype.hasobject for part in parts.values()
    ):
        raise ValueError
    parts = {name: np.asarray(part) for name, part in parts.items()}
    save, file = np.savez_compressed if compressed else np.savez, io.BytesIO()
    save(file, format=X.format.encode(), shape=X.shape, **parts)
    return file.getvalue()


def bent_archive(rng, archive):
    """Change bytes; or give an array another header, or repeat one, in a valid archive."""
    if rng.random() < 0.3:
        data = bytearray(archive)
        for _ in range(rng.integers(1, 5)):
            data[rng.integers(len(data))] = rng.integers(256)
        return bytes(data[: rng.integers(len(data))] if rng.random() < 0.1 else data)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w") as new:
        names = old.namelist()
        target = names[rng.integers(len(names))]
        for name in names:
            data = old.read(name)
            if name == target:
                data = _bent_member(rng, data)
            if data is not None:
                new.writestr(name, data)
    return file.getvalue()


def _bent_member(rng, data):
    how = rng.integers(5)
    if how == 0:
        return None
    if how == 1:
        return data[: rng.integers(len(data))]
    if how == 2:
        return data + b"\0" * int(rng.integers(1, 99))
    if how == 3:
        shape = (b"(10**99,)", b"(-1,)", b"(99999999999,)", b"()", b"(1, 2)", b"(True,)")
        new = shape[rng.integers(len(shape))]
        start, end = data.index(b"'shape': ") + 9, data.index(b")") + 1
        return data[:start] + new.ljust(end - start)[: end - start] + data[end:]
    kinds = (b"'|O'", b"'<f8'", b"'<i8'", b"'|S0'", b"'<c16'", b"'|V8'")
    new, start = kinds[rng.integers(len(kinds))], data.index(b"'descr': ") + 9
    end = data.index(b",", start)
    return data[:start] + new.ljust(end - start)[: end - start] + data[end:]


def unsound(matrix):
    """The property needed by kernels that the matrix violates, found by slow checks; or None."""
    rows, columns = matrix.shape
    indptr, entries = matrix.indptr.tolist(), matrix.entries
    if len(indptr) != columns + 1 or indptr[0] != 0 or indptr != sorted(indptr):
        return "pointers do not fit"
    if entries > len(matrix.indices):
        return "there are fewer entries than pointers say"
    for j in range(columns):
        places = matrix.indices[indptr[j] : indptr[j + 1]].tolist()
        if places != sorted(set(places)) or any(not 0 <= i < rows for i in places):
            return "rows are out of order or range"
        if matrix.values is not None:
            values = matrix.values[indptr[j] : indptr[j + 1]].astype(float).tolist()
            if any(not abs(x) <= matrix.x_bound for x in values):
                return "a value is not within the bound"
            if math.fsum(map(abs, values)) > float(matrix.norm1[j]) * matrix.x_bound:
                return "a norm is below the true one"
    return None

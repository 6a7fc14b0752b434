"""Model files altered by their structure, with digests that fit: sound models, or clear errors.

    python benchmarks/fuzz_models.py [--minutes 1] [--seed 0]

Values of the header are made extreme, arrays altered, members of the archive renamed or doubled;
then the file is sealed anew. What loads must predict, be stated, shown on a page and saved again.
Models of a federation's parties are altered in the same way.
"""

import io
import json
import random
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fuzzing import Door, Tried
from fuzzing import main as fuzz
from fuzzing.door import MIB
from fuzzing.mutators import NUMBERS, as_json, bent, bent_value, flipped

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from archives import npy_saying, signed, zipped  # noqa: E402
from dplasso import (  # noqa: E402
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    load,
)
from dplasso.federated.model import PartyModel  # noqa: E402
from dplasso.report import render  # noqa: E402
from dplasso.storage import ModelFileError  # noqa: E402
from hostile_models import wide_model  # noqa: E402

SHAPES = ("(6,)", "(0,)", "(1000000000000,)", "(2, 3)", "()", "(4294967296, 4294967296)")


def corpus(folder: Path) -> list[bytes]:
    """Sound models of every kind."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1, 1, (40, 6)), 2)
    three = np.digitize(X[:, 1], [-0.3, 0.3])
    known = {"n_rows": 40, "x_bound": 1.0}
    models = [
        PrivateLassoClassifier(3.0, classes=[0, 1, 2], max_iter=8, radius=2.0, **known),
        PrivateLassoClassifier(3.0, classes=[0, 1, 2], solver="gradient", rows="sqrt", **known),
        PrivateLassoClassifier(
            3.0, classes=[0, 1, 2], n_rows=40, x_bound=list(range(1, 7)), max_iter=8
        ),
        PrivateLassoRegressor(3.0, y_bound=2.0, max_iter=8, **known),
        PrivateOnlineClassifier(1.0, classes=[0, 1, 2], n_rows=50),
    ]
    found = []
    path = folder / "sound.dpl"
    for model in models:
        model.fit(X, three).save(path)
        found.append(path.read_bytes())
    for columns in (20, 10**9):
        found.append(wide_model(path, columns, max_iter=8, radius=2.0).read_bytes())
        found.append(wide_model(path, columns, solver="gradient", rows="sqrt").read_bytes())
    return found


def altered(rng: random.Random, content: bytes) -> bytes:
    """The archive after the first line, with some members altered."""
    with zipfile.ZipFile(io.BytesIO(content.split(b"\n", 1)[1])) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = "header.json" if rng.random() < 0.7 else rng.choice(list(members))
        if name == "header.json":
            try:
                header = json.loads(members[name])
            except (ValueError, RecursionError):  # it was altered before
                continue
            members[name] = as_json(bent_value(rng, header))
            if rng.random() < 0.05:
                members[name] = bent(rng, members[name])
        else:
            members[name] = altered_array(rng, members[name])
    if rng.random() < 0.03:
        members[rng.choice(("arrays/x.npy", "extra", "../x"))] = b"x"
    if rng.random() < 0.03:
        members.pop(rng.choice(list(members)))
    return zipped(*members.items())


def altered_array(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.2:
        return bent(rng, data)
    start = 10 + int.from_bytes(data[8:10], "little")
    if rng.random() < 0.2:
        said = data[10:start].decode("latin-1").rstrip()
        return npy_saying(re.sub(r"\(.*\)", rng.choice(SHAPES), said), data[start:])
    if rng.random() < 0.5 and len(data) >= start + 8:
        place = start + 8 * rng.randrange((len(data) - start) // 8)
        number = rng.choice(NUMBERS)
        kind = np.int64 if data[10:start].find(b"<i8") >= 0 else np.float64
        with np.errstate(all="ignore"):
            value = np.array(max(-(2**63), min(2**63 - 1, number)) if kind is np.int64 else number)
        return data[:place] + value.astype(kind).tobytes() + data[place + 8 :]
    return data[:start] + flipped(rng, data[start:])


def model(contents: list[bytes], seed: int) -> Tried:
    rng = random.Random(seed)
    content = signed(altered(rng, rng.choice(contents)))
    path = Path("altered.dpl")
    path.write_bytes(content)
    try:
        found = load(path)
    except ModelFileError as error:
        assert str(path) in str(error), "an error that does not name the file"
        return Tried(len(content))
    columns = found.n_features_in_
    places = sorted({0, 1, columns // 2, columns - 1})
    rows = ([0.5] * len(places), places, [0, len(places), len(places)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(found.predict(sp.csr_array(rows, shape=(2, columns)))) == 2
        assert str(found.privacy_) and repr(found)
        if rng.random() < 0.2:
            assert render(found)
    try:
        found.save("again.dpl")
    except ModelFileError:  # parameters of kinds that are read, and that no fit would write
        return Tried(len(content))
    load("again.dpl")
    return Tried(len(content))


def party(_: object, seed: int) -> Tried:
    rng = random.Random(seed)
    sound = {"party": "shop", "job": "j", "x_bound": 1.0, "n_features": 9}
    sound |= {"features": [2, 7], "coefficients": [0.5, -1.0], "intercept": 0.25}
    text = as_json(bent_value(rng, sound))
    path = Path("party.json")
    path.write_bytes(bent(rng, text) if rng.random() < 0.3 else text)
    try:
        found = PartyModel.load(path)
    except ValueError as error:
        assert str(path) in str(error)
        return Tried(len(text))
    if found.n_features < 10**5:  # the rows are ours, and dense
        found.margins(np.zeros((2, found.n_features)))
    return Tried(len(text))


DOORS = [
    Door("model files, structure altered", corpus, model, flat=64 * MIB),
    Door("models of parties", lambda folder: tempfile.gettempdir(), party, flat=64 * MIB),
]


def main(argv: Sequence[str] | None = None) -> int:
    return fuzz(__doc__, DOORS, argv)


if __name__ == "__main__":
    sys.exit(main())

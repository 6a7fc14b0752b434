"""Model files altered by their structure, with digests that fit: sound models, or clear errors.

    python benchmarks/fuzz_models.py [--minutes 1] [--seed 0]

Values of the header are made extreme, arrays altered, members of the archive renamed or doubled;
then the file is sealed anew. What loads must predict, be stated, shown on a page and saved again.
Models of a federation's parties are altered in the same way.
"""

import random
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from harness.fuzzing import Door, Tried, fuzz
from harness.fuzzing.archives import altered
from harness.fuzzing.door import MIB
from harness.fuzzing.mutators import as_json, bent, bent_value

from archives import signed
from dplasso import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    load,
)
from dplasso.federated.model import PartyModel
from dplasso.report import render
from dplasso.storage import ModelFileError
from hostile_models import wide_model


def corpus(folder: Path) -> list[bytes]:
    """Sound models of every kind."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1, 1, (40, 6)), 2)
    three = np.digitize(X[:, 1], [-0.3, 0.3])
    drawn = {"random_state": 0}  # so that a case is the same whenever it is tried
    known = {"n_rows": 40, "x_bound": 1.0, **drawn}
    models = [
        PrivateLassoClassifier(3.0, classes=[0, 1, 2], max_iter=8, radius=2.0, **known),
        PrivateLassoClassifier(3.0, classes=[0, 1, 2], solver="gradient", row_map="sqrt", **known),
        PrivateLassoClassifier(
            3.0, classes=[0, 1, 2], n_rows=40, x_bound=list(range(1, 7)), max_iter=8, **drawn
        ),
        PrivateLassoRegressor(3.0, y_bound=2.0, max_iter=8, **known),
        PrivateOnlineClassifier(1.0, classes=[0, 1, 2], n_rows=50, **drawn),
    ]
    found = []
    path = folder / "sound.dpl"
    for made in models:
        made.fit(X, three).save(path)
        found.append(path.read_bytes())
    for columns in (20, 10**9):
        found.append(wide_model(path, columns, max_iter=8, radius=2.0, **drawn).read_bytes())
        found.append(
            wide_model(path, columns, solver="gradient", row_map="sqrt", **drawn).read_bytes()
        )
    return found


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


def sound_party(folder: Path) -> dict[str, object]:
    """The content of a sound model, which is used once: the first margins load libraries."""
    sound = {"party": "shop", "job": "j", "x_bound": 1.0, "n_features": 9}
    sound |= {"features": [2, 7], "coefficients": [0.5, -1.0], "intercept": 0.25}
    path = folder / "sound.json"
    path.write_bytes(as_json(sound))
    PartyModel.load(path).margins(np.zeros((2, 9)))
    return sound


def party(sound: dict[str, object], seed: int) -> Tried:
    rng = random.Random(seed)
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
    Door("models of parties", sound_party, party, flat=64 * MIB),
]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)

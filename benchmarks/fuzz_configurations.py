"""Configuration files and terms of a federation, altered: understood, or refused by a clear error.

    python benchmarks/fuzz_configurations.py [--minutes 1] [--seed 0]

Settings of a party and of a server in TOML, terms of a job in JSON, and plans of tables as models
and stores keep them.
"""

import json
import random
from pathlib import Path
from typing import Any

from harness.fuzzing import Door, Tried, fuzz
from harness.fuzzing.door import MIB
from harness.fuzzing.mutators import as_json, bent, bent_value

from dplasso.federated.deployment.settings import (
    PARTY_FILE,
    SERVER_FILE,
    read_party_settings,
    read_server_settings,
    write_party_settings,
    write_server_settings,
)
from dplasso.federated.errors import Refused
from dplasso.federated.terms import PartyTerms, Terms
from dplasso.reading.plans import TablePlan
from dplasso.schema import FeatureSpace, Schema

COLUMNS = 'age = "0:120"\ntown = "hash 100"\nnote = "text 1000"\nname = "ignore"\n'
ODD = ("nan", "inf", "-1", "1e400", '"hash 99999999999999999999"', '"0:1e999"', "[]", "{}", "true",
       "1979-05-27", '"\\u0000"', '"../.."', "9" * 5000, "[" * 2000)  # fmt: skip


def party_file(folder: Path) -> str:
    write_party_settings(folder, "shop")
    (folder / "rows.csv").write_text("id,age\n1,2\n")
    text = (folder / PARTY_FILE).read_text().replace('data = ""', 'data = "rows.csv"')
    text = text.replace("max_epsilon = 0.0", "max_epsilon = 1.0").replace(
        "delta = 0.0", "delta = .1"
    )
    return text + COLUMNS


def server_file(folder: Path) -> str:
    write_server_settings(folder)
    return (folder / SERVER_FILE).read_text()


def altered(rng: random.Random, text: str) -> bytes:
    """Bytes changed, or the value of a line replaced."""
    if rng.random() < 0.5:
        return bent(rng, text.encode())
    lines = text.splitlines()
    place = rng.choice([k for k, line in enumerate(lines) if "=" in line])
    lines[place] = lines[place].split("=")[0] + "= " + rng.choice(ODD)
    return "\n".join(lines).encode()


def party(text: str, seed: int) -> Tried:
    content = altered(random.Random(seed), text)
    Path(PARTY_FILE).write_bytes(content)
    try:
        read_party_settings(Path(), "shop")
    except ValueError as error:
        assert str(error)
    return Tried(len(content))


def server(text: str, seed: int) -> Tried:
    content = altered(random.Random(seed), text)
    Path(SERVER_FILE).write_bytes(content)
    try:
        read_server_settings(Path())
    except ValueError as error:
        assert str(error)
    return Tried(len(content))


def sound_terms(_: Path) -> dict[str, Any]:
    shop = PartyTerms(name="shop", n_features=9)
    bank = PartyTerms(name="bank", n_features=4, x_bound=2.0, row_budget=3.0)
    sound = Terms(
        parties=(shop, bank),
        label_holder="bank",
        n_rows=500,
        epsilon=1.0,
        delta=1e-6,
        rounds=8,
        sketch_size=64,
    )
    return json.loads(sound.to_json())


def terms(sound: dict[str, Any], seed: int) -> Tried:
    rng = random.Random(seed)
    content = as_json(bent_value(rng, sound))
    text = (bent(rng, content) if rng.random() < 0.2 else content).decode("utf-8", "replace")
    try:
        found = Terms.from_json(text)
        assert Terms.from_json(found.to_json()) == found and found.universe >= found.n_rows
    except Refused:
        pass
    return Tried(len(text))


def plan(_: object, seed: int) -> Tried:
    rng = random.Random(seed)
    plan = TablePlan("y", {"age": (0, 120)}, {"town": 99}, classes=["no", "yes"])
    sound = plan.schema().to_dict()
    text = as_json(bent_value(rng, bent_value(rng, sound)))
    try:
        space = FeatureSpace(Schema.from_dict(json.loads(text)))
        assert len(space.names) == len(space.bounds) == space.size
        assert list(zip(space.names, range(5), strict=False)) and space.bounds.max() > 0
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass  # loaders of models and stores name the file
    return Tried(len(text))


DOORS = [
    Door("party.toml", party_file, party, flat=64 * MIB),
    Door("server.toml", server_file, server, flat=64 * MIB),
    Door("terms of a job", sound_terms, terms, flat=64 * MIB),
    Door("plans of tables", lambda folder: folder, plan, flat=64 * MIB),
]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)

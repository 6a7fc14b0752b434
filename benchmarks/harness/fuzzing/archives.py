"""Archives of models and states, altered by their structure: header, arrays, members."""

import io
import json
import random
import re
import zipfile

import numpy as np

from archives import npy_saying, zipped
from harness.fuzzing.mutators import NUMBERS, as_json, bent, bent_value, flipped

SHAPES = ("(6,)", "(0,)", "(1000000000000,)", "(2, 3)", "()", "(4294967296, 4294967296)")


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

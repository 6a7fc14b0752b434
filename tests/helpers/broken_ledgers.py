"""Broken input to a ledger, and how it must be handled. Shared with benchmarks/fuzz_ledger.py.

Every check takes a seed and returns whether the input was handled correctly: it was rejected with
a readable error or read correctly, and nothing else was changed.
"""

import json
import math
import os
import random
import shutil

from dplasso.ledger import Budget, BudgetError, LedgerError
from dplasso.ledger.entry import parse
from dplasso.ledger.event_form import from_form
from dplasso.privacy.events import BoundedRange, Composed, Gaussian, PureDP, Repeated

EVENT = Composed((PureDP(0.01), Repeated(BoundedRange(0.001), 64)))
SIGNS = '0123456789abcdef{}[]":,.-+eE \\ntrufalsNInity\x00\x7fé\ud800'
ODD = (
    None, True, False, 0, -1, 1, 2**63, 10**400, -0.0, 0.5, 1e-300, 1e308, math.nan, math.inf,
    -math.inf, "", "0", "inf", "add_remove", "a\nb", "a" * 300, "\ud800", b"x", [], (), {}, [1],
    object(), {"kind": "pure_dp"}, Gaussian(2.0), PureDP(math.inf), PureDP(1e-9), PureDP(1e200),
    Repeated(PureDP(0.0), 10**30), Repeated(PureDP(1.0), 10**300), Composed((PureDP(0.1),) * 2000),
)  # fmt: skip


def sound_lines(charges):
    """Lines of a ledger, made without a store."""
    from dataclasses import replace

    from dplasso.ledger import Charge, Genesis, fixed_point
    from dplasso.ledger.entry import new_id, now

    genesis = Genesis(new_id(), now(), 1.0, 1e-6, "add_remove", fixed_point.cap_of(1.0, 1e-6))
    entries, cost = [genesis], fixed_point.price(EVENT)
    first = Charge(0, "", now(), "a release", "add_remove", 1e-6, EVENT, cost, 0, "")
    for k in range(1, charges + 1):
        head = entries[-1]
        entries.append(
            replace(first, sequence=k, id=new_id(), total=head.total + cost, previous=head.hash)
        )
    return [entry.line for entry in entries]


def bent(rng, text):
    """Replace, insert, delete or repeat a few characters."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place, size = rng.randrange(len(text) + 1), rng.randrange(4)
        new = rng.choice(("", rng.choice(SIGNS), text[place : place + 9]))
        text = text[:place] + new + text[place + size :]
    return text


def bent_value(rng, value):
    """A JSON value with one part of it replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return {**value, key: bent_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.5:
        return [*value[1:], bent_value(rng, value[0])]
    return rng.choice((None, True, 0, -1, 1.0, 10**30, "", "1", "0" * 64, [], {}, [value], value))


def check_line(lines, seed):
    """A changed line is rejected, alone or in its chain, unless the change had no effect."""
    rng = random.Random(seed)
    place = rng.randrange(len(lines))
    if rng.random() < 0.5:
        altered = bent(rng, lines[place])
    else:
        value = bent_value(rng, json.loads(lines[place]))
        altered = json.dumps(value, separators=(",", ":"))
    return altered == lines[place] or _refused(parse, altered)


def check_event(seed):
    """A JSON value is rejected, or is an event that is written as it was read."""
    from dplasso.ledger.event_form import to_form

    rng = random.Random(seed)
    value = bent_value(rng, to_form(EVENT))
    try:
        return json.dumps(to_form(from_form(value))) == json.dumps(value)
    except ValueError:
        return True


def check_charge(budget, seed):
    """A charge with an odd argument is rejected, or entered correctly."""
    rng = random.Random(seed)
    arguments = {"event": EVENT, "delta": 1e-6, "neighboring": "add_remove", "label": "odd"}
    for name in rng.sample(list(arguments), rng.choice((1, 1, 2))):
        arguments[name] = rng.choice(ODD)
    before = budget._store.lines()
    try:
        receipt = budget.charge(arguments.pop("event"), **arguments)
    except (ValueError, BudgetError):
        return budget._store.lines() == before
    *after, last = budget._store.lines()
    return after == before and parse(last).hash == receipt.hash


def check_file(path, copy, seed):
    """A damaged SQLite file is rejected or still holds the same lines; reading changes nothing.

    A charge to it is rejected as well, or entered after all earlier lines.
    """
    rng = random.Random(seed)
    lines = Budget.open(path)._store.lines()
    shutil.copyfile(path, copy)
    with open(copy, "r+b") as file:
        size = os.path.getsize(copy)
        if rng.random() < 0.2:
            file.truncate(rng.randrange(1, size))
        for _ in range(rng.choice((1, 1, 4, 64))):
            file.seek(rng.randrange(size))
            file.write(rng.randbytes(rng.choice((1, 1, 2, 16))))
    try:
        budget = Budget.open(copy)
        if [entry.line for entry in (budget.verify().genesis, *budget.entries())] != lines:
            return False
        budget.charge(EVENT, delta=1e-6, neighboring="add_remove", label="after")
        return budget._store.lines()[: len(lines)] == lines and bool(budget.verify())
    except LedgerError:
        return True


def _refused(work, value):
    try:
        work(value)
    except LedgerError:
        return True
    return False

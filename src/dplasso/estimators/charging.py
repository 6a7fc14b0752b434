"""What all private estimators do before the first draw: get random bits, charge the accountant."""

import math
from inspect import Parameter, signature
from os import PathLike
from typing import Protocol

import numpy as np

from dplasso.base.wording import ParameterError, Setting
from dplasso.estimators.seeding import SEEDED, Seed
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant, Receipt
from dplasso.privacy.events import Event
from dplasso.privacy.unit import ROW


class Chargeable(Protocol):
    """An estimator whose fits may be charged to an accountant."""

    epsilon: float
    accountant: Accountant | None
    random_state: Seed


def check_accountant(model: Chargeable) -> None:
    """Reject an accountant that cannot be charged, or a fit that cannot be charged to one."""
    if isinstance(model.accountant, str | PathLike):
        raise ParameterError(
            "{accountant} must have a charge method, got {kind}; open the ledger at this path with "
            "{open}, and pass that",
            kind=type(model.accountant).__name__,
            open=Setting("Budget.open"),
        )
    if model.accountant is not None and not isinstance(model.accountant, Accountant):
        raise ParameterError(
            "{accountant} must have a charge method, got {kind}; leave it out, or pass "
            "a budget, such as dplasso.Budget.open(path)",
            kind=type(model.accountant).__name__,
        )
    if model.accountant is not None and math.isinf(model.epsilon):
        raise ParameterError(
            "{epsilon} is infinite, and a fit without privacy cannot be charged to a budget; "
            "choose a finite one, or leave out {accountant}"
        )


def charge(
    model: Chargeable,
    event: Event,
    delta: float,
    neighboring: str,
    of: str = "",
    *,
    unit: str = ROW,
) -> Receipt | None:
    """Charge the accountant, if there is one, for the release that is about to be drawn.

    ``unit`` says whom the release protects. An accountant is told if that is not a row.
    """
    if model.accountant is None:
        return None
    if unit != ROW and not _takes_unit(model.accountant):
        raise ParameterError(
            "{accountant} cannot tell costs for people from costs for rows, which do not add up; "
            "pass a budget, or one whose charge method takes a unit"
        )
    of_unit: dict[str, str] = {} if unit == ROW else {"unit": unit}
    receipt = model.accountant.charge(
        event, delta=delta, neighboring=neighboring, label=f"{type(model).__name__}{of}", **of_unit
    )
    return receipt if isinstance(receipt, Receipt) else None  # ignore other return values


def _takes_unit(accountant: Accountant) -> bool:
    parameters = signature(accountant.charge).parameters.values()
    return any(p.name == "unit" or p.kind is Parameter.VAR_KEYWORD for p in parameters)


def bits_of(model: Chargeable) -> RandomBits:
    """Return the random bits that ``random_state`` asks for, and report a seed."""
    seed = model.random_state
    if isinstance(seed, np.random.RandomState):
        seed = int(seed.randint(0, np.iinfo(np.int32).max))
    bits = random_bits(seed, name="random_state")
    if not bits.secure and not math.isinf(model.epsilon):
        leaks.report_once(SEEDED)
    return bits

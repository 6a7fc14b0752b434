"""The places of people in the matrix of a job, as the server gives them out."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.federated.count_plan import ENTRY
from dplasso.federated.errors import Refused
from dplasso.federated.moments.plan import MomentPlan
from dplasso.federated.moments.pseudonym_lists import Pseudonyms, has_repeats, order_of
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.noise_key import NoiseKey

_PERMUTED, _COUNTED = 1, 2  # names of random bits


class Numbering(NamedTuple):
    """About how many people there are; and a place for each, unless they are too many."""

    people: float  # with noise
    places: dict[str, NDArray[np.int64]] | None  # in the order of the pseudonyms of each party


def numbered(
    plan: MomentPlan,
    names: Mapping[str, Pseudonyms],
    key: NoiseKey,
    noise_of: NoiseOf = GridGaussian,
) -> Numbering:
    """Give every pseudonym a place of its own, if a noisy number of them says that they fit.

    Formal guarantees
    -----------------
    - Places are the first of a random order of 0 to n_rows - 1. To a party, the places of its rows
      are a random choice, whoever else takes part: they tell nothing of others' rows.
    - ``people``, and whether there are places, is the release that `CapacityTest` prices. Places
      are there only if everybody has one.
    - Assumption: the server follows this. One that gives two people one place breaks the bound on
      what a person changes.
    """
    for party, own in names.items():
        if has_repeats(own):
            raise Refused(f"{party} sent a pseudonym twice")
    whole = np.vstack(list(names.values()))
    order = order_of(whole)
    ordered = whole[order]
    is_new = np.ones(len(whole), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = np.empty(len(whole), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    capacity = plan.terms.n_rows
    people, most = min(int(is_new.sum()), capacity + 1), plan.n_people + plan.capacity.reach
    noisy = people * ENTRY + _noise(plan, key, noise_of)
    if noisy > most * ENTRY or people > capacity:  # the second without a test only
        return Numbering(noisy / ENTRY, None)
    places = key.generator(_PERMUTED).permutation(capacity)[numbers]
    ends = np.cumsum([len(own) for own in names.values()])[:-1]
    return Numbering(noisy / ENTRY, dict(zip(names, np.split(places, ends), strict=True)))


def _noise(plan: MomentPlan, key: NoiseKey, noise_of: NoiseOf) -> int:
    """Noise within the reach of the test: any other is drawn again."""
    reach, attempt = plan.capacity.reach * ENTRY, 0
    while plan.capacity.sigma:
        drawn = np.zeros(1, np.int64)
        noise_of(plan.capacity.noise).add_to(drawn, key.generator(_COUNTED, attempt))
        if abs(int(drawn[0])) <= reach:
            return int(drawn[0])
        attempt += 1
    return 0

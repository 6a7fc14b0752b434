"""A complete job of moments in one process: the same bytes, without a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.wording import ParameterError
from dplasso.federated.moments.messages import KEY_BYTES
from dplasso.federated.moments.model import MomentModel
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.party import MomentParty
from dplasso.federated.moments.sealing import SealedPairs
from dplasso.federated.moments.server import MomentServer
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.moments.weights import fit_moments
from dplasso.mechanisms.random_bits import RandomBits, random_bits


@dataclass(frozen=True)
class MomentOutcome:
    """The result of a simulated job: what was opened, a model of it, and the bytes sent."""

    moments: Moments
    model: MomentModel
    uplink_bytes: dict[str, int]
    downlink_bytes: dict[str, int]


def simulate_moments(
    terms: MomentTerms,
    blocks: Mapping[str, Any],
    y: ArrayLike,
    *,
    x_bounds: Mapping[str, Any] | None = None,
    places: Mapping[str, Sequence[int]] | None = None,
    random_state: Any = None,
    **weights: Any,
) -> MomentOutcome:
    """Run a job on blocks of features, one block per party.

    All messages of a real job are made, sealed, opened and followed.

    Parameters
    ----------
    terms : MomentTerms
        As from `agree_moments`.
    blocks : mapping of str to array-like or sparse matrix
        The features of each party.
    y : array-like
        The labels, for the rows of the label holder.
    x_bounds : mapping, optional
        Public bounds on the entries of each party, as for `MomentParty`; 1 where missing.
    places : mapping of str to sequence of int, optional
        The places of each party's rows; by default row i has place i.
    random_state : int, Generator or None, default None
        None for secure randomness. A seed gives no privacy.
    **weights
        How weights follow from the matrix, as for `fit_moments`.

    Returns
    -------
    MomentOutcome

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso.federated.moments import agree_moments
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 1.0], (5000, 6))
    >>> y = X[:, 1] - X[:, 4]
    >>> terms = agree_moments({"a": 3, "b": 3}, "b", n_rows=5000, epsilon=1.0, delta=1e-8)
    >>> blocks = {"a": X[:, :3], "b": X[:, 3:]}
    >>> outcome = simulate_moments(terms, blocks, y)
    >>> scores = outcome.model.scores(blocks)[:, 0]
    >>> bool(np.corrcoef(scores, y)[0, 1] > 0.95)
    True
    """
    if set(blocks) != set(terms.names):
        raise ParameterError("{blocks} must hold the features of every party, by name")
    if places is None and len({np.shape(block)[0] for block in blocks.values()}) > 1:
        raise ParameterError(
            "{places} must be given where parties have different numbers of rows: a person has the "
            "same place at all of them, whoever else is there"
        )
    bits = random_bits(random_state, name="random_state")
    pairs = pairs_of(terms, bits)
    parties = {
        name: MomentParty(
            terms,
            name,
            blocks[name],
            pairs[name],
            x_bound=(x_bounds or {}).get(name, 1.0),
            y=y if name == terms.label_holder else None,
            places=(places or {}).get(name),
            random_state=bits,
        )
        for name in terms.names
    }
    return run(MomentServer(terms, bits), parties, **weights)


def run(server: MomentServer, parties: Mapping[str, MomentParty], **weights: Any) -> MomentOutcome:
    """Carry the messages of a job."""
    deals = server.deals()
    masked = {name: party.masked(deals[name]) for name, party in parties.items()}
    others = {
        name: {sender: message for sender, message in masked.items() if sender != name}
        for name in parties
    }
    shares = {name: party.share(others[name]) for name, party in parties.items()}
    moments = server.opened(shares)
    centres = {name: party.centre for name, party in parties.items() if party.centre is not None}
    return MomentOutcome(
        moments,
        replace(fit_moments(moments, **weights), centres=centres),
        {name: len(masked[name]) + len(shares[name]) for name in parties},
        {name: len(deals[name]) + sum(map(len, others[name].values())) for name in parties},
    )


def pairs_of(terms: MomentTerms, bits: RandomBits) -> dict[str, SealedPairs]:
    """Keys of all pairs, as parties agree on them in a real job."""
    keys: dict[str, dict[str, bytes]] = {name: {} for name in terms.names}
    for one, other in combinations(terms.names, 2):
        keys[one][other] = keys[other][one] = bits.generator.bytes(KEY_BYTES)
    return {name: SealedPairs(name, own) for name, own in keys.items()}

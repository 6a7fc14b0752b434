"""A complete federation in one process: the same messages, without a network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.wording import ParameterError
from dplasso.federated.card import Card
from dplasso.federated.coordinator import Coordinator
from dplasso.federated.model import PartyModel
from dplasso.federated.party import Party
from dplasso.federated.terms import Terms
from dplasso.mechanisms.random_bits import random_bits

Watch = Callable[[Coordinator], None]

_SECRET = bytes(16)  # it would hide identifiers from others, and here are none


@dataclass(frozen=True)
class Outcome:
    """The result of a simulated job: the coordinator's card, and the model of each party."""

    card: Card
    models: dict[str, PartyModel]

    def margins(self, blocks: Mapping[str, Any]) -> Any:
        """Return the predictions: the sum of the parties' margins."""
        return sum(model.margins(blocks[name]) for name, model in self.models.items())


def simulate(
    terms: Terms,
    blocks: Mapping[str, Any],
    y: ArrayLike,
    *,
    identifiers: Sequence[object] | None = None,
    random_state: Any = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run a job on blocks of features of the same rows, one block per party.

    All messages of a real federation are made, packed, unpacked and followed.

    Parameters
    ----------
    terms : Terms
        The terms of the job, as from `agree`.
    blocks : mapping of str to array-like or sparse matrix
        The features of each party.
    y : array-like
        The labels.
    identifiers : sequence, optional
        Person identifiers, one per row; by default the row numbers.
    random_state : int, Generator or None, default=None
        None for secure randomness. A seed gives no privacy.
    watch : callable, optional
        Called with the coordinator after every round.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> from dplasso.federated import agree
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 1.0], (20_000, 6))
    >>> y = X[:, 1] - X[:, 4]
    >>> public = dict(n_rows=20_000, epsilon=3.0, delta=1e-9, rounds=4)
    >>> bounds = dict(x_bounds={"a": 1.0, "b": 1.0}, y_bound=1.0)
    >>> terms = agree({"a": 3, "b": 3}, "b", **public, **bounds)
    >>> outcome = simulate(terms, {"a": X[:, :3], "b": X[:, 3:]}, y)
    >>> bool(np.corrcoef(outcome.margins({"a": X[:, :3], "b": X[:, 3:]}), y)[0, 1] > 0.9)
    True
    """
    if set(blocks) != set(terms.names):
        raise ParameterError("{blocks} must hold the features of every party, by name")
    bits = random_bits(random_state, name="random_state")
    parties = {
        name: Party(
            terms,
            name,
            block,
            range(len(np.asarray(y))) if identifiers is None else identifiers,
            _SECRET,
            y=y if name == terms.label_holder else None,
            random_state=None if bits.secure else int(bits.generator.integers(2**62)),
        )
        for name, block in blocks.items()
    }
    coordinator = Coordinator(terms)
    run(coordinator, parties, watch)
    return Outcome(coordinator.card(), {name: party.model for name, party in parties.items()})


def run(coordinator: Coordinator, parties: Mapping[str, Party], watch: Watch | None = None) -> None:
    """Carry messages between a coordinator and parties until the job has ended."""
    while requests := coordinator.requests():
        coordinator.receive({name: parties[name].answer(asked) for name, asked in requests.items()})
        if watch is not None:
            watch(coordinator)

"""The protocol of secret-shared moments, as the server runs it."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dplasso.federated.moments.card import STATEMENTS
from dplasso.federated.moments.coordinator import MomentCoordinator
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.preparation import SEED_BYTES, MomentPreparation
from dplasso.federated.moments.terms import MomentTerms, agree_moments
from dplasso.federated.server_side import TRANSCRIPT, Offer
from dplasso.federated.terms import Proposal
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.storage.atomic import replace_file

SEED = "seed"


class MomentsAtServer:
    """Turns a proposal into terms of moments, and runs jobs by them.

    The server's random numbers, its noise among them, follow from a seed in the folder of the job.
    Whoever has it, and the masked rows of a party, has that party's table: it is for the server
    alone, and is removed when the job has ended. It is drawn before the first exchange. A job that
    was begun and has lost it cannot continue: another seed would put a second noise on the same
    shares.
    """

    statements: ClassVar[dict[str, Any]] = STATEMENTS
    plan = staticmethod(moment_plan)

    def __init__(self, folder: Path, job: str, noise_of: NoiseOf = GridGaussian) -> None:
        self._seed_path, self._noise_of = folder / f"{job}.{SEED}", noise_of
        if not (self._seed_path.exists() or (folder / TRANSCRIPT).exists()):
            replace_file(self._seed_path, secrets.token_bytes(SEED_BYTES))

    def settle(self, proposal: Proposal, offers: Mapping[str, Offer]) -> MomentTerms:
        """Return the terms, with room for more people than are declared."""
        terms = agree_moments(
            {name: offer.n_features for name, offer in offers.items()},
            proposal.label_holder,
            attributes={name: offer.attributes for name, offer in offers.items()},
            job=proposal.job,
            n_rows=proposal.n_rows,
            n_people=proposal.n_rows,
            epsilon=proposal.epsilon,
            delta=proposal.delta,
            colluders=proposal.colluders,
            y_bound=proposal.y_bound,
            n_classes=offers[proposal.label_holder].n_classes,
            min_overlap=proposal.min_overlap,
            radius=proposal.radius,
            account="rho",
        )
        return replace(terms, n_rows=terms.n_rows + moment_plan(terms).capacity.room)

    def preparation(self, terms: MomentTerms) -> MomentPreparation:
        """Return what numbers people, deals, and passes masked rows on."""
        return MomentPreparation(terms, self._seed)

    def coordinator(self, terms: MomentTerms, preparation: MomentPreparation) -> MomentCoordinator:
        """Return what collects shares and hands out weights."""
        return MomentCoordinator(
            terms, preparation.uplink, preparation.facts, preparation.key, self._noise_of
        )

    @property
    def _seed(self) -> bytes:
        name = self._seed_path.name
        if not self._seed_path.exists():
            raise ValueError(
                f"{name} is gone from the folder of the job, and with it the server's noise, so "
                "that the job cannot continue; restore the file, or submit the job again"
            )
        seed = self._seed_path.read_bytes()
        if len(seed) != SEED_BYTES:
            raise ValueError(f"{name} is damaged, so that the job cannot continue")
        return seed

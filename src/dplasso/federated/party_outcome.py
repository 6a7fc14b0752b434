"""How a job ended at a party: what it released, what that cost, and whether it has coefficients."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from dplasso.base.terminal import printable
from dplasso.federated.errors import Refused
from dplasso.privacy import zcdp
from dplasso.privacy.statement import jsonable
from dplasso.storage.atomic import replace_file

OUTCOME = "outcome.json"
_LONGEST = 1000  # characters of what the server says


@dataclass(frozen=True)
class PartyOutcome:
    """What the owner of a party should know about a job. None of it is private.

    ``ended`` is None while no end was told: coefficients may still come. ``rho`` and ``epsilon``
    are what the ledger was charged, for all parties together.
    """

    job: str
    ended: str | None
    has_coefficients: bool
    releases: dict[str, int]
    rho: float | str
    epsilon: float | str
    delta: float

    @classmethod
    def of(
        cls,
        job: str,
        ended: str | None,
        *,
        model: bool,
        releases: dict[str, int],
        rho: float,
        delta: float,
    ) -> "PartyOutcome":
        """Describe a job that was charged ``rho``, whose epsilon is stated at ``delta``."""
        epsilon = jsonable(zcdp.epsilon_of(rho, delta) if rho else 0.0)
        told = None if ended is None else ended[:_LONGEST]
        return cls(job, told, model, releases, jsonable(rho), epsilon, delta)

    @property
    def in_words(self) -> str:
        """The outcome for the log of the party."""
        released = ", ".join(f"{kind} {count:,}" for kind, count in self.releases.items() if count)
        cost = "nothing was charged"
        if self.rho:
            cost = (
                f"the ledger was charged rho {float(self.rho):.4g}, which is epsilon "
                f"{float(self.epsilon):.4g} at delta {self.delta:g}, for what all parties release"
            )
        end = "is under way" if self.ended is None else f"has ended: {printable(self.ended)}"
        kept = "; the coefficients are in its folder of state" if self.has_coefficients else ""
        return f"job {self.job} {end}; released here: {released or 'nothing'}; {cost}{kept}"

    def save(self, folder: Path) -> None:
        """Write the outcome into the folder of the job."""
        replace_file(folder / OUTCOME, json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def load(cls, folder: Path) -> "PartyOutcome | None":
        """Read what `save` wrote; None if there is nothing."""
        path = folder / OUTCOME
        if not path.exists():
            return None
        try:
            return cls(**json.loads(path.read_text()))
        except (TypeError, ValueError):
            raise Refused(f"{path.name} of this job is damaged; restore it from a copy") from None

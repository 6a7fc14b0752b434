"""What the opening of a job has to know of its account, whatever the protocol."""

from typing import Protocol

from dplasso.federated.count_plan import CountPlan
from dplasso.federated.terms import AmongParties
from dplasso.privacy.events import Event


class JobPlan(Protocol):
    """The privacy account of a job: a first part, if there is one, and the model."""

    @property
    def terms(self) -> AmongParties:
        """The terms of the job."""
        ...

    @property
    def count(self) -> CountPlan:
        """The count of common rows."""
        ...

    @property
    def n_people(self) -> int:
        """The declared number of people."""
        ...

    @property
    def has_first_part(self) -> bool:
        """Whether something is charged and released before the rest of the job."""
        ...

    @property
    def count_event(self) -> Event:
        """The first part, over all parties."""
        ...

    @property
    def model_event(self) -> Event:
        """All other releases, over all parties."""
        ...

    @property
    def event(self) -> Event:
        """All releases of all parties in the job."""
        ...

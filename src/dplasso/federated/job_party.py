"""A party of a job, whatever the protocol: what it has paid for, counted and kept."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from dplasso.base.arrays import Ints
from dplasso.federated.errors import Refused
from dplasso.federated.job_plan import JobPlan
from dplasso.federated.joint_spending import label_of
from dplasso.federated.messages import Gave, PartyRelease
from dplasso.federated.release_log import ReleaseLog
from dplasso.ledger import BudgetError
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.events import Event

Part = Literal["count", "model"]  # of a job, charged one after the other


class JobParty(ABC):
    """The part of a party that all protocols have in common: charges, the count, and the log.

    Formal guarantees
    -----------------
    A part of a job is charged before anything of it is drawn, and once. The charge is that of all
    parties together. The count of common rows is drawn once; it is on disk before it is returned.
    """

    name: str
    _plan: JobPlan
    _log: ReleaseLog

    @contextmanager
    def _opening(
        self, plan: JobPlan, name: str, accountant: Accountant | None, folder: Path | None
    ) -> Iterator[None]:
        """Open the log, around what a subclass makes of it. An error closes it again."""
        self.name, self._plan, self._accountant = name, plan, accountant
        self._number = plan.terms.number_of(name)
        self._one_at_a_time = threading.Lock()
        self._log = ReleaseLog(plan.terms, name, folder)
        try:
            self._check_rows()
            yield
        except BaseException:
            self._log.close()  # or the party could not be opened again
            raise

    @property
    @abstractmethod
    def first_part_done(self) -> bool:
        """Whether everything is done that precedes the charge for the model."""

    @property
    @abstractmethod
    def n_releases(self) -> dict[str, int]:
        """How many releases of each kind were made."""

    @property
    @abstractmethod
    def model(self) -> Any:
        """The party's own coefficients, once the job has ended."""

    @abstractmethod
    def answer(self, request: bytes) -> bytes:
        """Return the release that a request asks for; it is on disk before that."""

    def prepare(self, request: bytes) -> bytes:
        """Answer a request that comes before the charge for the model."""
        raise Refused(f"{self.name} refuses a request that is not on the schedule")

    @property
    @abstractmethod
    def _rows_digest(self) -> bytes:
        """Digest of all inputs of the releases."""

    @abstractmethod
    def _count_sums(self) -> Ints:
        """Draw this party's part of the count of common rows."""

    @property
    def has_model(self) -> bool:
        """Whether the party has its coefficients."""
        return self._log.model is not None

    def _kept_model(self) -> dict[str, Any]:
        model = self._log.model
        if model is None:
            raise Refused(f"{self.name} has no weights yet; the job has not ended")
        return model

    def pay(self, part: Part) -> None:
        """Charge a part of the job, once; its releases may follow."""
        if self._log.has_paid(part):
            return
        self._log.check_open()
        job = self._plan.terms.job, self._plan.terms.digest
        if part == "count":
            self._charge(self._plan.count_event, label_of(*job, of_count=True))
        else:
            self._charge(self._plan.model_event, label_of(*job))
        self.accept()
        self._log.keep_payment(part)

    def has_paid(self, part: Part) -> bool:
        """Whether a part of the job is charged."""
        return self._log.has_paid(part)

    def counted(self) -> bytes:
        """Return this party's part of the count of common rows; it is on disk before that."""
        with self._one_at_a_time:
            if self._log.count is None:
                if not self._log.has_paid("count"):
                    raise Refused(f"{self.name} has not charged a count of common rows")
                if not self._plan.count.signs:
                    raise Refused(f"{self.name} counts no rows in this job")
                place = self._plan.terms.digest, self._number, 0
                sums = self._count_sums()
                release = PartyRelease(*place, Gave.COUNTED, numbers=sums, width=8)
                self._log.keep_count(release.to_bytes())
            count = self._log.count
            assert count is not None
            return count

    def accept(self) -> None:
        """Note that the job is under way: from now on the rows stay the same."""
        if not self._log.begun:
            self._log.begin()
            self._check_rows()

    def forget(self) -> None:
        """Remove what no party needs once the job has ended; by default that is nothing."""
        return

    def close(self) -> None:
        """Release the log, so that another process may open it."""
        self._log.close()

    def _check_rows(self) -> None:
        if self._log.is_durable:
            self._log.check_rows(self._rows_digest)

    def _charge(self, event: Event, label: str) -> None:
        """Charge what all parties together release: a person's rows are at all of them."""
        if self._accountant is None:
            return
        terms = self._plan.terms
        try:
            self._accountant.charge(event, delta=terms.delta, neighboring="add_remove", label=label)
        except BudgetError as error:
            raise Refused(f"{self.name} refuses job {terms.job}: {error}") from error

"""What jobs cost a person over all parties: parties tell each other of the jobs they took part in.

The ledger of a party has the jobs that it took part in, each at the cost of all its parties. The
people of a job may also have rows in jobs that only other parties took part in. Before a job each
party therefore reports its jobs to the others, under the keys of each pair.
"""

import json
import math
from collections.abc import Mapping

from dplasso.federated.errors import Refused
from dplasso.federated.job_plan import JobPlan
from dplasso.ledger import Budget
from dplasso.privacy import zcdp

Spent = dict[str, float]  # rho by job (`job_key`)

_LABEL, _COUNT = "federated job ", ": common rows"
_ROUNDING = 1.0 + 1e-9


def job_key(job: str, digest: bytes) -> str:
    """Return what tells a job from all others: the server may give two jobs one name."""
    return f"{job} ({digest.hex()[:32]})"


def label_of(job: str, digest: bytes, *, of_count: bool = False) -> str:
    """Return the label of a charge for a job with these terms, or for its count of common rows."""
    return f"{_LABEL}{job_key(job, digest)}{_COUNT if of_count else ''}"


def spent_on_jobs(ledger: Budget, but: str = "") -> Spent:
    """Return the cost of all jobs that a ledger was charged for, ``but`` one."""
    spent: Spent = {}
    for entry in ledger.entries():
        if entry.label.startswith(_LABEL):
            job = entry.label.removeprefix(_LABEL).removesuffix(_COUNT)
            spent[job] = spent.get(job, 0.0) + zcdp.rho(entry.event)
    spent.pop(but, None)
    return spent


def to_bytes(spent: Spent) -> bytes:
    """Write a report."""
    return json.dumps(spent, sort_keys=True).encode()


def from_bytes(content: bytes) -> Spent:
    """Read a report, or refuse it."""
    try:
        spent = {str(job): float(rho) for job, rho in json.loads(content).items()}
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError):
        raise Refused("a party sent no report of its jobs") from None
    if not all(0.0 <= rho < math.inf for rho in spent.values()):
        raise Refused("a party reports a job whose cost is negative or not finite")
    return spent


def check_joint(party: str, ledger: Budget, reports: Mapping[str, Spent], plan: JobPlan) -> None:
    """Refuse a job if a person's total would exceed the limits of a party's ledger.

    The total is over the party's own charges, this job, and what the other parties of this job
    report beyond these: of a job that this party has left after its count, the others may have
    paid all. The ledger itself decides to the last bit, part by part: this check comes earlier, so
    that no part is charged in vain.
    """
    own, this = spent_on_jobs(ledger), job_key(plan.terms.job, plan.terms.digest)
    others: Spent = {}
    for spent in reports.values():
        for job, rho in spent.items():
            more = rho - own.get(job, 0.0)
            if more > 0.0 and job != this:
                others[job] = max(more, others.get(job, 0.0))
    total = ledger.spent_rho + math.fsum(others.values()) + zcdp.rho(plan.event)
    if total > (ledger.spent_rho + ledger.remaining_rho) * _ROUNDING:
        names = sorted(job.rpartition(" (")[0] for job in others)
        known = f" and those of other parties ({', '.join(names)})" if others else ""
        raise Refused(
            f"{party} refuses job {plan.terms.job}: with earlier jobs{known} a person's epsilon "
            f"would be {zcdp.epsilon_of(total, ledger.delta):.3g}, its cap is {ledger.epsilon:g}"
        )

"""What a job asks for, checked before it is handed in."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from dplasso.federated.roles import Proposal


def check_terms(terms: Proposal, parties: Sequence[str], known: Sequence[str]) -> None:
    """Refuse terms that no party could agree to, by the name of the option."""
    for name, value in asdict(terms).items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, float) and not 0.0 < value < math.inf:
            raise ValueError(f"{option} must be a finite number above 0, got {value:g}")
        if isinstance(value, int) and value < 1:
            raise ValueError(f"{option} must be 1 or more, got {value}")
    if terms.delta >= 1.0:
        raise ValueError(f"--delta must be below 1, got {terms.delta:g}")
    if strange := sorted(set(parties) - set(known)):
        raise ValueError(f"--party {strange[0]} is not of this federation ({', '.join(known)})")
    if len(set(parties)) < len(parties) or len(parties) < 2:
        raise ValueError("a job needs two different parties or more; name each once with --party")
    if terms.labels not in parties:
        raise ValueError(f"--labels must be a party that takes part ({', '.join(parties)})")

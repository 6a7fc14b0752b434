"""How often the noisy count of common rows ends a job, rightly and wrongly.

    python benchmarks/federated_overlap.py [--seeds 100]

Parties of n people; one of them has all, half or none of the people of the others, as with another
spelling of identifiers. delta = 1 / n^2, `min_overlap` 0.25, the noise and the share of the budget
that the plan of the job has. Prints how often the job would end, and saves it under
benchmarks/results.
"""

import numpy as np
from harness.machine import machine
from harness.options import parser
from harness.results import save

from dplasso.federated import agree
from dplasso.federated.overlap import Overlap
from dplasso.federated.overlap_count import sign_sums
from dplasso.federated.plan import ENTRY, plan_of
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import zcdp

SECRET = bytes(range(32))
CASES = [(1.0, 30_000), (1.0, 100_000), (3.0, 10_000), (3.0, 100_000), (8.0, 10_000)]
SHARES = (1.0, 0.5, 0.0)


def ended(plan, sums: np.ndarray, seed: int) -> bool:
    """Whether noisy sums, the last of the party that differs, end the job."""
    released = {}
    for number, name in enumerate(plan.terms.names):
        values = sums[int(number == len(plan.terms.names) - 1)] * ENTRY
        GridGaussian(plan.count.noise).add_to(values, random_bits(97 * seed + number).generator)
        released[name] = values
    return bool(Overlap.of(plan, released).fault(plan.terms.n_rows, plan.terms.min_overlap))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=100)
    seeds = options.parse_args().seeds
    lines = [f"{seeds} seeds, delta 1 / rows^2, min_overlap 0.25; {machine()}"]
    heads = "".join(f"{f'ends at {share:.0%}':>14}" for share in SHARES)
    lines.append(f"parties{'eps':>6}{'rows':>10}{'of rho':>9}{'spread':>8}{heads}")
    for parties in (2, 3):
        names = [f"p{k}" for k in range(parties)]
        for epsilon, rows in CASES:
            public = {"n_rows": rows, "epsilon": epsilon, "delta": rows**-2.0, "min_overlap": 0.25}
            bounds = {"x_bounds": dict.fromkeys(names, 1.0), "y_bound": 1.0}
            plan = plan_of(agree(dict.fromkeys(names, 20), "p0", **public, **bounds))
            start = f"{parties:7}{epsilon:6g}{rows:10,}"
            if plan.count.signs == 0:
                lines.append(f"{start}  not counted")
                continue
            of_rho = zcdp.rho(plan.count_event) / zcdp.rho(plan.event)
            counts = dict.fromkeys(SHARES, 0)
            for seed in range(seeds):
                job, signs = f"job-{seed}", plan.count.signs
                halves = [
                    sign_sums(range(k * rows // 2, (k + 1) * rows // 2), SECRET, job, signs)
                    for k in range(4)
                ]
                whole = halves[0] + halves[1]
                others = {1.0: whole, 0.5: halves[1] + halves[2], 0.0: halves[2] + halves[3]}
                for share, other in others.items():
                    counts[share] += ended(plan, np.array([whole, other]), seed)
            spread = Overlap.of(plan, dict.fromkeys(names, whole * ENTRY)).spread
            rates = "".join(f"{counts[share] / seeds:14.0%}" for share in SHARES)
            lines.append(f"{start}{of_rho:9.1%}{spread:8.2f}{rates}")
            print(lines[-1], flush=True)
    save("federated_overlap", "\n".join(lines))


if __name__ == "__main__":
    main()

"""What the canary of a descent certifies: of the code as it is, and with a bug planted.

    python benchmarks/canary.py [--seed 0]

Prints the table of docs/explanation/audit.md and saves it as benchmarks/results/canary.txt. The
audit's classifier is fitted with and without one telling row, as many times each as the table says;
*certified* is the lower bound on mu that an audit holds against the claim.
"""

import pytest
from harness.machine import machine
from harness.options import parser
from harness.results import save

from dplasso import audit
from dplasso.audit.descent.subject import DescentSubject
from planted import BUGS  # the tests plant the same

CORRECT = "correct"
CASES = ((CORRECT, 700), (CORRECT, 6000), ("noise of one step", 700), ("mass without noise", 700))
PATIENCE = 1e5  # seconds: a busy machine must not make fewer runs


def verdict_on_mu(bug: str, fits: int, seed: int) -> audit.Verdict:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DescentSubject, "canary_runs", fits)
        if bug != CORRECT:
            BUGS[bug].plant(patch)
        classifier = audit.example_estimators("gradient")[0]
        report = audit.run(classifier, checks=["canary"], seed=seed, seconds=PATIENCE)
    return next(verdict for verdict in report if "mu" in verdict.tested)


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--seed", type=int, default=0)
    chosen = command.parse_args()
    lines = [f"{'code':<22}{'fits a side':>12}{'claimed':>9}{'certified':>11}{'at 95 %':>9}  alarm"]
    print(lines[0])
    for bug, fits in CASES:
        found = verdict_on_mu(bug, fits, chosen.seed)
        usual = found.details["at_95_percent"]
        figures = f"{found.limit:>9.3f}{found.figure:>11.3f}{usual:>9.3f}"
        lines.append(f"{bug:<22}{fits:>12,}{figures}  {'no' if found.passed else 'yes'}")
        print(lines[-1], flush=True)
    save("canary", "\n".join([*lines, "", machine()]))


if __name__ == "__main__":
    main()

"""What the canary of a descent certifies: of the code as it is, and with a bug planted.

    python benchmarks/canary.py [--seed 0]

Prints the table of docs/audit.md and saves it as benchmarks/results/canary.txt. The audit's
classifier is fitted with and without one telling row, as many times each as the table says;
*certified* is the lower bound on mu that an audit holds against the claim.
"""

import argparse
import sys
from pathlib import Path

import pytest
from run import RESULTS, machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from dplasso import audit  # noqa: E402
from dplasso.audit.descent import canary  # noqa: E402
from planted import BUGS  # noqa: E402  (the tests plant the same)

CORRECT = "correct"
CASES = ((CORRECT, 700), (CORRECT, 6000), ("noise of one step", 700), ("mass without noise", 700))
PATIENCE = 1e5  # seconds: a busy machine must not make fewer runs


def verdict_on_mu(bug: str, fits: int, seed: int) -> audit.Verdict:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canary, "RUNS", fits)
        if bug != CORRECT:
            BUGS[bug].plant(patch)
        classifier = audit.example_estimators("gradient")[0]
        report = audit.run(classifier, checks=["canary"], seed=seed, seconds=PATIENCE)
    return next(verdict for verdict in report if "mu" in verdict.tested)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    lines = [f"{'code':<22}{'fits a side':>12}{'claimed':>9}{'certified':>11}{'at 95 %':>9}  alarm"]
    print(lines[0])
    for bug, fits in CASES:
        found = verdict_on_mu(bug, fits, chosen.seed)
        usual = found.details["at_95_percent"]
        figures = f"{found.limit:>9.3f}{found.figure:>11.3f}{usual:>9.3f}"
        lines.append(f"{bug:<22}{fits:>12,}{figures}  {'no' if found.passed else 'yes'}")
        print(lines[-1], flush=True)
    said = "\n".join([*lines, "", machine()])
    (RESULTS / "canary.txt").write_text(said + "\n")


if __name__ == "__main__":
    main()

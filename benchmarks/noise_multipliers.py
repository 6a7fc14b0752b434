"""Note how much noise DP-SGD needs in the study of accuracy, for machines without dp-accounting.

    python benchmarks/noise_multipliers.py

Writes benchmarks/rivals/noise_multipliers.json: every schedule that a rival may try on tables and
on 20 newsgroups, and those that differ from one in one respect.
"""

import json
import math

from comparison import splits
from comparison.methods import rivals
from comparison.sets import SETS
from rivals.accounts import NOTED, key, sampled_multiplier
from rivals.clipped_descent import ClippedDescent, Schedule


def schedules(rival: ClippedDescent, problem: splits.Problem, epsilon: float) -> set[Schedule]:
    """What a rival may try: `ClippedDescent.nearby` changes steps or sampling."""
    found = set()
    for sampling, steps in rival.schedules(problem, epsilon):
        found |= {(sampling, steps), (min(2 * sampling, 0.5), steps)}
        found |= {(sampling, math.ceil(steps / 2)), (sampling, 2 * steps)}
    return {(sampling, steps) for sampling, steps in found if sampling < 1.0}


def main() -> None:
    noted = {}
    for name, one in SETS.items():
        rival = rivals(one).get("DP-SGD")
        if one.kind == "sparse" or rival is None or not splits.at_hand(name):
            continue
        rival, problem = getattr(rival, "rival", rival), splits.problem(name)
        assert problem is not None
        for epsilon in one.epsilons:
            for sampling, steps in sorted(schedules(rival, problem, epsilon)):
                case = (epsilon, problem.delta, steps, sampling)
                noted[key(*case)] = sampled_multiplier(*case)
        print(f"{name:<18}{len(noted)} in all", flush=True)
    NOTED.write_text(json.dumps(noted, indent=0) + "\n")


if __name__ == "__main__":
    main()

"""Would the defaults of streams differ without Phishing and ImageSegments in their choice?

    python benchmarks/online_choice.py [--seeds 3]

The clip of gradients and the length of the intercept, chosen by progressive accuracy at epsilon 1
and 4, every row protected: on five sets that are neither of the two, then on all but one set each.
Rows are at most the first 2,000 in random order (river's sets: in theirs). The last column is what
the choice costs on the set that was left out: its accuracy by the defaults, less that by the choice
of the others.
"""

import numpy as np
import scipy.sparse as sp
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import save
from harness.streams import in_random_order
from online_short import DELTA, EPSILONS, SEGMENTS, SHARES, matrix
from river import datasets
from sklearn.datasets import load_digits

import dplasso
from dplasso.estimators import online_rules

ROWS = 2000
CLIPS, LENGTHS = (0.25, 0.5, 1.0), (0.1, 0.2, 0.4, 0.7)
DEFAULT = (0.5, online_rules.INTERCEPT_SHARE)
HELD_OUT = ("Phishing", "ImageSegments")


def sets() -> dict[str, tuple]:
    """Rows and labels of each set."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))[:ROWS]
    found = {"digits": (sp.csr_array(digits.data[order] / 16.0), digits.target[order])}
    for name in ("splice", "w8a", "kddcup99_10pct", "a9a"):
        if (data := in_random_order(name, ROWS)) is not None:
            found[name] = data
    for kind, bounds, bins in (
        (datasets.Phishing, None, None),
        (datasets.ImageSegments, SEGMENTS, 16),
    ):
        rows, labels = zip(*kind(), strict=True)
        scaler = dplasso.PublicScaler(bounds or dict.fromkeys(rows[0], SHARES), bins=bins)
        X = matrix([scaler.transform_one(row) for row in rows], scaler.names)
        found[kind.__name__] = (X, np.unique(labels, return_inverse=True)[1])
    return found


def accuracy(X, y, clip: float, length: float, seeds: int) -> float:
    """Mean progressive accuracy over epsilons and seeds."""
    kept, online_rules.INTERCEPT_SHARE = online_rules.INTERCEPT_SHARE, length
    try:
        scores = []
        for epsilon in EPSILONS:
            for seed in range(seeds):
                model = dplasso.PrivateOnlineClassifier(
                    *(epsilon, DELTA),
                    n_rows=len(y),
                    classes=sorted(set(y.tolist())),
                    clip=clip,
                    random_state=seed,
                )
                scores.append(np.mean(model.predict_then_learn(X, y) == y))
    finally:
        online_rules.INTERCEPT_SHARE = kept
    return float(np.mean(scores))


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=3)
    seeds = command.parse_args().seeds
    allow_seeds()
    tried = sorted({(clip, length) for clip in CLIPS for length in LENGTHS} | {DEFAULT})
    scores = {
        name: {each: accuracy(*rows, *each, seeds) for each in tried}
        for name, rows in sets().items()
    }

    def best(names) -> tuple[float, float]:
        return max(tried, key=lambda each: np.mean([scores[name][each] for name in names]))

    lines = [f"the defaults: clip {DEFAULT[0]:g}, intercept of length {DEFAULT[1]:g}"]
    others = [name for name in scores if name not in HELD_OUT]
    clip, length = best(others)
    lines.append(f"chosen on {', '.join(others)}: clip {clip:g}, length {length:g}")
    lines += [
        f"  {name:<16} by this choice {scores[name][clip, length]:.4f}, by the defaults "
        f"{scores[name][DEFAULT]:.4f}"
        for name in HELD_OUT
    ]
    lines.append("left out          clip  length   its accuracy  defaults  difference")
    for name in scores:
        choice = best([other for other in scores if other != name])
        own, usual = scores[name][choice], scores[name][DEFAULT]
        told = f"{choice[0]:>6g}{choice[1]:>8g}{own:>15.4f}{usual:>10.4f}{usual - own:>12.4f}"
        lines.append(f"{name:<16}{told}")
    lines.append(f"means of epsilon 1 and 4, {seeds} seeds; {machine()}")
    print("\n".join(lines))
    save("online_choice", "\n".join(lines), {"machine": machine()})


if __name__ == "__main__":
    main()

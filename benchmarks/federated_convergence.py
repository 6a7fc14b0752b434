"""Convergence without noise: every sampling, the universal step, and what theory promises.

    python benchmarks/federated_convergence.py [--rounds 1000]

500 rows of 24 centred columns, four parties. Without noise, with sketches as long as there are
places, and with identifiers that share no place, sketches keep products exactly: what is left is
the algorithm. The objective is the mean of (prediction - y)^2 / 2, less its least value on the
product of the parties' balls of radius / 4, for the universal step, or on the whole ball, for
corrective.

The bound: with p the least chance of a feature, h the excess and C a bound on the curvature of what
a round moves, h_t <= 2 (h_0 + C / p) / (p t + 2) in the mean over samplings ("party" takes turns
and draws nothing: it is shown, but the bound is not for it). Here C is the mean of (parties
asked)^2 times (2 radius / 4)^2 times the longest column's squared length over n.

Second, all signal is at one party of four: radius / 4 is all that the universal step can reach.
Prints tables, and saves them with a plot under benchmarks/results.
"""

import math

import numpy as np
from harness.machine import machine
from harness.options import parser
from harness.results import pyplot, save, save_plot

from dplasso.data import ColumnMatrix
from dplasso.federated import Coordinator, Party, Terms, agree
from dplasso.federated.alignment import places_of
from dplasso.federated.sampling import Sampling
from dplasso.federated.simulation import run
from dplasso.kernels.projections import onto_l1_ball
from dplasso.losses import SquaredLoss
from dplasso.solvers.lasso import lasso

ROWS, FEATURES, PARTIES, RADIUS = 500, 6, 4, 2.0
SECRET = bytes(range(32))
SAMPLINGS: dict[str, dict] = {
    "serial": {"sampling": "serial"},
    "nice, tau 6": {"sampling": "nice", "tau": 6},
    "distributed, tau 3": {"sampling": "distributed", "tau": 3},
    "distributed, all": {"sampling": "distributed"},
    "arbitrary": {"sampling": "arbitrary", "probabilities": (0.2, 0.4, 0.7, 1.0), "tau": 4},
    "party, in turn": {"sampling": "party"},
}


class Rows:
    """Blocks, labels and identifiers of rows that share no place."""

    def __init__(self, seed: int, one_party: bool) -> None:
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (ROWS, FEATURES * PARTIES))
        weights = np.zeros(X.shape[1])
        signal = np.arange(4) if one_party else np.arange(0, X.shape[1], FEATURES)
        weights[signal] = [0.7, -0.5, 0.4, -0.3]
        y = np.clip(X @ weights + 0.1 * rng.normal(size=ROWS), -1.0, 1.0)
        self.blocks = {f"p{k}": X[:, k * FEATURES : (k + 1) * FEATURES] for k in range(PARTIES)}
        self.y, self.X = y, X - X.mean(axis=0)
        self.identifiers = distinct(ROWS, self.terms(1, {}).universe)

    def terms(self, rounds: int, options: dict) -> Terms:
        counts = {f"p{k}": FEATURES for k in range(PARTIES)}
        size = 1 << (2 * ROWS - 1).bit_length()
        given = {"n_rows": ROWS, "epsilon": math.inf, "delta": 1e-9, "radius": RADIUS}
        budget = 2.0 * FEATURES  # so that nothing is cut
        return agree(
            counts, "p0", rounds=rounds, sketch_size=size, row_budget=budget, **given, **options
        )

    def objective(self, weights: np.ndarray) -> float:
        residual = self.X @ weights - (self.y - self.y.mean())
        return float(residual @ residual) / (2 * ROWS)


def distinct(count: int, universe: int) -> list[int]:
    """The first whole numbers whose places are all different."""
    places = places_of(range(20 * count), SECRET, universe).places
    return np.sort(np.unique(places, return_index=True)[1])[:count].tolist()


def curve(rows: Rows, rounds: int, options: dict) -> np.ndarray:
    """The objective after every round, the start first."""
    terms = rows.terms(rounds, options)
    parties = {
        name: Party(terms, name, block, rows.identifiers, SECRET, y=rows.y if k == 0 else None)
        for k, (name, block) in enumerate(rows.blocks.items())
    }
    values: list[float] = []

    def watch(coordinator: Coordinator) -> None:
        weights = np.zeros(rows.X.shape[1])
        found = coordinator.weights
        for (party, feature), value in zip(found.features, found.values, strict=True):
            weights[terms.number_of(party) * FEATURES + feature] = value
        values.append(rows.objective(weights))

    run(Coordinator(terms), parties, watch)
    return np.array(values[: rounds + 1])


def least_on_ball(rows: Rows) -> float:
    loss = SquaredLoss(2.0)
    found = lasso(ColumnMatrix.of(rows.X), rows.y - rows.y.mean(), loss, RADIUS, gap=1e-10)
    return rows.objective(found.weights[:, 0])


def least_on_product(rows: Rows) -> float:
    """Projected gradient on the product of the parties' balls."""
    w = np.zeros(rows.X.shape[1])
    most = float(np.linalg.eigvalsh(rows.X.T @ rows.X)[-1])
    target = rows.X.T @ (rows.y - rows.y.mean())
    for _ in range(3000):
        w = w - (rows.X.T @ (rows.X @ w) - target) / most
        parts = [onto_l1_ball(part, RADIUS / PARTIES) for part in np.split(w, PARTIES)]
        w = np.concatenate(parts)
    return rows.objective(w)


def bound(rows: Rows, terms: Terms, excess: float, rounds: int) -> np.ndarray:
    """What theory promises after every round."""
    sampling = Sampling(terms)
    asked = np.array([len(sampling.who(t)) for t in range(rounds)])
    longest = float((rows.X**2).sum(axis=0).max()) / ROWS
    curvature = float(np.mean(asked**2)) * (2.0 * RADIUS / PARTIES) ** 2 * longest
    p = sampling.least_probability
    return 2.0 * (excess + curvature / p) / (p * np.arange(rounds + 1) + 2.0)


def samplings(rounds: int) -> dict:
    rows = Rows(0, one_party=False)
    least, found = least_on_product(rows), {}
    for name, options in SAMPLINGS.items():
        options = {**options, "step": "universal"}
        # Rounds are random: the bound is for their mean, over seeds of the public schedule.
        seeds = 1 if name in ("party, in turn", "distributed, all") else 5
        curves = [curve(rows, rounds, {**options, "seed": seed}) - least for seed in range(seeds)]
        mean = np.mean(curves, axis=0)
        promised = bound(rows, rows.terms(rounds, options), float(mean[0]), rounds)
        within = None if name.startswith("party") else bool(np.all(mean <= promised))
        found[name] = {"excess": mean.tolist(), "bound": promised.tolist(), "within": within}
    corrective = curve(rows, 40, {"step": "corrective"}) - least_on_ball(rows)
    found["corrective, whole ball"] = {"excess": corrective.tolist()}
    return found


def one_party(rounds: int) -> dict:
    rows = Rows(1, one_party=True)
    universal = curve(rows, rounds, {"step": "universal", "sampling": "distributed"})
    return {
        "centralised optimum": least_on_ball(rows),
        "corrective": float(curve(rows, 40, {"step": "corrective"})[-1]),
        "universal": float(universal[-1]),
        "weights of 0": float(universal[0]),
    }


def table(found: dict, alone: dict, rounds: int) -> str:
    lines = [f"excess objective after {rounds} rounds (40 for corrective), start included"]
    for name, each in found.items():
        curve_ = each["excess"]
        promise = ""
        if each.get("within") is not None:
            promise = f"bound {each['bound'][-1]:.2e}, kept throughout: {each['within']}"
        lines.append(f"  {name:<24}{curve_[0]:>10.2e}{curve_[-1]:>10.2e}  {promise}")
    lines.append("objective with all signal at one party of four")
    best = alone["centralised optimum"]
    lines += [
        f"  {name:<24}{value:>10.5f}{value / best - 1:>+9.2%}" for name, value in alone.items()
    ]
    return "\n".join(lines)


def plot(found: dict) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8.0, 5.0))
    for name, each in found.items():
        excess = np.maximum(each["excess"], 1e-9)
        places = np.arange(len(excess)) + 1
        line = axis.plot(places, excess, label=name)[0]
        if each.get("within") is not None:
            axis.plot(places, each["bound"], ":", color=line.get_color())
    axis.plot([], [], "k:", label="bound of the same colour")
    axis.set(xscale="log", yscale="log", xlabel="rounds + 1", ylabel="excess objective")
    axis.set_ylim(1e-8, None)
    axis.set_title("no noise, exact sketches, four parties, universal step", loc="left")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.tight_layout()
    save_plot(figure, "federated_convergence")


def thinned(found: dict) -> dict:
    """Curves at some rounds, for the file."""
    marks = np.unique(np.geomspace(1, 10**6, 200).astype(int)) - 1
    kept = {}
    for name, each in found.items():
        shown = marks[marks < len(each["excess"])].tolist()
        curves = {k: [each[k][t] for t in shown] for k in ("excess", "bound") if k in each}
        kept[name] = {"rounds": shown, **curves, "within": each.get("within")}
    return kept


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rounds", type=int, default=1000)
    rounds = command.parse_args().rounds
    found, alone = samplings(rounds), one_party(rounds)
    text = f"{table(found, alone, rounds)}\n{machine()}"
    print(text)
    told = {"machine": machine(), "samplings": thinned(found), "one_party": alone}
    save("federated_convergence", text, told)
    plot(found)


if __name__ == "__main__":
    main()

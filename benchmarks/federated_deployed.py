"""Accuracy of jobs of moments over the real transport, against simulations at the same noise.

    python benchmarks/federated_deployed.py [--epsilons 0.3,1] [--seeds 10]

a9a with three parties that hold whole attributes, as in federated_moments.py: a real server and
three parties on this machine, files and schemas, mutual TLS. One job per epsilon. The model is read
from the job's card, and what rows are centred about from the parties' models; it is judged on the
test rows. Beside it: simulations on the card's own terms,
which have the same noise, as means over seeds with their standard deviation; and simulations by the
account of a single job, which has 4 % to 7 % less noise.
"""

import csv
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from federated_moments import Data, sparse_set
from harness.machine import machine
from harness.options import allow_seeds, numbers, parser
from harness.results import save

from dplasso.federated.moments import MomentModel, MomentTerms, moment_plan, simulate_moments
from dplasso.federated.moments.model import Odds
from dplasso.federated.moments.party_model import MomentPartyModel
from federation import PARTIES, Federation, set_in

NAME, HOLDER = "a9a", PARTIES[0]
CAP = 100.0  # on epsilon of all jobs: this is no person's data


def held(data: Data) -> dict[str, list[np.ndarray]]:
    """The attributes of each party: the columns of 0 and 1 of each of them."""
    dealt = np.random.default_rng(0).permutation(len(data.attributes)) % len(PARTIES)
    return {
        name: [data.attributes[a] for a in np.flatnonzero(dealt == k)]
        for k, name in enumerate(PARTIES)
    }


def write_party(folder: Path, name: str, data: Data, attributes: list[np.ndarray]) -> None:
    """A table with a text per attribute, its schema, and the settings of the party."""
    heads = [f"a{place}" for place in range(len(attributes))]
    levels = [[f"v{k}" for k in range(len(own))] for own in attributes]
    cells = [
        np.where(data.train[:, own].any(axis=1), data.train[:, own].argmax(axis=1), -1)
        for own in attributes
    ]
    blocks = [
        f'[columns.{head}]\nrole = "category"\nlevels = {json.dumps(own)}\n'
        for head, own in zip(heads, levels, strict=True)
    ]
    columns = [[f"v{k}" for k in own] for own in cells]
    if name == HOLDER:
        heads, columns = [*heads, "label"], [*columns, [("no", "yes")[k] for k in data.y]]
        blocks.append('[columns.label]\nrole = "target"\nclasses = ["no", "yes"]\n')
    with open(folder / "rows.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", *heads])
        rows.writerows([f"p{k}", *row] for k, row in enumerate(zip(*columns, strict=True)))
    (folder / "schema.toml").write_text("\n".join(blocks))
    settings = folder / "party.toml"
    settings.write_text(f'schema = "schema.toml"\n{settings.read_text().split("[columns]")[0]}')
    set_in(settings, max_epsilon=CAP, max_delta=1e-3)
    set_in(settings, answers="dplasso.federated.service:open_party")


def model_of(card: dict, states: dict[str, Path]) -> MomentModel:
    """The model that a card describes, and the parties' own models complete."""
    terms = MomentTerms.from_json(json.dumps(card["terms"]))
    weights = np.vstack([card["coefficients"][name] for name in terms.names])
    odds = Odds(*(np.array(card["odds"][part]) for part in ("slope", "intercept")))
    parts = {name: MomentPartyModel.load(state / "model.json") for name, state in states.items()}
    centres = {name: np.array(part.centre) for name, part in parts.items()}
    return MomentModel(terms, weights, np.array(card["intercepts"]), odds, centres)


def simulated(data: Data, terms: MomentTerms, columns: dict, seeds: int) -> list[float]:
    """Accuracies of jobs in one process, on the same terms."""
    rows = {name: data.train[:, own] for name, own in columns.items()}
    bounds = {name: [(0, 1)] * len(own) for name, own in columns.items()}
    models = (
        simulate_moments(terms, rows, data.y, x_bounds=bounds, random_state=seed).model
        for seed in range(seeds)
    )
    return [data.judged(model, columns)[0] for model in models]


def measured(federation: Federation, data: Data, epsilon: float, seeds: int) -> str:
    """A line of the table."""
    n = len(data.y)
    common = ("--epsilon", epsilon, "--delta", float(n) ** -2.0, "--n-rows", n)
    began = time.perf_counter()
    job = federation.command(
        "submit", federation.folder / "admin", *common, "--label-holder", HOLDER, "--min-overlap", 0
    ).strip()
    _, card = federation.outcome(job, seconds=580.0)
    seconds = time.perf_counter() - began
    columns = {name: np.concatenate(own) for name, own in held(data).items()}
    states = {name: federation.folder / name / "state" / job for name in PARTIES}
    accuracy, loss = data.judged(model_of(card, states), columns)
    terms = MomentTerms.from_json(json.dumps(card["terms"]))
    same = simulated(data, terms, columns, seeds)
    exact = replace(terms, account="exact", n_people=0, n_rows=n)
    alone = simulated(data, exact, columns, seeds)
    more = moment_plan(terms).multiplier / moment_plan(exact).multiplier
    return (
        f"{epsilon:>5g}{accuracy:>11.4f}{loss:>10.3f}{np.mean(same):>15.4f}{np.std(same):>9.4f}"
        f"{np.mean(alone):>12.4f}{more:>12.3f}{seconds:>10.0f}   {card['ended']}"
    )


HEADER = (
    f"{'eps':>5}{'deployed':>11}{'log loss':>10}{'same noise':>15}{'+-1 sd':>9}{'one job':>12}"
    f"{'noise over':>12}{'seconds':>10}"
)


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--epsilons", type=numbers, default="0.3,1")
    command.add_argument("--seeds", type=int, default=10)
    options = command.parse_args()
    allow_seeds()
    data = sparse_set(NAME)
    if data is None:
        print(f"{NAME} is not at hand")
        return
    lines = [f"{NAME}, 3 parties, simulations of {options.seeds} seeds; {machine()}", HEADER]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        federation = Federation(Path(folder))
        for name, attributes in held(data).items():
            write_party(federation.folder / name, name, data, attributes)
        coordinates = "dplasso.federated.service:open_coordinator"
        set_in(federation.folder / "server" / "server.toml", coordinates=coordinates)
        try:
            federation.start_all()
            for epsilon in options.epsilons:
                lines.append(measured(federation, data, epsilon, options.seeds))
                print(lines[-1], flush=True)
        finally:
            federation.close()
    save("federated_deployed", "\n".join(lines))


if __name__ == "__main__":
    main()

"""diffprivlib's LinearRegression, run in an environment of its own.

The functional mechanism of Zhang et al., 2012: delta is 0, and a row is replaced. **Its noise does
not suffice.** Version 0.6.6 takes the bound of a squared column from the low end of its range twice
and never from the high end, so that a column between 0 and 1 gets too little noise, or none. It is
shown, and it is not counted as a rival. Nothing can be tuned but the map of rows.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rivals.diffprivlib_rival import HERE, interpreter
from rivals.problem import Effort, Request

from rivals_tables.problem import TableProblem, longest


class DiffprivlibLinear:
    name = "diffprivlib"

    def effort(self, problem: TableProblem) -> Effort:
        return Effort(2, 2)

    def coarse(self, problem: TableProblem, epsilon: float) -> list[dict[str, Any]]:
        return [{"map": name} for name in problem.maps]

    def nearby(self, problem: TableProblem, epsilon: float, best: dict) -> list[dict[str, Any]]:
        return []

    def scores(
        self, problem: TableProblem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        ordered = sorted(requests, key=lambda request: request.settings["map"])
        for name, group in groupby(ordered, key=lambda request: request.settings["map"]):
            batch = list(group)
            for request, found in zip(batch, _predictions(problem, name, batch), strict=True):
                yield request, problem.judge(found)


def _predictions(problem: TableProblem, name: str, batch: list[Request]) -> np.ndarray:
    train, test = (rows.astype(np.float64) for rows in problem.rows(name))
    numbers = np.arange(problem.n_columns) < problem.table.n_numbers
    low = np.where(numbers & (name == "centred"), -1.0, 0.0) / longest(problem.table)
    high = np.full(problem.n_columns, 1.0 / longest(problem.table))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.savez(
            folder / "rows.npz",
            **{"train": train, "labels": problem.labels.astype(np.float64), "test": test},
            **{"low": low, "high": high},
        )
        wanted = [(request.epsilon, request.seed) for request in batch]
        (folder / "requests.json").write_text(json.dumps(wanted))
        # The other environment must not see the packages of this one.
        outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(interpreter()), str(HERE / "linear_worker.py"), place]
        subprocess.run(command, check=True, env=outside)
        return np.load(folder / "predictions.npy")


DIFFPRIVLIB_LINEAR = DiffprivlibLinear()

"""diffprivlib's LogisticRegression, run in an environment of its own, on dense data.

Objective perturbation of Chaudhuri, Monteleoni and Sarwate, 2011. Its promise is another one: delta
is 0, and neighbours differ in a row that is replaced. It clips rows to ``data_norm=1``, which rows
of length 1 need not be. It has no form for sparse rows, so it is left out where rows would not fit
into memory. Grid: maps of rows (presence, as they are) x seven C a factor 10 apart; then, around
the best, C a factor 3 apart.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rivals.problem import Effort, Problem, Request, rounded

HERE = Path(__file__).resolve().parent / "diffprivlib_env"
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-diffprivlib"
MOST_COLUMNS = 2_000
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


def interpreter() -> Path:
    """The Python that has diffprivlib; its environment is made when it is first asked for."""
    python = ENVIRONMENT / "bin" / "python"
    done = ENVIRONMENT / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        wanted = ["--quiet", "--requirement", str(HERE / "requirements.txt")]
        subprocess.run([str(python), "-m", "pip", "install", *wanted], check=True)
        done.touch()
    return python


class Diffprivlib:
    """The rival: its grid, and its fits judged on the test rows."""

    name = "diffprivlib"

    def can(self, problem: Problem) -> bool:
        return problem.n_columns <= MOST_COLUMNS

    def effort(self, problem: Problem) -> Effort:
        return Effort(4, 6)  # its noise is large

    def coarse(self, problem: Problem, epsilon: float) -> list[dict[str, Any]]:
        return [{"map": name, "C": C} for name in problem.maps for C in STRENGTHS]

    def nearby(self, problem: Problem, epsilon: float, best: dict[str, Any]) -> list[dict]:
        return [{**best, "C": rounded(best["C"] * factor)} for factor in (1 / 3, 3.0)]

    def scores(
        self, problem: Problem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        ordered = sorted(requests, key=lambda request: request.settings["map"])
        for name, group in groupby(ordered, key=lambda request: request.settings["map"]):
            batch = list(group)
            for request, margins in zip(batch, _margins(problem, name, batch), strict=True):
                yield request, problem.judge(margins)


def _margins(problem: Problem, name: str, batch: list[Request]) -> np.ndarray:
    train, test = problem.rows(name)
    wanted = [(r.epsilon, r.settings["C"], r.seed) for r in batch]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.save(folder / "train.npy", train.toarray())
        np.save(folder / "labels.npy", problem.labels)
        np.save(folder / "test.npy", test.toarray())
        (folder / "requests.json").write_text(json.dumps(wanted))
        # The other environment must not see the packages of this one.
        outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(interpreter()), str(HERE / "worker.py"), place]
        subprocess.run(command, check=True, env=outside)
        return np.load(folder / "margins.npy")


DIFFPRIVLIB = Diffprivlib()

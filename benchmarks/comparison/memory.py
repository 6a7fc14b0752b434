"""Fits that were made before, one JSON line each, so that a long run can be stopped and go on."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rivals.problem import Request

PICKED = -1  # stands for a seed where settings were picked: the last line that says so holds


class Memory:
    """Scores by set, column, epsilon, settings and seed, in a file that grows line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._scores: dict[tuple, float] = {}
        self._picked: dict[tuple, dict[str, Any]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for saved in self._lines():
            self._remember(saved)
        if path.exists() and not path.read_text().endswith("\n"):
            with path.open("a") as file:
                file.write("\n")  # after a line that was cut short

    def _lines(self) -> list[dict[str, Any]]:
        found = []
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # the run was stopped while it wrote this line
        return found

    def _remember(self, saved: dict[str, Any]) -> None:
        if "facts" in saved:
            self._facts[saved["set"]] = saved["facts"]
        elif saved["seed"] == PICKED:
            self._picked[saved["set"], saved["column"], saved["epsilon"]] = saved["settings"]
        else:
            request = Request(saved["epsilon"], saved["settings"], saved["seed"])
            self._scores[_key(saved["set"], saved["column"], request)] = saved["value"]

    def _append(self, saved: dict[str, Any]) -> None:
        self._remember(saved)
        with self.path.open("a") as file:
            file.write(json.dumps(saved) + "\n")

    def get(self, data: str, column: str, request: Request) -> float | None:
        return self._scores.get(_key(data, column, request))

    def put(self, data: str, column: str, request: Request, value: float) -> None:
        self._append({"set": data, "column": column, **request._asdict(), "value": value})

    def pick(self, data: str, column: str, epsilon: float, settings: dict[str, Any]) -> None:
        """Note which settings a column has in the table."""
        if self.picked(data, column, epsilon) != settings:
            request = Request(epsilon, settings, PICKED)
            self._append({"set": data, "column": column, **request._asdict()})

    def picked(self, data: str, column: str, epsilon: float) -> dict[str, Any] | None:
        return self._picked.get((data, column, epsilon))

    def note(self, data: str, facts: dict[str, Any]) -> None:
        """Note what a set is like."""
        if self.facts(data) != facts:
            self._append({"set": data, "facts": facts})

    def facts(self, data: str) -> dict[str, Any] | None:
        return self._facts.get(data)

    def forget(self, sets: Collection[str], columns: Collection[str]) -> None:
        """Leave the scores of these columns on these sets out, here and in the file."""
        kept = [
            saved
            for saved in self._lines()
            if "facts" in saved or saved["set"] not in sets or saved["column"] not in columns
        ]
        self.path.write_text("".join(json.dumps(saved) + "\n" for saved in kept))
        self._scores.clear()
        self._picked.clear()
        for saved in kept:
            self._remember(saved)


def _key(data: str, column: str, request: Request) -> tuple:
    settings = json.dumps(request.settings, sort_keys=True)
    return data, column, float(request.epsilon), settings, request.seed

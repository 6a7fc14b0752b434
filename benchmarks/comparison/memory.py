"""Fits that were made before, one JSON line each, so that a long run can be stopped and go on.

Several processes may append to one file: a line is written at once, and lines of different tasks
never concern the same fit.
"""

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rivals.problem import Request

PICKED = -1  # stands for a seed where settings were picked: the last line that says so holds


class Memory:
    """Measures by set, method, epsilon, settings and seed, in a file that grows line by line.

    It knows too what a set is like, and how many seconds of the processor a task took.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fits: dict[tuple, dict[str, Any]] = {}
        self._picked: dict[tuple, dict[str, Any]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._seconds: dict[tuple, float] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for saved in self._lines():
            self._remember(saved)
        if path.exists() and not path.read_text().endswith("\n"):
            self._write("\n")  # after a line that was cut short

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
            return
        data, method, epsilon, seed = (saved[k] for k in ("set", "method", "epsilon", "seed"))
        if "seconds" in saved:
            self._seconds[data, method, epsilon, seed] = saved["seconds"]
        elif seed == PICKED:
            self._picked[data, method, epsilon, saved["measure"]] = saved["settings"]
        else:
            request = Request(epsilon, saved["settings"], seed)
            self._fits[_key(data, method, request)] = saved["value"]

    def _append(self, saved: dict[str, Any]) -> None:
        self._remember(saved)
        self._write(json.dumps(saved) + "\n")

    def _write(self, text: str) -> None:
        place = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(place, text.encode())
        finally:
            os.close(place)

    def get(self, data: str, method: str, request: Request) -> dict[str, Any] | None:
        return self._fits.get(_key(data, method, request))

    def put(self, data: str, method: str, request: Request, value: dict[str, Any]) -> None:
        self._append({"set": data, "method": method, **request._asdict(), "value": value})

    def pick(
        self, data: str, method: str, epsilon: float, measure: str, settings: dict[str, Any]
    ) -> None:
        """Note which settings a method has in the table, for one measure."""
        if self.picked(data, method, epsilon, measure) != settings:
            request = Request(epsilon, settings, PICKED)
            self._append({"set": data, "method": method, **request._asdict(), "measure": measure})

    def picked(self, data: str, method: str, epsilon: float, measure: str) -> dict[str, Any] | None:
        return self._picked.get((data, method, epsilon, measure))

    def note(self, data: str, facts: dict[str, Any]) -> None:
        """Note what a set is like."""
        if self.facts(data) != facts:
            self._append({"set": data, "facts": facts})

    def facts(self, data: str) -> dict[str, Any] | None:
        return self._facts.get(data)

    def took(self, data: str, method: str, epsilon: float, seed: int, seconds: float) -> None:
        """Note the seconds of the processor that a task took."""
        task = {"set": data, "method": method, "epsilon": epsilon, "seed": seed}
        self._append({**task, "seconds": seconds})

    def seconds(self) -> dict[tuple, float]:
        """The seconds of all tasks, by set, method, epsilon and seed."""
        return self._seconds

    def forget(self, sets: Collection[str], methods: Collection[str]) -> None:
        """Leave these methods on these sets out, here and in the file."""
        kept = [
            saved
            for saved in self._lines()
            if "facts" in saved or saved["set"] not in sets or saved["method"] not in methods
        ]
        self.path.write_text("".join(json.dumps(saved) + "\n" for saved in kept))
        for held in (self._fits, self._picked, self._seconds):
            held.clear()
        for saved in kept:
            self._remember(saved)


def _key(data: str, method: str, request: Request) -> tuple:
    settings = json.dumps(request.settings, sort_keys=True)
    return data, method, float(request.epsilon), settings, request.seed

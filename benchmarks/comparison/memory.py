"""Fits that were made before, one JSON line each, so that a long run can be stopped and go on."""

import json
from pathlib import Path

from rivals.problem import Request


class Memory:
    """Scores by set, column, epsilon, settings and seed, in a file that only grows."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._known: dict[tuple, float] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)
        if path.exists():
            for line in path.read_text().splitlines():
                self._remember(line)

    def _remember(self, line: str) -> None:
        try:
            saved = json.loads(line)
        except json.JSONDecodeError:
            return  # the run was stopped while it wrote this line
        request = Request(saved["epsilon"], saved["settings"], saved["seed"])
        self._known[self._key(saved["set"], saved["column"], request)] = saved["value"]

    @staticmethod
    def _key(data: str, column: str, request: Request) -> tuple:
        settings = json.dumps(request.settings, sort_keys=True)
        return data, column, float(request.epsilon), settings, request.seed

    def get(self, data: str, column: str, request: Request) -> float | None:
        return self._known.get(self._key(data, column, request))

    def put(self, data: str, column: str, request: Request, value: float) -> None:
        self._known[self._key(data, column, request)] = value
        saved = {"set": data, "column": column, **request._asdict(), "value": value}
        with self.path.open("a") as file:
            file.write(json.dumps(saved) + "\n")

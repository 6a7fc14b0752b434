"""One run of a stream: lines in, predictions out, states saved on the way."""

import os
import signal
import sys
from collections import deque
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dplasso.cli.online_rows import LineForm, parsed
from dplasso.cli.online_state import StateFolder
from dplasso.cli.output import note, shown
from dplasso.cli.signals import heeded
from dplasso.online.stream_learner import Compressed
from dplasso.reading.line_source import LineSource
from dplasso.storage.atomic import sync_directory
from dplasso.storage.private_files import open_private
from dplasso.storage.spreadsheet import cell

_MOST_LINES = 4096  # that share a write to the disk
_RECENT = 1000  # rows of the rolling score
_POINTS = 200  # of the curve of scores, at most


class Places(NamedTuple):
    """Where things go."""

    output: Path | None  # predictions; None is standard output
    model: Path | None  # snapshots
    every: int  # rows between states
    received: int | None  # predictions that standard output need not repeat
    proba: bool
    raw: bool  # texts as they are, whatever a spreadsheet makes of them
    watched: bool


class _Ready(NamedTuple):
    """Rows and labels as the model learns from them, and labels as they were written."""

    rows: Compressed
    labels: NDArray[Any]
    encoded: NDArray[np.float64]


class Session:
    """Lines are journaled, then learned from, then their predictions leave; in that order."""

    def __init__(self, model: Any, state: StateFolder, form: LineForm, places: Places) -> None:
        self._model, self._state, self._form, self._places = model, state, form, places
        self.more = dict(state.more)
        self._recent = deque[float](self.more.get("recent", ()), maxlen=_RECENT)
        self._stopping = False
        self._out = self._opened()

    def _opened(self) -> Any:
        """Predictions go on where the state says; what follows comes again, the same."""
        if self._places.output is None:
            return sys.stdout.buffer
        path, known = self._places.output, self.more["output_bytes"]
        if (path.stat().st_size if path.exists() else 0) < known:
            raise ValueError(f"{path} is shorter than when the state was saved; bring it back")
        out = open(open_private(path), "r+b")  # noqa: SIM115 (open until the end)
        sync_directory(str(path.absolute().parent))  # a state that counts its bytes must find it
        out.truncate(known)
        out.seek(known)
        return out

    def replay(self, journaled: list[bytes]) -> None:
        """Learn again, beside the same noise, from lines that came in after the last state."""
        for lines in journaled:
            self._learn(lines, self._read(lines))

    def run(self, source: LineSource) -> None:
        """Until the input ends, or a signal asks to stop."""
        for number in (signal.SIGINT, *heeded()):
            signal.signal(number, self._stop)
        while not self._stopping:
            room = max(1, self._model._room())  # one row too many is refused by name
            lines = source.lines(int(min(_MOST_LINES, self._until_state(), room)))
            if lines is None:
                break
            if lines:
                # Refused before it is journaled: a line that is wrong can be corrected.
                rows = self._read(lines)
                self._state.append(lines)
                self._learn(lines, rows)
            if self._until_state() == self._places.every and self.more != self._state.more:
                self.save()
        self.save()
        self._publish()

    def _until_state(self) -> int:
        """Rows until the next state is due; states fall on whole batches."""
        return int(self._places.every - self.more["rows"] % self._places.every)

    def _read(self, lines: bytes) -> _Ready:
        """Rows that can be learned from; whatever keeps them from it is raised here."""
        rows, labels = parsed(self._model, lines, self._form, self.more["lines"])
        try:
            encoded = self._model._encoded(labels)
            self._model._check_room(len(labels))
        except ValueError as error:
            raise ValueError(f"after line {self.more['lines']}: {error}") from None
        return _Ready(rows, labels, encoded)

    def _learn(self, lines: bytes, ready: _Ready) -> None:
        rows, labels, encoded = ready
        margins = self._model._learn(rows, encoded)
        decided = self._model._decided(margins)
        self._write(self._lines(margins, decided), self.more["rows"])
        self.more["rows"] += len(labels)
        self.more["lines"] += lines.count(b"\n")
        self.more["input_bytes"] += len(lines)
        self._score(decided, labels)

    def _lines(self, margins: Any, decided: Any) -> list[str]:
        if self._places.proba:
            from dplasso.estimators.online_classifier import probabilities

            chances = probabilities(margins).tolist()
            return ["\t".join(f"{p:.9g}" for p in row) for row in chances]
        return [self._line(value) for value in decided.tolist()]

    def _line(self, value: Any) -> str:
        if isinstance(value, str):
            return value if self._places.raw else cell(value, "\t")
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

    def _write(self, lines: list[str], before: int) -> None:
        if self._places.output is None and self._places.received is not None:
            lines = lines[max(0, self._places.received - before) :]
        text = "".join(f"{line}\n" for line in lines).encode()
        self._out.write(text)
        self._out.flush()
        self.more["output_bytes"] += len(text)

    def _score(self, decided: Any, labels: Any) -> None:
        """For whoever runs this: right answers, or squared errors, which no noise covers."""
        right = np.square(decided - labels) if self._form.regression else decided == labels
        scores = np.asarray(right, np.float64)
        self.more["right"] += float(scores.sum())
        self._recent.extend(scores[-_RECENT:].tolist())

    def save(self) -> None:
        """A state, where no row waits for its batch, and what is published with it."""
        if self._model._run.rows_waiting or self.more["rows"] == self._state.more["rows"]:
            return
        if self._places.output is not None:
            os.fsync(self._out.fileno())
        self.more |= {"recent": list(self._recent), "curve": self._curve()}
        self._state.save(self._model, self.more)
        self.more = dict(self._state.more)
        self._publish()
        if self._places.watched:
            note(self.summary())

    def _publish(self) -> None:
        """A snapshot of the model, and beside the state what is known of its quality."""
        if self._places.model is not None:
            self._model.save(self._places.model)
        curve = {"score": self._score_name, "recent_rows": _RECENT, "points": self._curve()}
        self._state.write("metrics.json", {**self.told(), "curve": curve})

    def _curve(self) -> list[list[float]]:
        """Rows so far, the score of all of them and of the last, whenever a state was saved."""
        known: list[list[float]] = self.more.get("curve", [])
        rows = self.more["rows"]
        if rows == 0 or (known and known[-1][0] == rows):
            return known
        recent = sum(self._recent) / len(self._recent)
        # However long the stream: where there are too many, every other one is left out.
        kept = known if len(known) < _POINTS else known[1::2]
        return [*kept, [rows, self.more["right"] / rows, recent]]

    def summary(self) -> str:
        """The same in a line, for the eyes of whom the rows belong to."""
        told = ", ".join(f"{name} {shown(value)}" for name, value in self.told().items())
        return f"{told} (from the rows, without noise: not private)"

    def told(self) -> dict[str, float]:
        """Rows so far, and how well they were predicted, each before it was learned from."""
        name, rows, recent = self._score_name, self.more["rows"], self._recent
        found: dict[str, float] = {"rows": rows, "input bytes": self.more["input_bytes"]}
        if rows:
            found[name] = self.more["right"] / rows
        if recent:
            found[f"{name} of the last {len(recent)}"] = sum(recent) / len(recent)
        return found

    @property
    def _score_name(self) -> str:
        return "squared error" if self._form.regression else "accuracy"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._places.output is not None:
            self._out.close()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

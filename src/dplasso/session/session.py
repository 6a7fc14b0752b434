"""`StreamSession`: a stream in a folder, which continues after any stop or crash."""

import os
import sys
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import Message, ParameterError
from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.estimators.online_classifier import probabilities
from dplasso.estimators.online_run import OnlineRun
from dplasso.online.stream_learner import Compressed
from dplasso.reading.line_source import LineSource
from dplasso.session.folder import StateFolder
from dplasso.session.lines import LineForm, parsed
from dplasso.session.scores import RunningScores
from dplasso.storage.atomic import sync_directory
from dplasso.storage.prediction_lines import prediction_lines, probability_lines
from dplasso.storage.private_files import open_private

_Path = str | os.PathLike[str]
_MOST_LINES = 4096  # that share a write to the disk
_USUAL = {"construction": "auto", "noise": "gaussian", "calibration": "tight"}


class _Ready(NamedTuple):
    """Rows and labels as the model learns from them, and labels as they were written."""

    rows: Compressed
    labels: NDArray[Any]
    encoded: Floats


class StreamSession:
    """Learn from a stream of lines, and continue after any stop, kill or power cut.

    A folder holds the state of the model and a journal of the lines that followed it. Lines are
    journaled, then learned from, then their predictions leave; in that order. Opened again with the
    same parameters, the session stands where it was, and repeats nothing with other noise.

    Parameters
    ----------
    folder : str or path
        The state of the stream: a new folder, or that of the stream to continue. It is AS SECRET AS
        THE ROWS, for its owner alone, and used by one process at a time.
    model : PrivateOnlineClassifier or PrivateOnlineRegressor
        Not fitted; ``n_features`` must be declared, and ``classes`` or ``y_bound``. Its accountant
        is charged once, when the stream begins.
    format : {"svmlight", "jsonl"}, default="svmlight"
        What a line is: svmlight text, or a JSON object of features by name.
    target : str, default="y"
        Name of the label in a JSON object.
    zero_based : bool, default=False
        Whether svmlight indices start at 0.
    output : str, path or None, default=None
        A file for predictions, one line per row, for the owner of the rows alone. None writes none.
    proba : bool, default=False
        Whether predictions are the probabilities of all classes.
    raw : bool, default=False
        Whether to leave texts as they are that a spreadsheet would take for formulas.
    snapshot : str, path or None, default=None
        A file for the model, to predict with: as public as its weights.
    every : int, default=10000
        Rows between states and snapshots, rounded up to whole batches.

    Attributes
    ----------
    model : the model, which learns.
    continues : whether the folder held a stream already.
    rows, lines, input_bytes : how much of the stream was taken.

    Formal guarantees
    -----------------
    That of the model for its stream, whatever ends the process and however often: see
    `StateFolder`. Predictions and scores (``metrics.json`` in the folder) are functions of single
    rows without noise. They are for the owner of the rows.

    Examples
    --------
    >>> import tempfile
    >>> from dplasso import PrivateOnlineClassifier, StreamSession
    >>> def model():
    ...     return PrivateOnlineClassifier(1.0, window=1000, classes=[0, 1], n_features=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StreamSession(folder, model()) as session:
    ...         first = session.learn(b"1 1:0.5\\n0 2:1 3:0.2\\n")
    ...     with StreamSession(folder, model()) as session:  # after a crash, too
    ...         second = session.learn(b"1 1:0.4\\n")
    ...         rows = session.rows
    >>> len(first), len(second), rows
    (2, 1, 3)
    """

    def __init__(
        self,
        folder: _Path,
        model: PrivateOnlineClassifier | PrivateOnlineRegressor,
        *,
        format: str = "svmlight",
        target: str = "y",
        zero_based: bool = False,
        output: _Path | None = None,
        proba: bool = False,
        raw: bool = False,
        snapshot: _Path | None = None,
        every: int = 10_000,
    ) -> None:
        regression = isinstance(model, PrivateOnlineRegressor)
        self._form = LineForm(format, _checked_columns(model), zero_based, target, regression)
        _check_declared(model)
        if proba and not hasattr(model, "predict_proba"):
            raise ParameterError("{proba} needs a classifier with probabilities; leave it out")
        self.model, self._proba, self._raw = model, proba, raw
        self._output = None if output is None else Path(output)
        self._snapshot = None if snapshot is None else Path(snapshot)
        self._every = -(-checks.count("every", every, least=1) // int(model.batch)) * int(
            model.batch
        )
        self._stopping, self._started = False, False
        self._out: Any = None
        self._watch: Callable[[], None] | None = None
        self._folder = StateFolder(Path(folder))
        try:
            self._folder.check(self._config())
        except BaseException:
            self._folder.__exit__()
            raise
        self.continues = self._folder.exists
        self._more = dict(self._folder.more)

    @staticmethod
    def position(folder: _Path) -> dict[str, int]:
        """How many lines and bytes of its input the stream of a folder has taken."""
        if not os.path.isdir(folder):
            raise ValueError(f"{os.fsdecode(folder)} is not there; no stream began in it")
        with StateFolder(Path(folder)) as found:
            return found.taken()

    @property
    def rows(self) -> int:
        """Rows that were learned from, or wait for their batch."""
        return int(self._more["rows"])

    @property
    def lines(self) -> int:
        """Lines that were taken."""
        return int(self._more["lines"])

    @property
    def input_bytes(self) -> int:
        """Bytes of lines that were taken."""
        return int(self._more["input_bytes"])

    def start(self, *, received: int | None = None) -> None:
        """Begin the stream, which charges the accountant, or stand where it was.

        Other methods call it. ``received`` is for a session whose predictions go to standard
        output: how many came through, and need not be repeated; None writes to no pipe.
        """
        if self._started:
            return
        journaled: list[bytes] = []
        if self.continues:
            journaled = self._folder.resume(self.model)
        else:
            self.model.begin()  # charged here, before the first draw
            self._folder.begin(self.model)
        self._more = dict(self._folder.more)
        self._scores = RunningScores(self._more, regression=self._form.regression)
        self._received, self._started = received, True
        self._out = self._opened()
        for lines in journaled:  # with the same noise as before
            self._learn(lines, self._read(lines))
        self._save_if_due()

    def learn(self, lines: bytes) -> list[str]:
        """Predict the rows of whole lines, then learn from them; durable when this returns.

        Lines that cannot be learned from are rejected as a whole, before they are journaled. States
        are saved every so many rows, as `StreamSession` was asked.

        Returns
        -------
        list of str
            The predictions, as they are written to ``output``. They are AS PRIVATE AS THE ROWS.
        """
        self.start()
        lines = lines if lines.endswith(b"\n") else lines + b"\n"
        rows = self._read(lines)
        self._folder.append(lines)
        predicted = self._learn(lines, rows)
        self._save_if_due()
        return predicted

    def run(self, source: LineSource, *, watch: Callable[[], None] | None = None) -> None:
        """Learn from lines until the input ends, or `stop` is called; then save.

        ``watch`` is called after every state.
        """
        self.start()
        self._watch = watch
        while not self._stopping:
            room = max(1.0, self._stream.room)  # one row too many is rejected by name
            lines = source.lines(int(min(_MOST_LINES, self._until_state(), room)))
            if lines is None:
                break
            if lines:
                self.learn(lines)
        self.save()
        self._publish()

    def stop(self) -> None:
        """Have `run` end before its next lines; a signal handler may call it."""
        self._stopping = True

    def save(self) -> None:
        """Save a state where no row waits for its batch, and publish what goes with it."""
        if self._stream.rows_waiting or self.rows == self._folder.more["rows"]:
            return
        if self._output is not None:
            os.fsync(self._out.fileno())
        self._more |= self._scores.kept(self.rows)
        self._folder.save(self.model, self._more)
        self._more = dict(self._folder.more)
        self._publish()
        if self._watch is not None:
            self._watch()

    def scores(self) -> dict[str, float]:
        """Rows so far, and how well they were predicted: from the rows, without noise."""
        return self._scores.summary(self.rows, self.input_bytes)

    def close(self) -> None:
        """Let go of the folder. What was not saved is in its journal."""
        if self._output is not None and self._out is not None:
            self._out.close()
        self._folder.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _stream(self) -> OnlineRun:
        stream = self.model.stream_
        assert isinstance(stream, OnlineRun)
        return stream

    def _config(self) -> dict[str, Any]:
        """What the stream is, in the names and the order of the file that says so."""
        model, form = self.model, self._form
        chosen = {name: getattr(model, name) for name in _USUAL}
        classes = getattr(model, "classes", None)
        return {
            "epsilon": str(float(model.epsilon)),
            "delta": model.delta,
            "window": model.window,
            "rows": model.n_rows,
            "batch": model.batch,
            "features": model.n_features,
            "classes": None if classes is None else np.asarray(classes).tolist(),
            "regression": form.regression,
            "y_bound": getattr(model, "y_bound", None),
            "format": form.kind,
            "target": form.target,
            "zero_based": form.zero_based,
            "loss": model.loss,
            "domain": model.domain,
            "radius": model.radius,
            "proba": self._proba,
            "seed": model.random_state,
            "output": None if self._output is None else str(self._output.absolute()),
            # Only what is not usual: streams that began before these could be chosen continue.
            **{name: value for name, value in chosen.items() if value != _USUAL[name]},
            **({"raw": True} if self._raw else {}),
        }

    def _opened(self) -> Any:
        """Predictions continue where the state says; what follows comes again, the same."""
        if self._output is None:
            return None if self._received is None else sys.stdout.buffer
        path, known = self._output, self._more["output_bytes"]
        if (path.stat().st_size if path.exists() else 0) < known:
            raise ValueError(f"{path} is shorter than when the state was saved; bring it back")
        out = open(open_private(path), "r+b")  # noqa: SIM115 (open until the end)
        sync_directory(str(path.absolute().parent))  # a state that counts its bytes must find it
        out.truncate(known)
        out.seek(known)
        return out

    def _until_state(self) -> int:
        """Rows until the next state is due; states fall on whole batches."""
        return self._every - self.rows % self._every

    def _save_if_due(self) -> None:
        late = self.rows - self._folder.more["rows"] >= self._every  # parts may skip a due state
        if late or self._until_state() == self._every:
            self.save()

    def _read(self, lines: bytes) -> _Ready:
        """Rows that can be learned from; whatever keeps them from it is raised here."""
        rows, labels = parsed(self._stream.form, lines, self._form, self.lines)
        try:
            encoded = self.model.encode(labels)
            self._stream.check_room(len(labels))
        except ValueError as error:
            reason = error.args[0]
            raise ParameterError(
                Message("after line {line}: {reason}", line=self.lines, reason=reason)
            ) from None
        return _Ready(rows, labels, encoded)

    def _learn(self, lines: bytes, ready: _Ready) -> list[str]:
        margins = self._stream.learn(ready.rows, ready.encoded)
        decided = self.model.decide(margins)
        if self._proba:
            predicted = probability_lines(probabilities(margins).tolist())
        else:
            predicted = prediction_lines(decided, raw=self._raw)
        self._write(predicted)
        self._scores.add(decided, ready.labels)
        self._more["right"] = self._scores.right
        self._more["rows"] += len(ready.labels)
        self._more["lines"] += lines.count(b"\n")
        self._more["input_bytes"] += len(lines)
        return predicted

    def _write(self, predicted: list[str]) -> None:
        if self._output is None and self._received is not None:
            predicted = predicted[max(0, self._received - self.rows) :]
        text = "".join(f"{line}\n" for line in predicted).encode()
        if self._out is not None:
            self._out.write(text)
            self._out.flush()
        self._more["output_bytes"] += len(text)

    def _publish(self) -> None:
        """A snapshot of the model, and next to the state what is known of its quality."""
        if self._snapshot is not None:
            self.model.save(self._snapshot)
        self._folder.write("metrics.json", self._scores.published(self.rows, self.input_bytes))


def _checked_columns(model: PrivateOnlineClassifier | PrivateOnlineRegressor) -> int:
    if model.n_features is None:
        raise ParameterError(
            "{n_features} must be declared: the number of columns of svmlight rows, or that names "
            "of JSON rows are hashed to"
        )
    return checks.count("n_features", model.n_features, least=1)


def _check_declared(model: PrivateOnlineClassifier | PrivateOnlineRegressor) -> None:
    """Reject a model that a folder could not keep, before anything is written or charged."""
    if "stream_" in vars(model):
        raise ParameterError("{model} must not be fitted: the folder has the stream it learns")
    if isinstance(model, PrivateOnlineRegressor):
        if model.y_bound is None:
            raise ParameterError("labels need a public bound to be clipped to; give {y_bound}")
    elif model.classes is None:
        raise ParameterError(
            "{classes} must be declared: a stream is not read ahead for its labels"
        )
    if isinstance(model.batch, str):
        raise ParameterError("{batch} must be a number of rows here, since lines come in any parts")
    if not isinstance(model.domain, str):
        raise ParameterError("{domain} must be a name here, which a state can keep")
    if not isinstance(model.random_state, Integral | None):
        raise ParameterError("{random_state} must be a whole number or None here")
    model.check_parameters()

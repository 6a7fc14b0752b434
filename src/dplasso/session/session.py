"""`StreamSession` keeps a stream in a folder, and continues after any stop or crash."""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.one_at_a_time import refuse_again
from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.estimators.online_classifier import probabilities
from dplasso.estimators.online_run import OnlineRun
from dplasso.online.stream_learner import Compressed
from dplasso.reading.line_source import LineSource
from dplasso.schema import Schema
from dplasso.session.folder import StateFolder
from dplasso.session.lines import LineForm, parsed
from dplasso.session.scores import RunningScores
from dplasso.storage.atomic import sync_directory
from dplasso.storage.prediction_lines import prediction_lines, probability_lines
from dplasso.storage.private_files import open_private

_Path = str | os.PathLike[str]
_MOST_LINES = 4096  # lines per write to the disk
_USUAL = {"construction": "auto", "noise": "gaussian", "calibration": "tight"}


# Rows, labels as written in the lines, and labels as the model learns from them.
_Ready = tuple[Compressed, NDArray[Any], Floats]


class StreamSession:
    """Learn from a stream of lines, and continue after any stop, kill or power cut.

    A folder holds the state of the model and a journal of the lines that followed it. Lines are
    first journaled, then learned from, and then their predictions are written. A session that is
    opened again with the same parameters continues where it stopped, and never adds different noise
    to the same rows.

    Parameters
    ----------
    folder : str or path
        State of the stream: a new folder, or the folder of the stream to continue. It is AS SECRET
        AS THE ROWS, readable only by its owner, and used by one process at a time.
    model : PrivateOnlineClassifier or PrivateOnlineRegressor
        Model that is not fitted. It must declare ``n_features``, and ``classes`` or ``y_bound``.
        Its accountant is charged once, when the stream begins.
    format : {"svmlight", "jsonl", "csv"}, default="svmlight"
        Format of a line: svmlight text, a JSON object of features by name, or a row of CSV.
    target : str, default="y"
        Name of the label in a JSON object.
    zero_based : bool, default=False
        Whether svmlight indices start at 0.
    output : str, path or None, default=None
        File for predictions, one line per row, readable only by its owner. None writes no file.
    proba : bool, default=False
        Whether predictions are the probabilities of all classes.
    raw : bool, default=False
        Whether to leave text unchanged that a spreadsheet would read as a formula.
    snapshot : str, path or None, default=None
        File for a model that predicts. It is as public as the weights. None writes no file.
    every : int, default=10000
        Rows between states and snapshots, rounded up to whole batches.
    schema : Schema or None, default=None
        For CSV: the columns of a line in order, and their roles. Line 1 may be their header. The
        model has as many ``n_features`` as the schema, and its snapshots keep the schema.

    Attributes
    ----------
    model : PrivateOnlineClassifier or PrivateOnlineRegressor
        The model that learns.
    continues : bool
        Whether the folder already held a stream.
    rows : int
        Number of rows read so far.
    lines : int
        Number of lines read so far.
    input_bytes : int
        Number of bytes read so far.

    Formal guarantees
    -----------------
    The guarantee of the model holds for its stream, however the process ends and however often: see
    `StateFolder`. Predictions and scores (``metrics.json`` in the folder) depend on rows without
    noise. They are for the data owner only. One thread at a time learns or saves. A signal handler
    in the middle of that, and a forked process, are refused.

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
        schema: Schema | None = None,
    ) -> None:
        regression = isinstance(model, PrivateOnlineRegressor)
        target = target if schema is None else str(schema.target)
        self._form = LineForm(
            format, _checked_columns(model), zero_based, target, regression, schema
        )
        if schema is not None:
            model.table_plan_ = {**schema.to_dict(), "scaled": True}
        _check_declared(model)
        if proba and not hasattr(model, "predict_proba"):
            raise ParameterError("{proba} needs a classifier with probabilities; leave it out")
        self.model, self._proba, self._raw = model, proba, raw
        self._output = None if output is None else Path(output)
        self._snapshot = None if snapshot is None else Path(snapshot)
        batches = -(-checks.count("every", every, least=1) // int(model.batch))
        self._every = batches * int(model.batch)
        self._stopping, self._started = False, False
        self._gate = _Gate()
        self._one_thread = threading.RLock()
        self._out: Any = None
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
        """Return how many lines and bytes of its input the stream of a folder has read.

        Parameters
        ----------
        folder : str or path
            Folder of the stream.

        Returns
        -------
        dict of str to int
            The entries "lines" and "input_bytes".
        """
        if not os.path.isdir(folder):
            raise ValueError(f"{os.fsdecode(folder)} is not there; no stream began in it")
        with StateFolder(Path(folder)) as found:
            return found.taken()

    @property
    def rows(self) -> int:
        """Number of rows that were learned from or wait for their batch."""
        return int(self._more["rows"])

    @property
    def lines(self) -> int:
        """Number of lines that were read."""
        return int(self._more["lines"])

    @property
    def input_bytes(self) -> int:
        """Number of bytes of the lines that were read."""
        return int(self._more["input_bytes"])

    def start(self, *, received: int | None = None) -> None:
        """Begin the stream, which charges the accountant, or continue where it stopped.

        Other methods call this one.

        Parameters
        ----------
        received : int or None, default=None
            For a session that writes predictions to standard output: how many were received and
            need not be repeated. None writes nothing to standard output.
        """
        with self._alone():
            self._start(received)

    def _alone(self) -> AbstractContextManager[Any]:
        """Lock for one thread at a time, which refuses signal handlers and forked processes."""
        self._folder.check_process()
        refuse_again(self._one_thread)
        return self._one_thread

    def _start(self, received: int | None = None) -> None:
        if self._started:
            return
        journaled: list[bytes] = []
        if self.continues:
            journaled = self._folder.resume(self.model)
        else:
            self.model.begin()  # charges the accountant, before the first draw
            self._folder.save(self.model)
        self._more = dict(self._folder.more)
        self._scores = RunningScores(self._more, regression=self._form.regression)
        self._received = received
        self._out = self._opened()
        self._stream.recorder, self._started = self._gate, True
        for lines in journaled:  # with the same noise as before
            self._learn(lines, self._read(lines))
        self._folder.learned()
        self._save_if_due()

    def learn(self, lines: bytes) -> list[str]:
        """Predict the rows of complete lines, then learn from them.

        The lines are on the disk when this returns. If any line cannot be learned from, all are
        rejected before they are journaled. A state is saved every ``every`` rows.

        Parameters
        ----------
        lines : bytes
            One or more complete lines.

        Returns
        -------
        list of str
            The predictions, as written to ``output``. They are AS PRIVATE AS THE ROWS.
        """
        with self._alone():
            self._start()
            lines = lines if lines.endswith(b"\n") else lines + b"\n"
            ready = self._read(lines)
            self._folder.append(lines)
            predicted = self._learn(lines, ready)
            self._folder.learned()
            self._save_if_due()
            return predicted

    def run(self, source: LineSource, *, watch: Callable[[], None] | None = None) -> None:
        """Learn from lines until the input ends or `stop` is called, then save.

        Parameters
        ----------
        source : LineSource
            Source of the lines.
        watch : callable or None, default=None
            Function that is called after lines were learned from, and at the end.
        """
        self.start()
        while not self._stopping:
            room = max(1.0, self._stream.room)  # read one row too many, so that it raises an error
            lines = source.lines(int(min(_MOST_LINES, self._until_state(), room)))
            if lines is None:
                break
            if lines:
                self.learn(lines)
                if watch is not None:
                    watch()
        with self._alone():
            self._save()
            self._publish()

    def stop(self) -> None:
        """Make `run` end before it reads more lines; a signal handler may call this."""
        self._stopping = True

    def save(self) -> None:
        """Save a state, a snapshot and the scores, unless rows wait for their batch."""
        with self._alone():  # else lines that are learned meanwhile would be in no journal
            self._save()

    def _save(self) -> None:
        if self._stream.rows_waiting or self.rows == self._folder.more["rows"]:
            return
        if self._output is not None:
            os.fsync(self._out.fileno())
        self._more |= self._scores.kept(self.rows)
        self._folder.save(self.model, self._more)
        self._more = dict(self._folder.more)
        self._publish()

    def scores(self) -> dict[str, float]:
        """Return the number of rows and how well they were predicted. NOT PRIVATE.

        Returns
        -------
        dict of str to float
            Scores, computed from the rows without noise.
        """
        return self._scores.summary(self.rows, self.input_bytes)

    def metrics(self) -> dict[str, Any]:
        """Return the scores with their curve, as in ``metrics.json``. NOT PRIVATE.

        Returns
        -------
        dict
            Scores, computed from the rows without noise.
        """
        return self._scores.published(self.rows, self.input_bytes)

    def close(self) -> None:
        """Release the folder. Lines that followed the last state are in its journal."""
        if self._folder.is_own:
            with self._alone():  # another process may write as soon as the folder is released
                self._release()
        else:
            self._release()

    def _release(self) -> None:
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
        """Settings of the stream, with the names and in the order of the file that stores them."""
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
            # Only values other than the defaults: streams that began before these options existed
            # can then continue.
            **{name: value for name, value in chosen.items() if value != _USUAL[name]},
            **({"raw": True} if self._raw else {}),
            **({} if form.schema is None else {"schema": form.schema.to_dict()}),
        }

    def _opened(self) -> Any:
        """Open the output where the state ended; later predictions are written again, unchanged."""
        if self._output is None:
            return None if self._received is None else sys.stdout.buffer
        path, known = self._output, self._more["output_bytes"]
        if (path.stat().st_size if path.exists() else 0) < known:
            raise ValueError(f"{path} is shorter than when the state was saved; bring it back")
        out = open(open_private(path), "r+b")  # noqa: SIM115 (open until the end)
        sync_directory(str(path.absolute().parent))  # a state that counts its bytes needs the file
        out.truncate(known)
        out.seek(known)
        return out

    def _until_state(self) -> int:
        """Number of rows until the next state is due; a state is due after whole batches."""
        return self._every - self.rows % self._every

    def _save_if_due(self) -> None:
        late = self.rows - self._folder.more["rows"] >= self._every  # a part may skip a due state
        if late or self._until_state() == self._every:
            self._save()

    def _read(self, lines: bytes) -> _Ready:
        """Parse rows and raise every error that would prevent learning from them."""
        rows, labels = parsed(self._stream.form, lines, self._form, self.lines)
        try:
            encoded = self.model.encode(labels)
            self._stream.check_room(len(labels))
        except ValueError as error:
            told = {"line": self.lines, "reason": error.args[0]}
            raise_alone(ParameterError("after line {line}: {reason}", **told))
        return rows, labels, encoded

    def _learn(self, lines: bytes, ready: _Ready) -> list[str]:
        rows, labels, encoded = ready
        with self._gate:
            margins = self._stream.learn(rows, encoded)
        decided = self.model.decide(margins)
        if self._proba:
            predicted = probability_lines(probabilities(margins).tolist())
        else:
            predicted = prediction_lines(decided, raw=self._raw)
        self._write(predicted)
        self._scores.add(decided, labels)
        self._more["right"] = self._scores.right
        self._more["rows"] += len(labels)
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
        """Write the snapshot of the model, and its scores next to the state."""
        if self._snapshot is not None:
            self.model.save(self._snapshot)
        self._folder.write("metrics.json", self.metrics())


class _Gate:
    """Lets a model learn from journaled lines only, since other rows would be lost in a crash.

    It is open to the thread that has journaled lines, and to no other.
    """

    def __init__(self) -> None:
        self._thread: int | None = None

    def __enter__(self) -> None:
        self._thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._thread = None

    def before(self, rows: Compressed, labels: Floats) -> None:
        if self._thread != threading.get_ident():
            raise ValueError(
                "the model of a session learns from the lines of the session only, which keeps "
                "them; pass lines to its learn, or use dplasso.DurableStream for rows"
            )

    def after(self) -> None:
        """Do nothing: the session itself notes what was learned."""


def _checked_columns(model: PrivateOnlineClassifier | PrivateOnlineRegressor) -> int:
    if model.n_features is None:
        raise ParameterError(
            "{n_features} must be declared: the number of columns of svmlight rows, or that names "
            "of JSON rows are hashed to"
        )
    return checks.count("n_features", model.n_features, least=1)


def _check_declared(model: PrivateOnlineClassifier | PrivateOnlineRegressor) -> None:
    """Reject a model that a folder cannot store, before anything is written or charged."""
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

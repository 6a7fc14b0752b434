"""`DurableStream` keeps the stream of a Python program in a folder, and continues after a crash."""

import os
import struct
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.estimators.online_run import OnlineRun
from dplasso.online.stream_learner import Compressed
from dplasso.session.folder import StateFolder

_Path = str | os.PathLike[str]
_Model = TypeVar("_Model", bound=PrivateOnlineClassifier | PrivateOnlineRegressor)
_CONFIG = {"format": "python"}  # the parameters of the model are in its state
_SIZES = struct.Struct("<qq")  # rows, entries


class DurableStream(Generic[_Model]):
    """Keep the stream of an online model in a folder: after ``kill -9``, the same call continues.

    The model learns as always, by `partial_fit`, `predict_then_learn`, `learn_one` or a river
    pipeline. Each call first writes its rows to a journal in the folder, and then learns from them.
    Opened again with a model of the same parameters, the stream continues where it was:
    ``model.rows_seen_`` is the number of rows that it has; pass the next row after these.

    Parameters
    ----------
    folder : str or path
        A new folder, or that of the stream to continue. It is AS SECRET AS THE ROWS, readable only
        by its owner, and used by one process at a time.
    model : PrivateOnlineClassifier or PrivateOnlineRegressor
        Model that is not fitted. It declares ``n_features`` or ``feature_names``, and ``classes``
        or ``y_bound``. Its accountant is charged once, when the stream begins.
    every : int, default=10000
        Rows between saved states. A crash repeats the work of at most as many rows.

    Attributes
    ----------
    model : PrivateOnlineClassifier or PrivateOnlineRegressor
        The model that learns.
    continues : bool
        Whether the folder already held a stream.

    Formal guarantees
    -----------------
    The guarantee of the model holds for its stream, however the process ends and however often.
    Rows are on the disk before noise is drawn for them, each with its step. A stream that
    continues therefore adds the same rows to the same noise, and repeats its releases bit by bit.
    No noise is drawn twice or added to other rows. While the folder is open the model learns
    through it only, and after `close` not at all; it begins no other stream either. If a call is
    interrupted between journal and learning, or while a state is saved, the model refuses to learn
    until the folder is opened again. One thread at a time learns or saves. A signal handler in the
    middle of that, and a forked process, are refused.

    Examples
    --------
    >>> import tempfile
    >>> from dplasso import DurableStream, PrivateOnlineClassifier
    >>> def new():
    ...     return PrivateOnlineClassifier(1.0, window=1000, classes=[0, 1], n_features=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with DurableStream(folder, new()) as model:
    ...         first = model.partial_fit([[0.5, 0, 1]], [1]).coef_
    ...     with DurableStream(folder, new()) as model:  # after a crash, too
    ...         same = bool((model.coef_ == first).all())
    ...         rows = model.partial_fit([[0, 1, 0.2]], [0]).rows_seen_
    >>> same, rows
    (True, 2)
    """

    def __init__(self, folder: _Path, model: _Model, *, every: int = 10_000) -> None:
        self._every = checks.count("every", every, least=1)
        _check(model)
        self.model = model
        self._folder = StateFolder(Path(folder))
        try:
            self._folder.check(_CONFIG)
            self.continues = self._folder.exists
            journaled: list[bytes] = []
            if self.continues:
                journaled = self._folder.resume(model)
            else:
                model.begin()  # charges the accountant, before the first draw
                self._folder.save(model)
            for record in journaled:  # with the same noise as before
                self._stream.learn(*_unpacked(record))
            self._folder.learned()
            self._stream.recorder = self
            self._save_if_due()
        except BaseException:
            if "stream_" in vars(model):
                del model.stream_
            self._folder.__exit__()
            raise

    @property
    def _stream(self) -> OnlineRun:
        stream = self.model.stream_
        assert isinstance(stream, OnlineRun)
        return stream

    def before(self, rows: Compressed, labels: Floats) -> None:
        """Journal rows; models call this before they draw noise for them."""
        self._folder.append(_packed(rows, labels))

    def after(self) -> None:
        """Note that the journaled rows were learned from, and save a state if one is due."""
        self._folder.learned()
        self._save_if_due()

    def save(self) -> None:
        """Save a state, unless rows wait for their batch: the next opening then takes less time."""
        self._folder.check_process()
        with self._stream.alone():  # else a row that is learned meanwhile would be in no journal
            self._save()

    def _save(self) -> None:
        stream = self._stream
        if not stream.rows_waiting and stream.rows_seen > self._folder.more["rows"]:
            more = {**self._folder.more, "rows": stream.rows_seen}
            self._folder.save(self.model, more)

    def _save_if_due(self) -> None:
        if self._stream.rows_seen - self._folder.more["rows"] >= self._every:
            self._save()

    def close(self) -> None:
        """Release the folder. The model predicts from now on, and does not learn any more."""
        stream = vars(self.model).get("stream_")
        if isinstance(stream, OnlineRun) and stream.recorder is self:
            if self._folder.is_own:
                with stream.alone():  # another process may write as soon as the folder is released
                    self._released(stream)
                return
            self._released(stream)
        self._folder.__exit__()

    def _released(self, stream: OnlineRun) -> None:
        stream.recorder = _Closed()
        self._folder.__exit__()

    def __enter__(self) -> _Model:
        return self.model

    def __exit__(self, *_: object) -> None:
        self.close()


class _Closed:
    """In the place of a folder that was closed: another process may continue from it."""

    def before(self, rows: Compressed, labels: Floats) -> None:
        raise ValueError(
            "the folder of this stream was closed, and another model may continue from it; open it "
            "again with a new model of the same parameters"
        )

    def after(self) -> None:
        """Do nothing."""


def _check(model: PrivateOnlineClassifier | PrivateOnlineRegressor) -> None:
    if "stream_" in vars(model):
        raise ParameterError("{model} must not be fitted: the folder has the stream it learns")
    if isinstance(model, PrivateOnlineClassifier) and model.classes is None:
        raise ParameterError(
            "{classes} must be declared: a stream is not read ahead for its labels"
        )
    model.check_parameters()


def _packed(rows: Compressed, labels: Floats) -> bytes:
    starts, places, values = rows
    first, last = int(starts[0]), int(starts[-1])
    parts = (
        np.asarray(starts - first, "<i8"),
        np.asarray(places[first:last], "<i4"),
        np.asarray(values[first:last], "<f8"),
        np.asarray(labels, "<f8"),
    )
    return _SIZES.pack(len(labels), last - first) + b"".join(part.tobytes() for part in parts)


def _unpacked(record: bytes) -> tuple[Compressed, Floats]:
    rows, entries = _SIZES.unpack_from(record)
    found, place = [], _SIZES.size
    for kind, count in (("<i8", rows + 1), ("<i4", entries), ("<f8", entries), ("<f8", rows)):
        found.append(np.frombuffer(record, kind, count, place).copy())
        place += found[-1].nbytes
    starts, places, values, labels = found
    return (starts, places, values), labels

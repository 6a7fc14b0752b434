"""The rows of one process, and every sum over them; the only part of a cluster that sees rows."""

import hashlib
import hmac
import os
import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.base.rooms import Room, new_room
from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.data import ColumnMatrix
from dplasso.data.columns import MOST_ROWS
from dplasso.data.identifiers import identifier_text
from dplasso.data.row_weights import weights_of_counts
from dplasso.data.structure import sound
from dplasso.fitting.corrected import HeldTask, Solved
from dplasso.fitting.frank_wolfe import FrankWolfeTask
from dplasso.fitting.gradient import DescentTask
from dplasso.fitting.plan import Plan
from dplasso.fitting.table import TableTask
from dplasso.fitting.task import Drawing
from dplasso.mechanisms.selection.block_draws import Standing, edges
from dplasso.reading import Rows, read_rows
from dplasso.reading.files import Files
from dplasso.reading.formats import format_of
from dplasso.reading.formats.column_store import StoreFolder
from dplasso.solvers.column_walk import Advance, Column, ColumnPart, ColumnWalk, Terms, cut
from dplasso.solvers.correction.walk import Place
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.rows import PrivateRows
from dplasso.solvers.table.questions import Question, Standard
from dplasso.solvers.table.rows import PrivateTable

DIGEST = 32  # bytes of a person's digest
CHANGED = "the files of a shard were changed during the fit; restore them, and start the fit again"
Given = ParamSpec("Given")
Found = TypeVar("Found")


def _guarded(
    method: Callable[Concatenate["Shard", Given], Found],
) -> Callable[Concatenate["Shard", Given], Found]:
    """An unforeseen error may quote rows, and leaves this process as its kind and place only."""

    @wraps(method)
    def call(self: "Shard", *args: Given.args, **options: Given.kwargs) -> Found:
        began = time.process_time()
        try:
            return method(self, *args, **options)
        except (ValueError, OSError):
            raise
        except MemoryError:
            error: Exception = MemoryError("a shard does not fit into memory; give more actors")
        except Exception as unforeseen:
            place = unforeseen.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = "" if place is None else f"{place.tb_frame.f_code.co_name}:{place.tb_lineno}"
            kind = type(unforeseen).__name__
            error = RuntimeError(f"{kind} in a shard at {where}, a defect of dplasso")
        finally:
            self._busy += time.process_time() - began
        raise_alone(error)

    return call  # type: ignore[return-value]  # a method, whose first argument has a name


class Shard:
    """The rows of some of the files.

    Formal guarantees
    -----------------
    What `mass`, `sums`, `answer`, `counts`, `slopes` and `margin_sums_at` return are the exact sums
    of `PrivateRows`, `PrivateTable` and `MarginRows` over the rows of this shard: sums of one
    vector of integers per row, which is a function of that row, its weight and public arguments
    alone. So sums over all shards are those over all rows. They have no noise and are as private as
    the rows: only the driver, which adds noise, may receive them. Nothing is drawn here, so a shard
    that is lost can be built again from its files. For Frank-Wolfe, a shard decides trials with
    random bits whose keys the driver sends (`ColumnWalk`): asked again, it decides the same.
    """

    def __init__(self) -> None:
        self._busy = 0.0
        self._room: Room = new_room
        self._standard: Standard | None = None

    @_guarded
    def read(
        self, paths: Sequence[str], options: dict[str, Any], x_bound: float | None, threads: int
    ) -> None:
        """Read the files; each is a piece by itself."""
        self._pieces = [
            _Piece(path, partial(_read, path, options, x_bound), threads) for path in paths
        ]

    @_guarded
    def described(self) -> Rows:
        """The public facts about the rows: the rows as they were read, without any of them."""
        first, *others = (piece.described for piece in self._pieces)
        if any(public_digest(other) != public_digest(first) for other in others):
            raise differing()
        return first

    def public_digest(self) -> bytes:
        """A digest of `described`, by which shards are compared."""
        return public_digest(self.described())

    @_guarded
    def row_digests(self, key: bytes) -> dict[str, bytes]:
        """A keyed digest of the rows of each file, by which a shard that was built anew is checked.

        Nobody without the key can tell from a digest which rows there are.
        """
        return {piece.path: piece.digest(key) for piece in self._pieces}

    def row_count(self) -> int:
        """The number of rows, which may be private."""
        return sum(piece.n_rows for piece in self._pieces)

    @_guarded
    def people(self, key: bytes, parts: int) -> Any:
        """The people of this shard in ``parts`` parts, each digests and their numbers of rows.

        A person is in the same part in all shards. Digests are keyed, so that nobody without the
        key can look up an identifier.
        """
        self._people = _People.of([piece.groups for piece in self._pieces], key, parts)
        return self._people.parts if parts > 1 else self._people.parts[0]

    @_guarded
    def merged(self, *parts: tuple[Any, Ints]) -> Any:
        """The numbers of rows that each shard's people have in all shards, and how many there are.

        ``parts`` are the same part of the people of every shard.
        """
        names = np.concatenate([digests for digests, _ in parts])
        _, places = np.unique(names, return_inverse=True)
        distinct = int(places.max()) + 1 if len(places) else 0
        totals = np.zeros(distinct, np.int64)
        np.add.at(totals, places, np.concatenate([counts for _, counts in parts]))
        ends = np.cumsum([0, *(len(digests) for digests, _ in parts)])
        by_shard = [totals[places[a:b]] for a, b in zip(ends, ends[1:], strict=False)]
        return distinct, *by_shard

    @_guarded
    def take_totals(self, *totals: Ints) -> None:
        """Take the numbers of rows that the people of this shard have in all shards."""
        for piece, rows in zip(self._pieces, self._people.rows(totals), strict=True):
            piece.rows_of_person = rows

    @_guarded
    def prepare(self, plan: Plan, rows_per_person: int, class_weights: Floats | None) -> None:
        """Map and clip the rows as the plan says, and encode their labels."""
        for piece in self._pieces:
            piece.prepare(plan, rows_per_person, class_weights)
        self._standard = None

    @_guarded
    def mass(self) -> Ints:
        """Sums of the unit rows (`PrivateRows.mass`)."""
        return self._summed(lambda piece, _: piece.rows.mass())

    @_guarded
    def take_conditioning(self, conditioning: Conditioning) -> None:
        """Take the dampings and the centre of the next sums."""
        self._conditioning = _writable(conditioning)

    @_guarded
    def sums(self, weights: Floats, intercepts: Floats) -> Ints:
        """Sums of the row gradients (`PrivateRows.sums`) at the conditioning that was taken.

        If it leaves few columns, weights and sums are of these alone (`Conditioning.few`).
        """
        at, few, intercepts = self._conditioning, self._conditioning.few, _own(intercepts)
        if few is None:
            weights = _own(weights)
            return self._summed(lambda piece, room: piece.rows.sums(at, weights, intercepts, room))
        everywhere = np.zeros((len(weights), len(at.damping)))
        everywhere[:, few] = weights
        sums = self._summed(lambda piece, _: piece.rows.sums(at, everywhere, intercepts))
        left = self._room((len(sums), len(few) + 1))
        left[:, :-1], left[:, -1] = sums[:, few], sums[:, -1]
        return left

    @_guarded
    def answer(self, question: Question) -> Ints:
        """The answer of `PrivateTable`."""
        asked = self._with_known_standard(_writable(question))
        return self._summed(lambda piece, _: piece.table.answer(asked))

    def _with_known_standard(self, question: Any) -> Any:
        """The question about the standardised rows that are held, if they are the same."""
        own = getattr(question, "at", question)
        standard = getattr(own, "standard", None)
        if standard is None:
            return question
        if self._standard is None or not _equal(standard, self._standard):
            self._standard = deepcopy(standard)  # a question lasts no longer than its answer
        if own is question:
            return replace(question, standard=self._standard)
        return replace(question, at=replace(own, standard=self._standard))

    @_guarded
    def take_model(self, solved: Solved) -> None:
        """Compute the margins that a released model gives the rows."""
        for piece in self._pieces:
            piece.take_model(solved)

    @_guarded
    def counts(self, unit: float) -> Ints:
        """Counts of margins (`MarginRows.counts`)."""
        return self._summed(lambda piece, _: piece.margins.counts(unit))

    @_guarded
    def slopes(self, limit: float, spreads: Floats) -> Ints:
        """Slopes at several spreads (`MarginRows.slopes`)."""
        return self._summed(lambda piece, _: piece.margins.slopes(limit, _own(spreads)))

    @_guarded
    def margin_sums_at(self, at: Place) -> Ints:
        """Sums of a correction's step (`MarginRows.sums`)."""
        at = at._replace(shifts=_own(at.shifts))
        return self._summed(lambda piece, _: piece.margins.sums(at))

    # Frank-Wolfe: columns of all rows, instead of rows with all columns (`ColumnWalk`).

    @_guarded
    def block_entries(self) -> Ints:
        """The number of entries in each block of columns."""
        return self._summed(lambda piece, _: piece.block_entries())

    @_guarded
    def column_parts(self, runs: Sequence[tuple[int, int]]) -> Any:
        """The rows of this shard in several runs of blocks, each for the shard that will hold it.

        The rows are let go of; they are read again when they are needed.
        """
        pieces = [piece.cut(runs) for piece in self._pieces]
        found = [[own[k] for own in pieces] for k in range(len(runs))]
        return found if len(runs) > 1 else found[0]

    @_guarded
    def take_columns(self, run: tuple[int, int], *parts: Sequence["_Cut"]) -> None:
        """Take a run of blocks of columns, of all shards in their order."""
        cuts = [own for part in parts for own in part]
        labels = np.concatenate([own.labels for own in cuts])
        if len(labels) > MOST_ROWS:
            raise ValueError(f"X has more than {MOST_ROWS:,} rows; split it and fit the parts")
        weights = None
        if cuts[0].weights is not None:
            weights = np.concatenate([own.weights for own in cuts])
        matrices = [ColumnPart(*(_own(part) for part in own.part)) for own in cuts]
        self._columns = ColumnWalk(cuts[0].terms, matrices, labels, weights, *run)

    @_guarded
    def standing(self) -> tuple[int, Standing]:
        """The number of steps taken, and what the blocks of this shard are worth."""
        return self._columns.done, self._columns.standing()

    @_guarded
    def advance(self, message: bytes, *columns: bytes) -> tuple[bytes, bytes]:
        """Take steps, then decide trials; returns the `Advance`, and the column of its outcome.

        The message has the number of steps before, the steps and the trials. ``columns`` are those
        of the steps that are not held here. Without all steps before, the answer is None. All of
        them are bytes, which Ray sends in half the time of objects.
        """
        done, steps, trials = pickle.loads(message)
        own = self._columns
        if own.done != done:
            return pickle.dumps(None), b""
        changed = own.move(steps, map(pickle.loads, columns))
        found = own.first_of(trials)
        column = b"" if found is None else pickle.dumps(own.column(found.vertex))
        return pickle.dumps(Advance(changed, found)), column

    @_guarded
    def columns_of(self, vertices: Ints) -> dict[int, Column]:
        """The columns of those vertices that this shard holds."""
        held = (int(v) for v in np.unique(vertices) if self._columns.holds(int(v)))
        return {vertex: self._columns.column(vertex) for vertex in held}

    @_guarded
    def catch_up(self, vertices: Ints, signs: Ints, *held: dict[int, Column]) -> None:
        """Take the steps towards all vertices released so far, whose columns are given."""
        if self._columns.done > len(vertices):
            self._columns.restart()
        columns = {vertex: _own_column(own) for part in held for vertex, own in part.items()}
        missing = range(self._columns.done, len(vertices))
        steps = [(int(vertices[k]), int(signs[k])) for k in missing]
        own = self._columns
        own.move(steps, (columns[vertex] for vertex, _ in steps if not own.holds(vertex)))

    def drop_columns(self) -> None:
        """Let go of the columns."""
        self._columns = None  # type: ignore[assignment]

    def load(self) -> tuple[float, int, int]:
        """Seconds of processor time so far, bytes of memory in use, and the process."""
        return self._busy, _resident(), os.getpid()

    def _summed(self, sums_of: Callable[["_Piece", Room], Ints]) -> Ints:
        """The sum over all pieces, of which the first may use the room of an answer."""
        first, *others = self._pieces
        found = sums_of(first, self._room)
        for other in others:
            found += sums_of(other, new_room)
        return found


class _Piece:
    """The rows of one file or column store."""

    def __init__(self, path: str, read: Callable[[], Rows], threads: int) -> None:
        self.path, self._read, self._threads = path, read, threads
        rows = read()
        self.n_rows = rows.X.shape[0]
        self._rows: Rows | None = rows
        empty = sp.csr_array((0, rows.X.shape[1]))
        none = None if rows.groups is None else np.empty(0, object)
        labels = None if rows.y is None else rows.y[:0]
        self.described = replace(rows, X=empty, y=labels, groups=none)
        self.groups = rows.groups
        self.rows_of_person: Ints | None = None
        self._task: Any = None
        self._key, self._digest = secrets.token_bytes(32), b""

    def digest(self, key: bytes) -> bytes:
        """A keyed digest of all rows."""
        return _digest_of(self._held(), key)

    def prepare(self, plan: Plan, rows_per_person: int, class_weights: Floats | None) -> None:
        rows = self._held()
        encoded = plan.request.loss.encode(_labels(rows))
        classes = None if class_weights is None else encoded.astype(np.int64)
        shared = self.rows_of_person, rows_per_person, classes, class_weights
        weights = weights_of_counts(*shared)
        drawing = Drawing(None, self._threads)  # type: ignore[arg-type]  # nothing is drawn here
        task = plan.prepare(rows.X, encoded, drawing, weights)
        assert isinstance(task, HeldTask)
        loss, threads, self._task = plan.request.loss, self._threads, task
        self._digest = self._digest or _digest_of(rows, self._key)
        self._rows = None
        self._prepared_by = plan, rows_per_person, class_weights
        if isinstance(task, DescentTask):
            self.rows = PrivateRows(task.rows, encoded, loss, task.plan.descent, threads, weights)
        elif isinstance(task, TableTask):
            self.table = PrivateTable(
                task.cells, encoded, loss, task.plan.table, threads, task.wide, weights
            )

    def _held(self) -> Rows:
        """The rows as they were read; again, if they were let go of.

        What is known of people and of other shards goes by the places of rows. So rows that have
        changed meanwhile are rejected.
        """
        if self._rows is not None:
            return self._rows
        rows = self._read()
        if _digest_of(rows, self._key) != self._digest:
            raise ValueError(CHANGED)
        return rows

    def _held_task(self) -> Any:
        """The mapped rows; again, if they were cut into columns."""
        if self._task is None:
            self.prepare(*self._prepared_by)
        return self._task

    def block_entries(self) -> Ints:
        matrix = self._held_task().matrix
        found: Ints = np.diff(matrix.indptr[edges(matrix.shape[1])]).astype(np.int64)
        return found

    def cut(self, runs: Sequence[tuple[int, int]]) -> list["_Cut"]:
        """The columns of several runs of blocks."""
        task = self._held_task()
        assert isinstance(task, FrankWolfeTask)
        ends, facts = edges(task.matrix.shape[1]), (task.labels, task.weights, task.terms)
        self._task = None
        return [_Cut(*facts, cut(task.matrix, ends[a], ends[b])) for a, b in runs]

    def take_model(self, solved: Solved) -> None:
        self.margins = self._held_task().margin_sums(solved, self._threads)


def _digest_of(rows: Rows, key: bytes) -> bytes:
    """A keyed digest of all rows, in their order."""
    found, X = hmac.new(key, digestmod=hashlib.sha256), rows.X
    values = X.values if isinstance(X, ColumnMatrix) else X.data
    for part in (X.indptr, X.indices, values, rows.y, rows.groups):
        for content in _contents(part):
            found.update(len(content).to_bytes(8, "little"))  # nothing can move to the next one
            found.update(content)
    return found.digest()


def _contents(part: Any) -> Iterator[Any]:
    """The bytes of an array: of numbers, or of texts and their lengths, -1 where there is none."""
    if part is None:
        yield b""
    elif part.dtype == object:
        texts = [None if text is None else str(text) for text in part]
        yield _bytes_of(np.array([-1 if text is None else len(text) for text in texts], np.int64))
        yield "".join(text or "" for text in texts).encode()
    else:
        yield _bytes_of(part)


class _Cut(NamedTuple):
    """Some columns of the rows of one file, and what all columns need to know of these rows."""

    labels: Floats
    weights: Floats | None
    terms: Terms
    part: ColumnPart


class _People:
    """The digests of people in parts, and where each row's person is among them."""

    def __init__(self, parts: list[tuple[Any, Ints]], places: list[Ints]) -> None:
        self.parts, self._places = parts, places

    @classmethod
    def of(cls, groups: list[Any], key: bytes, count: int) -> "_People":
        known: dict[bytes, int] = {}
        places = []
        for names in groups:
            texts = (identifier_text(name) for name in names)
            own = (hmac.digest(key, text.encode(), "sha256") if text else None for text in texts)
            numbers = (-1 if one is None else known.setdefault(one, len(known)) for one in own)
            places.append(np.fromiter(numbers, np.int64, len(names)))
        digests = np.frombuffer(b"".join(known), np.dtype((np.void, DIGEST)))
        rows = np.zeros(len(known), np.int64)
        for mine in places:
            rows += np.bincount(mine[mine >= 0], minlength=len(known))
        # People are renumbered part by part, so that their totals can be put one after the other.
        part_of = np.array([one[0] * 256 + one[1] for one in known], np.int64) % count
        order = np.argsort(part_of, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        mine_of = [np.where(mine >= 0, rank[mine] if len(rank) else -1, -1) for mine in places]
        ends = np.searchsorted(part_of[order], np.arange(count + 1))
        parts = [
            (digests[order[a:b]], rows[order[a:b]]) for a, b in zip(ends, ends[1:], strict=False)
        ]
        return cls(parts, mine_of)

    def rows(self, totals: Sequence[Ints]) -> Iterator[Ints]:
        """For every piece and row, the number of rows of its person in all shards."""
        of_person = np.concatenate(totals)
        for mine in self._places:
            found = np.zeros(len(mine), np.int64)
            found[mine >= 0] = of_person[mine[mine >= 0]]
            yield found


def differing() -> ParameterError:
    """The error for shards whose public facts are not the same."""
    return ParameterError(
        "shards differ in their columns, bounds or classes; read them by one {schema}, or declare "
        "{n_features} and {classes}"
    )


def public_digest(described: Rows) -> bytes:
    """A digest of the public facts about rows."""
    bounds = described.bounds
    facts = (
        described.X.shape[1],
        None
        if bounds is None
        else hashlib.sha256(_bytes_of(np.asarray(bounds, np.float64))).hexdigest(),
        None if described.names is None else _of_names(described.names),
        None if described.schema is None else described.schema.to_dict(),
        described.classes,
        sorted(described.undeclared),
        described.zero_based,
        described.declared_rows,
        described.groups is None,
        described.scaled,
        None if described.y is None else described.y.dtype.kind,
    )
    return hashlib.sha256(repr(facts).encode()).digest()


def _bytes_of(part: Any) -> Any:
    return np.ascontiguousarray(part).view(np.uint8).data


def _of_names(names: Any) -> str:
    found = hashlib.sha256()
    for name in names:
        found.update(str(name).encode() + b"\0")
    return found.hexdigest()


def _read(path: str, options: dict[str, Any], x_bound: float | None) -> Rows:
    files = Files((Path(path),))
    kind = format_of(files)
    if not (kind.takes_parts or isinstance(kind, StoreFolder)):
        raise ValueError(
            f"{path} is {kind.name}, which cannot be read in shards; divide it by "
            "dplasso convert --shards"
        )
    if "n_features" in kind.options and options.get("n_features") is None:
        raise ParameterError("{n_features} must be declared for shards; no shard has all rows")
    return _checked(read_rows(files, x_bound=x_bound, **options))


def _checked(rows: Rows) -> Rows:
    """The same rows, sound and finite, as `fit` would check them."""
    if isinstance(rows.X, ColumnMatrix):
        return rows
    X = sound(rows.X)
    if not np.isfinite(X.data).all():
        raise ValueError(
            "X holds NaN or infinity; replace or remove such entries by a rule that reads no rows"
        )
    return replace(rows, X=X)


def _labels(rows: Rows) -> Any:
    y = rows.y
    if y is None:
        raise ValueError("a shard has no labels; give files that have some")
    return np.asarray(y, dtype=str) if y.dtype.kind == "O" else y


def _equal(one: Standard, other: Standard) -> bool:
    same = np.array_equal(one.centres, other.centres) and one.taken == other.taken
    return same and np.array_equal(one.factors, other.factors)


def _own_column(column: Column) -> Column:
    return Column(*(_own(part) for part in column))


class _Unlocked:
    """An array as numpy takes it over, without the mark that it is read-only."""

    def __init__(self, array: Any) -> None:
        self._kept = array
        place, _ = array.__array_interface__["data"]
        self.__array_interface__ = array.__array_interface__ | {"data": (place, False)}


def _own(array: Any) -> Any:
    """The same array without the mark that it is read-only, as those have that were sent here.

    Nothing writes to it. But loops that are compiled for other arrays would be compiled once more
    for marked ones, and a copy takes as long as sending it.
    """
    if not isinstance(array, np.ndarray) or array.flags.writeable:
        return array
    return np.asarray(_Unlocked(array))


def _writable(message: Any) -> Any:
    """A message with arrays as `_own` returns them."""
    changes = {
        name: _own(value)
        for name, value in vars(message).items()
        if isinstance(value, np.ndarray) and not value.flags.writeable
    }
    nested = {
        name: _writable(value)
        for name, value in vars(message).items()
        if hasattr(value, "__dataclass_fields__")
    }
    return replace(message, **changes, **nested) if changes or nested else message


def _resident() -> int:
    """Bytes of memory of this process, without what it shares with others."""
    try:
        with open("/proc/self/status") as found:
            lines = [line.split() for line in found if line.startswith(("RssAnon:", "RssFile:"))]
    except OSError:  # systems without /proc
        return 0
    return sum(int(size) << 10 for _, size, _ in lines)

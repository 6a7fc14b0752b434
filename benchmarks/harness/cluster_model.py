"""What a fit on a cluster takes, replayed event by event from a few measured costs.

Machines have cores and a network card; a request to either waits until earlier ones are served. A
replay returns seconds and bytes. What a replay does not know: packets that are lost or wait in
switches, disks, and how processes share a memory bus.
"""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

NUMBER = 8  # bytes of a sum, a weight, a damping


@dataclass(frozen=True)
class Shape:
    """The data of a fit."""

    rows: int
    columns: int
    entries: int
    outputs: int = 1

    @property
    def vector(self) -> int:
        """Bytes of one number per column and output."""
        return NUMBER * self.columns * self.outputs


@dataclass(frozen=True)
class Part:
    """What one actor holds of the data, and how many times slower than others it is."""

    rows: float
    columns: float
    entries: float
    slow: float = 1.0


@dataclass(frozen=True)
class Costs:
    """Seconds on one core, measured.

    ``entries`` has pairs (rows of a shard, seconds per entry): an entry's row is out of cache where
    a shard has many.
    """

    entries: tuple[tuple[float, float], ...]
    column: float  # a column of a shard, with entries or without
    row: float
    draw: float  # a number with noise
    move: float  # a weight and what belongs to it
    add: float  # a number of an answer, added
    copy: float  # a byte copied to or from the memory that processes share
    call: float  # the driver's time per question
    answer: float  # an actor's time per question, whatever it holds
    latency: float  # from one process to another

    def entry(self, rows: float) -> float:
        """Seconds per entry of a shard with so many rows."""
        known, seconds = zip(*self.entries, strict=True)
        return float(np.interp(math.log(max(rows, 1.0)), np.log(known), seconds))

    def sums(self, part: Part) -> float:
        """Seconds on one core of a sum over the entries of an actor."""
        seconds = self.answer + part.entries * self.entry(part.rows)
        return part.slow * (seconds + part.columns * self.column + part.rows * self.row)


@dataclass
class Machine:
    """Cores and a network card. Each serves requests in the order in which they come.

    ``threads`` cores work on one request together, as efficiently as ``efficiency`` says.
    """

    cores: int = 1
    threads: int = 1
    efficiency: float = 1.0
    bandwidth: float = math.inf  # bytes per second, in each direction
    sent: float = field(default=0.0, init=False)  # bytes
    received: float = field(default=0.0, init=False)
    busy: float = field(default=0.0, init=False)  # seconds, of all cores

    def __post_init__(self) -> None:
        self._free = [0.0] * max(self.cores // self.threads, 1)
        self._sends_until = self._receives_until = 0.0

    def work(self, ready: float, seconds: float, alone: float = 0.0) -> float:
        """When work is done that takes so many seconds on one core, and can begin at ``ready``.

        ``alone`` are further seconds, which more cores do not make fewer.
        """
        spent = seconds / (self.threads * self.efficiency) + alone
        end = max(ready, heapq.heappop(self._free)) + spent
        heapq.heappush(self._free, end)
        self.busy += seconds + alone
        return end

    def send(self, ready: float, to: "Machine", size: float, latency: float) -> float:
        """When a message has arrived. Processes of one machine share memory."""
        if to is self:
            return ready + latency
        begin = max(ready, self._sends_until, to._receives_until)
        end = begin + size / min(self.bandwidth, to.bandwidth)
        self._sends_until = to._receives_until = end
        self.sent, to.received = self.sent + size, to.received + size
        return end + latency


@dataclass
class Cluster:
    """The machine of the driver, and those of the actors; some may be the same."""

    driver: Machine
    actors: list[Machine]

    @classmethod
    def of(cls, actors: int, **facts: float) -> "Cluster":
        """A machine per actor, and one for the driver."""
        made = [Machine(**facts) for _ in range(actors + 1)]  # type: ignore[arg-type]
        return cls(made[0], made[1:])

    @classmethod
    def local(cls, actors: int, cores: int, efficiency: float = 1.0) -> "Cluster":
        """All on one machine; an actor has one core."""
        machine = Machine(cores, 1, efficiency if actors > 1 else 1.0)
        return cls(machine, [machine] * actors)


@dataclass(frozen=True)
class Replayed:
    """What was replayed, in seconds since its start and in bytes."""

    asked: float  # the last actor has its question
    worked: float  # the last actor is done
    summed: float  # the last answer is added
    seconds: float  # the step or the round is done
    to_driver: float  # bytes
    from_driver: float
    per_actor: float  # bytes sent and received by the busiest actor's machine
    waiting: float  # most bytes of answers that the driver's machine held at once


def shares(shape: Shape, actors: int, slow: Sequence[float] | None = None) -> list[Part]:
    """Equal shares of the rows, each with all columns."""
    factors = [1.0] * actors if slow is None else slow
    own = shape.rows / actors, shape.columns, shape.entries / actors
    return [Part(*own, factor) for factor in factors]


def row_step(shape: Shape, parts: Sequence[Part], costs: Costs, cluster: Cluster) -> Replayed:
    """A step as dplasso takes it: actors send their sums to the driver, which adds and draws."""
    driver, busy, vector = cluster.driver, 0.0, shape.vector
    events: list[tuple[float, int, str, int]] = []
    order = itertools.count()

    def happens(when: float, what: str, actor: int) -> None:
        heapq.heappush(events, (when, next(order), what, actor))

    busy = driver.work(0.0, vector * costs.copy)
    arrived: dict[int, float] = {}  # weights are sent to every machine once
    asked = 0.0
    for k, machine in enumerate(cluster.actors):
        busy = driver.work(busy, 0.0, costs.call)
        if id(machine) not in arrived:
            arrived[id(machine)] = driver.send(busy, machine, vector, costs.latency)
        happens(max(arrived[id(machine)], busy + costs.latency), "begin", k)
        asked = max(asked, arrived[id(machine)])
    worked = held = most = 0.0
    while events:
        now, _, what, k = heapq.heappop(events)
        machine = cluster.actors[k]
        if what == "begin":
            work = costs.sums(parts[k]) + vector * costs.copy
            happens(machine.work(now, work), "done", k)
        elif what == "done":
            worked = max(worked, now)
            happens(machine.send(now, driver, vector, costs.latency), "answer", k)
        elif what == "answer":
            held += vector
            most = max(most, held)
            busy = driver.work(max(now, busy), shape.columns * shape.outputs * costs.add)
            happens(busy, "added", k)
        else:
            held -= vector
    own = shape.columns * shape.outputs * (costs.draw + costs.move)
    end = driver.work(busy, own)
    return _replayed((asked, worked, busy, end), cluster, most)


def _replayed(times: tuple[float, ...], cluster: Cluster, waiting: float) -> Replayed:
    driver = cluster.driver
    most = max(machine.sent + machine.received for machine in cluster.actors)
    return Replayed(*times, driver.received, driver.sent, most, waiting)


def range_step(
    shape: Shape,
    parts: Sequence[Part],
    costs: Costs,
    cluster: Cluster,
    sent: float | None = None,
) -> Replayed:
    """A step without the driver in the middle, which dplasso does not take yet.

    Every actor owns a range of the columns. It receives the other actors' sums of these columns,
    adds them, draws their noise, moves their weights, and sends those to all others. Messages go in
    rounds: in the k-th, an actor sends to the k-th after it. ``sent`` is the number of bytes that
    an actor sends of its sums, to all; those of all columns unless it is given. Weights are sent to
    those that need them, as many bytes in all.
    """
    actors = len(parts)
    whole = shape.vector if sent is None else sent
    columns = whole / NUMBER
    machines = cluster.actors
    asked = cluster.driver.work(0.0, 0.0, actors * costs.call) + costs.latency
    begun = [
        machine.work(asked, costs.sums(part)) for machine, part in zip(machines, parts, strict=True)
    ]
    worked = max(begun)
    arrived = _exchanged(machines, begun, whole / actors, costs.latency)
    drawn = shape.columns * shape.outputs / actors * (costs.draw + costs.move)
    own = columns * costs.add + drawn
    moved = [machine.work(at, own) for machine, at in zip(machines, arrived, strict=True)]
    summed = max(moved)
    ended = _exchanged(machines, moved, whole / actors, costs.latency)
    end = cluster.driver.work(max(ended) + costs.latency, 0.0, actors * costs.call)
    return _replayed((asked, worked, summed, end), cluster, 0.0)


def _exchanged(
    machines: Sequence[Machine], ready: Sequence[float], size: float, latency: float
) -> list[float]:
    """When every machine has a message from every other one."""
    actors, arrived = len(machines), list(ready)
    for shift in range(1, actors):
        for k, machine in enumerate(machines):
            to = (k + shift) % actors
            arrived[to] = max(arrived[to], machine.send(ready[k], machines[to], size, latency))
    return arrived


@dataclass(frozen=True)
class RoundCosts:
    """Seconds of Frank-Wolfe's work on one core, beside those of `Costs`."""

    entry: float  # an entry of a scored column
    column: float  # the noise of a column, and its place in the order
    row: float  # a row's residual
    moved: float  # a row of the column that was drawn
    stored: float  # a release, on the disk


def column_round(
    shape: Shape,
    actors: int,
    costs: Costs,
    rounds: RoundCosts,
    cluster: Cluster,
    drawn: float,
    trials: Sequence[float] | None = None,
) -> Replayed:
    """A round of Frank-Wolfe on shards of columns, each with the margins of all rows.

    Without ``trials`` it is the standard rule: every actor scores all its columns. Otherwise it is
    the lazy rule: ``trials`` are the entries that each trial scores, one after the other, at an
    actor that the driver picks. The column that is drawn has ``drawn`` entries; its owner sends
    their rows to all others.
    """
    driver, machines = cluster.driver, cluster.actors
    busy = 0.0
    if trials is None:
        own = shape.entries / actors * rounds.entry + shape.columns / actors * rounds.column
        own += shape.rows * rounds.row
        found = []
        for machine in machines:
            busy = driver.work(busy, 0.0, costs.call)
            done = machine.work(driver.send(busy, machine, 16.0, costs.latency), own)
            found.append(machine.send(done, driver, 16.0, costs.latency))
        asked, worked = busy, max(found)
    else:
        for k, entries in enumerate(trials):
            machine = machines[k % actors]
            busy = driver.work(busy, 0.0, costs.call)
            done = machine.work(
                driver.send(busy, machine, 16.0, costs.latency), entries * rounds.entry
            )
            busy = machine.send(done, driver, 16.0, costs.latency)
        asked = worked = busy
    stored = driver.work(worked, 0.0, rounds.stored)
    owner, ends = machines[0], []
    told = driver.send(driver.work(stored, 0.0, costs.call), owner, 16.0, costs.latency)
    for machine in machines:
        there = owner.send(told, machine, 4.0 * drawn, costs.latency)
        done = machine.work(there, drawn * rounds.moved)
        ends.append(machine.send(done, driver, 16.0, costs.latency))
    return _replayed((asked, worked, stored, max(ends)), cluster, 0.0)


@dataclass(frozen=True)
class Memory:
    """Bytes of one process: without data, for entries, for columns, for rows; and what is shared.

    ``shared`` is memory of the machine that its processes share: weights, conditioning, answers.
    """

    base: float
    entries: float
    columns: float
    rows: float
    shared: float

    @property
    def own(self) -> float:
        return self.base + self.entries + self.columns + self.rows

    @property
    def total(self) -> float:
        return self.own + self.shared


def actor_memory(shape: Shape, part: Part, base: float, threads: int = 1) -> Memory:
    """The memory of an actor that holds 0/1 rows (`PrivateRows`, `HeldColumns`)."""
    copied = part.entries < 64 * part.columns
    row_number = 2 if part.rows <= 1 << 16 else 4
    start = 4 if part.entries + part.rows < 2**31 else 8
    entries = part.entries * (4 + row_number * copied)
    columns = part.columns * (start + (start + 4) * copied + NUMBER * shape.outputs)
    rows = part.rows * NUMBER * (3 + threads + 3 * shape.outputs)
    shared = 2 * NUMBER * part.columns + 2 * shape.vector
    return Memory(base, entries, columns, rows, shared)


def driver_memory(shape: Shape, base: float, waiting: float) -> Memory:
    """The memory of the driver: the iterate, mass and conditioning, sums, and answers that wait."""
    columns = 4 * shape.vector + 5 * NUMBER * shape.columns + shape.vector
    return Memory(base, 0.0, columns, 0.0, waiting + shape.vector + 2 * NUMBER * shape.columns)


def present_columns(shape: Shape, actors: int) -> float:
    """Columns with entries in a share of the rows, where column lengths follow Zipf's law.

    A column of L entries has some in the share with probability 1 - (1 - 1/actors)^L.
    """
    ranks = np.unique(np.geomspace(1.0, shape.columns, 4000).astype(np.int64))
    low, high = 1e-9 * shape.rows, 100.0 * shape.rows
    counts = np.diff(np.append(ranks, shape.columns + 1))
    for _ in range(80):
        c = math.sqrt(low * high)
        lengths = np.maximum(np.minimum(0.9 * shape.rows, c / ranks), 1.0)
        low, high = (c, high) if float(np.sum(lengths * counts)) < shape.entries else (low, c)
    if actors == 1:
        return float(shape.columns)
    return float(np.sum(counts * -np.expm1(lengths * math.log1p(-1.0 / actors))))

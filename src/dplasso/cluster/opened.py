"""Shards that are open: what an estimator fits to."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.cluster.cluster import IN_PROCESS, Cluster, check_backend
from dplasso.cluster.crew import Crew, Load
from dplasso.cluster.in_process import InProcess
from dplasso.cluster.run_log import RunLog
from dplasso.cluster.selections import Selections
from dplasso.cluster.shard import differing
from dplasso.cluster.shards import Shards
from dplasso.cluster.sums import SummedMargins, SummedRows, SummedTable
from dplasso.fitting.corrected import Solved
from dplasso.fitting.plan import Plan
from dplasso.fitting.task import BoundedTask, Drawing
from dplasso.privacy.accountant import Receipt
from dplasso.reading.rows import Rows
from dplasso.solvers.gradient.plan import GradientPlan
from dplasso.solvers.table.plan import TablePlan

LOAD_EVERY = 1.0  # seconds between two looks at the load of shards


class OpenShards:
    """Rows that a crew holds, as the X of a fit.

    `described` has their public facts. It is a `RowShards` for the tasks of a plan.
    """

    def __init__(self, crew: Crew, log: RunLog) -> None:
        self._crew, self._log = crew, log
        if len(set(crew.ask("public_digest"))) > 1:
            raise differing()
        self._described: Rows = crew.ask_first("described")
        if "classes" in self._described.undeclared and self._described.schema is not None:
            raise ParameterError("{classes} must be declared for shards; no shard has all rows")
        self._found: dict[str, int] = {}
        self._loads, self._looked = "", 0.0
        self._accountant: Any = None

    @property
    def facts(self) -> Rows:
        """The public facts of the rows, as `read_rows` returns them; X are these rows."""
        return replace(self._described, X=self)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self._described.X.shape[1])

    @property
    def has_people(self) -> bool:
        """Whether the files say whose rows they are."""
        return self._described.groups is not None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, which may be private, and that of columns."""
        if "rows" not in self._found:
            self._found["rows"] = sum(self._crew.ask("row_count"))
        return self._found["rows"], self.n_features

    @property
    def n_people(self) -> int:
        """The number of people, which may be private."""
        if "people" not in self._found:
            self._found["people"] = self._crew.count_people()
        return self._found["people"]

    def prepared(
        self,
        plan: Plan,
        drawing: Drawing,
        rows_per_person: int,
        class_weights: Floats | None,
        accountant: Any,
    ) -> BoundedTask:
        """Prepare a fit, here and in every shard. Nothing is drawn."""
        if plan.bounds is None:
            raise ParameterError(
                "{x_bound} cannot be released for shards; declare one that is known without the "
                "data"
            )
        if self.has_people:
            _ = self.n_people  # every row then knows how many rows its person has
        self._accountant = accountant
        task = plan.over(self, replace(drawing, noise_of=self._log.noise_of(drawing.noise_of)))
        # A generator that has drawn is another one, which may end a fit that it has begun.
        seeded, weights = not drawing.bits.secure, (rows_per_person, class_weights)
        charged = accountant is not None
        facts = {"plan": plan, "weights": weights, "seeded": seeded, "charged": charged}
        self._log.begin(facts, self._digest)
        self._crew.begin("prepare", plan, rows_per_person, class_weights)
        task.arrange()
        return task

    def charged_once(self, charge: Callable[[str], Receipt | None]) -> Receipt | None:
        found = getattr(self._accountant, "receipt_of", None)
        return self._log.charged_once(charge, found)

    def close(self) -> None:
        """End all shards."""
        self._log.close()
        self._crew.close()

    def loads(self) -> list[Load]:
        """How busy the processes are, for people who may see the data."""
        return self._crew.loads()

    def load(self) -> str:
        """The same in a few words, looked up once in a while."""
        now = monotonic()
        if now - self._looked < LOAD_EVERY:
            return self._loads
        loads = self.loads()
        busiest = max((load.seconds for load in loads), default=0.0) or 1.0
        shares = " ".join(f"{load.seconds / busiest:.0%}" for load in loads)
        memory = max(load.memory for load in loads) / (1 << 30)
        self._loads, self._looked = f"work of shards {shares}; {memory:.1f} GiB", now
        return self._loads

    def _digest(self, key: bytes) -> bytes:
        found = {
            path: one for part in self._crew.ask("row_digests", key) for path, one in part.items()
        }
        return hashlib.sha256(repr(sorted(found.items())).encode()).digest()

    # What tasks ask for.

    def margin_sums(self, solved: Solved) -> SummedMargins:
        return SummedMargins(self._crew, self._log, solved)

    def descent(self, plan: GradientPlan) -> SummedRows:
        return SummedRows(self._crew, self._log, plan)

    def selections(self, columns: int, classes: int) -> Selections:
        return Selections(self._crew, self._log, columns, classes)

    def table(self, plan: TablePlan) -> SummedTable:
        return SummedTable(self._crew, self._log, plan)


@contextmanager
def opened(
    shards: Shards,
    backend: str | Cluster = IN_PROCESS,
    *,
    x_bound: float | None = 1.0,
    threads: int | None = None,
) -> Iterator[OpenShards]:
    """Open shards: every process reads its own files. All of them end with the ``with`` block.

    ``x_bound`` is that of column stores without bounds of their own.
    """
    check_backend(backend)
    with ExitStack() as stack:
        if backend == IN_PROCESS:
            parts = shards.divided(shards.count)
            crew: Crew = InProcess(parts, shards.options, x_bound, threads or pool.available())
            log = stack.enter_context(RunLog())
        else:
            from dplasso.cluster.connection import Connection
            from dplasso.cluster.ray_crew import RayCrew

            cluster = backend if isinstance(backend, Cluster) else Cluster()
            log = stack.enter_context(RunLog(cluster.checkpoint))
            connection = Connection(cluster, shards.count)
            stack.callback(connection.close)
            parts = shards.divided(connection.actors)
            own = threads or cluster.cpus_per_actor
            crew = RayCrew(connection, parts, shards.options, x_bound, own)
        stack.callback(crew.close)
        yield OpenShards(crew, log)

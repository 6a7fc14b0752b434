"""Where shards are held, and by how many processes."""

import os
from dataclasses import dataclass

from dplasso.base import checks

LOCAL = "local"
IN_PROCESS, RAY = "local", "ray"
BACKENDS = (IN_PROCESS, RAY)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster of Ray that holds the shards of a fit, as ``backend`` of an estimator.

    Parameters
    ----------
    address : str or None, default=None
        The address of a cluster that runs, as ``ray.init`` takes it ("auto", "10.0.0.1:6379"): the
        process that fits runs on one of its machines. "local" starts one on this machine, for this
        fit alone. None uses the cluster that this process is connected to, or the one that
        ``RAY_ADDRESS`` names; without either it starts one.
    actors : int or None, default=None
        Number of processes that hold shards, at most one per file. None is one per file, as far as
        the cluster has processors.
    cpus_per_actor : int, default=1
        Processors, and threads, of each of them.
    checkpoint : str, path or None, default=None
        Folder that stores every release before it is used. A fit that was stopped continues from
        it, and is not charged again. None stores nothing.
    trusted_network : bool, default=False
        Declares that nobody else can read or reach the network of a cluster without TLS.

    Examples
    --------
    >>> from dplasso import Cluster, PrivateLassoClassifier
    >>> cluster = Cluster(address="10.0.0.1:6379", actors=16, checkpoint="run")
    >>> model = PrivateLassoClassifier(classes=[0, 1], n_rows=1_000_000, backend=cluster)
    """

    address: str | None = None
    actors: int | None = None
    cpus_per_actor: int = 1
    checkpoint: str | os.PathLike[str] | None = None
    trusted_network: bool = False

    def __post_init__(self) -> None:
        if self.actors is not None:
            checks.count("actors", self.actors, least=1)
        checks.count("cpus_per_actor", self.cpus_per_actor, least=1)


def check_backend(backend: object) -> None:
    """Reject what is no backend."""
    if not isinstance(backend, Cluster):
        checks.choice("backend", backend, BACKENDS)

"""A connection to Ray: a cluster that runs, or one that is started here for one fit."""

import contextlib
import ipaddress
import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from dplasso.base import memory
from dplasso.base.extras import require
from dplasso.base.wording import ParameterError, Setting
from dplasso.cluster.cluster import LOCAL, Cluster

LOOPBACK = "127.0.0.1"
SHARED_MEMORY = "/dev/shm"
OBJECTS, LEAST_OBJECTS = 0.2, 100 << 20  # share of the free memory, and bytes, for objects
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # sends nothing to anybody
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # otherwise addresses of this machine are replaced
}
_SETTINGS = {
    "automatic_object_spilling_enabled": False,  # no object is written to disk
    "max_direct_call_object_size": 1 << 20,  # smaller ones need not go through shared memory
    "worker_niceness": 0,  # otherwise all other work of the machine comes before that of shards
}
_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"


class Connection:
    """Ray as a fit uses it. Closing it ends a cluster that was started here.

    Formal guarantees
    -----------------
    A cluster that is started here listens on the loopback address and writes no object to disk. It
    asks for a token that only its processes have, unless this process has imported Ray before
    without one: Ray reads that setting when it is imported. A cluster that runs already must be on
    loopback addresses, too, or encrypt its traffic by TLS; otherwise the caller has to declare that
    its network is trusted. Shards send exact sums: whoever reads them can undo the privacy of a
    fit.
    """

    def __init__(self, cluster: Cluster, most_actors: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.cpus_per_actor = cluster.cpus_per_actor
        self._undo = contextlib.ExitStack()
        try:
            self.ray = self._undo.enter_context(_connected(cluster, most_actors))
            self._check_network(cluster)
            self.actors = self._actors(cluster, most_actors)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the cluster, and end it if it was started here."""
        self._undo.close()

    def _check_network(self, cluster: Cluster) -> None:
        addresses = [node["NodeManagerAddress"] for node in self.ray.nodes() if node["Alive"]]
        encrypted = os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")
        if encrypted or cluster.trusted_network or all(map(_is_loopback, addresses)):
            return
        raise ParameterError(
            "shards send exact sums, and this cluster sends them without encryption; set "
            "RAY_USE_TLS=1 and its certificates, or pass {trusted} if nobody else can read or "
            "reach its network",
            trusted=Setting("trusted_network", True),
        )

    def _actors(self, cluster: Cluster, most: int) -> int:
        room = int(self.ray.cluster_resources().get("CPU", 0.0) // cluster.cpus_per_actor)
        if cluster.actors is None:
            return max(1, min(most, room))
        if cluster.actors > room:
            raise ParameterError(
                "{actors} asks for more processors than the cluster has: room for {room:,}, got "
                "{actors_given:,}; give fewer, or add machines",
                room=room,
                actors_given=cluster.actors,
            )
        return cluster.actors


@contextlib.contextmanager
def _connected(cluster: Cluster, most_actors: int) -> Iterator[Any]:
    """Ray, connected as the caller asks; what was connected before is left as it is."""
    connected = "ray" in sys.modules and sys.modules["ray"].is_initialized()
    address = cluster.address
    if address is None and "RAY_ADDRESS" not in os.environ and not connected:
        address = LOCAL
    if address == LOCAL:
        with _started(most_actors, cluster) as ray:
            yield ray
        return
    if connected:
        yield _ray()
        return
    with _environment(_ENVIRONMENT if _is_here(address) else {}):
        ray = _ray()  # which reads the environment when it is imported
    with _handlers_kept():
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError):
            shown = address or os.environ.get("RAY_ADDRESS")
            raise ParameterError(
                "no cluster of Ray answers at {shown}, or none that runs on this machine, too; "
                "start one, or correct {address}",
                shown=shown,
            ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _started(most_actors: int, cluster: Cluster) -> Iterator[Any]:
    """A cluster of this machine, for this process alone."""
    wanted = cluster.actors or min(most_actors, os.cpu_count() or 1)
    with _environment(_ENVIRONMENT | _token()):
        ray = _ray()
        if ray.is_initialized():
            raise ParameterError(
                "{address} starts a cluster, and this process is connected to one already; call "
                "ray.shutdown() first, or leave it out",
                address=Setting("address", LOCAL),
            )
        try:
            with _handlers_kept():
                ray.init(
                    address=LOCAL,
                    num_cpus=max(wanted * cluster.cpus_per_actor, os.cpu_count() or 1),
                    object_store_memory=_object_store(),
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                    _node_ip_address=LOOPBACK,
                    _system_config=_SETTINGS,
                )
            yield ray
        finally:
            ray.shutdown()


def _ray() -> Any:
    return require("ray", extra="cluster", purpose="a cluster")


_own_token: str | None = None


def _token() -> dict[str, str]:
    """What makes Ray ask for a token, if that can still be set and the caller has not done so.

    A process has one token: Ray reads it once.
    """
    global _own_token
    if _MODE in os.environ:
        return {}
    if _own_token is None:
        if "ray" in sys.modules:
            return {}
        _own_token = secrets.token_hex(32)
    return {_MODE: "token", _TOKEN: _own_token}


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM, which may be one that cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _object_store() -> int:
    """Bytes for objects in shared memory, which must have room: Ray would put them into files."""
    room = int(OBJECTS * (memory.available() or 0))
    with contextlib.suppress(OSError):
        found = os.statvfs(SHARED_MEMORY)
        room = min(room, int(0.8 * found.f_bavail * found.f_frsize))
    return max(room, LEAST_OBJECTS)


def _is_here(address: str | None) -> bool:
    """Whether an address, host:port, is one of this machine alone."""
    given = address or os.environ.get("RAY_ADDRESS", "")
    return _is_loopback(given.rpartition(":")[0])


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

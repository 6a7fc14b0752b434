"""A cluster of two nodes on the loopback address, in a process of its own.

    python two_nodes.py

It prints the cluster's address. A line "lose" on standard input ends the second node as a lost
machine would. Everything ends when standard input ends.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

CPUS = 4  # what Ray may give to actors, whatever the machine has
# Ray reads them when it is imported, also in the process that connects to the cluster.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
os.environ.update(SETTINGS)
# A lost node, which answers no longer, is noticed after 5 seconds instead of 15. A busy one has as
# much time to answer as it usually has.
# Actors have the priority of other processes: Ray would let all other work of the machine go first.
IMPATIENT = {"RAY_health_check_period_ms": "1000", "RAY_worker_niceness": "0"}


class TwoNodes:
    """The process, as a test uses it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | IMPATIENT,
        )
        self.address = self._answer()

    def lose(self) -> None:
        """Lose the second node."""
        self._ask("lose")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def _ask(self, command: str) -> None:
        print(command, file=self._process.stdin, flush=True)
        assert self._answer() == command

    def _answer(self) -> str:
        for line in self._process.stdout:
            if line.startswith("> "):
                return line[2:].strip()
        raise RuntimeError("the cluster has ended")


def main() -> None:
    from ray.cluster_utils import Cluster

    node = {"num_cpus": CPUS, "object_store_memory": 200 << 20}
    head = {**node, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        second = cluster.add_node(**node)
        print(">", cluster.address, flush=True)
        for line in sys.stdin:
            cluster.remove_node(second, allow_graceful=False)
            print(">", line.strip(), flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()

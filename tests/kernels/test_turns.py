"""Threads that take runs in turns take every run once."""

import numpy as np
from numba import njit

from dplasso.base import threads
from dplasso.kernels.turns import next_run


@njit(nogil=True)
def count_items(weight, edges, taken, out):
    """Add ``weight`` to every item of the runs that this loop takes, and count the runs."""
    runs, run = 0, next_run(taken)
    while run < len(edges) - 1:
        for k in range(edges[run], edges[run + 1]):
            out[k] += weight
        runs, run = runs + 1, next_run(taken)
    out[-1] += runs


def test_every_item_is_taken_once_however_many_threads_there_are():
    """Not a single run of a million is lost or taken twice, with loops of few instructions."""
    runs = 1_000_000
    edges = np.arange(runs + 1)
    outs = [np.zeros(runs + 1, np.int64) for _ in range(8)]
    threads.run_in_turns(count_items, (1,), edges, outs)
    total = sum(outs)
    assert (total == [1] * runs + [runs]).all()


def test_runs_of_turns_cover_all_items():
    for count in (0, 1, 5, 1_000):
        starts = np.arange(count + 1) * 3
        edges = threads.edges_of_turns(starts, 4, each=2)
        assert (
            edges[0] == 0
            and edges[-1] == count
            and (np.diff(edges) > 0).sum() == len(edges) - 1 - (count == 0)
        )
        assert threads.edges_of_turns(starts, 1).tolist() == [0, count]

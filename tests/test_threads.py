"""Work is split without loss and comes back in order."""

import os
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.base import threads


def assert_covers(runs, length, parts):
    """The runs follow each other from 0 to the end, none of them empty, no more than allowed."""
    assert [a for a, _ in runs] == [0, *(b for _, b in runs[:-1])]
    assert runs[-1][1] == length
    assert len(runs) <= parts
    assert all(a < b for a, b in runs) or runs == [(0, 0)]


@settings(deadline=None)
@given(st.integers(0, 1000) | st.integers(0, 2**40), st.integers(1, 70))
def test_even_runs_cover_everything_evenly(length, parts):
    runs = threads.even_runs(length, parts)
    assert_covers(runs, length, parts)
    sizes = [b - a for a, b in runs]
    assert max(sizes) - min(sizes) <= 1
    assert len(runs) == max(1, min(length, parts))


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 5) | st.integers(0, 10**6), min_size=1, max_size=60),
    st.integers(1, 20),
    st.sampled_from([np.int32, np.int64]),
    st.sampled_from([0, 3]),
)
def test_balanced_runs_cover_everything_with_little_more_than_their_share(work, parts, kind, each):
    starts = np.concatenate(([0], np.cumsum(work))).astype(kind)
    runs = threads.balanced_runs(starts, parts, each)
    assert_covers(runs, len(work), parts)
    work = [number + each for number in work]
    fair = sum(work) / parts
    for a, b in runs:
        # A run ends with the item that reaches its goal.
        assert sum(work[a:b]) <= fair + max(work[a:b]) + 1


def test_balanced_runs_of_equal_items_are_equal():
    runs = threads.balanced_runs(np.arange(0, 1001, 10), 4)
    assert runs == [(0, 25), (25, 50), (50, 75), (75, 100)]


def test_starts_too_large_for_short_integers():
    starts = np.array([0, 2**31 - 2, 2**31 - 1], np.int32)
    assert threads.balanced_runs(starts, 3)[-1][1] == 2


@pytest.mark.parametrize("count", [1, 2, 17])
def test_results_come_in_the_order_of_the_calls(count):
    def slow_if_early(number, offset):
        time.sleep(0.02 if number < 2 else 0.0)
        return number + offset

    calls = [(number, 100) for number in range(count)]
    assert threads.run(slow_if_early, calls) == list(range(100, 100 + count))


def test_calls_run_side_by_side():
    """Each waits for the other: one after the other would never end."""
    meeting = threading.Barrier(2, timeout=20)
    assert sorted(threads.run(lambda _: meeting.wait(), [(0,), (1,)])) == [0, 1]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("culprit", [0, -1])
def test_errors_come_through(count, culprit):
    def fail(number):
        if number == range(count)[culprit]:
            raise KeyError("the culprit")
        return number

    with pytest.raises(KeyError, match="the culprit"):
        threads.run(fail, [(number,) for number in range(count)])
    assert threads.run(abs, [(-1,), (-2,)]) == [1, 2]


def test_a_loop_does_not_wait_for_threads_that_are_busy():
    everyone, let_go = threads.available() + 4, threading.Event()
    calls = [(number,) for number in range(everyone)]
    others = threading.Thread(target=lambda: threads.run(lambda _: let_go.wait(20), calls))
    others.start()
    started = time.monotonic()
    try:
        assert threads.run(abs, [(-number,) for number in range(5)]) == list(range(5))
        assert time.monotonic() - started < 10
    finally:
        let_go.set()
        others.join()


def test_all_calls_have_ended_when_an_interrupt_comes_through():
    ended = []

    def call(number):
        if number == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        threads.run(call, [(number,) for number in range(4)])
    assert sorted(ended) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not fork here")
def test_a_forked_child_has_threads_of_its_own():
    assert threads.run(abs, [(-1,), (-2,)]) == [1, 2]  # the parent's pool is at work
    with warnings.catch_warnings():
        # Python 3.12 and later warn of forks beside threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if threads.run(abs, [(-3,), (-4,)]) == [3, 4] else 1)
        finally:
            os._exit(2)
    for _ in range(500):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            break
        time.sleep(0.02)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that only its parent has")
    assert threads.run(abs, [(-5,), (-6,)]) == [5, 6]


def test_available_is_what_this_process_may_use():
    assert 1 <= threads.available() <= (os.cpu_count() or 1)

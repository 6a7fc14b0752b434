"""Fuzz scripts find crashes, hangs, memory bombs and unclear errors, and say how to repeat one."""

import faulthandler
import os
import signal
import sys
import time

import pytest
from harness.fuzzing import Door, Tried
from harness.fuzzing.command import RESULT, main
from harness.fuzzing.door import MIB
from harness.fuzzing.worker import attempts


def tally_of(attempt, **options):
    door = Door("planted", lambda folder: folder, attempt, **options)
    return attempts(door, 0, time.monotonic() + 20.0, most=8, stop_after=20)


def fails_at(five, harm):
    def attempt(_, seed):
        if seed == five:
            harm()
        return Tried(100)

    return attempt


def hang():
    time.sleep(60)


def crash():
    faulthandler.disable()  # pytest's would print the stack of every thread
    os.kill(os.getpid(), signal.SIGSEGV)


def take_memory():
    return bytearray(200 * MIB)


def fall():
    raise KeyError("an error that is not meant for people")


@pytest.mark.parametrize(
    ("harm", "told"),
    [(hang, "longer than 3 s"), (crash, "SIGSEGV"), (take_memory, "MiB"), (fall, "KeyError")],
)
def test_one_bad_attempt_is_found_by_its_seed_and_the_others_still_run(harm, told):
    tally = tally_of(fails_at(5, harm), seconds=3.0, flat=100 * MIB, multiple=0)
    assert [seed for seed, _ in tally.findings] == [5]
    assert told in tally.findings[0][1]
    assert tally.cases == 8


def test_sound_attempts_leave_no_finding():
    tally = tally_of(lambda held, seed: Tried(1, cases=10))
    assert (tally.findings, tally.cases) == ([], 80)


def test_a_door_that_cannot_be_prepared_is_a_finding():
    door = Door("planted", lambda folder: 1 / 0, lambda held, seed: Tried(1))
    tally = attempts(door, 0, time.monotonic() + 20.0, most=8, stop_after=20)
    assert "ZeroDivisionError" in tally.findings[0][1]


def test_the_exit_code_and_the_lines_tell_of_findings(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fuzz_planted.py"])
    door = Door("planted", lambda folder: folder, fails_at(5, fall))
    assert main("About.", [door], ["--cases", "8", "--minutes", "1"]) == 1
    told = capsys.readouterr().out
    assert "FOUND planted: KeyError" in told and RESULT in told
    assert "fuzz_planted.py --door 'planted' --case 5" in told
    assert main("About.", [door], ["--cases", "5", "--minutes", "1"]) == 0

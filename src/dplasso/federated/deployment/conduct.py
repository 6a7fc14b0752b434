"""The course of a job: ask, wait and receive until the coordinator has no more requests."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from dplasso.federated.deployment.replies import Mark, Reply
from dplasso.federated.deployment.transcript import Transcript
from dplasso.federated.roles import Coordinates

_LEAVE = 3.0  # seconds of patience with a party that is told of an early end
_PAUSE = 0.25  # seconds before a party that could not be reached is asked again

# To a party, a request with its number in the job. None: unreachable, or no reply in time.
Send = Callable[[str, int, bytes], Reply | None]


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """An administrator has stopped the job."""


@dataclass
class JobProgress:
    """How far a job is. All of it is public."""

    exchanges: int = 0  # rounds, and what opens and ends a job
    rounds_done: int = 0
    rounds: int | None = None  # of how many; None before the terms are agreed
    away: set[str] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)


@dataclass
class Conductor:
    """Takes a coordinator through its job.

    The same bytes are sent again until the request is answered or refused, or the party has been
    away for ``patience`` seconds. That number is public, and the data never decide who is lost.
    """

    coordinator: Coordinates
    send: Send
    transcript: Transcript
    patience: float
    stop: threading.Event
    progress: JobProgress = field(default_factory=JobProgress)
    _number: int = 0  # of the exchange: a restarted server comes to the same numbers

    def run(self) -> None:
        """Run the job to its end. The coordinator hears of losses before it gets the answers."""
        with ThreadPoolExecutor(len(self.coordinator.parties)) as threads:
            while requests := self.coordinator.requests():
                self._number += 1
                replies = self.transcript.replies_to(requests)
                if replies is None:
                    replies = self._exchange(requests, threads)
                    self.transcript.add(requests, replies)
                self._hand_over(replies)
                self.progress.exchanges += 1

    def take_leave(self, why: str) -> None:
        """End the job early, and tell the parties that can be reached so."""
        self.coordinator.end(why)
        self.stop, self.patience = threading.Event(), min(self.patience, _LEAVE)
        with ThreadPoolExecutor(len(self.coordinator.parties)) as threads:
            while requests := self.coordinator.requests():
                self._number += 1
                self._hand_over(self._exchange(requests, threads))

    def _exchange(
        self, requests: Mapping[str, bytes], threads: ThreadPoolExecutor
    ) -> dict[str, Reply]:
        settled = threads.map(self._settle, requests.keys(), requests.values())
        replies = dict(zip(requests, settled, strict=True))
        if self.stop.is_set():
            raise Stopped
        return replies

    def _hand_over(self, replies: Mapping[str, Reply]) -> None:
        for party, reply in replies.items():
            if reply.mark is not Mark.ANSWERED:
                why = reply.body.decode(errors="replace")
                self.progress.lost[party] = why
                self.coordinator.lose(party, why)
        answers = {p: reply.body for p, reply in replies.items() if reply.mark is Mark.ANSWERED}
        self.coordinator.receive(answers)
        self.progress.rounds_done, self.progress.rounds = self.coordinator.rounds

    def _settle(self, party: str, request: bytes) -> Reply:
        """Ask until there is an answer or a refusal, or the patience ends."""
        seen = time.monotonic()
        while not self.stop.is_set():
            reply = self.send(party, self._number, request)
            if reply is not None and reply.mark in (Mark.ANSWERED, Mark.REFUSED):
                self.progress.away.discard(party)
                return reply
            if reply is not None and reply.mark is Mark.BUSY:
                seen = time.monotonic()
            elif time.monotonic() - seen > self.patience:
                break
            else:
                self.progress.away.add(party)
            self.stop.wait(_PAUSE)
        self.progress.away.discard(party)
        return Reply(Mark.FAILED, f"did not answer for {self.patience:g} seconds".encode())

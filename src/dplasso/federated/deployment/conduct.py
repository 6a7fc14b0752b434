"""The course of a job: ask, wait, receive, until there is nothing more to ask."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from dplasso.federated.deployment.transcript import Transcript
from dplasso.federated.deployment.wire import Mark, Reply
from dplasso.federated.roles import Coordinates

_PAUSE = 0.25  # seconds until a party that could not be reached is asked again

Ask = Callable[[str, bytes], Reply | None]  # None: no reply in time, or no way there


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """An administrator has stopped the job."""


@dataclass
class Progress:
    """How far a job is: all of it public."""

    exchanges: int = 0
    away: set[str] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)


class Conductor:
    """Takes a coordinator through its job.

    A request is asked again, to the byte, until it is answered, refused, or the party has been away
    for `patience` seconds. That is a public number, and nothing of the data decides who is lost.
    """

    def __init__(
        self,
        coordinator: Coordinates,
        ask: Ask,
        transcript: Transcript,
        patience: float,
        stop: threading.Event,
    ) -> None:
        self._coordinator = coordinator
        self._ask = ask
        self._transcript = transcript
        self._patience = patience
        self._stop = stop
        self.progress = Progress()

    def run(self) -> None:
        """Go on until the coordinator has no more requests; losses are told before answers."""
        with ThreadPoolExecutor(len(self._coordinator.parties)) as threads:
            while requests := self._coordinator.requests():
                replies = self._transcript.again(requests)
                if replies is None:
                    replies = self._exchange(requests, threads)
                    self._transcript.add(requests, replies)
                self._tell(replies)
                self.progress.exchanges += 1

    def _exchange(
        self, requests: Mapping[str, bytes], threads: ThreadPoolExecutor
    ) -> dict[str, Reply]:
        settled = threads.map(self._settle, requests.keys(), requests.values())
        replies = dict(zip(requests, settled, strict=True))
        if self._stop.is_set():
            raise Stopped
        return replies

    def _tell(self, replies: Mapping[str, Reply]) -> None:
        for party, reply in replies.items():
            if reply.mark is not Mark.ANSWERED:
                why = reply.body.decode(errors="replace")
                self.progress.lost[party] = why
                self._coordinator.lose(party, why)
        answers = {p: reply.body for p, reply in replies.items() if reply.mark is Mark.ANSWERED}
        self._coordinator.receive(answers)

    def _settle(self, party: str, request: bytes) -> Reply:
        """Ask until there is an answer, a refusal, or no more patience."""
        seen = time.monotonic()
        while not self._stop.is_set():
            reply = self._ask(party, request)
            if reply is not None and reply.mark in (Mark.ANSWERED, Mark.REFUSED):
                self.progress.away.discard(party)
                return reply
            if reply is not None and reply.mark is Mark.BUSY:
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                break
            else:
                self.progress.away.add(party)
            self._stop.wait(_PAUSE)
        self.progress.away.discard(party)
        return Reply(Mark.FAILED, f"did not answer for {self._patience:g} seconds".encode())

"""The course of a job, with a transport that fails as it likes."""

import threading
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("nvflare")

from dplasso.federated import Refused  # noqa: E402
from dplasso.federated.deployment import conduct  # noqa: E402
from dplasso.federated.deployment.conduct import Conductor, Stopped  # noqa: E402
from dplasso.federated.deployment.coordination import Coordination  # noqa: E402
from dplasso.federated.deployment.replies import Mark, Reply  # noqa: E402
from dplasso.federated.deployment.transcript import Transcript  # noqa: E402
from dplasso.federated.terms import Proposal  # noqa: E402
from drawing_parties import Coordinator, Party  # noqa: E402

TERMS = Proposal(
    parties=("a", "b"), label_holder="a", n_rows=100, epsilon=0.5, delta=1e-6, radius=1.0,
    rounds=6, tau=1, sketch_size=10,
)  # fmt: skip
FATES = ("answered", "lost on the way", "lost on the way back", "busy", "killed")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(conduct, "_PAUSE", 0.0)


class Line:
    """A way to real parties on which messages get lost and parties are killed, as told."""

    def __init__(self, folder, fates, job="job"):
        self._folder, self._fates, self._job = folder, iter(fates), job
        self._parties, self._turn = {}, threading.Lock()

    def party(self, name):
        if name not in self._parties:
            holdings = SimpleNamespace(state=self._folder / name, max_epsilon=1.0)
            self._parties[name] = Party(holdings, self._job)
        return self._parties[name]

    def __call__(self, name, number, request):
        with self._turn:
            fate = next(self._fates, "answered")
            if fate == "lost on the way":
                return None
            if fate == "busy":
                return Reply(Mark.BUSY, b"")
            try:
                answer = self.party(name).answer(request)
            except Refused as refusal:
                return Reply(Mark.REFUSED, str(refusal).encode())
            if fate == "killed":
                del self._parties[name]
            return None if fate != "answered" else Reply(Mark.ANSWERED, answer)


def run(line, folder, patience=60.0, stop=None, terms=TERMS, coordinator=None):
    coordinator = coordinator or Coordinator(terms)
    with Transcript(folder / "transcript") as transcript:
        conductor = Conductor(coordinator, line, transcript, patience, stop or threading.Event())
        conductor.run()
    return coordinator, conductor.progress


def drawn(line):
    return {name: line.party(name)._drawn for name in ("a", "b")}


@settings(max_examples=40, deadline=None)
@given(fates=st.lists(st.sampled_from(FATES), max_size=60))
def test_whatever_gets_lost_every_number_is_drawn_once_and_told_once(tmp_path_factory, fates):
    folder = tmp_path_factory.mktemp("line")
    line = Line(folder, fates)
    coordinator, progress = run(line, folder)
    assert coordinator._told == drawn(line)
    assert {len(numbers) for numbers in coordinator._told.values()} == {TERMS.rounds}
    assert (progress.exchanges, progress.lost, progress.away) == (TERMS.rounds, {}, set())


@settings(max_examples=20, deadline=None)
@given(after=st.integers(0, TERMS.rounds - 1))
def test_a_coordinator_that_is_killed_goes_on_where_it_was(tmp_path_factory, after):
    folder = tmp_path_factory.mktemp("line")
    line, asked = Line(folder, ()), []

    class Killed(Exception):  # noqa: N818 (it is what happens)
        pass

    class Mortal(Coordinator):
        def receive(self, answers):
            super().receive(answers)
            if len(self._sent) > after:
                raise Killed

    with pytest.raises(Killed):
        run(line, folder, coordinator=Mortal(TERMS))

    def listening(name, number, request):
        asked.append(number)
        return line(name, number, request)

    coordinator, progress = run(listening, folder)
    assert coordinator._told == drawn(line)
    assert progress.exchanges == TERMS.rounds
    assert len(asked) == 2 * (TERMS.rounds - after - 1)  # nobody is asked again
    assert set(asked) == set(range(after + 2, TERMS.rounds + 1))  # as if nothing had happened


def test_a_transcript_of_other_requests_is_not_taken_for_ours(tmp_path):
    with Transcript(tmp_path / "transcript") as transcript:
        transcript.add({"a": b"one"}, {"a": Reply(Mark.ANSWERED, b"1")})
    with (
        Transcript(tmp_path / "transcript") as transcript,
        pytest.raises(ValueError, match="differ from those before"),
    ):
        transcript.replies_to({"a": b"two"})


def test_a_party_that_stays_away_is_lost_with_the_patience_that_it_had(tmp_path):
    line = Line(tmp_path, ())
    coordinator, progress = run(
        lambda name, *asked: None if name == "b" else line(name, *asked), tmp_path, patience=0.05
    )
    assert coordinator._lost == progress.lost == {"b": "did not answer for 0.05 seconds"}
    assert len(coordinator._told["a"]) == 1


def test_a_party_at_work_is_waited_for_without_end(tmp_path):
    line = Line(tmp_path, ["busy"] * 500)
    coordinator, _ = run(line, tmp_path, patience=0.0)
    assert coordinator._lost == {}


def test_a_refusal_is_told_as_the_party_said_it(tmp_path):
    beyond = replace(TERMS, epsilon=2.0)
    coordinator, progress = run(Line(tmp_path, ()), tmp_path, terms=beyond)
    assert set(coordinator._lost.values()) == {
        "epsilon is beyond what this party will ever release"
    }
    assert progress.exchanges == 1


def test_a_job_stops_when_told_and_keeps_what_it_has(tmp_path):
    stop, line = threading.Event(), Line(tmp_path, ())
    coordinator = Coordinator(TERMS)

    def ask(name, number, request):
        if len(coordinator._sent) == 4:
            stop.set()
        return line(name, number, request)

    with pytest.raises(Stopped):
        run(ask, tmp_path, stop=stop, coordinator=coordinator)
    assert len(coordinator._told["a"]) == 3


def test_an_early_end_is_told_under_a_new_number_to_whoever_can_be_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(conduct, "_LEAVE", 0.05)
    numbers, ends = [], []

    class Ending(Coordinator):
        def requests(self):
            return dict.fromkeys(self.parties, b"the end") if self._over else super().requests()

        def receive(self, answers):
            if not self._over:
                return super().receive(answers)
            ends.append(set(answers))
            self.parties = ()
            return None

    def ask(name, number, request):
        numbers.append(number)
        if request != b"the end":
            stop.set()
            return None
        return None if name == "b" else Reply(Mark.ANSWERED, b"")

    stop, coordinator = threading.Event(), Ending(TERMS)
    with Transcript(tmp_path / "transcript") as transcript:
        conductor = Conductor(coordinator, ask, transcript, 60.0, stop)
        with pytest.raises(Stopped):
            conductor.run()
        conductor.take_leave("stopped by an administrator")
    assert coordinator.ended == "stopped by an administrator"
    assert ends == [{"a"}] and set(numbers) == {1, 2}


def test_how_a_job_ended_is_told_in_words(tmp_path):
    class Confused(Coordinator):
        def receive(self, answers):
            raise ValueError("the answers contradict each other")

    def ended(job, coordinated, ask):
        coordination = Coordination(asdict(TERMS))
        coordinator = coordinated(replace(TERMS, job=job))
        return coordination._conduct(coordinator, ask, tmp_path / job, patience=0.05)

    class Content(Coordinator):
        def receive(self, answers):
            super().receive(answers)
            self.end("too few rows are common")

    assert ended("one", Coordinator, Line(tmp_path, (), "one")) == "complete"
    assert ended("four", Content, Line(tmp_path, (), "four")) == "too few rows are common"
    assert ended("two", Confused, Line(tmp_path, (), "two")) == (
        "failed: the answers contradict each other"
    )
    assert ended("three", Coordinator, lambda *asked: None) == (
        "not all parties stayed to the end: party a did not answer for 0.05 seconds; "
        "party b did not answer for 0.05 seconds"
    )


@given(message=st.one_of(st.none(), st.integers(), st.text(), st.binary()))
def test_whatever_comes_back_is_read_as_a_reply_or_a_failure(message):
    reply = Reply.read(message)
    if isinstance(message, bytes) and message[:1] in {mark.value for mark in Mark}:
        assert reply.written == message
    else:
        assert reply == Reply(Mark.FAILED, b"")

"""A malicious party on the real transport: it can send to the others, and command none of them."""

import json

import pytest

pytest.importorskip("nvflare")

from federation import Federation, set_in  # noqa: E402

pytestmark = pytest.mark.xdist_group("attacked federation")  # one federation for all of them


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    made = Federation(tmp_path_factory.mktemp("attacked"))
    set_in(made.folder / "insurer" / "party.toml", answers="commanding_party:open_party")
    try:
        made.start_all()
        yield made
    finally:
        made.close()


def test_a_party_cannot_command_another(attacked):
    (job,) = attacked.submit({"rounds": 6})
    outcome, card = attacked.outcome(job)
    replies = json.loads((attacked.folder / "insurer" / "state" / job / "replies").read_text())
    assert len(replies) == 4
    assert all(mark == "REFUSED" for mark, _ in replies.values()), replies
    assert outcome["ended"] == "complete"
    assert attacked.drawn("clinic", job) == card["told"]["clinic"]

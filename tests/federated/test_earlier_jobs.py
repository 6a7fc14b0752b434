"""A job that the previous version left half done on all disks: it is read, and not continued."""

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from dplasso.federated import Refused, Terms
from dplasso.federated.deployment.settings import read_party_settings
from dplasso.federated.service import open_coordinator
from dplasso.federated.terms import Proposal

KEPT = Path(__file__).parent / "earlier_job"
PARTIES = ("clinic", "shop")
# Digests that the previous version computed: messages and logs on disk carry them.
PROPOSAL = "7b1e14c79c0981746e9a087529bff3f747fda37665d0a8bfc91e0a190ecc263b"
TERMS = "e53ec33625cbe5ffb7776f717603c40df16b6a1e30c22e0d032cd9bc897771ba"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(KEPT, tmp_path / "job")
    return tmp_path / "job"


def job_file(folder):
    """The arguments of the server's one workflow."""
    content = json.loads((folder / "config_fed_server.json").read_text())
    return content["workflows"][0]["args"]


def proposal(folder):
    given = job_file(folder)
    with pytest.warns(FutureWarning) as told:
        read = Proposal.read_file("job", {**given["terms"], "parties": given["parties"]})
    assert [str(one.message).split(";")[0] for one in told] == [
        "job: rows is now called n_rows",
        "job: labels is now called label_holder",
        "job: label_bound is now called y_bound",
    ]
    return read


def parties(folder):
    opened = {}
    for name in PARTIES:
        with pytest.warns(FutureWarning) as told:
            settings, opens = read_party_settings(folder / name, name)
        assert [str(one.message).split("party.toml: ")[1].split(";")[0] for one in told] == [
            "label_bound is now called y_bound",
            "row_budget is now called max_row_budget",
        ]
        opened[name] = opens(settings, "job")
    return opened


def test_terms_and_proposals_have_the_texts_they_had(folder):
    assert proposal(folder).digest.hex() == PROPOSAL
    for name in PARTIES:
        text = (folder / name / "state" / "job" / "job.terms").read_text()
        terms = Terms.from_json(text)
        assert (terms.to_json(), terms.digest.hex()) == (text, TERMS)
        assert terms.protocol == "sketches"


def test_a_party_does_not_continue_the_job_and_says_so(folder):
    """Its terms were not confirmed by the other party; the next job has to be."""
    before = (folder / "shop" / "state" / "job" / "job.notebook").read_bytes()
    with pytest.raises(Refused, match="begun by another version of dplasso; submit it again"):
        parties(folder)
    assert (folder / "shop" / "state" / "job" / "job.notebook").read_bytes() == before


def test_a_server_does_not_continue_the_job_and_says_so(folder):
    pytest.importorskip("nvflare")
    from dplasso.federated.deployment.transcript import Transcript

    coordinator = open_coordinator(proposal(folder), folder)
    with (
        Transcript(folder / "transcript") as transcript,
        pytest.raises(ValueError, match="the version of dplasso that began it"),
    ):
        transcript.replies_to(coordinator.requests())


def test_a_server_reads_the_job_file(folder):
    pytest.importorskip("nvflare")
    from dplasso.federated.deployment.administration import _write_job
    from dplasso.federated.deployment.coordination import Coordination

    with pytest.warns(FutureWarning):
        earlier = Coordination(**job_file(folder))._proposal
    written = _write_job(folder, earlier) / "federation" / "config" / "config_fed_server.json"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        now = Coordination(**json.loads(written.read_text())["workflows"][0]["args"])._proposal
    assert now == earlier == proposal(folder)


def test_a_file_may_not_give_a_term_under_both_names(folder):
    path = folder / "shop" / "party.toml"
    path.write_text("y_bound = 1.0\n" + path.read_text())
    with pytest.raises(ValueError, match=r"party.toml: label_bound is the old name of y_bound"):
        read_party_settings(folder / "shop", "shop")


def test_old_names_are_not_read_from_messages(folder):
    content = json.loads(proposal(folder).to_json())
    content["rows"] = content.pop("n_rows")
    with pytest.raises(Refused, match="rows is not known"):
        Proposal.from_json(json.dumps(content))


def test_an_added_term_is_in_the_text_where_it_is_not_the_default(folder):
    plain = proposal(folder)
    assert "step" not in json.loads(plain.to_json())
    changed = replace(plain, step="universal")
    assert json.loads(changed.to_json())["step"] == "universal"
    assert changed.digest != plain.digest and Proposal.from_json(changed.to_json()) == changed


def test_terms_of_a_protocol_that_is_not_known_are_refused(folder):
    text = (folder / "shop" / "state" / "job" / "job.terms").read_text()
    with pytest.raises(Refused, match="protocol must be one of"):
        Terms.from_json(json.dumps({**json.loads(text), "protocol": "another"}))

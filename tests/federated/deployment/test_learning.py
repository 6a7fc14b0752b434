"""A job from the command to predictions: tables, three parties, a server, certificates."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("nvflare")

from scipy.stats import chi2_contingency, chisquare  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from dplasso.cli.app import app  # noqa: E402
from dplasso.federated import PartyModel  # noqa: E402
from dplasso.federated.deployment.replies import Mark  # noqa: E402
from dplasso.federated.deployment.settings import read_party_settings  # noqa: E402
from dplasso.federated.messages import Gave, PartyRelease  # noqa: E402
from dplasso.federated.moments import MomentTerms  # noqa: E402
from dplasso.federated.moments.pseudonym_lists import order_of  # noqa: E402
from dplasso.federated.moments.pseudonyms import pseudonyms_of  # noqa: E402
from dplasso.federated.rows import read_party  # noqa: E402
from dplasso.ledger import Budget  # noqa: E402
from dplasso.privacy import zcdp  # noqa: E402
from federation import PARTIES, Federation, set_in, until  # noqa: E402
from recording_parties import NOISE, draws, expected_model, share_noise  # noqa: E402
from watched_parties import frames  # noqa: E402

pytestmark = pytest.mark.xdist_group("learning federation")  # one federation for all of them

ROWS, NEW = 4000, 50


def tables(seed, rows, labels):
    """Two columns of each party; one of them tells at two of the parties. One knows fewer rows."""
    rng = np.random.default_rng(seed)
    found, score = {}, np.zeros(rows)
    for k, name in enumerate(PARTIES):
        told, noise = rng.integers(0, 2, rows), rng.integers(0, 100, rows)
        score += (1.0, 1.0, 0.0)[k] * (told - 0.5)
        found[name] = [["id", "told", "age", "name"]]
        known = rows if name != "registry" else rows * 3 // 4
        found[name] += [[f"p{i}", told[i], noise[i], f"n{i}"] for i in range(known)]
    sick = np.where(score > 0, "yes", "no")
    if labels:
        head, *rest = found["clinic"]
        found["clinic"] = [[*head, "sick"], *([*row, sick[i]] for i, row in enumerate(rest))]
    return found, sick


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def learning(tmp_path_factory):
    made = Federation(tmp_path_factory.mktemp("learning"))
    data, _ = tables(0, ROWS, labels=True)
    for name in PARTIES:
        write(made.folder / name / "rows.csv", data[name])
        settings = made.folder / name / "party.toml"
        text = settings.read_text().replace('x = "0:1"\n', "")
        if name == "clinic":
            text = 'label_column = "sick"\nclasses = ["no", "yes"]\n' + text
        settings.write_text(text + 'told = "0:1"\nage = "0:100 missing"\n')
        limits = {"max_epsilon": 8.0, "max_row_budget": 100.0}
        watched = "watched" if name == "registry" else "recording"
        set_in(settings, answers=f"{watched}_parties:open_party", **limits)
    coordinates = "recording_parties:open_coordinator"
    set_in(made.folder / "server" / "server.toml", coordinates=coordinates)
    try:
        made.start_all()
        yield made
    finally:
        made.close()


def submitted(learning, *options):
    admin = learning.folder / "admin"
    common = ("--delta", 1e-7, "--n-rows", ROWS, "--label-holder", "clinic")
    return learning.command("submit", admin, *common, *options).strip()


def rho_spent(learning, name):
    ledger = learning.folder / name / "ledger.db"
    return Budget.open(ledger).spent_rho if ledger.exists() else 0.0


def test_three_parties_learn_what_none_of_them_knows(learning, tmp_path):
    sketches = ("--protocol", "sketches")
    job = submitted(learning, "--epsilon", 6, "--min-overlap", 0.05, *sketches)
    outcome, card = learning.outcome(job)
    assert outcome["ended"] == card["ended"] == "complete"
    assert card["privacy"]["epsilon"] == 6.0
    assert min(card["overlap"]["shares"].values()) > 0.05 and card["overlap"]["spread"] < 0.4
    assert sum(map(abs, card["weights"])) <= card["terms"]["radius"]
    for name in PARTIES:
        kit = learning.folder / name
        assert rho_spent(learning, name) == pytest.approx(card["privacy"]["rho"])
        outcome = json.loads((kit / "state" / job / "outcome.json").read_text())
        assert (outcome["ended"], outcome["has_coefficients"]) == ("complete", True)
        told = read(kit / "state" / job / "coefficients.csv")
        assert told[0] == ["feature", "coefficient"]
        model = PartyModel.load(kit / "state" / job / "model.json")
        held = {"told": 0, "age": 1, "age is missing": 2}
        for feature, coefficient in told[1 : 1 + len(model.features)]:
            scaled = model.coefficients[model.features.index(held[feature])]
            assert float(coefficient) == pytest.approx(scaled / (100 if feature == "age" else 1))
        assert {row[0] for row in told[1:]} <= {*held, "intercept"}
    new, sick = tables(1, NEW, labels=False)
    for name in PARTIES:
        write(tmp_path / f"{name}.csv", new[name])
        out = tmp_path / f"{name}.margins.csv"
        data = tmp_path / f"{name}.csv"
        learning.command("margins", learning.folder / name, job, data, "-o", out)
    files = [tmp_path / f"{name}.margins.csv" for name in PARTIES]
    learning.command("combine", *files, "-o", tmp_path / "all.csv")
    rows = read(tmp_path / "all.csv")[1:]
    assert [row[0] for row in rows] == [f"p{i}" for i in range(NEW)]
    right = [(float(row[1]) > 0) == (truth == "yes") for row, truth in zip(rows, sick, strict=True)]
    assert np.mean(right) > 0.6  # 0.5 by chance; noise may take 0.75 to 0.68


def in_process(*words):
    """Run a command that needs no server, without the time that a process takes to start."""
    done = CliRunner().invoke(app, ["federated", *map(str, words)])
    assert done.exit_code == 0, done.output


def test_moments_are_the_default_and_open_the_exact_matrix_plus_noise(learning, tmp_path):
    before = {name: rho_spent(learning, name) for name in PARTIES}
    job = submitted(learning, "--epsilon", 2)
    outcome, card = learning.outcome(job)
    assert outcome["ended"] == card["ended"] == "complete" and card["protocol"] == "moments"
    terms = MomentTerms.from_json(json.dumps(card["terms"]))
    rows, noise, folders = {}, {}, {}
    for name in PARTIES:
        settings, _ = read_party_settings(learning.folder / name, name)
        folders[name] = settings.state / job
        rows[name] = read_party(settings.data, settings.table, settings.id_column)
        noise[name] = share_noise(settings.state / job, terms, name)
        charged = rho_spent(learning, name) - before[name]
        assert charged == pytest.approx(card["privacy"]["rho"])
        assert zcdp.epsilon_of(charged, 1e-7) == pytest.approx(2.0)
    noise["the server"] = share_noise(learning.results(job), terms)
    model = expected_model(terms, rows, noise, folders)
    assert card["coefficients"] == {name: model.part(name).tolist() for name in PARTIES}
    assert card["intercepts"] == model.intercepts.tolist()
    # Nothing that would show rows later is left: no seed, no transcript, no masked rows.
    assert {path.name for path in learning.results(job).iterdir()} == {
        "model_card.json",
        "outcome.json",
        NOISE,  # which this server records
    }
    kept = {path.suffix for path in (learning.folder / "clinic" / "state" / job).iterdir()}
    assert not kept & {".dealt", ".noise", ".from-insurer", ".from-registry"}
    new, sick = tables(1, NEW, labels=False)
    for name in PARTIES:
        write(tmp_path / f"{name}.csv", new[name])
        data, out = tmp_path / f"{name}.csv", tmp_path / f"{name}.margins.csv"
        in_process("margins", learning.folder / name, job, data, "-o", out)
    files = [tmp_path / f"{name}.margins.csv" for name in PARTIES]
    holder = learning.folder / "clinic" / "state" / job / "model.json"
    in_process("combine", *files, "-o", tmp_path / "all.csv", "--model", holder)
    heads, *found = read(tmp_path / "all.csv")
    assert heads == ["id", "prediction", "class", "probability of no", "probability of yes"]
    assert np.mean([row[2] == truth for row, truth in zip(found, sick, strict=True)]) > 0.7
    assert all((float(row[4]) > 0.5) == (float(row[4]) > float(row[3])) for row in found)


@pytest.mark.parametrize("kept", ["dealt", "from-clinic"])
def test_a_party_that_is_killed_in_a_job_of_moments_draws_no_other_noise(learning, kept):
    """SIGKILL while its rows are masked, and while it has those of others. The model is that of the
    exact matrix plus the noise that was drawn, once."""
    job = submitted(learning, "--epsilon", 0.5)
    state = learning.folder / "insurer" / "state" / job
    until(lambda: (state / f"{job}.{kept}").exists(), f"the insurer has {kept}", pause=0.005)
    learning.kill("insurer")
    assert not (state / "model.json").exists()  # it was in the midst of the job
    learning.start("insurer")
    outcome, card = learning.outcome(job)
    assert outcome["ended"] == card["ended"] == "complete"
    terms = MomentTerms.from_json(json.dumps(card["terms"]))
    rows, noise, folders = {}, {}, {}
    for name in PARTIES:
        settings, _ = read_party_settings(learning.folder / name, name)
        folders[name] = settings.state / job
        rows[name] = read_party(settings.data, settings.table, settings.id_column)
        noise[name] = share_noise(settings.state / job, terms, name)
        drawn = draws(settings.state / job)
        assert [len(each) for each in drawn.values()] == [1] * 4  # the same again, if at all
    noise["the server"] = share_noise(learning.results(job), terms)
    model = expected_model(terms, rows, noise, folders)
    assert card["coefficients"] == {name: model.part(name).tolist() for name in PARTIES}
    labels = [one.label for one in Budget.open(learning.folder / "insurer" / "ledger.db").entries()]
    assert sum(job in label for label in labels) == 2  # the number of people, and the matrix


def test_what_is_beyond_a_cap_is_refused_and_nothing_is_charged(learning):
    before = {name: rho_spent(learning, name) for name in PARTIES}
    outcome, card = learning.outcome(submitted(learning, "--epsilon", 9))
    why = "clinic refuses job"
    assert card["privacy"]["covers"] == "nothing was released"
    assert why in outcome["ended"] and "epsilon is 9, its cap is 8" in outcome["ended"]
    assert card["rounds_done"] == 0
    assert {name: rho_spent(learning, name) for name in PARTIES} == before


def test_a_party_that_is_killed_in_a_job_goes_on_with_what_it_drew(learning):
    job = submitted(
        learning, "--epsilon", 1, "--min-overlap", 0, "--rounds", 400, "--sketch-size", 200
    )
    notebook = learning.folder / "insurer" / "state" / job / f"{job}.notebook"
    until(lambda: notebook.exists() and notebook.stat().st_size > 6_000, "the job is under way")
    learning.kill("insurer")
    drawn = notebook.read_bytes()
    learning.start("insurer")
    outcome, card = learning.outcome(job)
    assert outcome["ended"] == "complete" and card["rounds_done"] == 400
    assert notebook.read_bytes().startswith(drawn)


def test_a_job_that_is_stopped_is_ended_at_its_parties_too(learning):
    rounds = ("--rounds", 1000, "--sketch-size", 200)
    job = submitted(learning, "--epsilon", 0.5, "--min-overlap", 0, *rounds)
    notebook = learning.folder / "insurer" / "state" / job / f"{job}.notebook"
    until(lambda: notebook.exists() and notebook.stat().st_size > 3_000, "the job is under way")
    learning.command("stop", learning.folder / "admin", job)
    outcome, card = learning.outcome(job)
    assert outcome["ended"] == card["ended"] == "stopped by an administrator"
    assert 0 < card["rounds_done"] < 1000
    for name in PARTIES:
        told = json.loads((learning.folder / name / "state" / job / "outcome.json").read_text())
        assert (told["ended"], told["has_coefficients"]) == (card["ended"], True)
        assert told["epsilon"] == pytest.approx(0.5)


def sent_in_a_job(learning):
    """What the registry sends in a job of moments: its answers, each once, and all other frames."""
    before = len(frames(learning.folder / "registry"))
    job = submitted(learning, "--epsilon", 0.5)
    outcome, card = learning.outcome(job)
    assert outcome["ended"] == "complete"
    sent = frames(learning.folder / "registry")[before:]
    answered = Mark.ANSWERED.value
    answers = dict.fromkeys(one[-1] for one in sent if one[-1].startswith(answered))
    others = [one for one in sent if not one[-1].startswith(answered)]
    return job, card, [PartyRelease.from_bytes(one[1:]) for one in answers], others


def test_all_that_a_party_sends_is_the_same_but_for_masks_and_noise_whatever_its_rows_are(learning):
    """Every byte of the party's process, before TLS, in two jobs on other rows of the same people.
    What is not a share or a masked row follows from public facts and keys; these are uniform."""
    one = sent_in_a_job(learning)
    assert learning.stop("registry") == 0
    rows = learning.folder / "registry" / "rows.csv"
    head, *people = read(rows)
    write(rows, [head, *([row[0], 1, 100, row[3]] for row in people)])
    learning.start("registry")
    until(lambda: learning.registrations("registry") == 2, "the registry is back")
    other = sent_in_a_job(learning)
    assert one[1]["coefficients"] != other[1]["coefficients"]
    shapes, hidden = [], []
    secret = bytes.fromhex((learning.folder / "registry" / "secret").read_text())
    for job, card, releases, others in (one, other):
        digest = MomentTerms.from_json(json.dumps(card["terms"])).digest
        names = pseudonyms_of([row[0] for row in people], secret, job, digest)
        (aligned,) = [one.content for one in releases if one.kind == Gave.ALIGNED]
        assert aligned == np.ascontiguousarray(names[order_of(names)], "<u8").tobytes()
        covered = [one for one in releases if one.kind in (Gave.MASKED, Gave.PART)]
        bodies = [one.content[128:-32] for one in covered if one.content]
        assert len(bodies) == 2 and len(bodies[0]) > 10**5  # masked rows and a share
        hidden.append(np.bincount(np.frombuffer(b"".join(bodies), np.uint8), minlength=256))
        shapes.append([
            (one.kind, one.round, one.sign, one.feature, one.total, one.numbers.tolist(),
             sorted(one.letters), len(one.content))
            for one in releases
        ])  # fmt: skip
        assert {one.kind for one in releases if one.content} == {
            Gave.ALIGNED,
            Gave.MASKED,
            Gave.PART,
        }
        # NVFlare's own: signs of life, that a job was heard of, and that messages have arrived.
        about = {(channel, topic) for _, channel, topic, _ in others}
        assert about <= {
            ("admin", "admin"),
            *(("sm__STREAM", topic) for topic in ("sm__ACK", "sm__ERROR")),
            *(("task", topic) for topic in ("challenge", "register", "heart_beat")),
            *(("task", topic) for topic in ("report_job_failure", "quit")),
            ("None", "None"),
        }, about
        assert all(len(payload) < 4_000 for *_, payload in others)
    assert shapes[0] == shapes[1]
    assert min(chisquare(counts).pvalue for counts in hidden) > 1e-6
    assert chi2_contingency(hidden).pvalue > 1e-6

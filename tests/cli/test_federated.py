"""``dplasso federated``: what it makes, and what it refuses before it asks anything of a server."""

import subprocess
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from dplasso.base.extras import MissingExtraError
from dplasso.cli.app import app
from dplasso.federated.declaration import OLD_NAMES, terms_of
from dplasso.federated.deployment.kits import Kit
from dplasso.federated.terms import Proposal
from dplasso.privacy.events import PureDP

KNOWN = ("a", "b", "c")
GIVEN = {
    "epsilon": 1.0, "delta": 1e-6, "n_rows": 100, "label_holder": "a", "radius": 2.0, "rounds": 5,
    "tau": 4, "sketch_size": 50, "y_bound": 3.0, "row_budget": 0.5, "step": "universal",
    "sampling": "arbitrary", "probabilities": (0.5, 0.25, 1.0), "seed": 7, "protocol": "sketches",
    "min_overlap": 0.4, "colluders": 2,
}  # fmt: skip
REQUIRED = {name: GIVEN[name] for name in ("epsilon", "delta", "n_rows", "label_holder")}


def run(*words):
    return CliRunner().invoke(app, ["federated", *map(str, words)])


@pytest.fixture
def submitted(monkeypatch, tmp_path):
    """Run submit with options, and return the proposal that the server would get."""
    administration = pytest.importorskip("dplasso.federated.deployment.administration")
    Kit(folder=tmp_path, role="admin", name="x", server="h", port=1, parties=KNOWN).write()
    seen = []

    class Admin:
        def submit(self, proposal):
            seen.append(proposal)
            return "id-of-the-job"

    @contextmanager
    def administering(kit):
        yield Admin()

    monkeypatch.setattr(administration, "administering", administering)

    def submit(options, *more, warns=None):
        words = [word for name, value in options.items() for word in option(name, value)]
        with pytest.warns(FutureWarning, match=warns) if warns else nullcontext():
            done = run("submit", tmp_path, *words, *more)
        if done.exit_code:
            raise done.exception
        assert done.output.strip() == "id-of-the-job"
        return seen.pop()

    return submit


def option(name, value):
    flag = {"probabilities": "--probability"}.get(name, f"--{name.replace('_', '-')}")
    values = value if isinstance(value, tuple) else (value,)
    return [word for one in values for word in (flag, one)]


def test_every_term_is_an_option_of_its_name(submitted):
    assert {*GIVEN, "job", "parties"} == {one.name for one in terms_of(Proposal)}
    assert submitted(GIVEN) == Proposal(parties=KNOWN, **GIVEN)
    assert submitted(REQUIRED) == Proposal(parties=KNOWN, **REQUIRED)
    assert submitted(REQUIRED, "--party", "a", "--party", "c").parties == ("a", "c")
    short = submitted(REQUIRED, "-e", 2, "-T", 9, "-m", 30)
    assert (short.epsilon, short.rounds, short.sketch_size) == (2.0, 9, 30)


def test_options_of_the_previous_version_still_work_and_warn(submitted):
    old = {old: new for old, new in OLD_NAMES.items() if new in GIVEN}
    assert set(old) == {"rows", "labels", "label_bound"}
    for name, new in old.items():
        given = {**REQUIRED, new: GIVEN[new]}
        renamed = {name if key == new else key: value for key, value in given.items()}
        flags = f"--{name.replace('_', '-')} is now called --{new.replace('_', '-')}"
        assert submitted(renamed, warns=flags) == Proposal(parties=KNOWN, **given)


@pytest.mark.parametrize(
    ("change", "parties", "message"),
    [
        ({"epsilon": 0.0}, KNOWN, "--epsilon must be a number above 0"),
        ({"epsilon": float("inf")}, KNOWN, "--epsilon must be a finite number above 0"),
        ({"delta": 1.0}, KNOWN, "--delta must be a number strictly between 0 and 1"),
        ({"radius": -1.0}, KNOWN, "--radius must be a finite number above 0"),
        ({"n_rows": 2**27}, KNOWN, "--n-rows must be an integer of at most"),
        ({"sketch_size": 0}, KNOWN, "--sketch-size must be an integer of at least 1, got 0"),
        ({"rounds": 0}, KNOWN, "--rounds"),
        ({"min_overlap": 1.5}, KNOWN, "--min-overlap must be 0 to 1"),
        ({"probabilities": (2.0,)}, KNOWN, "--probability must be above 0 and at most 1"),
        ({"label_holder": "d"}, KNOWN, "--label-holder must be a party that takes part"),
        ({"label_holder": "c"}, ("a", "b"), "--label-holder must be a party that takes part"),
        ({}, ("a", "d"), "--party d is not in this federation"),
        ({}, ("a",), "two different parties"),
        ({}, ("a", "a"), "two different parties"),
    ],
)
def test_terms_that_no_party_could_agree_to(submitted, change, parties, message):
    with pytest.raises(ValueError, match=message):
        submitted({**REQUIRED, **change, "party": parties})


def test_what_is_missing_or_no_choice_is_misuse(submitted):
    for words in ({"epsilon": 1.0}, {**REQUIRED, "step": "giant"}, {**REQUIRED, "rounds": "x"}):
        with pytest.raises(SystemExit, match="2"):
            submitted(words)


def test_terms_are_given_by_name_only():
    assert all(one.kw_only for one in fields(Proposal))


def test_without_nvflare_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "nvflare", None)
    done = run("server", tmp_path)
    assert isinstance(done.exception, MissingExtraError)
    assert "pip install 'dplasso[federated]'" in str(done.exception)


def test_init_makes_kits_that_the_other_commands_know(tmp_path):
    pytest.importorskip("nvflare")
    done = run("init", tmp_path / "new", "--server", "localhost", "--party", "a", "--party", "b")
    assert done.exit_code == 0
    for word in ("server", "admin", "party", "authority", "party.toml"):
        assert word in done.output
    for role, name, message in (
        ("party", "server", "is the kit of the server"),
        ("party", "a", "must be"),  # nothing is set yet
        ("server", "a", "is the kit of the party a"),
        ("status", "b", "is the kit of the party b"),
    ):
        done = run(role, tmp_path / "new" / name)
        assert message in str(done.exception)
    done = run("status", tmp_path / "new" / "admin")
    assert "cannot be reached; is it running" in str(done.exception)


@pytest.fixture
def kit(tmp_path):
    """The kit of a party, as init lays it out, without certificates."""
    from dplasso.federated.deployment.settings import write_party_settings

    folder = tmp_path / "kit"
    folder.mkdir()
    Kit(folder=folder, role="party", name="a", server="h", port=1, parties=KNOWN).write()
    write_party_settings(folder, "a")
    (tmp_path / "rows.csv").write_text("id,age\np1,3\n")
    (tmp_path / "rows.toml").write_text('[columns.age]\nrole = "number"\nlow = 0\nhigh = 9\n')
    return folder


def test_configure_sets_what_is_given_and_keeps_the_rest(kit, tmp_path, monkeypatch):
    from dplasso.federated.deployment.settings import read_party_settings

    monkeypatch.chdir(tmp_path)
    before = (kit / "party.toml").read_text()
    done = run("configure", kit, "--data", "rows.csv", "--max-epsilon", 2)
    assert done.exit_code == 0 and "cannot start yet" in done.output
    done = run("configure", kit, "--schema", "rows.toml", "--max-delta", 1e-6, "--max-asks", 7)
    assert done.exit_code == 0 and "cannot start yet" not in done.output
    settings, _ = read_party_settings(kit, "a")
    assert settings.data == tmp_path / "rows.csv" and settings.schema == tmp_path / "rows.toml"
    assert (settings.max_epsilon, settings.max_delta, settings.max_asks) == (2.0, 1e-6, 7)
    after = (kit / "party.toml").read_text()
    kept = [line for line in before.splitlines() if line.startswith("# ") and " = " not in line]
    assert kept and set(kept) <= set(after.splitlines())
    assert (kit / "party.toml").stat().st_mode & 0o077 == 0


def test_configure_raises_the_limits_of_a_ledger_and_never_lowers_them(kit, tmp_path):
    from dplasso.federated.deployment.settings import read_party_settings
    from dplasso.federated.party_ledger import open_ledger

    files = ("--data", tmp_path / "rows.csv", "--schema", tmp_path / "rows.toml")
    run("configure", kit, *files, "--max-epsilon", 2, "--max-delta", 1e-6)
    spent = open_ledger(read_party_settings(kit, "a")[0])
    spent.charge(PureDP(0.3), delta=1e-6, neighboring="add_remove", label="a job")
    text = (kit / "party.toml").read_text()
    for lower in (("--max-epsilon", 1), ("--max-epsilon", 3, "--max-delta", 1e-7)):
        done = run("configure", kit, *lower)
        assert isinstance(done.exception, ValueError)
        assert "can only be raised" in str(done.exception)
        assert (kit / "party.toml").read_text() == text
    done = run("configure", kit, "--max-epsilon", 5)
    assert "raised the limits of" in done.output
    found = open_ledger(read_party_settings(kit, "a")[0])
    assert (found.epsilon, found.delta, found.spent_rho) == (5.0, 1e-6, spent.spent_rho)
    assert [one.epsilon for one in found.verify().raises] == [5.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to set"),
        (("--max-delta", 2), "max_delta must be"),
        (("--max-epsilon", -1), "max_epsilon must be"),
        (("--max-asks", 0), "max_asks must be"),
        (("--id-column", ""), "id_column must be"),
    ],
)
def test_configure_refuses_values_that_are_not_valid_and_writes_nothing(kit, options, message):
    before = (kit / "party.toml").read_text()
    done = run("configure", kit, *options)
    assert isinstance(done.exception, ValueError) and message in str(done.exception)
    assert (kit / "party.toml").read_text() == before


def test_an_administrator_waits_for_no_library_that_is_not_needed():
    """Estimators, their tables and their optimisers take seconds to import."""
    pytest.importorskip("nvflare")
    script = (
        "import sys; from dplasso.cli.app import app_for; app_for(['federated', 'status']); "
        "import dplasso.federated.deployment.administration; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "dplasso.federated.deployment.administration" in loaded
    assert not loaded & {"sklearn", "numba", "pandas", "pyarrow", "scipy.optimize"}

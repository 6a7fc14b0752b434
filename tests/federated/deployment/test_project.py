"""A federation on the disk: what is in a kit, who may read it, and what each site permits."""

import json
import re
import stat
from pathlib import Path

import pytest

pytest.importorskip("nvflare")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import dplasso  # noqa: E402
from dplasso.federated.deployment.foreground import run_party  # noqa: E402
from dplasso.federated.deployment.kits import open_kit  # noqa: E402
from dplasso.federated.deployment.names import check_host, check_parties  # noqa: E402
from dplasso.federated.deployment.permissions import COORDINATION, write_policy  # noqa: E402
from dplasso.federated.deployment.provisioning import make_federation  # noqa: E402
from dplasso.federated.deployment.settings import (  # noqa: E402
    read_party_settings,
    read_server_settings,
)
from federation import LONG, PARTIES, made, set_in  # noqa: E402


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "federation"
    made(folder, 4321)
    return folder


def keys(folder):
    marked = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END", re.DOTALL)
    files = (path for path in folder.rglob("*") if path.is_file())
    return {key for path in files for key in marked.findall(path.read_text())}


def test_every_participant_has_a_key_of_its_own_and_nobody_elses(project):
    folders = sorted(project.iterdir())
    assert {f.name for f in folders} == {"admin", "authority", "server", *PARTIES}
    found = [keys(folder) for folder in folders]
    assert [len(own) for own in found] == [1] * len(folders)
    assert len(set.union(*found)) == len(folders)


def test_only_the_owner_can_read_any_of_it(project):
    for path in (project, *project.rglob("*")):
        closed = stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert closed or path.name == "rows.csv"


def test_addresses_and_mutual_tls_are_in_the_kits(project):
    for name in PARTIES:
        told = json.loads((project / name / "startup" / "fed_client.json").read_text())
        assert told["servers"][0]["service"]["target"] == "localhost:4321"
        assert told["client"]["connection_security"] == "mtls"
    told = json.loads((project / "server" / "startup" / "fed_server.json").read_text())
    assert told["servers"][0]["connection_security"] == "mtls"


def test_nothing_that_runs_is_in_a_kit(project):
    assert not [p for p in project.rglob("*") if p.suffix in {".sh", ".py", ".ipynb"}]


def test_a_federation_is_made_whole_or_not_at_all(tmp_path):
    with pytest.raises(ValueError, match="exists"):
        make_federation(tmp_path, "localhost", PARTIES)
    for server, parties, port in (
        ("not a host", PARTIES, 1),
        ("localhost", PARTIES, 0),
        ("localhost", ["a"], 1),
        ("localhost", ["a", "a"], 1),
        ("localhost", ["a", "server"], 1),
    ):
        with pytest.raises(ValueError):
            make_federation(tmp_path / "new", server, parties, port)
    assert not list(tmp_path.iterdir())


@given(name=st.text(st.characters(max_codepoint=255), max_size=8))
def test_a_party_has_a_name_that_is_one_label(name):
    try:
        check_parties(["other", name])
    except ValueError as error:
        assert repr(name) in str(error)
    else:
        assert re.fullmatch("[a-z][a-z0-9-]*", name) and not name.endswith("-")


@pytest.mark.parametrize("host", ["localhost", "10.0.0.7", "a-b.example.org"])
def test_names_and_addresses_of_hosts(host):
    assert check_host(host) == host
    for bad in (f"{host}:80", f"{host}/", f" {host}", f"{host}-", ""):
        with pytest.raises(ValueError):
            check_host(bad)


def test_a_kit_is_for_its_role(project, tmp_path):
    assert open_kit(project / "clinic", "party").name == "clinic"
    with pytest.raises(ValueError, match="is the kit of the party clinic"):
        open_kit(project / "clinic", "server")
    with pytest.raises(ValueError, match="is no kit"):
        open_kit(tmp_path, "party")
    (tmp_path / "federation.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot be read"):
        open_kit(tmp_path, "party")


def test_a_table_that_will_not_do_is_told_of_before_the_server_hears_anything(project, tmp_path):
    kit, table = open_kit(project / "clinic", "party"), tmp_path / "rows.csv"
    for text, why in (("id,x\n1,0.5\n1,0.2\n", "merge the rows"), ("id,z\n1,0.5\n", "column")):
        table.write_text(text)
        with pytest.raises(ValueError, match=why):
            run_party(kit, table)


def test_a_new_party_releases_nothing_until_it_says_how_much(tmp_path):
    make_federation(tmp_path / "new", "localhost", ["a", "b"])
    folder = tmp_path / "new" / "a"
    (folder / "rows.csv").write_text("id\n")
    set_in(folder / "party.toml", data="rows.csv", answers="drawing_parties:open_party")
    with pytest.raises(ValueError, match=r"party.toml: max_epsilon must be .* above 0"):
        read_party_settings(folder, "a")
    set_in(folder / "party.toml", max_epsilon=1.0, max_delta=1e-6)
    with pytest.raises(ValueError, match=r"party.toml: \[columns\] must be a table of one column"):
        read_party_settings(folder, "a")
    with open(folder / "party.toml", "a") as file:
        file.write('age = "0:120"\ntown = "hash 10"\nnote = "text 20"\nname = "ignore"\n')
    settings, _ = read_party_settings(folder, "a")
    assert (settings.max_epsilon, settings.max_delta) == (1.0, 1e-6)
    assert settings.table.target is None
    assert settings.data == folder / "rows.csv"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_delta": 2.0}, "max_delta must be a number strictly between 0 and 1"),
        ({"max_row_budget": "1"}, "max_row_budget must be a number above 0"),
        ({"data": "nowhere.csv"}, "no such file"),
        ({"id_column": ""}, "id_column must be a text"),
        ({"answers": "drawing_parties:none"}, "answers names no function"),
    ],
)
def test_settings_that_cannot_be_are_named(project, change, message):
    path = project / "registry" / "party.toml"
    before = path.read_text()
    try:
        set_in(path, **change)
        with pytest.raises(ValueError, match=f"party.toml: .*{message}"):
            read_party_settings(path.parent, "registry")
        path.write_text("epsilon = 3\n" + before)
        with pytest.raises(ValueError, match="epsilon is not known"):
            read_party_settings(path.parent, "registry")
        path.write_text("not TOML")
        with pytest.raises(ValueError, match="is no TOML"):
            read_party_settings(path.parent, "registry")
    finally:
        path.write_text(before)


def test_settings_of_a_server(project):
    settings, _ = read_server_settings(project / "server")
    assert settings.results == project / "server" / "results"
    assert settings.patience == LONG


def test_a_party_permits_no_job_process_and_an_administrator_nothing_on_its_machine(project):
    kit = open_kit(project / "clinic", "party")
    write_policy(kit, data="rows.csv")
    resources = json.loads((kit.local / "resources.json").read_text())
    assert resources["class_allow_list"] == []
    assert not resources["allow_log_streaming"]
    launchers = [part["path"] for part in resources["components"] if "aunch" in part["path"]]
    assert launchers == []
    rights = json.loads((kit.local / "authorization.json").read_text())["permissions"]
    assert set(rights) == {"project_admin"}
    assert {right for right, who in rights["project_admin"].items() if who != "none"} == {
        "submit_job"
    }


def test_a_server_permits_one_class_no_code_and_no_shell(project):
    kit = open_kit(project / "server", "server")
    write_policy(kit)
    resources = json.loads((kit.local / "resources.json").read_text())
    assert (resources["class_allow_list"], resources["class_list_enforcement_mode"]) == (
        [COORDINATION],
        "enforce",
    )
    rights = json.loads((kit.local / "authorization.json").read_text())["permissions"]
    forbidden = ("byoc", "operate", "shell_commands", "clone_job")
    assert [rights["project_admin"][right] for right in forbidden] == ["none"] * len(forbidden)


def test_what_nvflare_logs_of_messages_is_off(project):
    kit = open_kit(project / "insurer", "party")
    write_policy(kit, data="rows.csv")
    levels = json.loads((kit.local / "log_config.json").read_text())["loggers"]
    assert {logger["level"] for logger in levels.values()} == {"INFO"}


def test_no_other_room_knows_nvflare():
    root = Path(dplasso.__file__).parent
    imports = re.compile(r"^\s*(import|from) nvflare", re.MULTILINE)
    knows = {p.parent for p in root.rglob("*.py") if imports.search(p.read_text())}
    assert knows == {root / "federated" / "deployment"}

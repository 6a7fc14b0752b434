"""Configuration files that are damaged or odd are refused by name, never by a stack trace."""

import numpy as np
import pytest

from dplasso.federated.deployment.settings import (
    PARTY_FILE,
    SERVER_FILE,
    changed_party_settings,
    read_party_settings,
    read_server_settings,
    write_party_settings,
    write_server_settings,
)
from dplasso.federated.rows import read_party
from dplasso.reading.plans import TablePlan
from dplasso.schema import Category, FeatureSpace, Ignore, Number, Person, Schema, Target


@pytest.mark.parametrize(
    "text",
    [b"patience = " + b"[" * 20_000, b"\xff\xfe", b"patience = 1979-05-27", b"= 1", b"", b"[[[["],
    ids=range(6),
)
def test_text_that_is_no_settings_is_refused(tmp_path, text):
    for name, read in (
        (PARTY_FILE, lambda: read_party_settings(tmp_path, "shop")),
        (SERVER_FILE, lambda: read_server_settings(tmp_path)),
    ):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(ValueError, match=name):
            read()


@pytest.mark.parametrize("named", ["../..", "..:x", ".x:y", "os", "os:none", ":", "json.nothing:x"])
def test_a_function_that_is_not_installed_is_refused(tmp_path, named):
    write_server_settings(tmp_path)
    path = tmp_path / SERVER_FILE
    path.write_text(path.read_text().replace("dplasso.federated.service:open_coordinator", named))
    with pytest.raises(ValueError, match="names no function"):
        read_server_settings(tmp_path)


def test_buckets_beyond_64_bits_are_refused():
    schema = TablePlan("y", hashed={"a": 2**62, "b": 2**61}).schema()
    assert len(FeatureSpace(schema).names) == 3 * 2**61
    with pytest.raises(ValueError, match="buckets of all columns must be at most"):
        TablePlan("y", hashed={"a": 2**62, "b": 2**62})


def test_a_party_may_state_its_columns_in_a_schema_file(tmp_path):
    write_party_settings(tmp_path, "shop")
    (tmp_path / "rows.csv").write_text("id,age,town,sick\np1,30,Ulm,no\np2,,Bonn,yes\n")
    columns = {"age": Number(0, 120), "town": Category(["Ulm"]), "sick": Target(["no", "yes"])}
    Schema(columns).to_toml(tmp_path / "people.toml")
    path = tmp_path / PARTY_FILE
    text = path.read_text().replace('data = ""', 'data = "rows.csv"')
    text = text.replace("max_epsilon = 0.0", "max_epsilon = 1.0")
    path.write_text(text.replace("max_delta = 0.0", "max_delta = 1e-6"))
    with pytest.raises(ValueError, match=r"\[columns\] must be a table of one column or more"):
        read_party_settings(tmp_path, "shop")
    text = path.read_text().replace("# schema = ", "schema = ")
    path.write_text(text)
    settings, _ = read_party_settings(tmp_path, "shop")
    assert settings.label_bound == 1.0
    rows = read_party(settings.data, settings.table, settings.id_column)
    assert rows.features == ["age", "town=Ulm"] and rows.y.tolist() == [-1.0, 1.0]
    assert rows.X.toarray().tolist() == [[0.25, 1.0], [0.5, 0.0]]
    path.write_text(text.replace("# label_column", "label_column"))
    with pytest.raises(ValueError, match="schema states the columns, the labels"):
        read_party_settings(tmp_path, "shop")
    path.write_text(text)
    Schema({**columns, "age": Number()}).to_toml(tmp_path / "people.toml")
    with pytest.raises(ValueError, match="'age' needs low and high"):
        read_party_settings(tmp_path, "shop")


def test_a_party_shares_no_column_that_its_owner_did_not_declare(tmp_path):
    """Whether a cell is missing is a feature of its own only where that is asked for."""
    write_party_settings(tmp_path, "shop")
    (tmp_path / "rows.csv").write_text("id,age,income\np1,30,\np2,,500\n")
    path = tmp_path / PARTY_FILE
    text = path.read_text().replace('data = ""', 'data = "rows.csv"')
    text = text.replace("max_epsilon = 0.0", "max_epsilon = 1.0")
    text = text.replace("max_delta = 0.0", "max_delta = 1e-6")
    path.write_text(text + 'age = "0:120"\nincome = "0:1000 missing"\n')
    settings, _ = read_party_settings(tmp_path, "shop")
    rows = read_party(settings.data, settings.table, settings.id_column)
    assert rows.features == ["age", "income", "income is missing"]
    assert rows.X.toarray().tolist() == [[0.25, 0.0, 1.0], [0.5, 0.5, 0.0]]
    path.write_text(text + 'age = "0:120 indicator"\n')
    with pytest.raises(ValueError, match="low:high missing"):
        read_party_settings(tmp_path, "shop")


PEOPLE = {"id": Person(), "age": Number(0, 120), "cost": Target(low=-50, high=20)}


def stated_in(tmp_path, columns, **facts):
    """The settings of a party whose columns are in a schema file."""
    write_party_settings(tmp_path, "shop")
    (tmp_path / "rows.csv").write_text("id,age,cost\np1,30,-60\np2,60,4\n")
    Schema(columns, **facts).to_toml(tmp_path / "people.toml")
    changes = {"data": tmp_path / "rows.csv", "schema": tmp_path / "people.toml"}
    limits = {"max_epsilon": 1.0, "max_delta": 1e-6}
    text = changed_party_settings(tmp_path, {**changes, **limits})
    (tmp_path / PARTY_FILE).write_text(text)
    return read_party_settings(tmp_path, "shop")[0]


def test_a_schema_of_people_names_the_people_and_bounds_the_labels(tmp_path):
    settings = stated_in(tmp_path, PEOPLE, n_people=2, rows_per_person=1)
    assert settings.label_bound == 50.0
    rows = read_party(settings.data, settings.table, settings.id_column)
    assert (rows.identifiers, rows.features) == (["p1", "p2"], ["age"])
    assert rows.X.toarray().tolist() == [[0.25], [0.5]]
    assert np.clip(rows.y, -50, 50).tolist() == [-50.0, 4.0]


@pytest.mark.parametrize(
    ("columns", "facts", "message"),
    [
        ({"id": Number(0, 9)}, {}, "'id' has the identifiers .* cannot be of role \"number\""),
        ({"id": Ignore(), "age": Person()}, {}, "named by id_column, 'id', and not by 'age'"),
        ({}, {"rows_per_person": 3}, "a party has one row per person"),
        ({"cost": Target(["a", "b"], class_weight={"a": 0.5})}, {}, "class_weight is not known"),
    ],
)
def test_what_a_federation_cannot_follow_in_a_schema_is_refused(tmp_path, columns, facts, message):
    with pytest.raises(ValueError, match=message):
        stated_in(tmp_path, {**PEOPLE, **columns}, **facts)

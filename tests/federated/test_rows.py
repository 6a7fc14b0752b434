"""A party's table: features within their bounds, identifiers, and labels that are declared."""

import numpy as np
import pytest

from dplasso.federated.rows import read_party
from dplasso.schema import Hashed, Number, Schema, Target

TABLE = "id,age,town,sick\np1,30,x,no\np2,150,y,yes\np3,NA,x,no\n"
COLUMNS = {"age": Number(0, 120, missing="indicator", fill=0), "town": Hashed(4)}


def schema(*classes):
    return Schema({**COLUMNS, "sick": Target(classes or None)})


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(TABLE)
    return path


def test_entries_are_in_units_of_their_bounds_and_classes_are_ends(table):
    rows = read_party(table, schema("no", "yes"), "id")
    assert rows.features == ["age", "age is missing", *(f"town#{k}" for k in range(4))]
    assert rows.X[:, [0, 1]].toarray().tolist() == [[0.25, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert np.abs(rows.X.toarray()).max() <= 1.0
    assert rows.bounds.tolist() == [120.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert rows.identifiers == ["p1", "p2", "p3"]
    assert rows.y.tolist() == [-1.0, 1.0, -1.0]


def test_a_party_without_labels_has_none(table):
    rows = read_party(table, Schema(COLUMNS), "id")
    assert rows.y is None and rows.X.shape == (3, 6)


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
def test_classes_are_never_read_from_the_rows(table):
    with pytest.raises(ValueError, match="need their classes declared"):
        read_party(table, schema(), "id")
    with pytest.raises(ValueError, match="class"):
        read_party(table, schema("no"), "id")
    assert set(read_party(table, schema("no", "yes", "so"), "id").y) <= {0.0, 1.0}
    assert set(read_party(table, schema("no", "yes"), "id").y) <= {-1.0, 1.0}


def test_a_person_has_one_row(table):
    table.write_text(TABLE + " p1,40,x,no\n")
    with pytest.raises(ValueError, match="merge the rows of a person"):
        read_party(table, schema("no", "yes"), "id")


def test_every_row_needs_an_identifier(table):
    table.write_text(TABLE + ",40,x,no\n")
    with pytest.raises(ValueError, match="empty cells"):
        read_party(table, schema("no", "yes"), "id")

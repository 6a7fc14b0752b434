"""Margins of parties, added up: one number per row or one per class, and classes from them."""

import numpy as np
import pytest

from dplasso.cli.federated_margins import Margins, combined, table
from dplasso.federated.moments.party_model import MomentPartyModel


def written(path, rows):
    path.write_bytes(table(Margins(rows), "margin"))
    return path


def holder(**changed):
    """A model of three classes, as the label holder has it."""
    usual = {
        "party": "clinic", "job": "job", "ranges": [[0.0, 1.0]], "entry": 2, "row_limit": 4,
        "coefficients": [[1.0, 0.0, -1.0]], "intercepts": [0.0, 0.5, 0.0], "n_classes": 3,
        "classes": ["no", "so", "yes"], "slopes": [2.0, 2.0, 2.0], "offsets": [0.0, 0.0, 0.1],
    }  # fmt: skip
    return MomentPartyModel(**{**usual, **changed})


def test_margins_of_several_classes_add_up_column_by_column(tmp_path):
    a = written(tmp_path / "a.csv", [("p", [1.0, 0.0, -1.0]), ("q", [0.0, 0.25, 0.0])])
    b = written(tmp_path / "b.csv", [("q", [1.0, 1.0, 2.0])])
    found = combined([a, b])
    assert found.rows == [("p", [1.0, 0.0, -1.0]), ("q", [1.0, 1.25, 2.0])]
    heads, p, q = table(found, "prediction", model=holder()).decode().splitlines()
    assert heads.split(",")[:5] == ["id", *(f"prediction {k}" for k in range(3)), "class"]
    assert heads.split(",")[5:] == [f"probability of {one}" for one in ("no", "so", "yes")]
    assert (p.split(",")[4], q.split(",")[4]) == ("no", "yes")
    chances = np.array([line.split(",")[5:] for line in (p, q)], float)
    assert np.allclose(chances.sum(axis=1), 1.0) and chances.argmax(axis=1).tolist() == [0, 2]


def test_files_of_different_jobs_are_refused(tmp_path):
    a = written(tmp_path / "a.csv", [("p", [1.0, 0.0, -1.0])])
    b = written(tmp_path / "b.csv", [("p", [1.0])])
    with pytest.raises(ValueError, match="different numbers of columns"):
        combined([a, b])
    with pytest.raises(ValueError, match="not of the job of this model"):
        table(combined([b]), "prediction", model=holder())
    with pytest.raises(ValueError, match="label holder's model"):
        table(combined([a]), "prediction", model=holder(slopes=None))
    (tmp_path / "c.csv").write_text("id,margin\np\n")
    with pytest.raises(ValueError, match="is no file of margins"):
        combined([tmp_path / "c.csv"])


def test_a_model_comes_back_as_it_was_saved_and_other_files_are_refused(tmp_path):
    holder().save(tmp_path / "model.json")
    assert MomentPartyModel.load(tmp_path / "model.json") == holder()
    for text in ("", "[]", "{}", '{"party": 1}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match="no model of a party"):
            MomentPartyModel.load(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="one per feature"):
        holder(coefficients=[[1.0]])
    with pytest.raises(ValueError, match="finite"):
        holder(intercepts=[0.0, float("nan"), 0.0])

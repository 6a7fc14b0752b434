"""Terms travel as text, tell attempts apart, and are checked."""

import pytest

from dplasso.federated import Refused
from dplasso.federated.moments import MomentTerms, PartyBlock
from moment_jobs import agreed


def test_terms_survive_their_text_and_name_their_attempt():
    terms = agreed((2, 3), n_classes=3, row_bounds={"p0": 0.1})
    assert MomentTerms.from_json(terms.to_json()) == terms
    again = agreed((2, 3), n_classes=3, row_bounds={"p0": 0.1}, attempt=1)
    assert again.digest != terms.digest


def test_columns_follow_the_parties():
    terms = agreed((2, 3, 1), n_classes=4)
    assert [terms.width(name) for name in terms.names] == [2, 8, 1]
    assert [terms.columns(name) for name in terms.names] == [
        slice(0, 2),
        slice(2, 10),
        slice(10, 11),
    ]
    assert terms.n_columns == 11 and agreed((1, 1), n_classes=2).n_columns == 4


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"colluders": 2}, "colluders"),
        ({"n_classes": 1}, "n_classes"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"neighboring": "rows"}, "neighboring"),
        ({"n_rows": 0}, "n_rows"),
        ({"row_bounds": {"p0": 0.0}}, "row_bound"),
        ({"row_bounds": {"nobody": 1.0}}, "row_bounds"),
        ({"widths": (2**13, 2**13)}, "columns"),
    ],
)
def test_wrong_terms_are_refused(changed, named):
    with pytest.raises(ValueError, match=named):
        agreed(**{"widths": (2, 3), **changed})


def test_parties_have_names_of_their_own_and_one_holds_the_labels():
    block = PartyBlock(name="a", n_features=1, row_bound=1.0)
    usual = {"n_rows": 5, "epsilon": 1.0, "delta": 1e-5, "colluders": 0}
    with pytest.raises(ValueError, match="parties"):
        MomentTerms(parties=(block, block), label_holder="a", **usual)
    with pytest.raises(ValueError, match="label_holder"):
        MomentTerms(parties=(block,), label_holder="b", **usual)
    with pytest.raises(Refused, match="MomentTerms"):
        MomentTerms.from_json('{"parties": 3}')

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
        ({"label_weight": 0.0}, "label_weight"),
        ({"label_weight": 1e9}, "label_weight"),
        ({"row_bounds": {"nobody": 1.0}}, "row_bounds"),
        ({"widths": (2**13, 2**13)}, "columns"),
    ],
)
def test_wrong_terms_are_refused(changed, named):
    with pytest.raises(ValueError, match=named):
        agreed(**{"widths": (2, 3), **changed})


def squares(terms):
    """The sum of the squared bounds on rows of all parties."""
    return sum(block.row_bound**2 for block in terms.parties)


def test_where_noise_decides_bounds_add_up_to_that_of_one_place():
    """However columns are dealt out; with much data, short rows have more room."""
    splits = ((16,), (10, 6), (5, 5, 6), (1,) * 16)
    much, little = (
        [squares(agreed(widths, n_rows=n)) for widths in splits] for n in (100, 6 * 10**7)
    )
    assert much == pytest.approx([0.15 * 16 + 0.3 * 4] * 4)
    assert little == pytest.approx(
        [sum(0.15 * a + 0.3 * a**0.5 for a in one) for one in splits], 1e-3
    )
    assert little[3] > 1.9 * much[3]
    between = [squares(agreed(splits[3], n_rows=n)) for n in (10**3, 10**4, 10**5, 10**6)]
    assert between == sorted(between) and between[0] < between[-1]


def test_bounds_on_rows_do_not_depend_on_colluders_and_given_ones_are_kept():
    one, most = (agreed((2, 3, 4), colluders=colluders, n_rows=5000) for colluders in (1, 2))
    assert one.parties == most.parties and one.label_weight == most.label_weight
    given = agreed((2, 3), row_bounds={"p1": 0.7}, n_rows=5000)
    assert given.parties[1].row_bound == 0.7
    assert given.parties[0] == agreed((2, 3), n_rows=5000).parties[0]


def test_parties_have_names_of_their_own_and_one_holds_the_labels():
    block = PartyBlock(name="a", n_features=1, row_bound=1.0)
    usual = {"n_rows": 5, "epsilon": 1.0, "delta": 1e-5, "colluders": 0}
    with pytest.raises(ValueError, match="parties"):
        MomentTerms(parties=(block, block), label_holder="a", **usual)
    with pytest.raises(ValueError, match="label_holder"):
        MomentTerms(parties=(block,), label_holder="b", **usual)
    with pytest.raises(Refused, match="MomentTerms"):
        MomentTerms.from_json('{"parties": 3}')

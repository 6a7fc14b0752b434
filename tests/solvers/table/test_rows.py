"""What one row can change, exactly: never more than is charged, whatever the row."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.losses import Loss, SoftmaxLoss, SquaredLoss
from dplasso.solvers.table import rows as rows_module
from dplasso.solvers.table.plan import CELL, MOST_COLUMNS, TablePlan
from dplasso.solvers.table.questions import (
    CellSums,
    GradientSums,
    LabelSums,
    MeanSums,
    Position,
    Products,
    Question,
    ResidualSize,
    SpreadSums,
    Standard,
)
from dplasso.solvers.table.rows import WholeWeights
from tables import LOSSES, multiplier, private_table, small_plan, square, square_limit

ROWS, COLUMNS = 5, 3
hostile_cells = st.sampled_from([0, 1, CELL // 2, CELL - 1, CELL]) | st.integers(0, CELL)
any_number = st.floats(allow_nan=True, allow_infinity=True)
labels_of_numbers = st.sampled_from([-2.0, 2.0, 0.0, 1e-300]) | any_number
BOTH = ("add_remove", "replace_one")


def arrays(shape: int | tuple[int, ...], elements: st.SearchStrategy) -> st.SearchStrategy:
    return hnp.arrays(np.float64, shape, elements=elements)


@st.composite
def labels_for(draw: st.DrawFn, loss: Loss, count: int) -> np.ndarray:
    """Labels as the loss encodes them; numbers may also be NaN or beyond their bound."""
    if isinstance(loss, SquaredLoss):
        return draw(arrays(count, labels_of_numbers))
    return draw(arrays(count, st.sampled_from(np.arange(max(loss.outputs, 2.0)))))


@st.composite
def questions(draw: st.DrawFn, plan: TablePlan) -> list[Question]:
    """One question of every kind, at any place where a fit could ask it."""
    columns, outputs = plan.n_columns, plan.outputs
    centres = draw(hnp.arrays(np.int64, columns, elements=hostile_cells))
    longest = math.ceil(math.sqrt(columns) * CELL)
    lengths = draw(st.tuples(st.integers(1, longest), st.integers(1, longest)))
    standard = Standard(centres, draw(arrays(columns, st.floats(1e-12, 1e12))))
    size = draw(st.sampled_from([1.0, 1e-320, 1e-200, 1e200, 1e308]))
    with np.errstate(over="ignore"):
        weights = size * draw(arrays((outputs, columns), st.floats(-1.0, 1.0) | any_number))
    cut = draw(st.floats(1e-300, 1e300))
    at = Position(standard, weights, draw(arrays(outputs, any_number)), cut)
    return [
        CellSums(),
        MeanSums(int(centres[0]), lengths[0]),
        SpreadSums(centres, lengths[1]),
        LabelSums(),
        Products(standard),
        GradientSums(at),
        *([ResidualSize(at)] if plan.pace.of_numbers else []),
    ]


def answers(
    cells: np.ndarray,
    labels: np.ndarray,
    loss: Loss,
    plan: TablePlan,
    asked: list[Question],
    threads: int = 1,
) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        table = private_table(cells, labels, loss, plan, threads)
        return [table.answer(question) for question in asked]


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_row_changes_no_answer_by_more_than_is_charged(name: str, data: st.DataObject) -> None:
    """One row added, removed or replaced; whole numbers are compared without rounding."""
    loss = LOSSES[name]
    plan = small_plan(loss, COLUMNS)
    cells = data.draw(hnp.arrays(np.int32, (ROWS, COLUMNS), elements=hostile_cells))
    labels = data.draw(labels_for(loss, ROWS))
    asked = data.draw(questions(plan))
    whole = answers(cells, labels, loss, plan, asked)
    less = answers(cells[1:], labels[1:], loss, plan, asked)
    other = answers(cells[[1, *range(1, ROWS)]], labels[[1, *range(1, ROWS)]], loss, plan, asked)
    for question, all_rows, fewer, replaced in zip(asked, whole, less, other, strict=True):
        one, two = all_rows - fewer, all_rows - replaced
        assert square(one, question, plan) <= square_limit(question, plan, replaced=False)
        assert square(two, question, plan) <= square_limit(question, plan, replaced=True)


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_an_answer_is_the_sum_of_the_answers_for_single_rows(
    name: str, data: st.DataObject
) -> None:
    """Across blocks and threads: no row's vector depends on its place or on other rows."""
    loss = LOSSES[name]
    plan = small_plan(loss, COLUMNS)
    cells = data.draw(hnp.arrays(np.int32, (7, COLUMNS), elements=hostile_cells))
    labels, asked = data.draw(labels_for(loss, 7)), data.draw(questions(plan))
    threads = data.draw(st.integers(1, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "BLOCK", 2)
        whole = answers(cells, labels, loss, plan, asked, threads)
    single = [answers(cells[i : i + 1], labels[i : i + 1], loss, plan, asked) for i in range(7)]
    for together, *apart in zip(whole, *single, strict=True):
        assert np.array_equal(together, np.sum(apart, axis=0))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *(("squared", size) for size in (1e-290, 1e-170, 1.0, 1e160, 1e250, 1e308)),
        *(("softmax", size) for size in (1.0, 1e160, 1e308)),
    ],
)
def test_margins_are_exact_whatever_the_size_of_weights(name: str, size: float) -> None:
    """Squares of such weights overflow or vanish; products of whole rows must still be exact."""
    rng, loss = np.random.default_rng(0), LOSSES[name]
    rows, columns = 300, 37
    plan = small_plan(loss, columns)
    cells = rng.integers(0, CELL + 1, (rows, columns))
    standard = Standard(rng.integers(0, CELL, columns), rng.uniform(0.5, 2.0, columns) / CELL)
    weights = size * rng.uniform(-1.0, 1.0, (loss.outputs, columns))
    labels = np.zeros(rows)
    cut = size if name == "squared" else 0.4
    asked = [GradientSums(Position(standard, weights, np.zeros(loss.outputs), cut))]
    (whole,) = answers(cells, labels, loss, plan, asked, threads=2)
    single = [
        answers(cells[i : i + 1], labels[i : i + 1], loss, plan, asked)[0] for i in range(rows)
    ]
    assert np.array_equal(whole, np.sum(single, axis=0))
    away = answers(cells, labels, loss, plan, [_at(asked[0], 0.0 * weights)])[0]
    assert not np.array_equal(whole, away)  # such weights do move margins


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1.0, 1e160, 1e250, 1e308, math.inf, math.nan])
def test_partial_sums_of_a_margin_are_whole_numbers_below_2_to_the_53(size: float) -> None:
    """By the product of 2-norms, which bounds the sum over any of the columns in any order."""
    plan = small_plan(LOSSES["squared"], 40)
    standard = Standard(np.zeros(40, np.int64), np.ones(40))
    weights = size * np.random.default_rng(0).uniform(0.1, 1.0, (1, 40))
    whole = WholeWeights(Position(standard, weights, np.zeros(1), 1.0), plan).weights
    length = sum(int(weight) ** 2 for weight in whole[0])
    assert np.array_equal(whole, np.trunc(whole))
    assert length * plan.unit**2 < 2**106
    assert length * plan.unit**2 > 2**96 or not math.isfinite(size)


def _at(question: Question, weights: np.ndarray) -> Question:
    assert isinstance(question, GradientSums)
    at = question.at
    return GradientSums(Position(at.standard, weights, at.intercepts, at.cut))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_labels_that_are_no_numbers_within_their_bound_count_as_one_that_is(bad: float) -> None:
    loss = LOSSES["squared"]
    plan = small_plan(loss, 1)
    (found,) = answers(np.zeros((1, 1)), np.array([bad]), loss, plan, [LabelSums()])
    share = 0.0 if math.isnan(bad) else math.copysign(1.0, bad)
    assert found.tolist() == [share * CELL, abs(share) * CELL]


@pytest.mark.parametrize("bad", [math.nan, -1.0, 3.0, 1e300])
def test_a_label_outside_the_classes_is_not_counted(bad: float) -> None:
    """It cannot occur in a fit; if it did, no place without noise would show it."""
    loss = LOSSES["softmax"]
    plan = small_plan(loss, 1)
    (found,) = answers(np.zeros((2, 1)), np.array([bad, 1.0]), loss, plan, [LabelSums()])
    assert found.tolist() == [0, CELL, 0]


def test_residuals_of_very_many_classes_stay_within_their_length() -> None:
    """The rounding of a sum over thousands of classes is checked on the whole numbers."""
    classes = 3000
    loss = SoftmaxLoss(classes=range(classes))
    plan = small_plan(loss, 1, rows=10)
    at = Position(
        Standard(np.zeros(1, np.int64), np.ones(1)), np.zeros((classes, 1)), *_even(classes)
    )
    (found,) = answers(np.full((1, 1), CELL), np.zeros(1), loss, plan, [GradientSums(at)])
    assert square(found, GradientSums(at), plan) <= square_limit(
        GradientSums(at), plan, replaced=False
    )
    assert found.any()


def _even(classes: int) -> tuple[np.ndarray, float]:
    return np.zeros(classes), 0.4


@pytest.mark.parametrize("columns", [1, 1000, MOST_COLUMNS])
def test_rows_at_the_ends_of_their_ranges_do_not_overflow(columns: int) -> None:
    loss = LOSSES["squared"]
    plan = small_plan(loss, columns)
    longest = math.ceil(math.sqrt(columns) * CELL)
    edges = np.where(np.arange(columns) % 2, 0, CELL)
    asked = [
        CellSums(),
        MeanSums(0, longest),
        MeanSums(CELL, longest),
        SpreadSums(CELL - edges, longest),
    ]
    cells = np.stack([edges, np.full(columns, CELL)])
    cell, low, high, spread = answers(cells, np.zeros(2), loss, plan, asked)
    assert cell.tolist() == [edges.sum() // columns + CELL] * 2
    assert low.tolist() == (edges + CELL).tolist()
    assert high.tolist() == (edges - CELL).tolist()
    assert spread.tolist() == (CELL + edges).tolist()


def test_a_row_is_cut_to_its_length_and_not_much_below() -> None:
    loss = LOSSES["logistic"]
    plan = small_plan(loss, 4)
    cells, standard = np.full((1, 4), CELL), Standard(np.zeros(4, np.int64), np.full(4, 3.0))
    at = Position(standard, np.zeros((1, 4)), np.zeros(1), 0.4)
    asked = [MeanSums(0, CELL), SpreadSums(np.zeros(4, np.int64), CELL), Products(standard)]
    asked.append(GradientSums(at))
    for question, found in zip(asked, answers(cells, np.ones(1), loss, plan, asked), strict=True):
        limit = square_limit(question, plan, replaced=False)
        assert 0.9999 < square(found, question, plan) / limit <= 1


@pytest.mark.parametrize("factor", [math.inf, math.nan, 1e300, 1e-320, 0.0])
def test_a_scale_that_is_no_number_leaves_rows_empty_or_bounded(factor: float) -> None:
    loss = LOSSES["squared"]
    plan = small_plan(loss, 4)
    cells = np.array([[0, 5, CELL, 7], [1, 1, 1, 1]])
    standard = Standard(np.ones(4, np.int64), np.full(4, factor))
    (found,) = answers(cells, np.ones(2), loss, plan, [Products(standard)])
    own = answers(cells[:1], np.ones(1), loss, plan, [Products(standard)])[0]
    assert square(own, Products(standard), plan) <= plan.square_length**2
    assert found[4] == 2 * plan.constant**2


@pytest.mark.parametrize("neighboring", BOTH)
@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_noise_is_never_below_multiplier_times_sensitivity(
    name: str, neighboring: str, data: st.DataObject
) -> None:
    """In exact fractions: the last bit of a product counts, too."""
    loss, columns = LOSSES[name], data.draw(st.integers(1, 40))
    epsilon = data.draw(st.floats(0.01, 100.0))
    plan = small_plan(loss, columns, 10**4, neighboring=neighboring, epsilon=epsilon)
    for question in data.draw(questions(plan)):
        noise = question.noise(plan)
        limit = square_limit(question, plan, replaced=neighboring == "replace_one")
        least = Fraction(multiplier(question, plan)) ** 2 * limit
        assert Fraction(noise[0][1]) ** 2 >= least
        if isinstance(question, Products):  # each of the others stands for two places
            assert 2 * Fraction(noise[1][1]) ** 2 >= least
        assert sum(count for count, _ in noise) == len(
            answers(np.zeros((1, columns)), np.zeros(1), loss, plan, [question])[0]
        )


def test_replaced_labels_that_are_numbers_differ_by_two_at_most() -> None:
    """(y, y^2) on a grid, all pairs near the ends."""
    loss = LOSSES["squared"]
    plan = small_plan(loss, 1)
    shares = np.concatenate([[-1.0, 1.0, 0.0], 1.0 - np.arange(40) / CELL, np.arange(40) / 40 - 1])
    found = np.array(
        [
            answers(np.zeros((1, 1)), np.array([2.0 * share]), loss, plan, [LabelSums()])[0]
            for share in shares
        ]
    )
    apart = found[:, None, :] - found[None, :, :]
    assert np.max(np.sum(apart.astype(object) ** 2, axis=2)) <= 4 * CELL**2


def test_unknown_questions_have_no_answer() -> None:
    table = private_table(
        np.zeros((1, 1)), np.zeros(1), LOSSES["logistic"], small_plan(LOSSES["logistic"], 1)
    )
    with pytest.raises(TypeError, match="no answer"):
        table.answer("all rows")

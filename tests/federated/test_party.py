"""What a party answers, whoever asks: each round once, on its terms, within its caps."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.federated import Caps, Coordinator, Party, Refused, holdings
from dplasso.federated.holdings import Holdings
from dplasso.federated.messages import Ask, Gave, Release, Request
from dplasso.federated.plan import plan_of
from dplasso.federated.simulation import run
from dplasso.ledger import Budget, BudgetError
from dplasso.privacy import leaks, zcdp
from federations import SECRET, Data, agreed, made, parties_of, recorded, run_job

TERMS = agreed(sampling="distributed")


def ask(terms, party, at, kind=Ask.SELECT, numbers=None, clip=1.0):
    given = np.ones(terms.sketch_size) if numbers is None else np.asarray(numbers, float)
    return Request(terms.digest, terms.number_of(party), at, kind, clip, given).to_bytes()


@pytest.fixture
def shop():
    return parties_of(TERMS, made(), random_state=0)["shop"]


@pytest.fixture
def bank():
    return parties_of(TERMS, made(), random_state=0)["bank"]


def test_the_same_round_has_the_same_bytes_whatever_is_asked(shop):
    first = shop.answer(ask(TERMS, "shop", 1))
    assert shop.answer(ask(TERMS, "shop", 1)) == first
    assert shop.answer(ask(TERMS, "shop", 1, numbers=-np.arange(16.0), clip=1e-9)) == first


def test_rounds_never_go_back(shop):
    shop.answer(ask(TERMS, "shop", 4))
    for at in (0, 1, 2, 3):
        with pytest.raises(Refused, match=f"refuses round {at}: it has answered 4"):
            shop.answer(ask(TERMS, "shop", at))


def test_nothing_follows_the_end(bank):
    end = TERMS.rounds + 1
    bank.answer(ask(TERMS, "bank", 1))
    stored = bank.answer(ask(TERMS, "bank", end, Ask.FINISH, [0.5, 0.1]))
    assert Release.from_bytes(stored).kind == Gave.STORED
    for at, kind in itertools.product(range(end), Ask):
        with pytest.raises(Refused):
            bank.answer(ask(TERMS, "bank", at, kind))
    # Told again, also otherwise: what it was told first is kept.
    assert bank.answer(ask(TERMS, "bank", end, Ask.FINISH, [0.2, 0.2])) == stored
    assert bank.model.coefficients == [0.5]


@pytest.mark.parametrize(
    ("at", "kind", "numbers"),
    [
        (0, Ask.LABELS, None),  # it has none
        (0, Ask.SELECT, None),
        (1, Ask.LABELS, None),
        (1, Ask.FINISH, []),
        (7, Ask.SELECT, None),
        (8, Ask.FINISH, []),
        (2**32 - 1, Ask.SELECT, None),
        (1, Ask.SELECT, []),
        (1, Ask.SELECT, np.ones(15)),
        (1, Ask.SELECT, np.ones(17)),
        (7, Ask.FINISH, [0.1]),  # it has shared nothing
    ],
)
def test_what_is_not_due_is_refused_and_changes_nothing(shop, at, kind, numbers):
    with pytest.raises(Refused, match="shop refuses"):
        shop.answer(ask(TERMS, "shop", at, kind, numbers))
    assert shop._last is None


def test_a_party_is_asked_on_its_turns_only():
    terms = agreed()
    shop = parties_of(terms, made())["shop"]
    with pytest.raises(Refused, match="not on the schedule"):
        shop.answer(ask(terms, "shop", 1))
    shop.answer(ask(terms, "shop", 2))


def test_requests_of_other_jobs_and_to_others_are_refused(shop):
    with pytest.raises(Refused, match="another job, or on other terms"):
        shop.answer(ask(agreed(sampling="distributed", epsilon=2.1), "shop", 1))
    with pytest.raises(Refused, match="to another party"):
        shop.answer(ask(TERMS, "bank", 1))


@pytest.mark.parametrize("weights", [[5.1], [1e99], [-6.0]])
def test_weights_beyond_the_ball_are_refused(shop, weights):
    shop.answer(ask(TERMS, "shop", 1))
    with pytest.raises(Refused, match="beyond the radius"):
        shop.answer(ask(TERMS, "shop", 7, Ask.FINISH, weights))
    with pytest.raises(Refused, match="not told its weights"):
        _ = shop.model


@pytest.mark.parametrize(("size", "clip"), [(1e100, 1e-100), (1e-300, 1e100), (0.0, 0.0)])
def test_no_residual_overflows(shop, size, clip):
    """Weights of rows stay within their bound, and nothing warns."""
    numbers = np.where(np.arange(16) % 3, size, -size)
    weights = shop._holdings.row_weights(numbers, clip)
    assert np.abs(weights).max() <= 2**20
    shop.answer(ask(TERMS, "shop", 1, numbers=numbers, clip=clip))


def test_threads_that_ask_at_once_get_one_draw(shop):
    request = ask(TERMS, "shop", 1)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(shop.answer, [request] * 40))) == 1
    assert len(shop._shared) == 1


def test_shared_features_are_shared_once_under_each_step():
    corrective, universal = agreed(rounds=14), agreed(rounds=14, step="universal")
    for terms, last in ((corrective, Gave.NOTHING), (universal, Gave.AGAIN)):
        rounds, _ = run_job(terms, made(), random_state=0)
        releases = [m.release for m in itertools.chain(*rounds)]
        for number in (0, 1):
            kinds = [r.kind for r in releases if r.party == number]
            shared = [r.feature for r in releases if r.party == number and r.kind == Gave.SHARED]
            assert len(set(shared)) == len(shared) > 0
            assert number == 1 or last in kinds


class Strict:
    """A ledger that refuses."""

    def charge(self, *args, **options):
        raise BudgetError("nothing is left")


def test_a_ledger_that_refuses_stops_the_party_before_anything_is_drawn(monkeypatch):
    for name in ("labels", "drawn", "shared"):
        monkeypatch.setattr(Holdings, name, lambda *_: pytest.fail("drawn"))
    bank = parties_of(TERMS, made(), accountant=Strict())["bank"]
    for at, kind in ((0, Ask.LABELS), (1, Ask.SELECT)):
        with pytest.raises(BudgetError):
            bank.answer(ask(TERMS, "bank", at, kind))
    assert bank._last is None and not bank._notebook.begun


def test_a_job_is_charged_once_by_each_party_before_its_first_draw(tmp_path, monkeypatch):
    budgets = {name: Budget(5.0, 1e-6, tmp_path / f"{name}.sqlite") for name in ("bank", "shop")}
    charged, honest = [], Holdings.drawn

    def watched(self, *args):
        charged.append([len(budget.entries()) for budget in budgets.values()])
        return honest(self, *args)

    monkeypatch.setattr(Holdings, "drawn", watched)
    parties = {
        name: parties_of(TERMS, made(), accountant=budget)[name] for name, budget in budgets.items()
    }
    run(Coordinator(TERMS), parties)
    assert charged[0] == [1, 0] and charged[1:] == [[1, 1]] * (len(charged) - 1)
    for name, budget in budgets.items():
        (entry,) = budget.entries()
        assert entry.label == "federated job job" and entry.neighboring == "add_remove"
        assert entry.event == plan_of(TERMS).event_of(name)
        assert budget.spent_rho == pytest.approx(zcdp.rho(entry.event), rel=1e-12)


def test_a_party_that_is_never_asked_is_not_charged():
    shop = parties_of(TERMS, made(), accountant=Strict())["shop"]
    shop.answer(ask(TERMS, "shop", 7, Ask.FINISH, []))
    assert shop.model.features == []


@pytest.mark.parametrize(
    ("caps", "told"),
    [
        ({"epsilon": 1.9}, "epsilon is 2, its cap is 1.9"),
        ({"delta": 1e-7}, "delta is 1e-06, its cap is 1e-07"),
        ({"asks": 5}, "asks is 6, its cap is 5"),
        ({"row_budget": 0.5}, "row_budget is 3, its cap is 0.5"),
    ],
)
def test_caps_refuse_and_say_which(caps, told, monkeypatch):
    monkeypatch.setattr(holdings, "Columns", lambda *_: pytest.fail("rows were read"))
    limits = Caps(**{"epsilon": 2.0, "delta": 1e-6, **caps})
    with pytest.raises(Refused, match=f"bank refuses job job: {told}"):
        parties_of(agreed(sampling="distributed", row_budget=3.0), made(), caps=limits)


def test_caps_that_are_met_let_the_job_run():
    limits = Caps(2.0, 1e-6, asks=6, row_budget=3.0)
    terms = agreed(sampling="distributed", row_budget=3.0)
    recorded(Coordinator(terms), parties_of(terms, made(), caps=limits))


@pytest.mark.parametrize("caps", [(0.0, 1e-6), (1.0, 0.0), (1.0, 1e-6, 0), (math.nan, 1e-6)])
def test_caps_are_numbers(caps):
    with pytest.raises(ValueError, match="must be"):
        Caps(*caps)


def kinds_of_tables():
    X = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    twice = sp.coo_array(
        (np.append(np.ones(5), [3.0, -3.0]), ([0, 0, 1, 2, 2, 0, 0], [0, 2, 1, 2, 3, 1, 1])),
        shape=(3, 4),
    )
    parts = sp.csc_array((np.full(10, 0.5), np.repeat([0, 1, 0, 2, 2], 2), [0, 2, 4, 8, 10]))
    yield from (X, X.astype(float), X.astype(bool), X.astype(np.float32), X.tolist())
    yield from (
        X.astype(np.uint8),
        sp.csr_array(X),
        sp.csc_matrix(X),
        sp.coo_array(X),
        twice,
        parts,
    )


@pytest.mark.parametrize("table", list(kinds_of_tables()), ids=lambda t: type(t).__name__)
def test_tables_of_all_kinds_are_the_same(table):
    """Also with entries that are given in parts, or as zeros."""
    terms = agreed({"bank": 4}, epsilon=math.inf)
    data = Data({"bank": table}, {"bank": ["a", "b", "c"]}, [True, False, True])
    rounds, _ = run_job(terms, data)
    plain = Data({"bank": kinds_of_tables().__next__()}, {"bank": ["a", "b", "c"]}, [1, 0, 1])
    assert [m.answer for m in itertools.chain(*rounds)] == [
        m.answer for m in itertools.chain(*run_job(terms, plain)[0])
    ]


BROKEN = sp.csc_array((np.ones(1), [0], [0, 1, 1, 1, 1]), shape=(3, 4))
BROKEN.indices[0] = 77


@pytest.mark.parametrize(
    "table",
    [
        np.ones(3),
        np.ones((3, 4), complex),
        np.full((3, 4), "secret"),
        np.full((3, 4), "secret", object),
        np.full((3, 4), np.nan),
        np.full((3, 4), -np.inf),
        np.ones((3, 5)),
        np.ones((2, 4)),
        BROKEN,
    ],
)
def test_tables_that_are_none_are_refused_without_a_word_of_them(table):
    with pytest.raises(ValueError, match="X|identifiers|ind") as told:
        Party(TERMS, "bank", table, ["a", "b", "c"], SECRET, y=np.zeros(3))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "y", [None, [1.0], ["private"] * 3, [1j] * 3, [np.nan, 0, 0], [[1.0]] * 3, [None] * 3]
)
def test_labels_that_are_none_are_refused_without_a_word_of_them(y):
    with pytest.raises(ValueError, match="^y ") as told:
        Party(TERMS, "bank", np.ones((3, 4)), ["a", "b", "c"], SECRET, y=y)
    assert "private" not in str(told.value)


def test_labels_belong_to_their_holder():
    with pytest.raises(ValueError, match="y belongs to the label holder, bank"):
        Party(TERMS, "shop", np.ones((3, 5)), ["a", "b", "c"], SECRET, y=np.zeros(3))
    with pytest.raises(ValueError, match="party must be one of bank, shop"):
        Party(TERMS, "mill", np.ones((3, 5)), ["a", "b", "c"], SECRET)


def test_parties_of_different_people_and_of_none_go_on():
    data = made(200)
    data.identifiers["shop"] = [f"somebody else {k}" for k in range(200)]
    run_job(TERMS, data)
    data.blocks["shop"], data.identifiers["shop"] = np.empty((0, 5)), []
    rounds, coordinator = run_job(TERMS, data)  # and more rows than were declared at the other
    assert coordinator.done and coordinator.card().ended == "complete"


def test_a_row_that_is_not_there_is_as_one_at_the_centre(monkeypatch):
    """Whatever it holds at others: nobody is told who lacks it."""
    terms, data = agreed(epsilon=math.inf, rounds=1, sketch_size=128), made()
    data.blocks["bank"][:, :] = 0.25
    fewer = Data(
        {**data.blocks, "bank": data.blocks["bank"][:20]},
        {**data.identifiers, "bank": data.identifiers["bank"][:20]},
        data.y[:20],
    )
    monkeypatch.setattr(holdings, "centre_of", lambda total, n_rows: 2**14)
    whole, part = (
        Holdings(terms, "bank", d.blocks["bank"], d.identifiers["bank"], SECRET, d.y, bits)
        for d, bits in ((data, parties_bits()), (fewer, parties_bits()))
    )
    assert np.array_equal(whole.shared(1).numbers, part.shared(1).numbers)


def parties_bits():
    return holdings.RandomBits(np.random.default_rng(0), secure=False)


def test_seeds_are_refused_in_strict_mode():
    leaks.set_strict(True)
    try:
        with pytest.raises(leaks.PrivacyLeakError, match="random_state"):
            parties_of(TERMS, made(), random_state=1)
        parties_of(TERMS, made())
    finally:
        leaks.set_strict(None)

"""A budget adds up costs for rows, or for people by one identifier, and never both."""

import json

import numpy as np
import pytest

from dplasso import Budget, PrivateLassoClassifier
from dplasso.ledger import entry
from dplasso.ledger.errors import BudgetError, LedgerError
from dplasso.privacy.events import Gaussian

SIDE = {"delta": 1e-6, "neighboring": "add_remove"}
UNITS = ("row", "person", "person: patient_id", "person: household")
RNG = np.random.default_rng(0)
X, Y, IDS = RNG.uniform(-1, 1, (60, 3)), np.arange(60) % 2, np.repeat(np.arange(20), 3)


@pytest.fixture
def budget(tmp_path):
    return Budget(2.0, 1e-6, tmp_path / "ledger.sqlite")


@pytest.mark.parametrize("first", UNITS)
def test_the_first_charge_decides_whom_a_budget_protects(budget, first):
    assert budget.unit is None
    budget.charge(Gaussian(90.0), label="first", unit=first, **SIDE)
    assert budget.unit == first == Budget.open(budget.shown).unit
    for other in set(UNITS) - {first}:
        with pytest.raises(BudgetError, match="costs of the two do not add"):
            budget.charge(Gaussian(90.0), label="second", unit=other, **SIDE)
    budget.charge(Gaussian(90.0), label="third", unit=first, **SIDE)
    assert [charge.unit for charge in budget.verify().charges] == [first, first]


def test_charges_for_rows_are_written_as_before(budget):
    budget.charge(Gaussian(90.0), label="rows", **SIDE)
    line = budget.entries()[0].line
    assert "unit" not in json.loads(line)
    assert entry.parse(line).unit == "row"


def test_the_unit_is_sealed_and_exported(budget, tmp_path):
    budget.charge(Gaussian(90.0), label="people", unit="person: id", **SIDE)
    budget.export(tmp_path / "export")
    budget.charge(Gaussian(90.0), label="people", unit="person: id", **SIDE)
    budget.verify(against=tmp_path / "export")
    line = budget.entries()[0].line
    with pytest.raises(LedgerError):
        entry.parse(line.replace("person: id", "person: ID"))
    with pytest.raises(LedgerError):
        entry.parse(line.replace('"unit":"person: id",', ""))


def test_a_ledger_that_mixes_units_is_not_to_be_trusted(budget, monkeypatch):
    from dplasso.ledger import admission

    budget.charge(Gaussian(90.0), label="people", unit="person", **SIDE)
    with monkeypatch.context() as careless:
        careless.setattr(admission, "unit_after", lambda head, asked: asked)
        budget.charge(Gaussian(90.0), label="rows", **SIDE)
    with pytest.raises(LedgerError, match="protects others"):
        Budget.open(budget.shown)


@pytest.mark.parametrize("unit", ["", "rows", "person:", "person: ", "Person", 3, "person: a\nb"])
def test_other_units_are_rejected(budget, unit):
    with pytest.raises(ValueError, match=r"unit|person"):
        budget.charge(Gaussian(90.0), label="x", unit=unit, **SIDE)


def model(budget, **options):
    public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 60}
    return PrivateLassoClassifier(0.3, accountant=budget, **public | options)


def test_fits_charge_for_whom_they_protect(budget):
    people = model(budget, n_people=20, rows_per_person=2, person="patient_id")
    people.fit(X, Y, groups=IDS)
    assert budget.entries()[0].unit == "person: patient_id"
    assert budget.spent_rho == pytest.approx(people.plan(60, 3).rho, rel=1e-9)
    with pytest.raises(BudgetError, match="protects each row"):
        model(budget).fit(X, Y)
    assert len(budget.entries()) == 1


def test_an_accountant_that_knows_no_units_is_not_charged_for_people():
    class Plain:
        charged = 0

        def charge(self, event, *, delta, neighboring, label):
            self.charged += 1

    plain = Plain()
    model(plain).fit(X, Y)
    with pytest.raises(ValueError, match="costs for people"):
        model(plain, n_people=20).fit(X, Y, groups=IDS)
    assert plain.charged == 1


SAME_PEOPLE = "let it protect the same people (a fit by person='patient_id', or by the role person"


@pytest.mark.parametrize(
    ("first", "second", "remedy"),
    [
        ("person: patient_id", "person", SAME_PEOPLE),
        ("person: patient_id", "person: id", SAME_PEOPLE),
        ("person: patient_id", "row", SAME_PEOPLE),
        ("person", "row", "give the identifier of each row's person, or"),
        ("person", "person: id", "leave out person, or"),
        ("row", "person: id", "begin another ledger for people, and enter there what"),
    ],
)
def test_a_charge_for_others_is_told_how_to_protect_the_same(budget, first, second, remedy):
    budget.charge(Gaussian(90.0), label="first", unit=first, **SIDE)
    with pytest.raises(BudgetError) as error:
        budget.charge(Gaussian(90.0), label="second", unit=second, **SIDE)
    assert f"do not add; {remedy}" in str(error.value)


def test_a_fit_to_unnamed_people_does_what_the_ledger_says(budget):
    public = {"classes": [0, 1], "n_people": 20, "n_rows": 60, "x_bound": 1.0}
    model = PrivateLassoClassifier(0.5, accountant=budget, **public)
    budget.charge(Gaussian(90.0), label="first", unit="person: patient_id", **SIDE)
    with pytest.raises(BudgetError, match="by person='patient_id'"):
        model.fit(X, Y, groups=IDS)
    model.set_params(person="patient_id").fit(X, Y, groups=IDS)
    assert budget.verify().charges[-1].unit == "person: patient_id"

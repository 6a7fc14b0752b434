"""The table of powers leaves no check out."""

from audit_power import key_of, known

from dplasso import audit
from dplasso.audit.runner import jobs_of, subjects_of
from planted.by_degree import FAULTS

SOLVERS = ("frank_wolfe", "gradient", "table", "select", "online")
ONCE = {name for name, check in audit.CHECKS.items() if check.once}


def test_the_table_has_a_row_for_each_graded_fault():
    assert list(known()) == [key_of(fault) for fault in FAULTS]


def test_every_check_of_every_solver_has_a_graded_fault():
    graded = {(fault.check, fault.solver) for fault in FAULTS}
    for solver in SOLVERS:
        examples = audit.example_estimators(solver)
        asked = {job.check.name for job in jobs_of(subjects_of(examples, "quick"))}
        missing = {check for check in asked - ONCE if (check, solver) not in graded}
        assert not missing, solver
    assert {check for check, _ in graded} == set(audit.CHECKS)


def test_a_size_is_no_size_of_another_fault():
    assert len({key_of(fault) for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert len(set(fault.sizes)) == len(fault.sizes) > 2

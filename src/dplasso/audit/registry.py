"""The audited solvers: each has one subject, which is registered here and nowhere else."""

from dplasso.audit.descent.subject import DescentSubject
from dplasso.audit.few.subject import FewSubject
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.stream.subject import StreamSubject
from dplasso.audit.subject import Subject
from dplasso.audit.table.subject import TableSubject

SUBJECTS: dict[str, type[Subject]] = {
    kind.solver: kind
    for kind in (SelectionSubject, DescentSubject, TableSubject, FewSubject, StreamSubject)
}

"""The common set-up of the rules that push changes into stored scores."""

import numpy as np
import scipy.sparse as sp

from dplasso.base import threads as pool
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import Problem, Walk
from dplasso.kernels.rivals import pushes as kernels


def hold(problem: Problem, walk: Walk, threads: int) -> kernels.Held:
    """Compute exact scores at the start, on all cores, and copy the matrix by rows.

    Pushes read whole rows, and therefore need this second copy.
    """
    rows, columns = len(problem.labels), len(problem.indptr) - 1
    by_rows = _by_rows(problem, rows, columns)
    held = kernels.Held(
        scores=np.empty(columns * problem.classes, np.int64),
        gradients=np.empty(rows * problem.classes),
        row_starts=by_rows.indptr,
        row_columns=by_rows.indices,
        row_values=None if problem.values is None else by_rows.data,
        flags=np.zeros(columns, np.uint8),
        touched=np.empty(columns + 1, np.int64),
    )
    pool.run(
        row_gradients,
        [(problem, walk, held.gradients, *run) for run in pool.even_runs(rows, threads)],
    )
    pool.run(
        kernels.first_scores,
        [(problem, held, *run) for run in pool.balanced_runs(problem.indptr, threads)],
    )
    return held


def _by_rows(problem: Problem, rows: int, columns: int) -> sp.csr_array:
    entries = int(problem.indptr[-1])
    values = np.empty(entries, np.int8) if problem.values is None else problem.values[:entries]
    matrix = (values, problem.indices[:entries], problem.indptr)
    return sp.csc_array(matrix, shape=(rows, columns)).tocsr()

"""The best fixed point in hindsight, without privacy: what regret is measured against."""

import numpy as np

from dplasso.domains import Domain


def best_fixed(
    domain: Domain,
    loss,
    rows: np.ndarray,
    labels: np.ndarray,
    regularisation: float,
    start: np.ndarray,
    gap: float = 1e-9,
) -> tuple[np.ndarray, float]:
    """Least total of loss + mu/2 ||x||^2 over the domain, to a certified gap a row.

    Accelerated projected gradient for a strongly convex function; the certificate is the most that
    the linear oracle can promise.
    """
    n = len(labels)
    bend = regularisation + loss.lipschitz * float(np.linalg.norm(rows, 2)) ** 2 / n
    momentum = (1.0 - np.sqrt(regularisation / bend)) / (1.0 + np.sqrt(regularisation / bend))
    x = ahead = start
    for _ in range(20_000):
        gradient = _gradient(loss, rows, labels, regularisation, ahead)
        nxt = domain.project(ahead - gradient / bend)
        ahead, x = nxt + momentum * (nxt - x), nxt
        at = _gradient(loss, rows, labels, regularisation, x)
        if at @ (x - domain.linear_oracle(at)) <= gap:
            break
    value = loss.value((rows @ x)[:, None], labels) + n * regularisation / 2.0 * float(x @ x)
    return x, value


def _gradient(loss, rows, labels, regularisation, x) -> np.ndarray:
    slopes = loss.gradient((rows @ x)[:, None], labels)[:, 0]
    return rows.T @ slopes / len(labels) + regularisation * x

"""Timed walks of the Frank-Wolfe engine, at the settings of the speed benchmarks."""

import importlib
import time

import numpy as np

import dplasso
from dplasso.data import ColumnMatrix
from dplasso.kernels.steps import replay
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection import PRIVATE

solver = importlib.import_module("dplasso.solvers.frank_wolfe")

ROUNDS, RADIUS, DELTA = 4000, 50.0, 1e-6


def run_once(name: str, matrix: ColumnMatrix, y: np.ndarray, theta: float, seed: int, rounds: int):
    """One timed run of a rule: set-up, rounds, weights."""
    loss = dplasso.LogisticLoss()
    bits = random_bits(seed)
    start = time.perf_counter()
    problem = solver.problem_of(matrix, loss.encode(y), loss, RADIUS, theta, 0.0)
    walk = solver.empty_walk(problem, rounds)
    rule = PRIVATE[name](problem, walk, bits.generator, 2)
    ready = time.perf_counter()
    rule.advance(rounds)
    moved = time.perf_counter()
    solver._solution(problem, walk, matrix.shape[1], False)
    done = time.perf_counter()
    return problem, walk, ready - start, moved - ready, done - start


def time_replay(problem, walk) -> float:
    """Seconds that the margin updates of a walk take, without anything else."""
    margins = np.zeros(len(problem.labels))
    start = time.perf_counter()
    replay(problem, walk, margins)
    return time.perf_counter() - start

"""The best vertex by brute force, without privacy."""

from dplasso.base import threads as pool
from dplasso.kernels.greedy import best_of_all, take_step
from dplasso.mechanisms.selection.base import Rule


class Argmax(Rule):
    """Computes every score every round and takes the largest; ties go to the smallest vertex.

    Not private: for theta = infinity only.
    """

    def advance(self, until: int) -> None:
        problem, walk = self.problem, self.walk
        vertices = (len(problem.indptr) - 1) * problem.classes
        runs = pool.even_runs(vertices, self.threads)
        while self.done < until:
            found = pool.run(best_of_all, [(problem, walk, *run) for run in runs])
            # max() returns the first of equals, and runs are in the order of the vertices.
            vertex, score = max(found, key=lambda pair: abs(pair[1]))
            take_step(problem, walk, vertex, score, self.done)
            self.done += 1

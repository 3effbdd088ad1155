"""Landmark rules and solvers as a user would write them, from the docstrings of the protocols alone."""

import numpy as np
from scipy import sparse

from unisvm import solvers


class FarthestFirst:
    """A landmark rule that returns store indices: rows that are far from each other, up to a random first one."""

    def choose(self, rows, kernel, rank, tol, rng):
        X = rows.take(np.arange(rows.n_rows))
        X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
        chosen = [rng.randint(len(X))]
        distances = np.linalg.norm(X - X[chosen[0]], axis=1)
        while len(chosen) < rank and distances.max() > 0:
            chosen.append(int(distances.argmax()))
            distances = np.minimum(distances, np.linalg.norm(X - X[chosen[-1]], axis=1))
        return np.array(chosen)


class Midpoints:
    """A landmark rule that returns points: the midpoints of rows and the row that was drawn next."""

    def choose(self, rows, kernel, rank, tol, rng):
        X = rows.take(rows.draw(rank + 1, rng))
        return (X[1:] + X[:-1]) / 2 if X.shape[0] > 1 else X


class Descent(solvers.Iteration):
    """Gradient descent in the majoriser's coordinates, whose steps have length one."""

    arrays = (*solvers.Iteration.arrays, "move")

    def __init__(self, objective, majoriser, weights, n_sweeps):
        super().__init__(objective, majoriser, weights, n_sweeps)
        self.move = np.zeros_like(weights)

    def step(self):
        self.weights = self.weights - self.move
        self.value, gradient = self.objective(self.weights, self.columns)
        z = self.majoriser.gradient(gradient, self.columns)
        self.stationarity = solvers.relative_decrease(z, self.value)
        self.move = self.majoriser.to_weights(z, self.columns)


class GradientDescent:
    """A solver that starts from least squares, or where it is told to."""

    #: steps of length one are safe with a majoriser of all rows only
    needs_exact_majoriser = True

    def begin(self, objective, majoriser, start):
        weights = start.weights
        if weights is None:
            weights = majoriser.least_squares(objective.correlate_targets())[:, : objective.n_columns]
        return Descent(objective, majoriser, weights, start.n_sweeps)

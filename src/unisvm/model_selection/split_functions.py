"""The functions of a cell's splits, and their decisions on the rows left out as if these were new rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from unisvm.class_pairs import class_scores
from unisvm.kernel_expansion import KernelExpansion
from unisvm.model_selection.folds import Splits
from unisvm.parallel import single_thread_if_small
from unisvm.rows.distinct import distinct_rows


class SplitFunctions(NamedTuple):
    """Functions of a cell on the landmarks that all splits share, in the units of y.

    Attributes
    ----------
    functions : list of KernelExpansion
        One for each split.
    landmark_rows : ndarray of int of shape (rank,) or None
        Row indices of the landmarks; None where they are no rows.
    pairs : ndarray of int of shape (n_columns, 2) or None
        The classes of each column, where these are fitted in pairs.
    """

    functions: list[KernelExpansion]
    landmark_rows: np.ndarray | None
    pairs: np.ndarray | None

    def mean(self) -> KernelExpansion:
        """Mean over the splits."""
        duals, intercepts = zip(*((each.dual_coef, each.intercept) for each in self.functions), strict=True)
        return self.functions[0]._replace(dual_coef=np.mean(duals, axis=0), intercept=np.mean(intercepts, axis=0))

    def decide_as_new(self, X, splits: Splits, decision: np.ndarray) -> np.ndarray:
        """Decisions on the rows left out, as if none of them were a landmark.

        New rows are no landmarks. A row x that is one, or a copy of one, has a decision in which none of its kernel is
        lost: where the landmarks leave out much of the trace, it is larger than those of new rows, and probabilities
        that are fitted to it are too low. The projection of a function on the span of the other landmarks is
        f(x) − α_x/(k(B, B)⁻¹)_xx there.

        Parameters
        ----------
        X : ndarray, CSR matrix or StoredRows of shape (n_samples, n_features)
        splits : sequence of (train, test)
        decision : ndarray of shape (n_samples, n_outputs)
            With the landmarks: returned where these are no rows, or the kernel is not positive semidefinite.
        """
        if self.landmark_rows is None or len(self.landmark_rows) < 2:
            return decision
        kernel, points = self.functions[0].kernel, self.functions[0].points
        vectors = X[self.landmark_rows].astype(np.float64)
        matrix = np.asarray(kernel.against(points if kernel.points_are_indices else vectors)(vectors))
        try:
            alone = _residuals(matrix)
        except LinAlgError:
            return decision
        landmark_of = self._landmark_of(X)
        total, count = np.zeros(decision.shape), np.zeros(len(decision))
        for function, (_, test) in zip(self.functions, splits, strict=True):
            rows = test[landmark_of[test] >= 0]
            out, place = np.unique(landmark_of[rows], return_inverse=True)
            dual = function.dual_coef.astype(np.float64).T
            values = matrix[out] @ dual + function.intercept - alone[out, None] * dual[out]
            values = values if self.pairs is None else class_scores(values, self.pairs)
            total[rows] += values[place]
            count[rows] += 1
        as_new = decision.copy()
        # rows of weight 0 have no decision
        replaced = (count > 0) & np.isfinite(decision).all(axis=1)
        as_new[replaced] = total[replaced] / count[replaced, None]
        return as_new

    def _landmark_of(self, X) -> np.ndarray:
        """Place among the landmarks of the one that each row is equal to, of shape (n_samples,); −1 for other rows."""
        first, kind = distinct_rows(X)
        place = np.full(len(first), -1)
        place[kind[self.landmark_rows]] = np.arange(len(kind[self.landmark_rows]))
        return place[kind]


def _residuals(matrix: np.ndarray) -> np.ndarray:
    """1/(k(B, B)⁻¹)_xx for each landmark x: what the others leave out of k(x, x)."""
    # a little more on the diagonal than rounding can take from it
    inverse = matrix.copy()
    inverse[np.diag_indices_from(inverse)] += len(matrix) * np.finfo(np.float64).eps * matrix.diagonal().max()
    with single_thread_if_small(len(matrix) ** 3):
        # the transpose is the same matrix in the order of LAPACK, which needs no copy then
        inverse, _ = dtrtri(cholesky(inverse.T, lower=True, overwrite_a=True), lower=1, overwrite_c=1)
    inverse *= inverse
    return 1 / inverse.sum(axis=0)

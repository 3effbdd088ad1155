"""What every kernel machine shares: its kernel, checks of what it is given, and decisions from its landmarks."""

from __future__ import annotations

from functools import partial
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from unisvm import kernels
from unisvm.features import check_positive_semidefinite
from unisvm.kernels import Precomputed
from unisvm.rows.threads import count_threads, run

_PREDICTION_BLOCK_BYTES = 2**22


class KernelEstimator(BaseEstimator):
    """A function f(x) = Σ k(x, b) α_b + intercept for each column, and the parameters of its kernel."""

    n_jobs: int | None = None

    # ------------------------------------------------------------------ checks, before any work

    def _requested_kernel(self) -> kernels.Kernel:
        kernel = kernels.get(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )
        # says what is wrong with a gamma, before the data are looked at
        kernel.resolve(1, lambda: 1.0)
        return kernel

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _check_rows(self, X) -> None:
        """Raise when X cannot be what the kernel wants."""
        if not self._is_precomputed():
            return
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel matrix must be square, a row and a column for each training row; got {X.shape}."
            )
        chosen = check_random_state(0).permutation(X.shape[0])[:500]
        part = X[chosen][:, chosen]
        part = part.toarray() if sparse.issparse(part) else part
        if not np.allclose(part, part.T, rtol=1e-4, atol=1e-6 * np.abs(part).max()):
            raise ValueError("A precomputed kernel matrix must be symmetric; K[i, j] and K[j, i] differ.")
        check_positive_semidefinite(part.astype(np.float64), refuse=True)

    def _check_weights(self, sample_weight, X) -> np.ndarray:
        if sample_weight is None:
            return np.ones(X.shape[0], dtype=X.dtype)
        if isinstance(sample_weight, Real):
            sample_weight = np.full(X.shape[0], sample_weight)
        weights = check_array(
            sample_weight, ensure_2d=False, dtype=X.dtype, ensure_non_negative=True, input_name="sample_weight"
        )
        if weights.shape != (X.shape[0],):
            raise ValueError(f"sample_weight must have shape ({X.shape[0]},), got {weights.shape}.")
        if not weights.any():
            raise ValueError("All sample weights are zero: at least one row must count.")
        return weights

    # ------------------------------------------------------------------ use

    def _decision(self, X) -> np.ndarray:
        """f(x) of each column."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._decide(kernels.as_rows(X))

    def _decide(self, X) -> np.ndarray:
        against = self.kernel_.against(self.landmark_vectors_)
        n_threads = count_threads(self.n_jobs)
        dtype = np.result_type(X.dtype, self.dual_coef_.dtype)
        decision = np.empty((X.shape[0], len(self.dual_coef_)), dtype=dtype)
        length = max(64, _PREDICTION_BLOCK_BYTES // (max(self.rank_, 1) * X.dtype.itemsize))

        def fill(low: int) -> None:
            part = slice(low, low + length)
            decision[part] = against(X[part]) @ self.dual_coef_.T + self.intercept_

        run([partial(fill, low) for low in range(0, X.shape[0], length)], n_threads)
        return decision

    def __sklearn_is_fitted__(self):
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

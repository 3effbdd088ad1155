"""What every kernel machine shares: its kernel, checks of what it is given, and decisions from its landmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from unisvm import kernels
from unisvm._inputs import check_rows
from unisvm.features import check_positive_semidefinite
from unisvm.kernels import Precomputed
from unisvm.kernels.base import as_rows
from unisvm.rows.stored import Pages, StoredRows
from unisvm.rows.threads import count_threads, run

_PREDICTION_BLOCK_BYTES = 2**22

#: turns decisions of a block of rows, a column for each function, into what is asked for
Turn = Callable[[np.ndarray], np.ndarray]


def _as_it_is(decision: np.ndarray) -> np.ndarray:
    return decision


class KernelEstimator(BaseEstimator):
    """A function f(x) = Σ k(x, b) α_b + intercept for each column, and the parameters of its kernel."""

    n_jobs: int | None = None

    # where the answer goes is nothing that meta-estimators should pass on
    __metadata_request__predict = {"out": UNUSED}
    __metadata_request__decision_function = {"out": UNUSED}

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

    def _decision(self, X, turn: Turn = _as_it_is, out: np.ndarray | None = None) -> np.ndarray:
        """What `turn` makes of f(x) of each column, block by block: in `out` if it is given."""
        check_is_fitted(self)
        return self._decide(as_rows(check_rows(self, X)), turn, out)

    def _decide(self, X, turn: Turn = _as_it_is, out: np.ndarray | None = None) -> np.ndarray:
        against = self.kernel_.against(self.landmark_vectors_)
        n_threads = count_threads(self.n_jobs)
        dtype = np.result_type(X.dtype, self.dual_coef_.dtype)
        of_none = turn(np.empty((0, len(self.dual_coef_)), dtype=dtype))
        shape = (X.shape[0], *of_none.shape[1:])
        result = np.empty(shape, of_none.dtype) if out is None else _checked_out(out, shape, of_none.dtype)
        pages = Pages.of(result)
        # a block of rows that are in a file is in memory beside its features
        width = max(self.rank_, X.entries_a_row if isinstance(X, StoredRows) else 1, 1)
        length = max(64, _PREDICTION_BLOCK_BYTES // (width * X.dtype.itemsize))

        def fill(low: int) -> None:
            part = slice(low, low + length)
            result[part] = turn(against(X[part]) @ self.dual_coef_.T + self.intercept_)
            if pages is not None:
                pages.give_back(result[part])

        run([partial(fill, low) for low in range(0, X.shape[0], length)], n_threads)
        return result

    def __sklearn_is_fitted__(self):
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def _checked_out(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.writeable:
        is_what = f"one of shape {out.shape} and type {out.dtype}" if isinstance(out, np.ndarray) else repr(type(out))
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            is_what += ", which is read-only"
        raise ValueError(f"out must be a writeable array of shape {shape} and type {dtype}; got {is_what}.")
    return out

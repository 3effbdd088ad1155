"""Landmark rows B that the kernel is approximated by, and the rules that choose them.

The rules work on a partial Cholesky factorisation of the kernel matrix of some candidate rows: uniform and randomly
pivoted landmarks on a random sample, greedily pivoted ones on all rows, which costs O(m r²) and is the paper's way.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from unisvm._checks import one_of
from unisvm.kernels import Kernel
from unisvm.kernels.base import as_rows
from unisvm.nystrom.cholesky import PartialCholesky
from unisvm.nystrom.indefinite import looks_indefinite, pivots_of_square
from unisvm.nystrom.kernel_checks import NotPositiveSemidefiniteError
from unisvm.parallel import blas_threads
from unisvm.rows import RowStore

# candidates that a randomly pivoted landmark is chosen from
_FEWEST_CANDIDATES, _MOST_CANDIDATES = 3, 10
_LEAST_CANDIDATES = 2000


@runtime_checkable
class LandmarkRule(Protocol):
    """A rule that chooses landmarks: an object with the method `choose`, such as one of the user's.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier
    >>> class EvenlySpaced:
    ...     def choose(self, rows, kernel, rank, tol, rng):
    ...         return np.unique(np.linspace(0, rows.n_rows - 1, rank).astype(int))
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = UniSVMClassifier(landmarks=EvenlySpaced(), rank=4).fit(X, y)
    >>> sorted(model.landmarks_.tolist())
    [0, 99, 199, 299]
    """

    def choose(self, rows: RowStore, kernel: Kernel, rank: int, tol: float, rng: np.random.RandomState) -> np.ndarray:
        """Store indices of the landmarks, of shape (n_landmarks,), or points, of shape (n_landmarks, n_features).

        Parameters
        ----------
        rows : RowStore
            The training rows of positive weight.
        kernel : Kernel
            With its gamma as a number.
        rank : int
            Most landmarks.
        tol : float
            Stop once the trace left out is at most this share of the trace.
        rng : RandomState
        """


class RandomlyPivotedCholesky:
    """Pivots drawn by the diagonal that is left, in blocks with rejection, on a sample of the rows."""

    def choose(self, rows: RowStore, kernel: Kernel, rank: int, tol: float, rng: np.random.RandomState) -> np.ndarray:
        candidates, weights = rows.weighted_subsample(n_candidates(rows.n_rows, rank), rng)
        sampled = len(candidates) < rows.n_rows
        cholesky = PartialCholesky(kernel, rows, candidates, weights, rank, sampled=sampled)
        block = max(10, rank // 20)
        while len(cholesky.pivots) < rank:
            mass = cholesky.weights * cholesky.residual
            total = mass.sum()
            if total <= 0:
                break
            proposals = rng.choice(len(candidates), block, p=mass / total)
            if cholesky.add(proposals, tol, rng):
                break
        return candidates[cholesky.pivots]


def n_candidates(n_rows: int, rank: int) -> int:
    """Number of rows to choose from: all when that is cheap, else few enough to cost little beside the sweeps.

    Data with heavy tails want many, since rare rows matter there: on cpu_act, three a landmark left an error a tenth
    higher than ten did.
    """
    most = _MOST_CANDIDATES * rank
    enough = n_rows if n_rows <= most else np.clip(n_rows // 40, _FEWEST_CANDIDATES * rank, most)
    return max(int(enough), _LEAST_CANDIDATES)


class PivotedCholesky:
    """The largest entry of the diagonal that is left, on all rows: the paper's rule."""

    def choose(self, rows: RowStore, kernel: Kernel, rank: int, tol: float, rng: np.random.RandomState) -> np.ndarray:
        # a random order settles ties, so that the first landmark of a kernel with a constant diagonal is a random one
        candidates = rng.permutation(rows.n_rows)
        weights = rows.take_weights(candidates)
        cholesky = PartialCholesky(kernel, rows, candidates, weights, rank, sampled=False)
        while cholesky.residual.max() > 0:
            pivots = cholesky.greedy_pivots()
            if cholesky.add(pivots, tol):
                break
        return candidates[cholesky.pivots]


class Uniform:
    """Rows at random, by weight."""

    def choose(self, rows: RowStore, kernel: Kernel, rank: int, tol: float, rng: np.random.RandomState) -> np.ndarray:
        drawn = rows.draw(rank, rng)
        # the trace is measured on other rows, which stand for all
        measured, weights = rows.weighted_subsample(_LEAST_CANDIDATES, rng)
        candidates, weights = np.concatenate([drawn, measured]), np.concatenate([np.zeros(rank), weights])
        cholesky = PartialCholesky(kernel, rows, candidates, weights, rank, sampled=True)
        block = max(10, rank // 20)
        for start in range(0, rank, block):
            if cholesky.add(np.arange(start, min(start + block, rank)), tol):
                break
        if not cholesky.pivots:
            # the kernel is zero on all rows that were drawn
            cholesky.add(np.arange(rank, len(candidates))[cholesky.residual[rank:] > 0][:rank], tol)
        return candidates[cholesky.pivots]


RULES: dict[str, LandmarkRule] = {
    "rpcholesky": RandomlyPivotedCholesky(),
    "pivoted_cholesky": PivotedCholesky(),
    "uniform": Uniform(),
}


_EXPECTED = f"landmarks must be one of {', '.join(map(repr, RULES))}, an object with a method choose, or an array of"


class Landmarks(NamedTuple):
    """The landmarks, in the forms in which they are needed.

    Attributes
    ----------
    row_indices : ndarray of int or None
        Among all rows that were given; None when they are points that the user gave.
    store_indices : ndarray of int or None
        In the row store; None when they are not all in it.
    kernel_points
        As `Kernel.against` takes them.
    vectors : ndarray or CSR matrix of shape (n_landmarks, n_features)
    """

    row_indices: np.ndarray | None
    store_indices: np.ndarray | None
    kernel_points: Any
    vectors: Any

    @property
    def is_wide(self) -> bool:
        """False: second moments of as many landmarks as there are can be computed."""
        return False

    @property
    def rank(self) -> int:
        """Number of landmarks."""
        return int(self.vectors.shape[0])

    @classmethod
    def from_store(cls, rows: RowStore, kernel: Kernel, indices: np.ndarray) -> Landmarks:
        """Landmarks that are rows of the store, by their store indices."""
        vectors = rows.take(indices)
        points = indices if kernel.points_are_indices else vectors
        return cls(rows.row_indices(indices), indices, points, vectors)

    @classmethod
    def from_array(cls, array: Any, rows: RowStore, kernel: Kernel) -> Landmarks:
        """Landmarks that the user gave, as row indices (1-D) or as points (2-D)."""
        array = array if sparse.issparse(array) else np.asarray(array)
        if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) and len(array):
            return cls._from_row_indices(np.unique(array), rows, kernel)
        if array.ndim != 2 or kernel.points_are_indices:
            kinds = "row indices (1-D integers)" + ("" if kernel.points_are_indices else " or points (2-D)")
            raise ValueError(f"{_EXPECTED} {kinds}; got an array of shape {array.shape} and type {array.dtype}.")
        points = as_rows(check_array(array, accept_sparse="csr", dtype=rows.dtype, input_name="landmarks"))
        if points.shape[1] != rows.n_features:
            raise ValueError(f"The landmarks have {points.shape[1]} columns, but X has {rows.n_features}.")
        return cls(None, None, points, points)

    def state(self) -> dict[str, np.ndarray]:
        """The landmarks as arrays: store indices or points; none for rows of weight 0, which the user has named."""
        if self.store_indices is not None:
            return {"store_indices": self.store_indices}
        if self.row_indices is not None:
            return {}
        if sparse.issparse(self.vectors):
            return {f"points_{name}": getattr(self.vectors, name) for name in ("data", "indices", "indptr")}
        return {"points": self.vectors}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], landmarks: Any, rows: RowStore, kernel: Kernel) -> Landmarks:
        """Inverse of `state`, for the same rows and the same rule or array `landmarks`."""
        if "store_indices" in state:
            return cls.from_store(rows, kernel, state["store_indices"])
        if not is_rule(landmarks):
            return cls.from_array(landmarks, rows, kernel)
        if "points" in state:
            return cls.from_array(state["points"], rows, kernel)
        parts = (state[f"points_{name}"] for name in ("data", "indices", "indptr"))
        shape = (len(state["points_indptr"]) - 1, rows.n_features)
        return cls.from_array(sparse.csr_array(tuple(parts), shape=shape), rows, kernel)

    @classmethod
    def _from_row_indices(cls, row_indices: np.ndarray, rows: RowStore, kernel: Kernel) -> Landmarks:
        if row_indices[0] < 0 or row_indices[-1] >= rows.n_given:
            raise ValueError(
                f"landmarks must be row indices from 0 to {rows.n_given - 1}; "
                f"got values from {row_indices[0]} to {row_indices[-1]}."
            )
        indices = rows.locate(row_indices)
        if indices is not None:
            return cls.from_store(rows, kernel, indices)
        if kernel.points_are_indices:
            raise ValueError("Landmarks given by their row indices must be rows of positive weight here.")
        vectors = rows.take_given(row_indices)
        return cls(row_indices, None, vectors, vectors)


def check_rule(landmarks: Any) -> None:
    """Raise when `landmarks` cannot be a rule or an array, whatever the rows."""
    if isinstance(landmarks, str):
        one_of("landmark rule", landmarks, RULES)
    elif isinstance(landmarks, type):
        raise ValueError(f"landmarks must be an object: use {landmarks.__name__}() instead of the class.")
    elif not (callable(getattr(landmarks, "choose", None)) or hasattr(landmarks, "shape") or np.ndim(landmarks)):
        raise ValueError(f"{_EXPECTED} row indices (1-D integers) or points (2-D); got {landmarks!r}.")


def is_rule(landmarks: Any) -> bool:
    """Whether `landmarks` is the name of a rule or a rule object; arrays have a method `choose`, too."""
    return isinstance(landmarks, str | LandmarkRule) and not hasattr(landmarks, "__array__")


def choose_landmarks(
    landmarks: Any,
    rows: RowStore,
    kernel: Kernel,
    rank: int,
    tol: float,
    rng: np.random.RandomState,
    indefinite: str = "raise",
) -> Landmarks:
    """Landmarks by the rule of that name, by a rule object, or as an array gives them.

    When there are no more rows than `rank`, all of them are landmarks by any of the named rules. `indefinite` is as in
    `UniSVMClassifier`.
    """
    if not is_rule(landmarks):
        return Landmarks.from_array(landmarks, rows, kernel)
    if isinstance(landmarks, str) and rank >= rows.n_rows:
        return Landmarks.from_store(rows, kernel, np.arange(rows.n_rows))
    rank = min(rank, rows.n_rows)
    if isinstance(landmarks, str):
        chosen = _choose_by_name(landmarks, rows, kernel, rank, tol, rng, refuse=indefinite == "raise")
    else:
        chosen = _choose_by_rule(landmarks, rows, kernel, rank, tol, rng)
    if isinstance(landmarks, str):
        if len(chosen) == 0:
            raise ValueError(
                f"The kernel {kernel} does not tell the rows of X from zero, so that there is nothing to learn from. "
                "Scale the columns of X, or choose another kernel."
            )
        return Landmarks.from_store(rows, kernel, chosen)
    try:
        chosen = chosen if sparse.issparse(chosen) else np.asarray(chosen)
        if chosen.ndim and chosen.shape[0] > rank:
            raise ValueError(f"got {chosen.shape[0]} landmarks, where at most {rank} are asked for.")
        if chosen.ndim == 2:
            return Landmarks.from_array(chosen, rows, kernel)
        return Landmarks.from_store(rows, kernel, _check_indices(chosen, rows.n_rows))
    except ValueError as error:
        raise ValueError(
            f"{type(landmarks).__name__}.choose must return distinct store indices from 0 to {rows.n_rows - 1} or "
            f"points (2-D): {error}"
        ) from error


def _choose_by_name(
    name: str,
    rows: RowStore,
    kernel: Kernel,
    rank: int,
    tol: float,
    rng: np.random.RandomState,
    *,
    refuse: bool,
) -> np.ndarray:
    """Store indices of landmarks by the rule of that name, or by K² if K is not positive semidefinite."""
    if not looks_indefinite(rows, kernel, refuse=refuse):
        try:
            return _choose_by_rule(RULES[name], rows, kernel, rank, tol, rng)
        except NotPositiveSemidefiniteError:
            if refuse:
                raise
    if name == "uniform":
        return rows.draw(rank, rng)
    return pivots_of_square(rows, kernel, rank, tol, rng)


def _choose_by_rule(
    rule: LandmarkRule, rows: RowStore, kernel: Kernel, rank: int, tol: float, rng: np.random.RandomState
) -> np.ndarray:
    # threads of BLAS would spin on between its many small products
    with blas_threads(1):
        return rule.choose(rows, kernel, rank, tol, rng)


def _check_indices(indices: np.ndarray, n_rows: int) -> np.ndarray:
    if not (indices.ndim == 1 and len(indices) and np.issubdtype(indices.dtype, np.integer)):
        raise ValueError(f"got an array of shape {indices.shape} and type {indices.dtype}.")
    if indices.min() < 0 or indices.max() >= n_rows or len(np.unique(indices)) < len(indices):
        raise ValueError(
            f"got {len(indices)} indices from {indices.min()} to {indices.max()}, {len(np.unique(indices))} distinct."
        )
    return indices.astype(np.intp)

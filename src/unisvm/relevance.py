"""Relevance of the columns of X: scales that the kernel multiplies them by, given or learned.

A column is as relevant as the function f falls and rises along it: with g_j = mean_x Σ_c (∂f_c/∂x_j)², by the scaled
columns, its scale is √g_j. A kernel of such columns has a better f, which has other g: there are a few rounds of fits
to a sample of the rows. How many of them pay is told by halves of the sample: leave-one-out errors of least squares on
each half, with scales that were learned from the other. Where none pays, all scales stay 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unisvm import engine
from unisvm.checkpoint import Arrays
from unisvm.engine import FitSettings
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Kernel
from unisvm.local.columns import columns_of_cell
from unisvm.nystrom.landmarks import is_rule
from unisvm.progress import StageRunner
from unisvm.rows import MemoryRows, RowStore
from unisvm.rows.distinct import distinct_rows
from unisvm.scaling import ColumnScaling, read_scaling
from unisvm.targets import Attributes, TargetUnits

#: the relevance that is learned
LEARNED = "learned"
# Rounds of learning, and rows and landmarks of their fits, a second or two in all. With 2,800 rows of nine sets of
# benchmarks/relevance.py, errors on other rows after one, two and four rounds were alike on six; on cpu_act, kin8nm and
# spambase they fell further with the rounds. Scales of g^0.35 and g^0.25 instead of √g were better on house_8L by 3 %
# at most, and worse on cpu_act by 5 to 50 %.
_N_ROUNDS, _N_ROWS, _RANK = 4, 2000, 300
# Least share by which learning must lower the errors on halves. On benchmarks/relevance.py it lowers them by 6 to 28 %
# on kin8nm (RBF) and cadata, where errors on rows held out fall as well; by 4 or 5 % on spambase (Laplacian), where
# those rise by up to 10 %; by 1 to 4 % on phoneme and diabetes, where they stay or rise by 3 %.
_LEAST_GAIN = 0.05
# most numbers in the derivatives of a block of rows
_BLOCK_ENTRIES = 2**22
# stationarity of the fits of the rounds
_TOL = 1e-3
# of fewer different rows there are no halves to judge by
_FEWEST_KINDS = 20


class Relevance(NamedTuple):
    """What the columns of X are multiplied by once they are scaled, and how far each moves f.

    Attributes
    ----------
    relevances : ndarray of shape (n_features,)
    importances : ndarray of shape (n_features,)
        Shares of the mean squared derivative of f along columns of variance 1, whose sum is 1.
    """

    relevances: np.ndarray
    importances: np.ndarray

    def state(self) -> Arrays:
        """Both arrays."""
        return self._asdict()

    @classmethod
    def from_state(cls, state: Arrays) -> Relevance:
        """Inverse of `state`."""
        return cls(state["relevances"], state["importances"])


def check_relevance(relevance: Any, kernel: Kernel) -> Any:
    """The parameter, "learned", None or an array of one number for each column; raises when it is none of them."""
    if relevance is None:
        return None
    is_learned = isinstance(relevance, str)
    if is_learned and relevance != LEARNED:
        raise ValueError(f"relevance must be None, 'learned' or an array, got {relevance!r}.")
    if not kernel.has_gradients:
        raise ValueError(
            f"relevance is for kernels whose derivatives along the columns of X are known, 'rbf', 'laplacian', 'poly', "
            f"'sigmoid' and 'linear', and {kernel!r} is not one of them: use relevance=None."
        )
    if is_learned:
        return relevance
    expected = "relevance must be None, 'learned', or a number from 0 for each column of X, not all of them 0"
    try:
        factors = np.asarray(relevance, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}; got {relevance!r}.") from None
    if factors.ndim != 1:
        raise ValueError(f"{expected}; got an array of shape {factors.shape}.")
    if not np.isfinite(factors).all() or not (factors >= 0).all() or not factors.any():
        raise ValueError(f"{expected}; got {relevance!r}.")
    return factors


def with_relevance(
    rows: RowStore, units: TargetUnits, settings: FitSettings, runner: StageRunner
) -> tuple[FitSettings, Attributes]:
    """Settings with the kernel of columns multiplied by their relevance, and the attributes of the estimator.

    Parameters
    ----------
    rows : RowStore
        With the training targets.
    units : TargetUnits
        Of these targets.
    settings : FitSettings
        Unless its relevance is None, they are for other rows than these no more.
    runner : StageRunner
    """
    if settings.relevance is None:
        return settings, {}
    given = None if isinstance(settings.relevance, str) else settings.relevance
    if given is not None and len(given) != rows.n_features:
        raise ValueError(f"relevance has {len(given)} numbers, and X has {rows.n_features} columns.")
    scaling = read_scaling(rows, settings.scale)
    relevances, importances = runner.stage(
        "relevance", lambda: _learn(rows, units, settings, scaling, given, runner), Relevance.from_state
    )
    kernel = scaling.times(relevances).kernel_of(settings.kernel)
    attributes = {"relevances_": relevances, "feature_importances_": importances}
    return replace(settings, kernel=kernel, scale=None, relevance=None), attributes


class _Problem(NamedTuple):
    """Fits to samples of the rows: the units of the targets, the settings, the scaling of the columns, and a seed."""

    units: TargetUnits
    settings: FitSettings
    scaling: ColumnScaling
    runner: StageRunner
    seed: int

    def learn(self, sample: MemoryRows, n_rounds: int) -> list[np.ndarray]:
        """Relevances of 1, and those that each round learns from a sample; fewer where f is constant."""
        found = [np.ones(sample.n_features)]
        while len(found) <= n_rounds:
            scales = np.sqrt(self.gradients(sample, found[-1]))
            if not 0 < scales.max() < np.inf:
                break
            found.append(_normalised(scales / scales.max(), self.scaling))
        return found

    def gradients(self, sample: MemoryRows, relevances: np.ndarray) -> np.ndarray:
        """g of a fit with these relevances, by the scaled columns, of shape (n_features,)."""
        columns = columns_of_cell(sample.targets, self.units, is_margin=self.settings.is_margin)
        if len(columns.fitted) == 0:
            return np.zeros(sample.n_features)
        settings = self._settings_with(relevances)
        sample = sample.with_targets(sample.targets[:, columns.targets])
        functions = engine.fit(sample, columns.units, settings, self.runner.apart(self.seed)).expansion
        # targets count alike, whatever their units
        functions = functions._replace(dual_coef=functions.dual_coef / columns.units.scale[:, None])
        return mean_squared_gradients(functions, sample) * self.scaling.divisor**2

    def error(self, sample: MemoryRows, relevances: np.ndarray) -> float:
        """Least mean squared leave-one-out error of least squares with these relevances."""
        columns = columns_of_cell(sample.targets, self.units, is_margin=self.settings.is_margin)
        if len(columns.fitted) == 0:
            return 0.0
        settings, rng = self._settings_with(relevances), np.random.RandomState(self.seed)
        sample = sample.with_targets(sample.targets[:, columns.targets])
        basis = engine.choose_basis(sample, settings, rng)
        features = engine.build_features(sample, settings, basis)
        (choice,) = engine.suitable_Cs(sample, basis, features, columns.units, settings, [settings.loss], rng)
        return float(choice.errors.min())

    def _settings_with(self, relevances: np.ndarray) -> FitSettings:
        """Settings of fits to samples: few landmarks, and a C that suits the rows."""
        settings = self.settings
        return replace(
            settings,
            C=None,
            kernel=self.scaling.times(relevances).kernel_of(settings.kernel),
            scale=None,
            relevance=None,
            rank=_RANK if settings.rank is None else min(settings.rank, _RANK),
            landmarks=settings.landmarks if is_rule(settings.landmarks) else "rpcholesky",
            tol=max(settings.tol, _TOL),
        )


def _learn(
    rows: RowStore,
    units: TargetUnits,
    settings: FitSettings,
    scaling: ColumnScaling,
    given: np.ndarray | None,
    runner: StageRunner,
) -> Relevance:
    """Relevances of the columns, unless they are given, and their importances."""
    sample, seed = rows.subset(*rows.weighted_subsample(_N_ROWS, runner.rng)), runner.rng.randint(2**31 - 1)
    problem = _Problem(units, settings, scaling, runner, seed)
    relevances = given
    if relevances is None:
        errors = _errors_of_rounds(sample, problem)
        n_rounds = int(errors.argmin()) if errors.min() < 1 - _LEAST_GAIN else 0
        shown = ", ".join(f"{error:.3g}" for error in errors)
        runner.report.say(f"  relevance of round {n_rounds}, by relative errors on other rows: {shown}")
        relevances = problem.learn(sample, n_rounds)[-1]
    moved = problem.gradients(sample, relevances) * scaling.variances
    moved = moved / moved.max() if 0 < moved.max() < np.inf else np.ones(rows.n_features)
    return Relevance(relevances, moved / moved.sum())


def _errors_of_rounds(sample: MemoryRows, problem: _Problem) -> np.ndarray:
    """Errors of the rounds, relative to that without relevance: learned from either half of a sample, on the other."""
    kinds, kind_of = distinct_rows(sample.X)
    is_first = np.random.RandomState(problem.seed).permutation(len(kinds))[kind_of] < len(kinds) // 2
    halves = [sample.subset(each, sample.weights[each]) for each in map(np.flatnonzero, (is_first, ~is_first))]
    errors = []
    for learning, judging in (halves, halves[::-1]) if len(kinds) >= _FEWEST_KINDS else ():
        found = [problem.error(judging, relevances) for relevances in problem.learn(learning, _N_ROUNDS)]
        if found[0] > 0 and len(found) > _N_ROUNDS:
            errors.append(np.array(found) / found[0])
    return np.mean(errors, axis=0) if errors else np.ones(1)


def _normalised(relevances: np.ndarray, scaling: ColumnScaling) -> np.ndarray:
    """Relevances times a number, with which rows are as far from each other as without them."""
    scaled = scaling.times(relevances)
    n_parts = int(np.isfinite(scaled.divisor).sum())
    before, after = len(relevances) * scaling.variance, n_parts * scaled.variance
    return relevances * np.sqrt(before / after) if after > 0 else np.ones_like(relevances)


def mean_squared_gradients(functions: KernelExpansion, rows: MemoryRows) -> np.ndarray:
    """Weighted mean over the rows of Σ_c (∂f_c/∂x_j)², of shape (n_features,)."""
    if functions.points is None:
        return np.asarray((functions.dual_coef.astype(np.float64) ** 2).sum(axis=0))
    sums, weights = np.zeros(rows.n_features), rows.weights.astype(np.float64)
    length = max(_BLOCK_ENTRIES // max(rows.n_features, 1), 1)
    for low in range(0, rows.n_rows, length):
        part = slice(low, low + length)
        squares = functions.kernel.squared_gradients(rows.X[part], functions.points, functions.dual_coef)
        sums += weights[part] @ squares
    return sums / weights.sum()

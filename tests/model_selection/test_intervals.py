"""Prediction intervals: against known quantiles, by their invariances, and what they are made of."""

import pickle

import dask.array as da
import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unisvm
from unisvm import UniSVMRegressorCV
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import RBF, Linear
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.base import plan, read_axes
from unisvm.model_selection.intervals import PredictionIntervals, Residuals, Widths, interval_scores
from unisvm.model_selection.learning_curve import residual_ratio

SETTINGS = {"Cs": [1.0], "gammas": [0.5], "rank": 60, "random_state": 0}


def simulated(n, spread, seed=0):
    """Rows of two columns, a smooth centre, and errors as wide as `spread` says."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(X[:, 0]) + spread(X) * rng.normal(size=n)


def even(X):
    return np.full(len(X), 0.3)


def uneven(X):
    return np.where(X[:, 1] > 0, 0.6, 0.05)


def search(**parameters):
    return UniSVMRegressorCV("huber", **(SETTINGS | parameters))


@pytest.fixture(scope="module")
def fitted():
    X, y = simulated(600, uneven)
    return search().fit(X, y), X, y


def covered(intervals, y):
    low, high = np.moveaxis(intervals, -1, 0)
    return np.mean((low <= y) & (y <= high), axis=0)


# ------------------------------------------------------------------ against known quantiles


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("spread", [even, uneven])
def test_coverage_and_ends_of_normal_errors(spread, coverage):
    model = search().fit(*simulated(3000, spread))
    X, y = simulated(4000, spread, seed=1)
    intervals = model.predict_interval(X, coverage)
    assert covered(intervals, y) == pytest.approx(coverage, abs=0.03)
    # away from the jump of the spread
    inside = (np.abs(X[:, 1]) > 0.5) & (np.abs(X) < 1.8).all(axis=1)
    width = np.diff(intervals[inside], axis=1)[:, 0] / (2 * stats.norm.ppf((1 + coverage) / 2) * spread(X[inside]))
    # a step of the spread is smoothed
    assert np.median(width) == pytest.approx(1, abs=0.1 if spread is even else 0.4)
    if spread is uneven:
        for part in (X[:, 1] > 0.5, X[:, 1] < -0.5):
            assert covered(intervals[part], y[part]) == pytest.approx(coverage, abs=0.12)


def test_skewed_errors_have_ends_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (2000, 1))
    errors = rng.exponential(size=2000)
    model = search(intervals="constant").fit(X, X[:, 0] + errors)
    low, high = (model.predict_interval(X, 0.8) - X).T
    assert np.median(low) == pytest.approx(stats.expon.ppf(0.1), abs=0.1)
    assert np.median(high) == pytest.approx(stats.expon.ppf(0.9), abs=0.2)


def test_widths_vary_only_where_that_is_better(fitted):
    assert fitted[0].intervals_.varies.tolist() == [True]
    X, y = simulated(600, uneven)
    constant = search(intervals="constant").fit(X, y)
    width = np.diff(constant.predict_interval(X), axis=1)
    assert constant.intervals_.varies.tolist() == [False]
    assert np.ptp(width) < 1e-9
    X, y = simulated(3000, uneven, seed=1)
    scores = [
        interval_scores(y[:, None], model.predict_interval(X)[:, None], np.ones(len(y)), 0.9)
        for model in (fitted[0], constant)
    ]
    assert scores[0] < 0.8 * scores[1]


def test_a_quantile_as_a_model_is_not_the_centre():
    X, y = simulated(1500, even)
    scorer = make_scorer(mean_pinball_loss, alpha=0.1, greater_is_better=False)
    model = UniSVMRegressorCV([unisvm.losses.SmoothPinball(tau=0.1)], scoring=scorer, **SETTINGS).fit(X, y)
    X, y = simulated(4000, even, seed=1)
    assert np.mean(y < model.predict(X)) < 0.2
    intervals = model.predict_interval(X, 0.8)
    assert covered(intervals, y) == pytest.approx(0.8, abs=0.03)
    assert np.mean(y < intervals[:, 0]) == pytest.approx(0.1, abs=0.03)


# ------------------------------------------------------------------ quantiles of the scores


def test_ends_are_at_the_ranks_of_n_plus_one_scores():
    values = np.arange(1.0, 100.0)
    intervals = PredictionIntervals(Residuals.of(values[:, None], np.ones(99)), np.ones(1))
    # 100 · 0.05 = 5 and 100 · 0.95 = 95
    np.testing.assert_allclose(intervals.ends(np.zeros((1, 1)), 0.9, None), [[[5, 95]]])
    # 100 · 0.045 rounded down and 100 · 0.955 rounded up
    np.testing.assert_allclose(intervals.ends(np.zeros((1, 1)), 0.91, None), [[[4, 96]]])
    np.testing.assert_allclose(intervals.ends(np.zeros((1, 1)), 0.98, None), [[[1, 99]]])
    with pytest.raises(ValueError, match=r"coverage=0\.99 .*99 rows.*takes 199 rows.*Ask for 0\.98 at most"):
        intervals.ends(np.zeros((1, 1)), 0.99, None)


@pytest.mark.parametrize("coverage", [0.3, 0.8, 0.9])
def test_a_row_of_weight_2_is_a_row_given_twice(coverage):
    rng = np.random.default_rng(0)
    values, twice = rng.normal(size=(60, 2)), rng.random(60) < 0.3
    weighted = PredictionIntervals(Residuals.of(values, 1.0 + twice), np.ones(2))
    repeated = np.repeat(values, 1 + twice, axis=0)
    given = PredictionIntervals(Residuals.of(repeated, np.ones(len(repeated))), np.ones(2))
    np.testing.assert_allclose(weighted.centre, given.centre)
    np.testing.assert_allclose(weighted.quantiles(coverage), given.quantiles(coverage))
    other_units = PredictionIntervals(Residuals.of(values, 1e-3 * (1.0 + twice)), np.ones(2))
    np.testing.assert_allclose(other_units.quantiles(coverage), weighted.quantiles(coverage))


def test_weights_in_a_search_count_as_repetitions():
    X, y = simulated(600, even)
    twice = np.arange(600) % 3 == 0
    # the folds of weighted rows and of repeated ones have the same rows
    order = np.repeat(np.arange(600), 1 + twice)
    splits, repeated = ([(order % 5 != k, order % 5 == k) for k in range(5)] for order in (np.arange(600), order))
    settings = {"landmarks": X[::10], "tol": 1e-6, "scoring": "r2"}
    weighted = search(cv=splits, **settings).fit(X, y, 1.0 + twice)
    given = search(cv=repeated, **settings).fit(X[order], y[order])
    assert weighted.intervals_.varies.tolist() == given.intervals_.varies.tolist()
    np.testing.assert_allclose(weighted.predict_interval(X), given.predict_interval(X), atol=0.02)
    plain = search(cv=splits, **settings).fit(X, y)
    assert np.abs(weighted.predict_interval(X) - plain.predict_interval(X)).max() > 0.02


def test_widths_are_bounded_away_from_zero():
    residuals = Residuals.of(np.linspace(-1, 1, 101)[:, None], np.ones(101))
    np.testing.assert_allclose(residuals.least_width, 0.05)
    columns = KernelExpansion(Linear(), None, np.array([[0.0], [1.0]]), np.array([1.0, 0.0]))
    widths = Widths(columns, np.array([True]), residuals.centre, residuals.least_width)
    # a lower quantile above the centre, and an upper one that falls below it
    np.testing.assert_allclose(widths(np.array([[-3.0], [0.5]]), 1)[:, :, 0], [[0.05, 0.05], [0.05, 0.5]])
    assert Residuals.of(np.ones((5, 1)), np.ones(5)).least_width.tolist() == [1.0]


# ------------------------------------------------------------------ learning curve


def test_ratio_of_residuals_against_separate_fits():
    X, y = simulated(200, even)
    model = search(fit_intercept=False, rank=None, rank_tol=1e-12)
    job = plan(model, read_axes(model), X, y, None, {}).seeded(np.random.RandomState(0))
    # the residuals' own scale, so that none is clipped, and a C of the grid that is best
    ratio = residual_ratio(job, KernelChoice("rbf", 0.5), np.zeros((200, 1)))
    K, folds = RBF(0.5).against(X)(X), np.arange(200) // 40
    scale = 1.4826 * np.median(np.abs(y))
    t = np.clip(y, -3 * scale, 3 * scale)
    # training targets of a fit without an intercept are about 0

    def errors(C, n_folds):
        found = np.empty(200)
        for k in range(5):
            scored, kept = folds == k, ~np.isin(folds, [(k + i) % 5 for i in range(n_folds)])
            alpha = np.linalg.solve(K[np.ix_(kept, kept)] + np.eye(kept.sum()) / (2 * C), t[kept])
            found[scored] = np.abs(t[scored] - K[np.ix_(scored, kept)] @ alpha)
        return found

    def usual(sizes):
        return np.minimum(sizes, np.quantile(sizes, 0.95)).mean()

    best = min(np.geomspace(0.01, 1000, 6), key=lambda C: errors(C, 1).mean())
    expected = (usual(errors(best, 1)) / usual(errors(best, 2))) ** (np.log(5 / 4) / np.log(4 / 3))
    assert 0.9 < expected < 0.999
    np.testing.assert_allclose(ratio, expected, rtol=1e-3)


def test_ratio_does_not_depend_on_units_and_passes_over_many_columns():
    X, y = simulated(300, even)
    rng = np.random.default_rng(1)
    X, y = np.concatenate([X, rng.normal(size=(300, 60))], axis=1), y + rng.normal(size=300)
    ratios = []
    for rows in (X, 1e9 * X, sparse.csr_array(np.pad(X, ((0, 0), (0, 2000))))):
        model = search(kernel="linear", gammas=None)
        job = plan(model, read_axes(model), rows, y, None, {}).seeded(np.random.RandomState(0))
        ratios.append(residual_ratio(job, KernelChoice("linear", "scale"), np.zeros((300, 1))).item())
    assert ratios[0] < 0.99
    assert ratios[1] == pytest.approx(ratios[0], rel=1e-6)
    assert ratios[2] == 1.0


def test_ratio_is_one_where_splits_are_no_partition():
    X, y = simulated(200, even)
    for cv in (ShuffleSplit(3, random_state=0), TimeSeriesSplit(3), KFold(2)):
        model = search(cv=cv)
        job = plan(model, read_axes(model), X, y, None, {})
        assert residual_ratio(job, KernelChoice("rbf", 0.5), np.zeros((200, 1))).tolist() == [1.0]


# ------------------------------------------------------------------ invariances


def test_nested_in_coverage(fitted):
    model, X, _ = fitted
    ends = np.array([model.predict_interval(X, coverage) for coverage in (0.05, 0.3, 0.6, 0.9, 0.99)])
    assert (np.diff(ends[:, :, 0], axis=0) <= 0).all()
    assert (np.diff(ends[:, :, 1], axis=0) >= 0).all()
    assert (ends[:, :, 0] <= ends[:, :, 1]).all()


@pytest.mark.parametrize(("a", "b"), [(1e4, -3e5), (1e-3, 0.0)])
def test_equivariant(fitted, a, b):
    model, X, y = fitted
    other = clone(model).fit(X, a * y + b)
    np.testing.assert_allclose(other.predict_interval(X), a * model.predict_interval(X) + b, atol=0.02 * a)


def test_fit_changes_no_parameter_and_a_clone_gives_the_same(fitted):
    model, X, y = fitted
    again = clone(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_allclose(again.fit(X, y).predict_interval(X), model.predict_interval(X), rtol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(X), model.predict_interval(X))


def test_predictions_lie_between_the_ends(fitted):
    model, X, _ = fitted
    low, high = model.predict_interval(X, 0.9).T
    predicted = model.predict(X)
    assert ((low < predicted) & (predicted < high)).all()


# ------------------------------------------------------------------ forms of rows and targets


def test_several_targets():
    X, y = simulated(500, uneven)
    both = search().fit(X, np.stack([y, 100 * X[:, 0]], axis=1))
    intervals = both.predict_interval(X[:7], 0.8)
    assert intervals.shape == (7, 2, 2)
    alone = search().fit(X, y).predict_interval(X[:7], 0.8)
    np.testing.assert_allclose(intervals[:, 0], alone, atol=0.05)


def test_sparse_rows_and_single_precision(fitted):
    model, X, y = fitted
    expected = model.predict_interval(X)
    np.testing.assert_allclose(clone(model).fit(sparse.csr_array(X), y).predict_interval(sparse.csr_array(X)), expected)
    np.testing.assert_allclose(model.predict_interval(sparse.csr_array(X)), expected)
    single = clone(model).fit(X.astype(np.float32), y)
    found = single.predict_interval(X.astype(np.float32))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_rows_in_files(fitted, tmp_path):
    model, X, y = fitted
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    there = clone(model).fit(tmp_path / "X.npy", tmp_path / "y.npy")
    np.testing.assert_allclose(there.predict_interval(tmp_path / "X.npy"), model.predict_interval(X), atol=1e-6)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_rows_on_dask(n_targets):
    X, y = simulated(400, uneven)
    y = y if n_targets == 1 else np.stack([y, X[:, 0]], axis=1)
    model = search().fit(X, y)
    rows = da.from_array(X, chunks=(150, 2))
    lazy = model.predict_interval(rows, coverage=0.7)
    assert isinstance(lazy, da.Array)
    expected = model.predict_interval(X, coverage=0.7)
    assert lazy.shape == expected.shape
    np.testing.assert_allclose(lazy.compute(), expected)
    fitted_there = search().fit(rows, da.from_array(y, chunks=(150, *y.shape[1:])))
    np.testing.assert_allclose(fitted_there.predict_interval(X, 0.7), expected, atol=0.02)


def test_scaled_columns_are_those_of_a_pipeline():
    X, y = simulated(500, uneven)
    X = X * [1, 1000]
    inside = search(scale="standard").fit(X, y)
    outside = make_pipeline(StandardScaler(), search()).fit(X, y)
    expected = outside[-1].predict_interval(outside[:-1].transform(X))
    assert inside.intervals_.varies.tolist() == [True]
    np.testing.assert_allclose(inside.predict_interval(X), expected, atol=0.02)


@pytest.mark.parametrize("kernel", ["linear", "precomputed", "laplacian"])
def test_kernels(kernel):
    X, y = simulated(500, uneven)
    rows = (lambda new: RBF(0.5).against(X)(new)) if kernel == "precomputed" else np.asarray
    model = search(kernel=kernel).fit(rows(X), y)
    new, y = simulated(2000, uneven, seed=1)
    assert covered(model.predict_interval(rows(new)), y) == pytest.approx(0.9, abs=0.04)


def test_wild_targets_do_not_widen_intervals_of_a_lower_share():
    X, y = simulated(1000, even)
    wild = y.copy()
    wild[::50] += 1000
    model = UniSVMRegressorCV(["welsch"], **SETTINGS).fit(X, wild)
    width = np.diff(model.predict_interval(X, 0.8), axis=1)
    assert np.median(width) == pytest.approx(2 * 0.3 * stats.norm.ppf(0.9), rel=0.4)
    assert not np.isnan(width).any()


# ------------------------------------------------------------------ splits


@pytest.mark.parametrize(
    "cv",
    [ShuffleSplit(2, test_size=0.3, random_state=0), TimeSeriesSplit(4), KFold(10, shuffle=True, random_state=0)],
)
def test_rows_that_no_split_leaves_out_are_passed_over(cv):
    X, y = simulated(1000, uneven)
    model = search(cv=cv).fit(X, y)
    n_known = np.isfinite(model.oof_decision_).sum()
    assert model.intervals_.scores.shape == (n_known, 1)
    assert (n_known < 1000) == (not isinstance(cv, KFold))
    X, y = simulated(3000, uneven, seed=1)
    assert covered(model.predict_interval(X), y) == pytest.approx(0.9, abs=0.04)


def test_groups_stay_together():
    X, y = simulated(400, even)
    groups = np.arange(400) // 8
    model = search(cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert covered(model.predict_interval(X), y) == pytest.approx(0.9, abs=0.05)


def test_rows_of_weight_zero_have_no_score():
    X, y = simulated(400, even)
    weights = np.where(np.arange(400) % 4 == 0, 0.0, 1.0)
    spoiled = np.where(weights > 0, y, 1e6)
    model = search().fit(X, spoiled, weights)
    assert model.intervals_.scores.shape == (300, 1)
    assert np.abs(model.predict_interval(X)).max() < 10


def test_few_rows_and_constant_targets():
    X, y = simulated(40, even)
    few = search().fit(X, y)
    assert few.intervals_.varies.tolist() == [False]
    assert covered(few.predict_interval(X), y) >= 0.85
    flat = search().fit(X, np.full(40, 3.0))
    np.testing.assert_allclose(flat.predict_interval(X), 3.0, atol=1e-6)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, np.nan, "0.9", None, True])
def test_coverage_out_of_range(fitted, coverage):
    with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\)"):
        fitted[0].predict_interval(fitted[1], coverage)


def test_errors_say_what_to_do(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match=r"600 rows with out-of-fold predictions.*Ask for 0\.996 at most"):
        model.predict_interval(X, 0.999)
    with pytest.raises(ValueError, match="Unknown intervals 'none': use one of 'auto', 'constant'"):
        search(intervals="none").fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict_interval(np.zeros((2, 3)))
    with pytest.raises(NotFittedError):
        search().predict_interval(X)


def test_without_a_refit_there_are_no_intervals(fitted):
    model, X, y = fitted
    again = clone(model).fit(X, y).set_params(refit=False).fit(X, y)
    assert not hasattr(again, "intervals_")
    with pytest.raises(AttributeError, match="refit=False"):
        again.predict_interval(X)


def test_models_of_earlier_versions_have_none(fitted):
    model, X, _ = fitted
    older = pickle.loads(pickle.dumps(model))
    del older.intervals_
    older.predict(X)
    with pytest.raises(AttributeError, match="Fit it anew"):
        older.predict_interval(X)

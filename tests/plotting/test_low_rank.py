"""The display of a low rank draws the share of the trace that each prefix of the landmarks leaves out."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, baselines, kernels
from unisvm.plotting import LowRankDisplay

rng = np.random.RandomState(0)
X = rng.randn(90, 3)
y = X[:, 0] * X[:, 1] > 0


def one_by_one(kernel, points, rows):
    """Share of the trace left out by the first 0, 1, … points, each by a projection of its own."""
    whole = kernel(rows, rows).trace()
    shares = [1.0]
    for r in range(1, points.shape[0] + 1):
        cross = kernel(rows, points[:r])
        held = np.trace(cross @ np.linalg.pinv(kernel(points[:r], points[:r]), rcond=1e-14) @ cross.T)
        shares.append(1 - held / whole)
    return shares


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
def test_each_prefix(kernel, form):
    model = UniSVMClassifier(kernel=kernel, rank=12, random_state=0).fit(form(X), y)
    display = LowRankDisplay.from_estimator(model, form(X))
    points = model.landmark_vectors_
    exact = (points.toarray() if sparse.issparse(points) else points).astype(np.float64)
    expected = one_by_one(model.kernel_, exact, form(X).astype(np.float64))
    assert len(display.left_out) == model.rank_ + 1
    np.testing.assert_allclose(display.left_out, np.maximum(expected, 0), atol=1e-6)
    if kernel != "poly":
        assert display.left_out[-1] == pytest.approx(model.trace_error_, rel=1e-3)
        np.testing.assert_array_equal(display.tol_.get_ydata(), [1e-3, 1e-3])
    else:
        # a few long rows have most of the trace: the fit does not stop by it
        assert display.tol_ is None
    np.testing.assert_allclose(display.line_.get_ydata(), display.left_out)
    np.testing.assert_array_equal(display.end_.get_xydata(), [[model.rank_, display.left_out[-1]]])


def test_scaled_columns_and_a_search():
    model = UniSVMRegressor(scale="standard", rank=10, random_state=0).fit(X * [1, 100, 0.01], X[:, 0])
    assert isinstance(model.kernel_, kernels.Scaled)
    display = LowRankDisplay.from_estimator(model, X * [1, 100, 0.01])
    assert display.left_out[-1] == pytest.approx(model.trace_error_, rel=1e-6)
    search = UniSVMClassifierCV(["hinge"], Cs=[1.0], gammas=[1.0], cv=2, rank=10, random_state=0).fit(X, y)
    display = LowRankDisplay.from_estimator(search, X, linewidth=4)
    assert display.left_out[-1] == pytest.approx(search.best_estimator_.trace_error_, rel=1e-6)
    assert display.line_.get_linewidth() == 4


def test_a_sample_of_rows():
    many = rng.randn(5000, 3)
    model = UniSVMRegressor(rank=30, random_state=0).fit(many, many[:, 0])
    sampled = LowRankDisplay.from_estimator(model, many, max_rows=1000)
    assert sampled.left_out[-1] == pytest.approx(model.trace_error_, rel=0.1)
    assert sampled.left_out[-1] != pytest.approx(model.trace_error_, rel=1e-9)
    again = LowRankDisplay.from_estimator(model, many, max_rows=1000, random_state=0)
    np.testing.assert_array_equal(sampled.left_out, again.left_out)
    with pytest.raises(ValueError, match="max_rows must be a positive integer"):
        LowRankDisplay.from_estimator(model, many, max_rows=0)


def test_nothing_left_out_by_all_rows():
    model = UniSVMClassifier(rank=None, gamma=1.0, random_state=0).fit(X, y)
    display = LowRankDisplay.from_estimator(model, X)
    display.figure_.canvas.draw()
    assert display.left_out[-1] < 1e-12
    assert (np.diff(display.left_out) <= 0).all()


def test_precomputed_kernel():
    K = kernels.RBF(0.5)(X, X)
    model = UniSVMClassifier(kernel="precomputed", rank=12, random_state=0).fit(K, y)
    display = LowRankDisplay.from_estimator(model, K)
    expected = one_by_one(kernels.RBF(0.5), X[model.landmark_vectors_], X)
    np.testing.assert_allclose(display.left_out, expected, atol=1e-9)
    with pytest.raises(ValueError, match="must be the square kernel matrix of the fit"):
        LowRankDisplay.from_estimator(model, K[:5])


def test_fits_without_such_a_curve():
    linear = UniSVMClassifier(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="Give landmarks= as points or row indices"):
        LowRankDisplay.from_estimator(linear, X)
    given = UniSVMClassifier(kernel="linear", landmarks=X[:2]).fit(X, y)
    np.testing.assert_allclose(
        LowRankDisplay.from_estimator(given, X).left_out, one_by_one(given.kernel_, given.landmark_vectors_, X)
    )
    sigmoid = UniSVMClassifier(kernel="sigmoid", gamma=1.0, coef0=-1.0, rank=None, random_state=0).fit(X, y)
    assert sigmoid.signature_[1] > 0
    with pytest.raises(ValueError, match=r"is not positive semidefinite.*See trace_error_"):
        LowRankDisplay.from_estimator(sigmoid, X)
    for other in (SVC().fit(X, y), baselines.LSSVR().fit(X, X[:, 0])):
        with pytest.raises(TypeError, match=f"{type(other).__name__} has none"):
            LowRankDisplay.from_estimator(other, X)


def test_given_shares_and_axes():
    figure, ax = plt.subplots()
    display = LowRankDisplay([1.0, 0.5, 0.25], rank_tol=0.0)
    assert display.plot(ax) is display
    assert (display.ax_, display.figure_, display.tol_) == (ax, figure, None)
    assert ax.get_legend().get_texts()[0].get_text() == "rank 2 leaves out 25 %"
    with pytest.raises(ValueError, match="a share for each rank from 0"):
        LowRankDisplay([])

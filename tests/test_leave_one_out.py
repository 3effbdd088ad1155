"""C from the data: leave-one-out errors by refitting, copies and weights, and what the choice follows."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.kernel_ridge import KernelRidge

from unisvm import UniSVMClassifier, UniSVMRegressor, datasets, losses
from unisvm.leave_one_out import LeaveOneOut, SampledRows, choose_Cs

rng = np.random.RandomState(0)
P = rng.randn(40, 6)
Y = np.column_stack([np.sign(P[:, 0] + 0.5 * rng.randn(40)), P[:, 1] + 0.1 * rng.randn(40)])
WEIGHTS = rng.uniform(0.5, 3, size=40)
CS = np.array([0.01, 0.3, 10.0])
X2, Y2 = make_classification(400, 6, n_informative=4, random_state=0)
X3, Y3 = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
XR, YR = make_regression(300, 4, noise=5.0, random_state=0)


def least_squares(P, y, weights, C, intercept):
    """Weights and intercept that minimise Σ s (y − f)² + ‖w‖²/(2C)."""
    design = np.column_stack([P, np.ones(len(P))]) if intercept else P
    penalty = np.eye(design.shape[1]) / (2 * C)
    if intercept:
        penalty[-1, -1] = 0
    w = np.linalg.solve((design * weights[:, None]).T @ design + penalty, design.T @ (weights * y))
    return lambda rows: (np.column_stack([rows, np.ones(len(rows))]) if intercept else rows) @ w


@pytest.mark.parametrize("intercept", [False, True])
def test_predictions_are_those_of_fits_without_the_row(intercept):
    found = LeaveOneOut(P, WEIGHTS, CS, intercept).predictions(Y)
    assert found.shape == (3, 40, 2)
    for c, C in enumerate(CS):
        for i in (0, 7, 39):
            others = np.arange(40) != i
            for j in range(2):
                f = least_squares(P[others], Y[others, j], WEIGHTS[others], C, intercept)
                assert found[c, i, j] == pytest.approx(f(P[[i]])[0], rel=1e-8)


def test_predictions_of_many_columns_are_made_in_parts(monkeypatch):
    whole = LeaveOneOut(P, WEIGHTS, CS, True).predictions(Y)
    monkeypatch.setattr("unisvm.leave_one_out._MAX_PREDICTIONS", 1)
    np.testing.assert_allclose(LeaveOneOut(P, WEIGHTS, CS, True).predictions(Y), whole, rtol=1e-12)


def test_errors_are_those_of_kernel_ridge_without_the_row():
    X, sign = X2[:80], 2.0 * Y2[:80] - 1
    gamma = 1 / (6 * X.var())
    model = UniSVMClassifier("least_squares", rank=None, fit_intercept=False).fit(X, sign)
    for C, error in list(zip(*model.C_scores_.values(), strict=True))[4:24:6]:
        squares = []
        for i in range(80):
            others = np.arange(80) != i
            ridge = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=gamma).fit(X[others], sign[others])
            squares.append((sign[i] - ridge.predict(X[[i]])[0]) ** 2)
        assert error == pytest.approx(np.mean(squares), rel=1e-4)


@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMRegressor])
def test_the_model_is_that_of_a_fit_with_this_C(cls):
    X, y = (X3, Y3) if cls is UniSVMClassifier else (XR, YR)
    auto = cls(random_state=0).fit(X, y)
    given = cls(C=auto.C_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(auto.dual_coef_, given.dual_coef_)
    assert given.C_ == auto.C_
    assert len(given.C_scores_["C"]) == len(given.C_scores_["error"]) == 0
    assert len(auto.C_scores_["C"]) == len(auto.C_scores_["error"]) > 10
    assert auto.C == "auto"


def test_wrong_labels_lower_C():
    chosen = []
    for share in (0.0, 0.2, 0.4):
        labels = datasets.flip_labels(Y2, share, random_state=0)[0] if share else Y2
        chosen.append(UniSVMClassifier().fit(X2, labels).C_)
    assert chosen[0] > 2 * chosen[1] > 4 * chosen[2]


def test_wild_targets_hardly_move_C():
    x = np.linspace(-3, 3, 300)[:, None]
    clean = np.sin(2 * x[:, 0]) + 0.1 * rng.randn(300)
    wild = clean.copy()
    wild[::5] += 8
    C, other = (UniSVMRegressor(gamma=1.0).fit(x, y).C_ for y in (clean, wild))
    assert C / 4 < other < 4 * C


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_units_of_the_kernel_and_of_the_weights(scale):
    """C belongs to the kernel's values and to the weights: what they are multiplied by, C is divided by."""
    K = np.exp(-0.1 * ((X2[:, None] - X2) ** 2).sum(axis=2))
    plain = UniSVMClassifier(kernel="precomputed").fit(K, Y2).C_
    assert pytest.approx(plain / scale, rel=1e-6) == UniSVMClassifier(kernel="precomputed").fit(scale * K, Y2).C_
    weights = np.full(400, scale)
    weighted = UniSVMClassifier(kernel="precomputed").fit(K, Y2, sample_weight=weights).C_
    assert weighted == pytest.approx(plain / scale, rel=1e-6)


def test_units_of_the_loss():
    """A loss that costs ten times as much has a tenth of the C, and so the same function."""
    dear = losses.custom(lambda u: 10 * u**2, lambda u: 20 * u, task="classification")
    plain = UniSVMClassifier("least_squares", tol=1e-8).fit(X2, Y2)
    other = UniSVMClassifier(dear, tol=1e-8).fit(X2, Y2)
    assert pytest.approx(plain.C_ / 10, rel=1e-3) == other.C_
    np.testing.assert_allclose(other.decision_function(X2), plain.decision_function(X2), atol=1e-2)


@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMRegressor])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weights_are_repetitions(cls, container):
    X, y = (X3, Y3) if cls is UniSVMClassifier else (XR, YR)
    counts = np.random.RandomState(1).randint(0, 4, size=len(y))
    weighted = cls(landmarks=X[:40]).fit(container(X), y, sample_weight=counts)
    repeated = cls(landmarks=X[:40]).fit(container(np.repeat(X, counts, axis=0)), np.repeat(y, counts))
    assert pytest.approx(repeated.C_, rel=1e-6) == weighted.C_
    np.testing.assert_allclose(weighted.C_scores_["error"], repeated.C_scores_["error"], rtol=1e-6)


def test_copies_with_other_labels_are_one_row():
    """The error of copies is that of their mean, whatever their order."""
    X, y = np.repeat(X2, 2, axis=0), np.column_stack([Y2, 1 - Y2]).ravel()
    order = np.random.RandomState(0).permutation(len(y))
    there, back = UniSVMClassifier(rank=50, landmarks=X2[:50]), UniSVMClassifier(rank=50, landmarks=X2[:50])
    assert pytest.approx(back.fit(X[order], y[order]).C_) == there.fit(X, y).C_


@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMRegressor])
def test_the_same_on_a_sample_of_rows_on_dask(cls, monkeypatch):
    monkeypatch.setattr("unisvm.leave_one_out._MIN_ROWS", 150)
    X, y = (X3, Y3) if cls is UniSVMClassifier else (XR, YR)
    options = {"rank": 20, "rank_tol": 0.0, "random_state": 0}
    here = cls(**options).fit(X, y)
    there = cls(**options).fit(da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=90))
    assert pytest.approx(here.C_, rel=1e-6) == there.C_
    again = cls(**options).fit(X, y)
    assert again.C_ == here.C_


def test_all_losses_have_a_C():
    sampled = SampledRows(P, Y[:, :1], np.ones(40), 1.0)
    for task, is_margin in (("classification", True), ("regression", False)):
        used = [losses.get(name) for name in losses.names(task)]
        choices = choose_Cs(sampled, used, is_margin=is_margin, fit_intercept=True, is_pairs=False)
        least = choices[losses.names(task).index("least_squares")].C
        for loss, choice in zip(used, choices, strict=True):
            assert least / 10 < choice.C < 20 * least, loss


@pytest.mark.parametrize("C", [None, 0.0, -1.0, np.nan, "best", True, [1.0]])
def test_other_values_are_refused(C):
    with pytest.raises(ValueError, match="C must be a positive number, or 'auto'"):
        UniSVMClassifier(C=C).fit(X2, Y2)


def test_constant_targets_and_a_single_column():
    # nothing to learn: any C will do, and no warning is due
    model = UniSVMRegressor().fit(XR, np.full(300, 7.0))
    np.testing.assert_allclose(model.predict(XR), 7.0)
    assert np.isfinite(model.C_)
    assert UniSVMClassifier().fit(X2[:, :1], Y2).score(X2[:, :1], Y2) > 0.5

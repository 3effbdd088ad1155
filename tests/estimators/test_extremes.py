"""No fit ends with numbers that are not finite: it works, or says which value or parameter to look at."""

import numpy as np
import pytest
from scipy import sparse

from unisvm import FitWarning, UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, losses
from unisvm.kernels import RBF

rng = np.random.RandomState(0)
X = rng.randn(300, 4)
Y = (X[:, 0] > 0).astype(int)
TARGET = X[:, 0] + 0.1 * rng.randn(300)
MANY = rng.randn(3000, 4)
MANY_Y = (MANY[:, 0] > 0).astype(int)


def decreasing(A, B):
    return -np.exp(-((A[:, None] - B) ** 2).sum(axis=2))


# ------------------------------------------------------------------ rows


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [-1e155, 1.7e308])
def test_a_huge_entry_is_named(kernel, container, value):
    rows = X.copy()
    rows[5, 1] = value
    with pytest.raises(ValueError, match=r"X has the value .* in row 5, column 1.*Scale the columns"):
        UniSVMClassifier(kernel=kernel).fit(container(rows), Y)


def test_a_huge_entry_is_named_in_predictions_searches_and_files(tmp_path):
    rows = X.copy()
    rows[299, 3] = 1e160
    model = UniSVMClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="row 299, column 3"):
        model.predict(rows)
    with pytest.raises(ValueError, match="row 299, column 3"):
        UniSVMClassifierCV().fit(rows, Y)
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(ValueError, match="row 299, column 3"):
        UniSVMClassifier().fit(tmp_path / "rows.npy", Y)


@pytest.mark.parametrize("rows", [X, MANY], ids=["few", "many"])
def test_rows_that_are_all_huge_are_refused_at_once(rows):
    with pytest.raises(ValueError, match="overflow in float64"):
        UniSVMClassifier().fit(rows * 1e160, Y if rows is X else MANY_Y)


def test_single_precision_has_a_limit_of_its_own():
    with pytest.raises(ValueError, match="overflow in float32"):
        UniSVMClassifier().fit((X * 1e19).astype(np.float32), Y)
    assert UniSVMClassifier().fit((X * 1e15).astype(np.float32), Y).score((X * 1e15).astype(np.float32), Y) > 0.9


# ------------------------------------------------------------------ kernels


@pytest.mark.parametrize("rows", [X, MANY], ids=["few", "many"])
def test_a_kernel_that_overflows_is_named(rows):
    with pytest.raises(ValueError, match=r"The kernel Polynomial\(.*(is not finite|= inf for row)"):
        UniSVMClassifier(kernel="poly", degree=1000).fit(rows, Y if rows is X else MANY_Y)


@pytest.mark.parametrize("rows", [X, MANY], ids=["few", "many"])
def test_a_kernel_that_is_zero_between_rows_is_one_for_each(rows):
    y = Y if rows is X else MANY_Y
    model = UniSVMClassifier(gamma=1e308, C=1.0).fit(rows, y)
    found = model.decision_function(rows[model.landmarks_])
    assert np.isfinite(found).all()
    assert ((found > 0) == y[model.landmarks_]).all()


@pytest.mark.parametrize("landmarks", ["uniform", "rpcholesky", "pivoted_cholesky"])
def test_rows_of_zeros_are_no_landmarks(landmarks):
    rows = np.zeros((60, 2))
    rows[:9] = X[:9, :2]
    for seed in range(10):
        model = UniSVMClassifier(kernel="poly", C=1.0, landmarks=landmarks, rank=2, random_state=seed)
        assert (model.fit(rows, Y[:60]).landmarks_ < 9).all()


def test_one_row_far_away_costs_the_others_no_digits():
    rows = X.copy()
    rows[3] = 1e9
    found = RBF(0.3)(rows, rows[:50])
    np.testing.assert_allclose(found[:3, :3], np.exp(-0.3 * ((X[:3, None] - X[:3]) ** 2).sum(axis=2)), atol=1e-15)
    np.testing.assert_array_equal(np.diagonal(found), np.ones(50))


def test_a_kernel_without_a_positive_diagonal_is_refused():
    with pytest.raises(ValueError, match="is zero on the rows of X"):
        UniSVMClassifier(kernel="poly").fit(np.zeros((3000, 4)), MANY_Y)
    with pytest.warns(FitWarning, match=r"k\(x, z\) looks like a distance"):
        UniSVMClassifier(kernel=decreasing).fit(MANY, MANY_Y)


def test_an_indefinite_kernel_is_refused_with_more_rows_than_rank():
    with pytest.raises(ValueError, match="not positive semidefinite: among 500 rows"):
        UniSVMClassifier(kernel="sigmoid", indefinite="raise").fit(MANY, MANY_Y)


def test_the_whole_of_a_precomputed_matrix_is_checked():
    matrix = MANY @ MANY.T
    matrix[2500, 2600] = 1e9
    with pytest.raises(ValueError, match=r"K\[2500, 2600\] is 1e\+09 and K\[2600, 2500\]"):
        UniSVMClassifier(kernel="precomputed").fit(matrix, MANY_Y)
    with pytest.raises(ValueError, match=r"K\[2500, 2600\]"):
        UniSVMClassifier(kernel="precomputed").fit(sparse.csr_array(matrix), MANY_Y)


# ------------------------------------------------------------------ targets


@pytest.mark.parametrize("loss", ["huber", "welsch", "tukey", "cauchy", "absolute", "epsilon_insensitive"])
@pytest.mark.parametrize("value", [1e6, 1e20, -1e100, 1e200, 1e300])
def test_one_absurd_target_does_no_harm(loss, value):
    """Neither to the scale of the targets, nor to C, nor to the fit."""
    wild = TARGET.copy()
    wild[3] = value
    model = UniSVMRegressor(loss).fit(X, wild)
    assert np.median(np.abs(model.predict(X) - TARGET)) < 0.1
    assert model.target_scale_[0] < 2


def test_one_absurd_target_in_single_precision_is_named():
    wild = TARGET.copy()
    wild[3] = 1e38
    for cls in UniSVMRegressor, UniSVMRegressorCV:
        with pytest.raises(ValueError, match=r"y has the value 1e\+38 in row 3.*float64"):
            cls().fit(X.astype(np.float32), wild)
    # a row that does not count does no harm
    weights = np.ones(300)
    weights[3] = 0
    UniSVMRegressor().fit(X.astype(np.float32), wild, sample_weight=weights)


@pytest.mark.parametrize("scale", [1e-300, 1e160, 1e300])
def test_targets_of_any_size(scale):
    model = UniSVMRegressor(random_state=0).fit(X, scale * TARGET)
    expected = UniSVMRegressor(random_state=0).fit(X, TARGET).predict(X)
    np.testing.assert_allclose(model.predict(X) / scale, expected, rtol=1e-4, atol=1e-4)


def test_coefficients_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"overflow in float32. Give X in float64"):
        UniSVMRegressor().fit(X.astype(np.float32), 1e40 * TARGET)


def test_coefficients_that_vanish_are_refused():
    with pytest.raises(ValueError, match=r"vanish in float32. Give X in float64"):
        UniSVMRegressor("least_squares", C=10.0, fit_intercept=False).fit(X.astype(np.float32), 1e-50 * TARGET)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_constant_targets_have_a_scale(fit_intercept):
    one, many = (
        UniSVMRegressor(C=1.0, fit_intercept=fit_intercept).fit(X, np.full(300, value)).predict(X) / value
        for value in (1.0, 1000.0)
    )
    np.testing.assert_allclose(one, many, rtol=1e-9)
    assert abs(one.mean() - 1) < 0.1


def test_half_of_the_targets_are_one_value():
    """The scale is that of the others, then."""
    mostly = np.where(np.arange(300) % 3 > 0, 7.0, TARGET)
    model = UniSVMRegressor().fit(X, mostly)
    assert model.target_scale_[0] == pytest.approx(mostly.std())


# ------------------------------------------------------------------ weights and parameters


@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMClassifierCV])
@pytest.mark.parametrize("weight", [1e306, 1e-308])
def test_weights_that_overflow_or_vanish_are_refused(cls, weight):
    with pytest.raises(ValueError, match="Divide the weights by it, and multiply C by it"):
        cls().fit(X, Y, sample_weight=np.full(300, weight))


@pytest.mark.parametrize("weight", [1e150, 1e-150])
def test_weights_are_a_scale(weight):
    plain = UniSVMClassifier(random_state=0).fit(X, Y)
    scaled = UniSVMClassifier(random_state=0).fit(X, Y, sample_weight=np.full(300, weight))
    assert scaled.C_ * weight == pytest.approx(plain.C_, rel=1e-6)
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), atol=1e-2)


def test_weights_that_vanish_beside_the_largest_are_zero():
    weights = np.where(np.arange(300) % 2, 1.0, 1e-310)
    settings = {"C": 1.0, "landmarks": "uniform", "rank": 20, "random_state": 0}
    found = UniSVMClassifier(**settings).fit(X, Y, sample_weight=weights)
    expected = UniSVMClassifier(**settings).fit(X, Y, sample_weight=weights * (weights == 1))
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("name", losses.names())
def test_parameters_of_losses_are_kept_where_they_can_be_computed(name):
    u = np.array([-1e300, -3.0, -0.5, 0.0, 0.5, 1.0, 3.0, 1e300])
    for parameter, (low, high, closed) in type(losses.get(name)).ranges.items():
        for value in (low if closed else low + 1e-3, np.nextafter(high, -np.inf)):
            loss = losses.get(name, **{parameter: value})
            assert np.isfinite(loss.A), (parameter, value)
            assert loss.A > 0, (parameter, value)
            assert not np.isnan(loss.value(u)).any(), (parameter, value)
            assert not np.isnan(loss.derivative(u)).any(), (parameter, value)
        with pytest.raises(ValueError, match=parameter):
            losses.get(name, **{parameter: 1e155})

"""The gamma that "scale" and "auto" stand for, and values that are refused."""

import numpy as np
import pytest

from kernels.kernel_cases import FORMS, rows_and_points
from unisvm import UniSVMClassifier, kernels

WITH_GAMMA = ["rbf", "laplacian", "poly", "sigmoid"]


@pytest.mark.parametrize("name", WITH_GAMMA)
def test_gamma(name):
    kernel = kernels.get(name, gamma="scale")
    assert kernel.resolve(5, lambda: 4.0).gamma == pytest.approx(1 / 10 if name == "laplacian" else 1 / 20)
    assert kernel.resolve(5, lambda: 0.0).gamma == 1.0  # constant data, as in scikit-learn
    assert kernel.gamma == "scale"
    assert kernels.get(name, gamma="auto").resolve(5, lambda: pytest.fail("not needed")).gamma == pytest.approx(0.2)
    assert kernels.get(name, gamma=0.7).resolve(5, lambda: pytest.fail("not needed")).gamma == 0.7


def test_resolve_keeps_the_other_parameters():
    kernel = kernels.Polynomial("auto", degree=4, coef0=0.5).resolve(2, lambda: 1.0)
    assert kernel.get_params() == {"gamma": 0.5, "degree": 4, "coef0": 0.5}


@pytest.mark.parametrize("name", WITH_GAMMA)
@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, None, [1.0], "1"])
def test_invalid_gamma(name, gamma):
    with pytest.raises((TypeError, ValueError), match="gamma"):
        kernels.get(name, gamma=gamma).resolve(2, lambda: 1.0)


def test_misspelt_gamma_offers_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'scale'"):
        kernels.RBF("scael").resolve(2, lambda: 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_estimator_scales_gamma_as_scikit_learn_does(form):
    X, _ = rows_and_points()
    model = UniSVMClassifier().fit(FORMS[form](X), np.arange(70) % 2)
    assert model.kernel_.gamma == pytest.approx(1 / (6 * X.var()))
    assert model.gamma == "scale"


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_units_do_not_matter(name):
    X, y = rows_and_points()[0], np.arange(70) % 2
    # powers of two round alike
    one, other = (UniSVMClassifier(kernel=name, random_state=0).fit(X * unit, y) for unit in (1.0, 2.0**10))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X * 2.0**10), rtol=1e-6)

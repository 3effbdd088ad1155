"""Compiled sweeps, losses and exponentials beside plain formulas in double precision."""

import os
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

from losses.loss_cases import each_case
from unisvm import UniSVMClassifier, UniSVMRegressor, compiled, losses
from unisvm.losses.base import CLASSIFICATION

needs_it = pytest.mark.skipif(not compiled.is_available(), reason="the compiled part was not built or is turned off")
in_both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}


@pytest.mark.skipif(os.environ.get("UNISVM_COMPILED") == "0", reason="it is turned off")
def test_it_is_built_where_there_is_a_compiler():
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    assert compiled.is_available() or shutil.which(compiler) is None


def expected(loss, F, y, weights, dual, intercept, margins):
    """The gradient on the features, the pull at the intercept and the risk, without any care for speed."""
    F, y, dual = F.astype(float), y.astype(float), dual.astype(float)
    f = F @ dual + float(intercept)
    weights = np.ones(len(y)) if weights is None else weights.astype(float)
    u = 1 - y * f if margins else y - f
    pull = weights * loss.derivative(u) * (y if margins else 1)
    return F.T @ pull, pull.sum(), (weights * loss.value(u)).sum()


def problem(n, r, dtype, *, margins, seed=0):
    rng = np.random.RandomState(seed)
    F = rng.uniform(size=(n, r)).astype(dtype)
    y = (rng.choice([-1, 1], n) if margins else 3 * rng.randn(n)).astype(dtype)
    dual = (3 * rng.randn(r) / np.sqrt(r)).astype(dtype)
    return F, y, rng.uniform(0.2, 3.0, n).astype(dtype), dual, dtype(0.3)


def is_cut(loss, F, y, dual, intercept, margins):
    """Rows so near a jump of the slope that rounding may put them on its other side."""
    if not loss.has_jumps:
        return np.zeros(len(y), dtype=bool)
    f = F.astype(float) @ dual.astype(float) + float(intercept)
    u = 1 - y * f if margins else y - f
    near = 1e-4
    return np.abs(loss.derivative(u + near) - loss.derivative(u - near)) > 10 * near * loss.A


@needs_it
@each_case()
@in_both_precisions
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_of_every_loss(case, dtype, weighted):
    margins = CLASSIFICATION in case.loss.tasks
    F, y, weights, dual, intercept = problem(333, 21, dtype, margins=margins)
    kept = ~is_cut(case.loss, F, y, dual, intercept, margins)
    assert kept.sum() > 300
    F, y, weights = F[kept], y[kept], weights[kept] if weighted else None
    found = compiled.sweep(compiled.known(case.loss), F, y, weights, dual, intercept, margins)
    for ours, theirs in zip(found, expected(case.loss, F, y, weights, dual, intercept, margins), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[dtype] * len(y) * max(1, case.loss.A))


@needs_it
@in_both_precisions
@pytest.mark.parametrize("r", [8, 9, 15, 16, 17, 100, 1003, 20_000])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 63, 65, 700])
def test_rows_and_features_of_any_number(n, r, dtype):
    if n * r > 10**6:
        n = 5
    loss = losses.SquaredHinge()
    given = problem(n, r, dtype, margins=True)
    found = compiled.sweep(compiled.known(loss), *given, True)
    for ours, theirs in zip(found, expected(loss, *given, True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[dtype] * (n + 1) * np.sqrt(r))


@needs_it
@each_case()
@in_both_precisions
@pytest.mark.parametrize("shared", [False, True])
def test_pulls_of_several_columns(case, dtype, shared):
    rng = np.random.RandomState(0)
    margins, n, q = CLASSIFICATION in case.loss.tasks, 130, 3
    f = np.asfortranarray(3 * rng.randn(n, q).astype(dtype))
    wide = 1 if shared else q
    y = np.asfortranarray((np.sign(rng.randn(n, wide)) if margins else rng.randn(n, wide)).astype(dtype))
    weights = np.asfortranarray(rng.uniform(size=(n, wide)).astype(dtype))
    intercept = rng.randn(q).astype(dtype)
    u = f.astype(float) + intercept
    u = 1 - y * u if margins else y - u
    kept = np.ones_like(u, dtype=bool)
    if case.loss.has_jumps:
        kept = np.abs(case.loss.derivative(u + 1e-4) - case.loss.derivative(u - 1e-4)) <= 1e-3 * case.loss.A
    pull = weights * case.loss.derivative(u) * (y if margins else 1)
    sums, risks = np.empty((2, q))
    assert compiled.pulls(compiled.known(case.loss), f, y, weights, intercept, margins, sums, risks)
    largest = TOLERANCE[dtype] * max(1, case.loss.A)
    np.testing.assert_allclose(f[kept], pull[kept], rtol=0, atol=10 * largest)
    np.testing.assert_allclose(risks, (weights * case.loss.value(u)).sum(axis=0), rtol=10 * TOLERANCE[dtype])
    if kept.all():
        np.testing.assert_allclose(sums, pull.sum(axis=0), rtol=0, atol=n * largest)


@needs_it
@each_case()
def test_residuals_that_are_far_off_or_not_a_number(case):
    u = np.array([1e12, -1e12, 1e30, -1e30, 0.0])
    f, sums, risks = np.asfortranarray(-u[:, None]), np.empty(1), np.empty(1)
    assert compiled.pulls(compiled.known(case.loss), f, np.zeros((5, 1)), None, np.zeros(1), False, sums, risks)
    np.testing.assert_allclose(f[:, 0], case.loss.derivative(u), rtol=1e-12, atol=1e-12)
    assert risks[0] == pytest.approx(case.loss.value(u).sum(), rel=1e-12)
    f[:, 0] = np.nan
    compiled.pulls(compiled.known(case.loss), f, np.zeros((5, 1)), None, np.zeros(1), False, sums, risks)
    assert np.isnan(risks[0])


@needs_it
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87), (np.float64, -708)])
def test_exponentials(dtype, lowest):
    x = np.concatenate([np.linspace(lowest, 0, 100_001), np.linspace(-1e-3, 0, 1001)]).astype(dtype)
    exact = np.exp(x.astype(np.longdouble))
    found = x.copy()
    assert compiled.decay(found)
    assert np.abs(found / exact - 1).max() <= 2 * np.finfo(dtype).eps
    beyond = np.array([1e-3, 0.0, 1.5 * lowest, -np.inf, np.nan], dtype)
    compiled.decay(beyond)
    np.testing.assert_array_equal(beyond, np.array([1, 1, 0, 0, np.nan], dtype))


@needs_it
def test_what_it_cannot_read_is_left_to_numpy():
    F, y, weights, dual, intercept = problem(50, 20, np.float64, margins=True)
    known = compiled.known(losses.Saturating())
    assert compiled.sweep(known, F, y, weights, dual, intercept, True) is not None
    for wrong in (
        (np.asfortranarray(F), y, weights, dual),
        (F.astype(np.float32), y, weights, dual),
        (F, y[::-1], weights, dual),
        (F, y, weights.astype(np.float32), dual),
        (F[:, :7].copy(), y, weights, dual[:7]),
        (F.astype(int), y.astype(int), weights.astype(int), dual.astype(int)),
    ):
        assert compiled.sweep(known, *wrong, intercept, True) is None
    mine = losses.custom(lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, task="regression")
    assert compiled.known(mine) is None
    assert compiled.sweep(None, F, y, weights, dual, intercept, True) is None
    # by rows instead of by columns
    f, sums = np.zeros((50, 3)), np.zeros(3)
    assert not compiled.pulls(known, f, y[:, None], None, np.zeros(3), True, sums, sums)


@needs_it
def test_arrays_that_do_not_fit_are_refused():
    from unisvm.compiled import _sweeps

    F, y, weights, dual, _ = problem(50, 20, np.float64, margins=True)
    gradient, form = np.empty(20), compiled.known(losses.Saturating())

    def sweep(F=F, y=y, weights=weights, dual=dual, form=form, gradient=gradient):
        _sweeps.sweep(F, y, weights, dual, 0.0, *form, True, gradient)

    sweep()
    for wrong in (
        {"F": F.ravel()},
        {"F": F[:, :7].copy(), "dual": dual[:7], "gradient": np.empty(7)},
        {"y": y[:49]},
        {"y": y.astype(np.float32)},
        {"weights": weights[:49]},
        {"dual": dual[:19]},
        {"gradient": np.empty(19)},
        {"gradient": np.empty(20, np.float32)},
        {"form": (5, form.parameters)},
        {"form": (-1, form.parameters)},
        {"form": (2, form.parameters[:3])},
        {"form": (0, form.parameters)},
        {"form": (2, form.parameters.astype(np.float32))},
    ):
        with pytest.raises(ValueError, match=r"fit|form|matrix|wide"):
            sweep(**wrong)
    with pytest.raises((ValueError, BufferError)):
        sweep(F=np.asfortranarray(F))
    gradient.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match=r"read-only|writable"):
        sweep(gradient=gradient)


def test_a_loss_that_computes_otherwise_than_its_parent_has_no_form():
    class Doubled(losses.SquaredHinge):
        def _value(self, u):
            return 2 * super()._value(u)

        def _derivative(self, u):
            return 2 * super()._derivative(u)

    class Renamed(losses.SquaredHinge):
        name = "renamed"

    assert Doubled().form is None
    assert Renamed().form == losses.SquaredHinge().form is not None


@pytest.mark.parametrize("name", losses.names())
def test_every_registered_loss_has_a_form(name):
    assert losses.get(name).form is not None


@needs_it
@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])
@in_both_precisions
def test_fits_with_it_and_without_it(estimator, dtype, monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.randn(400, 3).astype(dtype)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    y = y > 0 if estimator is UniSVMClassifier else y
    model = estimator("hinge" if estimator is UniSVMClassifier else "huber", rank=50, tol=1e-7, random_state=0)
    decide = "decision_function" if estimator is UniSVMClassifier else "predict"
    with_it = getattr(model.fit(X, y, sample_weight=1 + (X[:, 2] > 0)), decide)(X)
    monkeypatch.setattr(compiled, "_sweeps", None)
    without = getattr(model.fit(X, y, sample_weight=1 + (X[:, 2] > 0)), decide)(X)
    np.testing.assert_allclose(with_it, without, atol=2e-2 if dtype == np.float32 else 2e-3)


def test_it_can_be_turned_off():
    program = "from unisvm import compiled; print(compiled.is_available())"
    ran = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"UNISVM_COMPILED": "0"}, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "False", ran.stderr

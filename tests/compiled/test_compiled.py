"""Compiled sweeps, losses, exponentials and distances beside plain formulas in double precision."""

import os
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from losses.loss_cases import each_case
from unisvm import UniSVMClassifier, UniSVMRegressor, compiled, kernels, losses
from unisvm.losses.base import CLASSIFICATION

needs_it = pytest.mark.skipif(not compiled.is_available(), reason="the compiled part was not built or is turned off")
in_both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}


@pytest.mark.skipif(os.environ.get("UNISVM_COMPILED") == "0", reason="it is turned off")
def test_it_is_built_where_there_is_a_compiler():
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    assert compiled.is_available() or shutil.which(compiler) is None


def encode(loss, n_columns=1):
    return compiled.encode_losses([(loss, slice(0, n_columns))])


def sweep(table, F, y, weights, dual, intercept, is_margin):
    """Gradients on the features, and those in the intercepts and the risks; None if nothing was done."""
    q = len(intercept)
    # among others, which must stay as they are, and added to what is there
    gradients, sums, columns = np.ones((q + 2, F.shape[1])), np.ones((2, q + 2)), np.arange(1, q + 1)
    if not compiled.sweep(table, F, y, weights, dual, intercept, is_margin, gradients, sums, columns):
        assert (gradients == 1).all()
        assert (sums == 1).all()
        return None
    assert (gradients[[0, -1]] == 1).all()
    assert (sums[:, [0, -1]] == 1).all()
    return gradients[columns].T - 1, sums[:, columns] - 1


def expected(loss, F, y, weights, dual, intercept, is_margin):
    """Gradients on the features, and those in the intercepts and the risks, without any care for speed."""
    F, y, dual = F.astype(float), y.astype(float), dual.astype(float)
    f = F @ dual + intercept.astype(float)
    weights = np.ones_like(y) if weights is None else weights.astype(float)
    u = 1 - y * f if is_margin else y - f
    v = weights * loss.derivative(u) * (y if is_margin else 1)
    return F.T @ v, np.array([v.sum(axis=0), (weights * loss.value(u)).sum(axis=0)])


def needs_wide_vectors(n_columns=2):
    if n_columns > 1 and not compiled._sweeps.wide_vectors:
        pytest.skip("this processor has no wide vectors that are made use of")


def problem(n, r, dtype, *, is_margin, n_columns=1, shared=False, seed=0):
    needs_wide_vectors(n_columns)
    rng = np.random.RandomState(seed)
    F = rng.uniform(size=(n, r)).astype(dtype)
    shape = n, 1 if shared else n_columns
    y = (rng.choice([-1, 1], shape) if is_margin else 3 * rng.randn(*shape)).astype(dtype)
    dual = (3 * rng.randn(r, n_columns) / np.sqrt(r)).astype(dtype)
    weights = rng.uniform(0.2, 3.0, shape).astype(dtype)
    return F, y, weights, dual, np.linspace(-0.3, 0.3, n_columns).astype(dtype)


def is_cut(loss, F, y, dual, intercept, is_margin):
    """Rows so near a jump of the slope that rounding may put them on its other side."""
    if not loss.has_jumps:
        return np.zeros(len(y), dtype=bool)
    f = F.astype(float) @ dual.astype(float) + intercept.astype(float)
    u = 1 - y * f if is_margin else y - f
    near = 1e-4
    return (np.abs(loss.derivative(u + near) - loss.derivative(u - near)) > 10 * near * loss.A).any(axis=1)


@needs_it
@each_case()
@in_both_precisions
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_columns", "shared"), [(1, False), (3, False), (3, True), (11, False), (11, True)])
def test_a_sweep_of_every_loss(case, dtype, weighted, n_columns, shared):
    is_margin = CLASSIFICATION in case.loss.tasks
    F, y, weights, dual, intercept = problem(333, 21, dtype, is_margin=is_margin, n_columns=n_columns, shared=shared)
    kept = ~is_cut(case.loss, F, y, dual, intercept, is_margin)
    assert kept.sum() > 300
    F, y, weights = F[kept], y[kept], weights[kept] if weighted else None
    found = sweep(encode(case.loss, n_columns), F, y, weights, dual, intercept, is_margin)
    for ours, theirs in zip(found, expected(case.loss, F, y, weights, dual, intercept, is_margin), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[dtype] * len(y) * max(1, case.loss.A))


@needs_it
@in_both_precisions
@pytest.mark.parametrize("r", [8, 9, 15, 16, 17, 24, 100, 512, 1003, 1024, 20_000])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 63, 97, 700])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 6, 9, 10, 21])
def test_rows_features_and_columns_of_any_number(n, r, n_columns, dtype):
    if n * r > 10**6:
        n = 5
    loss = losses.SquaredHinge()
    given = problem(n, r, dtype, is_margin=True, n_columns=n_columns)
    found = sweep(encode(loss, n_columns), *given, True)
    for ours, theirs in zip(found, expected(loss, *given, True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[dtype] * (n + 1) * np.sqrt(r))


@needs_it
@in_both_precisions
@pytest.mark.parametrize("q", [1, 5, 12])
def test_long_sums_are_in_double_precision(dtype, q):
    needs_wide_vectors(q)
    n = 200_000
    F, y = np.full((n, 8), 0.1, dtype), np.ones((n, 1), dtype)
    found, _ = sweep(encode(losses.LeastSquares(), q), F, y, None, np.zeros((8, q), dtype), np.zeros(q, dtype), True)
    np.testing.assert_allclose(found, 2 * n * float(dtype(0.1)), rtol=5e-6 if dtype == np.float32 else 1e-12)


@needs_it
@in_both_precisions
@pytest.mark.parametrize("n_saturating", [2, 70])
def test_columns_of_several_losses_however_targets_lie(dtype, n_saturating):
    loss_slices = [
        (losses.SquaredHinge(), slice(0, 3)),
        (losses.Saturating(), slice(3, 3 + n_saturating)),
        (losses.SmoothHinge(), slice(3 + n_saturating, 5 + n_saturating)),
    ]
    F, y, weights, dual, intercept = problem(250, 40, dtype, is_margin=True, n_columns=5 + n_saturating)
    table = compiled.encode_losses(loss_slices)
    found = sweep(table, F, y, weights, dual, intercept, True)
    for loss, part in loss_slices:
        of_part = expected(loss, F, y[:, part], weights[:, part], dual[:, part], intercept[part], True)
        for ours, theirs in zip(found, of_part, strict=True):
            np.testing.assert_allclose(ours[:, part], theirs, rtol=0, atol=TOLERANCE[dtype] * len(y) * loss.A)
    others = np.asfortranarray(y), np.repeat(weights, 2, axis=1)[:, ::2], np.asfortranarray(dual)
    again = sweep(table, F, others[0], others[1], others[2], np.repeat(intercept, 2)[::2], True)
    for ours, theirs in zip(again, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@needs_it
@each_case()
@pytest.mark.parametrize("n_columns", [1, 2, 11])
def test_residuals_that_are_far_off_or_not_a_number(case, n_columns):
    needs_wide_vectors(n_columns)
    table = encode(case.loss, n_columns)
    dual, intercept = np.zeros((8, n_columns)), np.zeros(n_columns)
    dual[0] = 1
    for u in (1e12, -1e12, 1e30, -1e30, 0.0):
        F = np.eye(1, 8) * -u
        _, (v_sums, risks) = sweep(table, F, np.zeros((1, 1)), None, dual, intercept, False)
        np.testing.assert_allclose(v_sums, case.loss.derivative(u), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(risks, case.loss.value(u), rtol=1e-12, atol=1e-15)
    _, (_, risks) = sweep(table, np.full((1, 8), np.nan), np.zeros((1, 1)), None, dual, intercept, False)
    assert np.isnan(risks).all()


@needs_it
@each_case()
def test_residuals_that_are_far_off_in_single_precision(case):
    dual = np.eye(8, 1, dtype=np.float32)
    for u in np.float32([1e12, -1e12, 1e30, -1e30]):
        F = np.eye(1, 8, dtype=np.float32) * -u
        given = F, np.zeros((1, 1), np.float32), None, dual, np.zeros(1, np.float32)
        _, (v_sum, risk) = sweep(encode(case.loss), *given, False)
        value = case.loss.value(float(u))
        np.testing.assert_allclose(v_sum, case.loss.derivative(float(u)), rtol=1e-5, atol=1e-5)
        assert risk == pytest.approx(value, rel=1e-5) or (np.isinf(risk).all() and value > 1e38)


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
@in_both_precisions
@pytest.mark.parametrize(
    ("n", "d", "r"), [(1, 1, 1), (3, 7, 16), (4, 255, 17), (9, 256, 8), (6, 257, 33), (5, 700, 40)]
)
def test_distances(n, d, r, dtype):
    needs_wide_vectors()
    rng = np.random.RandomState(0)
    X, Z = (rng.randn(size, d).astype(dtype) for size in (n, r))
    X[rng.uniform(size=X.shape) < 0.5] = 0
    expected = cdist(X, Z, "cityblock")
    written = np.full((n, r), np.nan, dtype=dtype)
    compiled.distances(X, compiled.panels(Z), written)
    np.testing.assert_allclose(written, expected, rtol=TOLERANCE[dtype])
    again = np.full((n, r), np.nan, dtype=dtype)
    named = np.dtype(dtype).newbyteorder("<")
    for rows, points in (unaligned(X), Z), (np.asfortranarray(X), unaligned(Z)), (X.view(named), Z.view(named)):
        compiled.distances(rows, compiled.panels(points), again)
        np.testing.assert_array_equal(again, written)


@needs_it
def test_distances_are_left_to_scipy_where_the_processor_is_unknown(monkeypatch):
    X, Z = np.random.RandomState(0).randn(2, 30, 4)
    monkeypatch.setattr(compiled._sweeps, "wide_vectors", False)
    monkeypatch.setattr(compiled, "distances", lambda *arguments: pytest.fail("they were not"))
    np.testing.assert_allclose(kernels.Laplacian(0.3)(X, Z), np.exp(-0.3 * cdist(X, Z, "cityblock")), rtol=1e-14)


@needs_it
@in_both_precisions
@pytest.mark.parametrize(("n", "d", "r"), [(1, 1, 1), (7, 20, 5), (20, 300, 40)])
def test_products_and_distances_of_sparse_rows(n, d, r, dtype):
    X, Z = (sparse.random(size, d, 0.2, format="csr", dtype=dtype, random_state=size) for size in (n, r))
    written = np.full((n, r), np.nan, dtype=dtype)
    compiled.sparse_products(X, Z.T.tocsr(), of_distances=False, out=written)
    np.testing.assert_allclose(written, (X @ Z.T).toarray(), rtol=TOLERANCE[dtype], atol=1e-20)
    written[:] = np.nan
    compiled.sparse_products(X, Z.T.tocsr(), of_distances=True, out=written)
    x, z = (matrix.toarray().astype(float) for matrix in (X, Z))
    expected = cdist(x, z, "cityblock") - np.abs(x).sum(axis=1)[:, None] - np.abs(z).sum(axis=1)
    np.testing.assert_allclose(written, expected, atol=10 * TOLERANCE[dtype])


@needs_it
def test_distances_of_arrays_that_do_not_fit_are_refused():
    needs_wide_vectors()
    X, Z = np.ones((6, 5)), np.ones((9, 5))
    panels, out = compiled.panels(Z), np.zeros((6, 9))
    for rows, points, to in [
        (X[:, :4].copy(), panels, out),
        (X[:5], panels, out),
        (X.astype(np.float32), panels, out),
        (X.astype(int), panels, out),
        (X[0], panels, out),
        (X[:, :0].copy(), panels[:, :0].copy(), out),
        (X, panels[:1], out),
        (X, panels.astype(np.float32), out),
        (X, panels.reshape(5, -1), out),
        (X, panels, out.astype(np.float32)),
        (X, panels, out.ravel()),
        (X, panels, np.zeros((6, 17))),
    ]:
        with pytest.raises(ValueError, match="fit"):
            compiled.distances(rows, points, to)
    with pytest.raises((ValueError, BufferError)):
        compiled.distances(X, panels, np.broadcast_to(0.0, (6, 9)))
    assert (out == 0).all()


@needs_it
def test_sparse_rows_that_do_not_fit_are_refused():
    # two rows, three columns, and four points
    rows = np.array([[0], [1], [3]]), np.array([[0], [1], [2]]), np.ones(3)
    points = np.array([[0], [2], [2], [3]]), np.array([[0], [3], [1]]), np.full(3, 2.0)
    out = np.zeros((2, 4))
    good = [*rows, *points, False, out]
    compiled._sweeps.sparse_products(*good)
    np.testing.assert_array_equal(out, [[2.0, 0.0, 0.0, 2.0], [0.0, 2.0, 0.0, 0.0]])
    out[:] = 0
    for first in (0, 3):
        for place, bad in [
            (first, good[first] - 1),
            (first, good[first] + 1),
            (first, good[first][:2]),
            (first, good[first][:0]),
            (first, good[first][::-1].copy()),
            (first, np.array([[0], [5], [3]])),
            (first, good[first].astype(np.int32)),
            (first, good[first].ravel()),
            (first + 1, good[first + 1] + 2),
            (first + 1, good[first + 1] - 1),
            (first + 1, good[first + 1][:2]),
            (first + 1, good[first + 1].astype(float)),
            (first + 2, good[first + 2][:2]),
            (first + 2, good[first + 2].astype(np.float32)),
            (7, np.zeros((3, 4))),
            (7, np.zeros((2, 3))),
            (7, np.zeros(8)),
            (7, out.astype(np.float32)),
        ]:
            with pytest.raises(ValueError, match="fit"):
                compiled._sweeps.sparse_products(*good[:place], bad, *good[place + 1 :])
    assert (out == 0).all()


def unaligned(array):
    """A copy that begins one byte after an address that its type allows, as arrays from a network may."""
    copy = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@needs_it
def test_arrays_and_losses_that_are_not_compiled_are_left_to_numpy():
    F, y, weights, dual, intercept = problem(50, 20, np.float64, is_margin=True, n_columns=2)
    table = encode(losses.Saturating(), 2)
    assert sweep(table, F, y, weights, dual, intercept, True) is not None
    for wrong in (
        (np.asfortranarray(F), y, weights, dual),
        (F.astype(np.float32), y, weights, dual),
        (F, y, weights.astype(np.float32), dual),
        (F[:, :7].copy(), y, weights, dual[:7]),
        (F.astype(int), y.astype(int), weights.astype(int), dual.astype(int)),
        (unaligned(F), y, weights, dual),
    ):
        assert sweep(table, *wrong, intercept, True) is None
    aligned = sweep(table, F, y, weights, dual, intercept, True)
    others = sweep(table, F, unaligned(y), unaligned(weights), unaligned(dual), unaligned(intercept), True)
    np.testing.assert_array_equal(others[0], aligned[0])
    np.testing.assert_array_equal(others[1], aligned[1])
    # the order of bytes is the processor's, but named
    named = [array.view(array.dtype.newbyteorder("<")) for array in (F, y, weights, dual, intercept)]
    assert sweep(table, *named, True) is None
    others = sweep(compiled.LossTable(*map(unaligned, table)), F, *named[1:], True)
    np.testing.assert_array_equal(others[0], aligned[0])
    np.testing.assert_array_equal(others[1], aligned[1])
    mine = losses.custom(lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, task="regression")
    assert encode(mine) is None
    assert compiled.encode_losses([(losses.Saturating(), slice(0, 1)), (mine, slice(1, 2))]) is None
    # of rows that no split is trained on
    assert compiled.encode_losses([]).entries.shape == (0, 3)
    assert sweep(None, F, y, weights, dual, intercept, True) is None


@needs_it
def test_several_columns_are_left_to_blas_where_the_processor_is_unknown(monkeypatch):
    F, y, weights, dual, intercept = problem(50, 20, np.float64, is_margin=True, n_columns=2)
    table = encode(losses.Saturating(), 2)
    monkeypatch.setattr(compiled._sweeps, "wide_vectors", False)
    assert encode(losses.Saturating(), 2) is None
    assert encode(losses.Saturating(), 1) is not None
    # as on a worker of a cluster, if the client's processor is known
    assert sweep(table, F, y, weights, dual, intercept, True) is None


@needs_it
@pytest.mark.parametrize("q", [1, 2, 11])
def test_arrays_that_do_not_fit_are_refused(q):
    F, y, weights, dual, intercept = problem(50, 20, np.float64, is_margin=True, n_columns=q)
    gradient, sums, columns = np.zeros((q, 20)), np.zeros((2, q)), np.arange(q)[:, None]
    entries, parameters = encode(losses.Saturating(), q)

    def sweep(**others):
        given = {"F": F, "y": y, "weights": weights, "dual": dual, "b": intercept, "entries": entries}
        given |= {"parameters": parameters, "is_margin": True, "gradient": gradient, "sums": sums, "columns": columns}
        compiled._sweeps.sweep(*(given | others).values())

    def changed(place, value):
        other = entries.copy()
        other[0, place] = value
        return other

    sweep()
    for wrong in (
        {"F": F.ravel()},
        {"F": F[:, :7].copy(), "dual": dual[:7], "gradient": np.empty((q, 7))},
        {"y": y[:49]},
        {"y": y[:, 0]},
        {"y": y.astype(np.float32)},
        {"weights": weights[:49]},
        {"dual": dual[:19]},
        {"b": intercept[:0]},
        {"b": intercept.astype(np.float32)},
        {"gradient": np.empty((q, 19))},
        {"gradient": np.empty((q, 20), np.float32)},
        {"sums": np.empty((1, q))},
        {"columns": columns + 1},
        {"columns": columns - 1},
        {"columns": columns[:0]},
        {"columns": columns[:, 0]},
        {"columns": columns.astype(np.int32)},
        {"entries": changed(0, 5)},
        {"entries": changed(0, -1)},
        {"entries": changed(0, 0)},
        {"entries": changed(1, q + 1)},
        {"entries": changed(1, 0)},
        {"entries": changed(2, 3)},
        {"entries": entries[:0]},
        {"entries": entries.astype(np.float64)},
        {"entries": entries.astype(np.int32)},
        {"entries": np.repeat(entries, 2, axis=0)},
        {"parameters": parameters[:3]},
        {"parameters": np.repeat(parameters, 2)},
        {"parameters": parameters.astype(np.float32)},
    ):
        with pytest.raises(ValueError, match=r"fit|form|matrix|wide|columns"):
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
    model = estimator("hinge" if estimator is UniSVMClassifier else "huber", C=1.0, rank=50, tol=1e-7, random_state=0)
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

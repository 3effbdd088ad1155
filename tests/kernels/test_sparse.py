"""Sparse rows and points: entries stored twice, points without entries, and the memory that they take."""

import tracemalloc

import cloudpickle
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from kernels.kernel_cases import FORMS, KERNELS
from unisvm import UniSVMClassifier, kernels
from unisvm.kernels.base import as_rows


@pytest.mark.parametrize("name", ["rbf", "linear", "laplacian", "poly"])
def test_sparse_rows_with_an_entry_stored_twice(name):
    # legal CSR: entries at the same place add up
    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 4), rng.randint(2, size=60)
    twice = sparse.csr_matrix(
        (np.repeat(X.ravel() / 2, 2), np.tile(np.repeat(np.arange(4), 2), 60), np.arange(0, 481, 8)), shape=X.shape
    )
    model = UniSVMClassifier(kernel=name, gamma=0.3, rank=20, random_state=0)
    dense = clone(model).fit(X, y)
    model.fit(twice, y)
    np.testing.assert_array_equal(model.landmarks_, dense.landmarks_)
    assert model.trace_error_ == pytest.approx(dense.trace_error_, abs=1e-8)
    np.testing.assert_allclose(model.decision_function(twice), dense.decision_function(X), rtol=1e-3, atol=1e-3)
    assert twice.nnz == 480


@pytest.mark.parametrize("form", FORMS)
def test_points_that_are_all_zero(compiled_or_not, form):
    X, Z = FORMS[form](np.eye(4)), sparse.csr_array(np.zeros((3, 4)))
    np.testing.assert_allclose(kernels.Laplacian(1.0)(X, Z), np.full((4, 3), np.exp(-1)))
    np.testing.assert_allclose(kernels.RBF(1.0)(X, Z), np.full((4, 3), np.exp(-1)))
    np.testing.assert_array_equal(kernels.Linear()(X, Z), np.zeros((4, 3)))


@pytest.mark.parametrize("form", FORMS)
def test_points_are_pickled_without_what_was_computed_from_them(form):
    rng = np.random.RandomState(0)
    X, Z = rng.randn(30, 500), sparse.random(20, 500, 0.01, format="csr", random_state=0)
    for kernel in (kernels.Linear(), kernels.Laplacian(0.1)):
        block = kernel.against(Z)
        before = block(FORMS[form](X))
        sent = cloudpickle.dumps(block)
        assert len(sent) < 10_000
        np.testing.assert_array_equal(cloudpickle.loads(sent)(FORMS[form](X)), before)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_sparse_points_are_never_made_dense(compiled_or_not, name, form):
    rng = np.random.RandomState(0)
    columns = np.sort(rng.randint(200_000, size=(300, 20)), axis=1)
    Z = as_rows(sparse.csr_matrix((rng.randn(6000), columns.ravel(), np.arange(0, 6001, 20)), shape=(300, 200_000)))
    X = Z[:3].toarray()
    kernel, reference = KERNELS[name]
    tracemalloc.start()
    try:
        K = kernel(FORMS[form](X), Z)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # dense they would take 480 MB
    np.testing.assert_allclose(K[:, :10], reference(X, Z[:10].toarray()), rtol=1e-10, atol=1e-12)

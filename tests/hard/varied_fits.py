"""Fits of many kinds, and digests of their models, for processes of any kind to import."""

import hashlib
import os
import warnings
from contextlib import suppress

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_info

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, kernels

N_ROWS = 700


def data():
    """Rows, labels of three classes and real targets."""
    rng = np.random.RandomState(0)
    X = rng.randn(N_ROWS, 5)
    return X, np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3]), X[:, 0] ** 2 + 0.1 * rng.randn(N_ROWS)


def write_files(folder):
    """Have the files that some of the fits read."""
    X, y, _ = data()
    np.save(folder / "rows.npy", X)
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)


def cases(folder):
    """By name, estimators with their rows and targets."""
    X, y, z = data()
    sparse_rows = sparse.csr_matrix(X * (np.abs(X) > 0.5))
    one, two = ({"rank": 60, "random_state": 0, "n_jobs": n_jobs} for n_jobs in (1, 2))
    on_disk = {"memory_limit": "600KB", "scratch_dir": folder}
    return {
        "classifier": (UniSVMClassifier(**one), X, y),
        "classifier in two threads": (UniSVMClassifier(C=1.0, **two), X, y > 0),
        "regressor": (UniSVMRegressor(**one), X, z),
        "regressor in two threads": (UniSVMRegressor(C=1.0, solver="dca", tol=1e-2, **two), X, z),
        "single precision": (UniSVMClassifier(loss="hinge", **two), X.astype(np.float32), y),
        "sparse rows": (UniSVMClassifier(kernel="poly", **one), sparse_rows, y),
        "features on disk": (UniSVMClassifier(C=1.0, **(two | on_disk)), X, y),
        "array in a file": (UniSVMRegressor(C=1.0, **(one | on_disk)), folder / "rows.npy", z),
        "text in a file": (UniSVMClassifier(C=1.0, scratch_dir=folder, **two), folder / "rows.svm", None),
        "search": (UniSVMClassifierCV(Cs=3, gammas=2, cv=2, **two), X[:200], y[:200] > 0),
        "own kernel": (UniSVMClassifier(C=1.0, kernel=kernels.Laplacian(0.5), **one), X, y),
    }


def fit(case):
    """The model of a case; that its solver may end early is no matter here."""
    estimator, X, y = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def digest(model):
    """All bits of a model's function."""
    model = getattr(model, "best_estimator_", model)
    points = model.landmark_vectors_
    points = points.toarray() if sparse.issparse(points) else points
    parts = [np.ascontiguousarray(part) for part in (model.dual_coef_, model.intercept_, points)]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def decisions(model):
    """What a model says of some rows."""
    X = data()[0][:50]
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def digest_of(name, folder):
    """The digest of a case that is fitted here."""
    return digest(fit(cases(folder)[name]))


class Recorded:
    """A kernel that notes the most threads that a matrix product in it would have."""

    def __init__(self):
        self.most = 0

    def __call__(self, A, B):
        used = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
        self.most = max(self.most, *used)
        return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=-1))


def blas_threads_of_a_fit(n_jobs):
    """Most threads of BLAS in the kernel of a fit."""
    kernel, (X, y, _) = Recorded(), data()
    UniSVMClassifier(C=1.0, kernel=kernel, rank=20, n_jobs=n_jobs, random_state=0).fit(X[:100], y[:100])
    return kernel.most


def n_threads(process="self"):
    """Threads of a process; none when it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return len(os.listdir(f"/proc/{process}/task"))
    return 0


def at_rest():
    """Threads and BLAS libraries of a process that has imported the library, and may not have fitted."""
    return n_threads(), sum(library["user_api"] == "blas" for library in threadpool_info())

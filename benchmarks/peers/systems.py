"""The systems that are compared: each is a function from a task to something with `fit` and `predict`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from peers.tasks import CLASSIFICATION, REGRESSION, Task


@dataclass(frozen=True)
class System:
    """A system, by the function that makes its model for a task.

    Attributes
    ----------
    make : callable
        Returns an unfitted model, given the task, its number of training rows, and options.
    kinds : tuple of str
    module : str or None
        Module that must be importable.
    """

    make: Callable[..., Any]
    kinds: tuple[str, ...]
    module: str | None = None

    def missing(self) -> str | None:
        """Reason why the system cannot be used here, or None."""
        if self.module is None:
            return None
        try:
            import_module(self.module)
        except Exception as error:
            return f"{self.module} cannot be imported: {type(error).__name__}: {error}"
        return None


BOTH = (CLASSIFICATION, REGRESSION)


def _unisvm(task: Task, n_rows: int, *, loss: str | None = None, gamma=None, penalty=None, **options):
    from unisvm import UniSVMClassifier, UniSVMRegressor

    C = task.cost(n_rows) if penalty is None else 1 / (2 * penalty * n_rows)
    shared = {"C": C, "gamma": gamma or task.gamma, "random_state": 0}
    shared |= {"rank": task.rank, "rank_tol": task.rank_tol} | options
    if task.kind == REGRESSION:
        return UniSVMRegressor(_loss(loss) or "huber", **shared)
    return UniSVMClassifier(_loss(loss) or "saturating", fit_intercept=False, **shared)


def _loss(text: str | None):
    """A loss by name, or as ``name(2, 3, 4)``."""
    from unisvm import losses

    if text is None or "(" not in text:
        return text
    name, numbers = text.rstrip(")").split("(")
    kind = type(losses.get(name))
    return kind(*map(float, numbers.split(",")))


def _algorithm_1(task: Task, n_rows: int, **options):
    """The paper's algorithm: greedily pivoted landmarks, the Gram matrix of all rows, its stopping rule."""
    from unisvm.solvers import DCA

    return _unisvm(
        task, n_rows, **options, landmarks="pivoted_cholesky", solver=DCA(form="sparse", stop="change"), max_iter=3000
    )


def _libsvm_of(module: str, **fixed):
    """SVC and SVR of scikit-learn or of a package that follows it."""

    def make(task: Task, n_rows: int):
        package = import_module(module)
        kind = package.SVC if task.kind == CLASSIFICATION else package.SVR
        return kind(C=task.cost(n_rows), gamma=task.gamma, **fixed)

    return make


class _Libsvm:
    """LIBSVM's own Python interface."""

    def __init__(self, task: Task, n_rows: int):
        kind = 0 if task.kind == CLASSIFICATION else 3
        self.options = f"-s {kind} -t 2 -c {task.cost(n_rows)} -g {task.gamma} -m 1000 -q"

    def fit(self, X, y):
        from libsvm.svmutil import svm_parameter, svm_problem, svm_train

        self.model = svm_train(svm_problem(y.astype(float), X.astype(float)), svm_parameter(self.options))
        return self

    def predict(self, X):
        import numpy as np
        from libsvm.svmutil import svm_predict

        labels, _, _ = svm_predict([], X.astype(float), self.model, "-q")
        return np.asarray(labels)


def _kernel_ridge(task: Task, n_rows: int):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(alpha=1 / (2 * task.cost(n_rows)), kernel="rbf", gamma=task.gamma)


def _nystroem(last: Callable[[Task, float, int], Any]):
    """scikit-learn's Nystroem with as many landmarks as ours, followed by a linear model."""

    def make(task: Task, n_rows: int, rank: int | None = None):
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        features = Nystroem(gamma=task.gamma, n_components=rank or task.rank, random_state=0)
        return make_pipeline(features, last(task, task.cost(n_rows), n_rows))

    return make


def _ridge(task: Task, C: float, n_rows: int):
    from sklearn.linear_model import Ridge, RidgeClassifier

    kind = RidgeClassifier if task.kind == CLASSIFICATION else Ridge
    return kind(alpha=1 / (2 * C))


def _linear_svc(task: Task, C: float, n_rows: int):
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, random_state=0)


def _sgd(task: Task, C: float, n_rows: int):
    from sklearn.linear_model import SGDClassifier

    # λ = 1/(2Cm) multiplies ‖w‖², SGD's alpha ½‖w‖²; without averaging the last rows would decide the result
    return SGDClassifier(alpha=1 / (C * n_rows), average=True, random_state=0)


def _lightgbm(task: Task, n_rows: int):
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if task.kind == CLASSIFICATION else LGBMRegressor
    return kind(random_state=0, verbose=-1)


class _Falkon:
    def __init__(self, task: Task, n_rows: int):
        from falkon import Falkon, FalkonOptions, kernels

        kernel = kernels.GaussianKernel(sigma=(1 / (2 * task.gamma)) ** 0.5)
        penalty = 1 / (2 * task.cost(n_rows) * n_rows)
        self.model = Falkon(kernel, penalty, M=task.rank, options=FalkonOptions(use_cpu=True), seed=0)
        self.labels = task.kind == CLASSIFICATION

    def fit(self, X, y):
        import torch

        self.model.fit(torch.from_numpy(X), torch.from_numpy(y.astype("float32"))[:, None])
        return self

    def predict(self, X):
        import torch

        values = self.model.predict(torch.from_numpy(X)).numpy().ravel()
        return (values > 0) * 2 - 1 if self.labels else values


SYSTEMS = {
    "unisvm": System(_unisvm, BOTH),
    "algorithm-1": System(_algorithm_1, BOTH),
    "sklearn-svm": System(_libsvm_of("sklearn.svm", cache_size=1000), BOTH),
    "intelex-svm": System(_libsvm_of("sklearnex.svm", cache_size=1000), BOTH, "sklearnex.svm"),
    "thundersvm": System(_libsvm_of("thundersvm", n_jobs=2), BOTH, "thundersvm"),
    "libsvm": System(_Libsvm, BOTH, "libsvm.svmutil"),
    "kernel-ridge": System(_kernel_ridge, (REGRESSION,)),
    "nystroem-ridge": System(_nystroem(_ridge), BOTH),
    "nystroem-linear-svc": System(_nystroem(_linear_svc), (CLASSIFICATION,)),
    "nystroem-sgd": System(_nystroem(_sgd), (CLASSIFICATION,)),
    "falkon": System(_Falkon, BOTH, "falkon"),
    "lightgbm": System(_lightgbm, BOTH, "lightgbm"),
}

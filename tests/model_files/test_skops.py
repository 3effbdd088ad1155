"""skops, the other way without pickles, saves and loads every estimator with every kernel."""

import numpy as np
import pytest
import skops.io
from scipy import sparse

from model_files.saved_models import (
    KERNELS,
    NAMES,
    TARGETS,
    WAVE,
    X,
    answers,
    assert_same,
    plain,
    rows_for,
    small_models,
)
from unisvm import baselines, losses, solvers

#: types of other libraries that skops asks about, as docs/model_files.md lists them
OTHERS = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
}
METRICS = "sklearn.metrics._"


def check(model, rows, y):
    data = skops.io.dumps(model)
    asked = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith(("unisvm.", METRICS)) or name in OTHERS for name in asked)
    loaded = skops.io.loads(data, trusted=asked)
    assert_same(answers(model, rows, y), answers(loaded, rows, y))
    assert_same(model, loaded)


@pytest.fixture(scope="module")
def models():
    return small_models()


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator(models, name):
    check(*models[name])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_and_target(kernel, target, form):
    rows, y = rows_for(kernel, np.float32, form), TARGETS[target]
    check(plain(target, kernel).fit(rows, y), rows, y)


@pytest.mark.parametrize("name", baselines.__all__)
def test_comparators(name):
    cls = getattr(baselines, name)
    y = TARGETS["two classes"] if hasattr(cls, "decision_function") else WAVE
    check(cls().fit(X, y), X, y)


def test_objects_as_parameters():
    parts = {"solver": solvers.DCA(form="full"), "loss": losses.Feng(a=3.0), "random_state": np.random.RandomState(0)}
    check(plain("two classes", **parts).fit(X, TARGETS["two classes"]), X, TARGETS["two classes"])

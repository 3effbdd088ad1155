"""A cluster of processes gives the model of one process, also when workers die or come late, and sends little."""

import os
import signal
import subprocess
import sys
from time import sleep

import dask
import dask.array as da
import numpy as np
import pytest
from dask import delayed
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from unisvm import UniSVMClassifier, UniSVMRegressor, kernels, losses, robust_scale
from unisvm.distributed import tasks
from unisvm.distributed.collections import Blocks

M = 4000
X, y = make_moons(M, noise=0.3, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
SETTINGS = {"rank": 30, "random_state": 0, "gamma": 1.0}
LOCAL = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(autouse=True, scope="module")
def patient_clusters():
    """A local cluster gives up a worker that is not back after a time, even if it is just being started again; and
    blocks as small as these are stolen by whoever is idle."""
    settings = {"distributed.deploy.lost-worker-timeout": "10 minutes", "distributed.scheduler.work-stealing": False}
    with dask.config.set(settings):
        yield


@pytest.fixture(autouse=True)
def threaded_dask():
    """The client of a cluster is Dask's scheduler here."""


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, **LOCAL) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def same_model(model, expected):
    np.testing.assert_array_equal(model.landmarks_, expected.landmarks_)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-4)


def rows_in(n_blocks):
    return da.from_array(X, chunks=(M // n_blocks, 2))


# ------------------------------------------------------------------ the same model


def test_the_same_models(client):
    rows = rows_in(8).persist()
    weights = np.random.RandomState(0).uniform(size=M)
    model = UniSVMClassifier(**SETTINGS).fit(rows, y, weights)
    same_model(model, UniSVMClassifier(**SETTINGS).fit(X, y, weights))
    np.testing.assert_array_equal(model.predict(rows).compute(), model.predict(X))
    target = da.from_array(WAVE, chunks=900).persist()
    same_model(UniSVMRegressor(**SETTINGS).fit(rows, target), UniSVMRegressor(**SETTINGS).fit(X, WAVE))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_at_any_address(client, kernel, dtype):
    # arrays that come over the network do not always begin where their type wants them to
    rows, settings = X[:160].astype(dtype), {"kernel": kernel, **SETTINGS}
    model = UniSVMClassifier(**settings).fit(da.from_array(rows, chunks=(7, 2)), y[:160])
    expected = UniSVMClassifier(**settings).fit(rows, y[:160])
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-3)


def test_sparse_blocks_at_any_address(client):
    rows = sparse.random_array((160, 30), density=0.2, format="csr", random_state=0)
    settings = {"kernel": "laplacian", "rank": 30, "random_state": 0}
    blocks = [da.from_delayed(delayed(rows[low : low + 7]), (min(7, 160 - low), 30), float) for low in range(0, 160, 7)]
    model = UniSVMClassifier(**settings).fit(da.concatenate(blocks), y[:160])
    assert model.objective_ == pytest.approx(UniSVMClassifier(**settings).fit(rows, y[:160]).objective_, rel=1e-3)


def dies_once(flag, function):
    """The function, whose first call on a worker kills it."""
    client = os.getpid()

    def call(*args):
        if os.getpid() != client:
            try:
                os.unlink(flag)
            except FileNotFoundError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return function(*args)

    return call


def test_workers_that_are_killed(client, tmp_path):
    flags = [tmp_path / "build", tmp_path / "sweep"]
    pids = client.run(os.getpid)
    square, slope = (lambda u: u**2), (lambda u: 2 * u)

    def model(kernel, value):
        loss = losses.custom(value, slope, A=1.0, task="regression")
        return UniSVMRegressor(loss, rank=30, random_state=0, kernel=kernel)

    expected = model(rbf_kernel, square).fit(X, WAVE)
    for flag in flags:
        flag.touch()
    fitted = model(dies_once(flags[0], rbf_kernel), dies_once(flags[1], square)).fit(rows_in(8), WAVE)
    assert not any(flag.exists() for flag in flags)
    client.wait_for_workers(2, timeout=60)
    # one died in the build, and one in a sweep
    assert set(pids.values()) != set(client.run(os.getpid).values())
    same_model(fitted, expected)


CLIENT = """
import sys
import dask.array as da
import numpy as np
from distributed import Client
from unisvm import UniSVMClassifier
from unisvm.checkpoint import stages

stages._SECONDS_BETWEEN = stages._SHARE = 0
with np.load(sys.argv[2]) as data, Client(sys.argv[1]):
    rows = da.from_array(data["X"], chunks=(500, 2))
    UniSVMClassifier(rank=30, random_state=0, gamma=1.0, tol=1e-6, checkpoint=sys.argv[3]).fit(rows, data["y"])
"""


def test_a_client_that_is_killed(cluster, tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=y)
    folder = tmp_path / "kept"
    with Client(cluster):
        model = UniSVMClassifier(**SETTINGS, tol=1e-6)
        expected = clone(model).fit(rows_in(8), y)
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, cluster.scheduler_address, str(tmp_path / "data.npz"), str(folder)]
        )
        while not (folder / "unisvm-solver.ckpt").exists():
            assert process.poll() is None
            sleep(0.001)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert not (folder / "unisvm-result.ckpt").exists()
        fitted = model.set_params(checkpoint=folder).fit(rows_in(8), y)
    np.testing.assert_array_equal(fitted.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(fitted.history_["objective"], expected.history_["objective"])


def test_all_workers_die(client):
    store = Blocks(rows_in(8), y.astype(float)).store(lambda y, weights: (y[:, None], weights), 1)
    features = store.build(kernels.RBF(1.0).against(X[:20]), 20)
    before = store.reduce(lambda features, targets, weights: (features.T @ targets,), features)
    client.run(lambda: os.kill(os.getpid(), signal.SIGKILL), on_error="ignore")
    after = store.reduce(lambda features, targets, weights: (features.T @ targets,), features)
    np.testing.assert_array_equal(before, after)


def test_a_worker_that_comes_late_gets_its_share():
    with LocalCluster(n_workers=1, **LOCAL) as cluster, Client(cluster) as client:
        rows = Blocks(rows_in(8), WAVE[:, None]).store(lambda y, weights: (y[:, None], weights), 1)
        points = X[:20]
        features = rows.build(kernels.RBF(1.0).against(points), 20)
        every = np.arange(M)

        def who(features):
            return np.full(len(features), os.getpid())

        def sums(features, targets, weights):
            return features.sum(axis=0), features.T @ targets

        before = rows.reduce(sums, features)
        assert len(set(rows.map_rows(who, features, every))) == 1
        cluster.scale(2)
        client.wait_for_workers(2, timeout=60)
        after = rows.reduce(sums, features)
        workers, counts = np.unique(rows.map_rows(who, features, every), return_counts=True)
        assert set(workers) == set(client.run(os.getpid).values())
        np.testing.assert_array_equal(counts, [M // 2, M // 2])
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
        # nothing is moved as long as nobody comes or goes
        placed = tasks.holders(features.blocks())
        rows.reduce(sums, features)
        assert tasks.holders(features.blocks()) == placed


def test_rows_that_lie_on_one_worker_are_shared_out(client):
    worker = next(iter(client.nthreads()))
    rows = client.persist(rows_in(8), workers=[worker])
    store = Blocks(rows, y.astype(float)).store(lambda y, weights: (y[:, None], weights), 1)
    features = store.build(kernels.RBF(1.0).against(X[:20]), 20)
    placed = tasks.holders(features.blocks())
    assert sorted(placed.count(worker) for worker in client.nthreads()) == [4, 4]


# ------------------------------------------------------------------ shares


@pytest.mark.parametrize(
    ("sizes", "present", "threads", "moved"),
    [
        ([10] * 4, ["a", "a", "b", "b"], {"a": 1, "b": 1}, 0),
        ([10] * 4, ["a", "a", "a", "a"], {"a": 1, "b": 1}, 2),
        ([10] * 4, ["a", "a", "a", "a"], {"b": 1}, 4),
        ([10] * 6, ["a"] * 6, {"a": 1, "b": 2}, 4),
        ([10] * 4, [None] * 4, {"a": 2, "b": 2}, 4),
        ([40, 10, 10, 10, 10], ["a", "a", "a", "b", "b"], {"a": 1, "b": 1}, 2),
    ],
)
def test_shares(sizes, present, threads, moved):
    sizes = np.array(sizes)
    places = tasks.shares(sizes, present, threads)
    assert sum(old != new for old, new in zip(present, places, strict=True)) == moved
    loads = [sizes[[place == worker for place in places]].sum() / n for worker, n in threads.items()]
    assert max(loads) - min(loads) < 1e-9


# ------------------------------------------------------------------ traffic


@pytest.mark.parametrize("Estimator", [UniSVMClassifier, UniSVMRegressor])
def test_nothing_as_long_as_the_rows_reaches_the_client(Estimator, monkeypatch):
    monkeypatch.setattr(robust_scale, "_FEW", 100)
    received, compute = [], dask.compute

    def spy(*args, **kwargs):
        results = compute(*args, **kwargs)
        received.append(sizeof(results))
        return results

    monkeypatch.setattr(dask, "compute", spy)

    def largest(n_rows):
        rows, labels = make_moons(n_rows, noise=0.3, random_state=0)
        rows, labels = da.from_array(rows, chunks=(n_rows // 4, 2)), da.from_array(labels, chunks=n_rows // 4)
        if Estimator is UniSVMRegressor:
            labels = labels + rows[:, 0]
        received.clear()
        with dask.config.set(scheduler="threads"):
            Estimator(rank=10, random_state=0, tol=1e-2).fit(rows, labels)
        return max(received)

    few, many = largest(8_000), largest(64_000)
    assert many < 1.2 * few
    assert many < 64_000 * 8


# ------------------------------------------------------------------ failures


def test_a_cluster_that_is_gone(cluster):
    with Client(cluster):
        rows = rows_in(4).persist()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"cluster that is gone.*Client"):
            UniSVMClassifier(**SETTINGS).fit(rows, y)
        with pytest.raises(ValueError, match="cluster that is gone"):
            UniSVMClassifier(**SETTINGS).fit(X, y).predict(rows)
    with Client(cluster), pytest.raises(ValueError, match="cluster that is gone"):
        UniSVMClassifier(**SETTINGS).fit(rows, y)
    with Client(cluster):
        rows = rows_in(4).persist()
        with dask.config.set(scheduler="threads"), pytest.raises(ValueError, match="no client"):
            UniSVMClassifier(**SETTINGS).fit(rows, y)


WORKER_WITHOUT_US = """
import asyncio, sys
sys.modules["unisvm"] = None
from distributed import Worker

async def work():
    async with Worker(sys.argv[1], nthreads=1, dashboard=False) as worker:
        await worker.finished()

asyncio.run(work())
"""


def test_workers_without_the_package():
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", **LOCAL) as cluster,
        Client(cluster) as client,
        subprocess.Popen([sys.executable, "-c", WORKER_WITHOUT_US, cluster.scheduler_address]) as worker,
    ):
        client.wait_for_workers(1, timeout=60)
        try:
            with pytest.raises(ModuleNotFoundError, match=r"not installed on all workers.*PipInstall"):
                UniSVMClassifier(**SETTINGS).fit(da.zeros((100, 2), chunks=(50, 2)), y[:100])
        finally:
            worker.kill()


def test_a_failing_block_says_so_and_leaves_the_cluster_well(client):
    def bad(block):
        block = block.copy()
        block[7] = np.nan
        return block

    rows = da.concatenate([rows_in(4), da.from_delayed(delayed(bad)(X[:100]), (100, 2), dtype=float)])
    with pytest.raises(ValueError, match="X contains NaN"):
        UniSVMClassifier(**SETTINGS).fit(rows, np.concatenate([y, y[:100]]))
    assert client.submit(sum, [1, 2]).result() == 3

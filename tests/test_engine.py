"""A fit from rows to coefficients: the same as an estimator's, stage by stage, from any start."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import naive
from contracts.user_objects import FarthestFirst, GradientDescent, Midpoints
from unisvm import UniSVMClassifier, UniSVMRegressor, engine, kernels, losses, solvers
from unisvm.checkpoint import Stages
from unisvm.engine import FitSettings, Fitted
from unisvm.kernel_expansion import KernelExpansion
from unisvm.memory_budget import MemoryBudget
from unisvm.progress import Report, StageRunner
from unisvm.rows import MemoryRows
from unisvm.targets import SignEncoder, TargetScaler

rng = np.random.RandomState(0)
# so many that a sample of them is solved first
X = rng.randn(3000, 3)
SMOOTH = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.randn(3000)
WEIGHTS = rng.uniform(0.5, 2, size=3000)
TARGETS = {
    "two classes": SMOOTH > 0,
    "three classes": np.digitize(SMOOTH, [-0.7, 0.7]),
    "real": 100 + 20 * SMOOTH,
    "two reals": np.column_stack([100 + 20 * SMOOTH, X[:, 0] ** 2]),
}
SETTINGS = FitSettings(
    is_margin=True,
    loss=losses.get("logistic"),
    C=3.0,
    kernel=kernels.RBF("scale"),
    scale=None,
    rank=25,
    rank_tol=0.0,
    landmarks="rpcholesky",
    indefinite="flip",
    fit_intercept=True,
    penalised_intercept=False,
    solver=solvers.LBFGS(),
    tol=1e-6,
    max_iter=1000,
    memory=MemoryBudget(None),
)


def silent(rng):
    """An runner that keeps nothing and says nothing."""
    return StageRunner(Stages(rng), Report())


class Problem:
    """Rows with training targets, and the settings of a fit and of an estimator that does the same."""

    def __init__(self, name, *, weights=None, **changes):
        self.y = TARGETS[name]
        is_margin = name.endswith("classes")
        changes = {"loss": losses.get("logistic" if is_margin else "huber")} | changes
        self.settings = replace(SETTINGS, is_margin=is_margin, **changes)
        self.estimator = UniSVMClassifier if is_margin else UniSVMRegressor
        weights = np.ones(3000) if weights is None else weights
        self.weights = weights
        encoder = SignEncoder() if is_margin else TargetScaler(self.settings.fit_intercept)
        targets, _ = encoder.encode(self.y, weights, X.dtype)
        self.units = targets.units
        self.rows = MemoryRows(X, targets.values, targets.weights)

    def fit(self, runner=None, init=None, **changes):
        runner = silent(np.random.RandomState(0)) if runner is None else runner
        return engine.fit(self.rows, self.units, replace(self.settings, **changes), runner, init)

    def model(self):
        """The estimator with these settings, fitted."""
        names = ("loss", "C", "kernel", "rank", "rank_tol", "landmarks", "fit_intercept", "solver", "tol", "max_iter")
        settings = {name: getattr(self.settings, name) for name in names}
        if self.settings.is_margin:
            settings["multi_class"] = "ovr"
        return self.estimator(random_state=0, **settings).fit(X, self.y, self.weights)

    def naive_objective(self, expansion, column):
        """λ‖f‖² + mean loss of a function in the units of y."""
        settings, units = self.settings, self.units
        K = expansion.kernel(expansion.points, expansion.points)
        dual = expansion.dual_coef[column] / units.scale[column]
        penalty = 1 / (2 * settings.C * self.weights.sum())
        f = units.to_training(expansion(X))[:, column]
        y = self.rows.targets[:, column]
        value = settings.loss.value(1 - y * f if settings.is_margin else y - f)
        return penalty * dual @ K @ dual + self.weights @ value / self.weights.sum()


every_target = pytest.mark.parametrize("name", TARGETS)


# ---------------------------------------------------------------------- the result


@every_target
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [solvers.LBFGS(), solvers.DCA(), GradientDescent()], ids=["lbfgs", "dca", "user's"])
def test_same_result_as_the_estimator(name, weighted, solver):
    problem = Problem(name, weights=WEIGHTS if weighted else None, solver=solver, tol=1e-4)
    fitted, model = problem.fit(), problem.model()
    np.testing.assert_array_equal(fitted.basis.row_indices, model.landmarks_)
    np.testing.assert_array_equal(fitted.expansion.dual_coef, model.dual_coef_)
    np.testing.assert_array_equal(fitted.expansion.intercept, model.intercept_)
    np.testing.assert_array_equal(fitted.result.objective, np.atleast_1d(model.objective_))
    np.testing.assert_array_equal(fitted.result.n_sweeps, np.atleast_1d(model.n_sweeps_))
    assert fitted.trace_error == model.trace_error_


@every_target
@pytest.mark.parametrize("intercept", [False, True])
def test_objective_is_that_of_the_function(name, intercept):
    problem = Problem(name, weights=WEIGHTS, fit_intercept=intercept)
    fitted = problem.fit()
    assert (fitted.result.stationarity <= 1e-6).all()
    for column, value in enumerate(fitted.result.objective):
        assert value == pytest.approx(problem.naive_objective(fitted.expansion, column), rel=1e-8)


def test_trace_error_is_that_of_the_landmarks():
    # moments of all rows tell it exactly
    fitted = Problem("real", solver=solvers.DCA(), tol=1e-3).fit()
    K = fitted.basis.kernel(X, X[fitted.basis.row_indices])
    left = 1 - np.einsum("ij,ij->i", K @ np.linalg.inv(K[fitted.basis.row_indices]), K)
    assert fitted.trace_error == pytest.approx(left.mean(), rel=1e-6)


# ---------------------------------------------------------------------- where it starts


@every_target
@pytest.mark.parametrize("intercept", [False, True])
def test_init_is_where_the_solver_starts(name, intercept):
    problem = Problem(name, weights=WEIGHTS, fit_intercept=intercept)
    other = problem.fit(C=0.01).expansion
    started = problem.fit(init=other, max_iter=1)
    # the landmarks are the same, so that the function is, too
    for column, value in enumerate(started.result.history.objective[0]):
        assert value == pytest.approx(problem.naive_objective(other, column), rel=1e-6)
    np.testing.assert_allclose(started.expansion(X[:50]), other(X[:50]), rtol=1e-6, atol=1e-6)


@every_target
def test_a_fit_from_its_own_solution_is_over_at_once(name):
    problem = Problem(name)
    cold = problem.fit()
    warm = problem.fit(init=cold.expansion)
    assert len(cold.result.history) > 3
    assert len(warm.result.history) <= 2
    np.testing.assert_allclose(warm.result.objective, cold.result.objective, rtol=1e-6)


def test_init_on_other_landmarks_is_met_by_its_values_there():
    problem = Problem("real")
    points = rng.randn(40, 3)
    dual = rng.randn(1, 40)
    init = KernelExpansion(kernels.RBF(0.1), points, dual, np.array([80.0]))
    started = problem.fit(init=init, max_iter=1)
    vectors = started.expansion.points
    np.testing.assert_allclose(started.expansion(vectors), init(vectors), rtol=1e-6)
    assert started.expansion.intercept == pytest.approx(80.0)


def test_nonconvex_losses_depend_on_the_start():
    problem = Problem("two classes", loss=losses.get("saturating"))
    upside_down = problem.fit().expansion
    upside_down = upside_down._replace(dual_coef=-upside_down.dual_coef, intercept=-upside_down.intercept)
    started = problem.fit(init=upside_down, max_iter=1)
    assert started.result.objective > problem.fit(max_iter=1).result.objective


# ---------------------------------------------------------------------- its stages


class Kept(Stages):
    """Stages that are kept in memory, and the names of those that were computed."""

    def __init__(self, saved=None, random_state=0):
        super().__init__(np.random.RandomState(random_state))
        self.saved = {} if saved is None else saved
        self.finished = tuple(self.saved)
        self.iterations = []

    def load(self, stage):
        if stage not in self.saved:
            return None
        arrays, state = self.saved[stage]
        self.rng.set_state(state)
        return {name: array.copy(order="K") for name, array in arrays.items()}

    def save(self, stage, arrays):
        arrays = {name: np.asarray(array).copy(order="K") for name, array in arrays.items()}
        assert all(array.dtype != object for array in arrays.values())
        self.saved[stage] = (arrays, self.rng.get_state())

    def save_at_times(self, stage, arrays):
        self.save(stage, arrays())
        self.iterations.append(self.saved[stage])


class Noting(StageRunner):
    """Notes the stages in the order in which they begin."""

    def __init__(self, stages):
        self.names = []
        super().__init__(stages, Report())

    def run(self, name, compute):
        self.names.append(name)
        return super().run(name, compute)

    def stage(self, name, compute, restore, label=None):
        def noted():
            self.names.append(name)
            return compute()

        return super().stage(name, noted, restore, label)


def assert_same(one, other):
    for name in ("dual_coef", "intercept", "points"):
        first, second = (getattr(fitted.expansion, name) for fitted in (one, other))
        if sparse.issparse(first):
            first, second = first.toarray(), second.toarray()
        np.testing.assert_array_equal(first, second, err_msg=name)
    for name in ("weights", "objective", "stationarity", "n_sweeps"):
        np.testing.assert_array_equal(getattr(one.result, name), getattr(other.result, name), err_msg=name)
    assert one.result.reasons == other.result.reasons
    assert one.trace_error == other.trace_error
    np.testing.assert_array_equal(one.result.history.objective, other.result.history.objective)


CASES = {
    "two classes": ("two classes", {}),
    "three classes": ("three classes", {}),
    "real": ("real", {"loss": losses.get("tukey")}),
    "least squares": ("real", {"loss": losses.get("least_squares")}),
    "no intercept": ("two classes", {"fit_intercept": False}),
    "dca": ("two classes", {"solver": solvers.DCA(), "tol": 1e-3}),
    "user's solver": ("two reals", {"solver": GradientDescent(), "tol": 1e-3}),
    "row indices": ("real", {"landmarks": np.arange(0, 3000, 200)}),
    "points": ("real", {"landmarks": X[:20] + 0.1}),
    "rule of indices": ("two classes", {"landmarks": FarthestFirst()}),
    "rule of points": ("two classes", {"landmarks": Midpoints()}),
}
STAGES = ["landmarks", "features", "gram", "majoriser", "start", "solver"]


@pytest.mark.parametrize(("name", "changes"), CASES.values(), ids=CASES.keys())
def test_resumes_after_every_stage(name, changes):
    problem, kept = Problem(name, **changes), Kept()
    whole = Noting(kept)
    expected = problem.fit(whole)
    assert whole.names == STAGES
    kept.saved["solver"] = kept.iterations[len(kept.iterations) // 2]
    for n_saved, computed in (
        (0, STAGES),
        (1, STAGES[1:]),
        (2, ["features", "majoriser", "start", "solver"]),
        (3, ["features", "majoriser", "solver"]),
        (4, ["features", "majoriser", "solver"]),
    ):
        saved = {stage: kept.saved[stage] for stage in ("landmarks", "gram", "start", "solver")[:n_saved]}
        # the random numbers are those of the first run, once there is something of it
        runner = Noting(Kept(saved, random_state=0 if n_saved == 0 else 99))
        assert_same(problem.fit(runner), expected)
        assert runner.names == computed
    # the model itself can be kept, too
    kept.save("result", expected.state())
    settings = problem.settings
    assert_same(Fitted.from_state(kept.load("result"), problem.rows, settings), expected)


@pytest.mark.parametrize("solver", [solvers.LBFGS(), solvers.DCA(), GradientDescent()], ids=["lbfgs", "dca", "user's"])
def test_resumes_from_every_iteration(solver):
    problem, kept = Problem("three classes", solver=solver, tol=1e-3), Kept()
    expected = problem.fit(Noting(kept))
    assert len(kept.iterations) == len(expected.result.history)
    for iteration in kept.iterations[:: 1 + len(kept.iterations) // 20]:
        saved = {stage: kept.saved[stage] for stage in ("landmarks", "gram", "start")} | {"solver": iteration}
        assert_same(problem.fit(Noting(Kept(saved, random_state=99))), expected)


def test_a_fit_that_was_broken_off_resumes():
    problem, kept = Problem("two classes"), Kept()

    class Broken(Exception):
        pass

    class Breaking(Noting):
        def iteration(self, reached, **options):
            super().iteration(reached, **options)
            if len(reached.history) == 3:
                raise Broken

    with pytest.raises(Broken):
        problem.fit(Breaking(kept))
    assert list(kept.saved) == ["landmarks", "gram", "start", "solver"]
    # and what there is will do
    assert_same(problem.fit(Noting(Kept(kept.saved, random_state=99))), problem.fit())


# ---------------------------------------------------------------------- before the solver


@pytest.mark.parametrize("keep_sample", [False, True])
@pytest.mark.parametrize("quadratic", [False, True])
def test_prepare(keep_sample, quadratic):
    problem = Problem("two classes")
    options = {"quadratic": quadratic, "keep_sample": keep_sample}
    basis, features, gram = engine.prepare(problem.rows, problem.settings, silent(rng), **options)
    assert features.shape == (3000, 25)
    assert basis.kernel.gamma == pytest.approx(1 / (3 * X.var()))
    np.testing.assert_allclose(features, basis.kernel(X, X[basis.row_indices]), atol=1e-10)
    assert (gram.sample is None) == (quadratic and not keep_sample)
    P = naive.orthonormal_features(features, features[basis.row_indices])
    mean, matrix = naive.moments(P, np.ones(3000))
    tolerance = 1e-8 if gram.sample is None else 0.1
    np.testing.assert_allclose(gram.mean, mean, atol=tolerance)
    np.testing.assert_allclose(np.tril(gram.matrix), np.tril(matrix), atol=tolerance)


def test_prepare_depends_on_neither_c_nor_the_loss():
    problem = Problem("two classes")
    one, other = (
        engine.prepare(problem.rows, replace(problem.settings, **changes), silent(np.random.RandomState(0)))
        for changes in ({}, {"C": 1e-3, "loss": losses.get("saturating"), "tol": 1.0, "max_iter": 1})
    )
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.gram.matrix, other.gram.matrix)


def test_features_that_find_no_room_are_on_disk():
    problem = Problem("two classes")
    in_memory = problem.fit()
    on_disk = problem.fit(memory=MemoryBudget(700_000))
    _, features, _ = engine.prepare(problem.rows, replace(problem.settings, memory=MemoryBudget(700_000)), silent(rng))
    assert problem.rows.location(features) == "on disk"
    assert_same(on_disk, in_memory)


def test_too_little_memory_is_refused_before_the_features_are_built(monkeypatch):
    problem = Problem("two classes", memory=MemoryBudget(100_000))
    monkeypatch.setattr(problem.rows, "build", lambda *args: pytest.fail("the features were built"))
    with pytest.raises(MemoryError, match="3000 rows and 25 landmarks"):
        problem.fit()
    with pytest.raises(MemoryError, match="3000 rows and 25 landmarks"):
        engine.choose_basis(problem.rows, problem.settings, rng)
    # so are bytes that are needed beside them
    enough = replace(problem.settings, memory=MemoryBudget(10**6))
    assert engine.choose_basis(problem.rows, enough, rng).feature_map.rank == 25
    with pytest.raises(MemoryError, match="3000 rows and 25 landmarks"):
        engine.choose_basis(problem.rows, enough, rng, reserved=900_000)

"""The contract of a solver, an object of a user's among them, and the one loop that drives all of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from contracts.user_objects import GradientDescent
from problems import Problem, learnable_targets, with_or_without_intercept
from unisvm import UniSVMClassifier, UniSVMRegressor, losses, solvers
from unisvm.checkpoint import stages
from unisvm.objective import Objective
from unisvm.preconditioner import SpectralMajoriser, Spectrum
from unisvm.rows import MemoryRows
from unisvm.solvers import DCA, LBFGS, Result, Start, StopReason
from unisvm.solvers.driver import minimise

SOLVERS = {
    # no pair is forgotten: when it is depends on the other columns, which try more points
    "lbfgs": LBFGS(memory=1000),
    "sparse dca": DCA(),
    "woodbury dca": DCA(form="woodbury"),
    "full dca": DCA(form="full"),
    "user's": GradientDescent(),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
# the rule of the paper says nothing of stationarity
WITH_RULES = SOLVERS | {
    "dca by change": DCA(stop="change", change=1e-2),
    "dca by change of the derivative": DCA(stop="derivative_change", change=1e-2, A=3.0),
}
every_solver_and_rule = pytest.mark.parametrize("solver", WITH_RULES.values(), ids=WITH_RULES.keys())


def problem_of(loss="logistic", task="classification", *, intercept=True, **options):
    """Five columns of labels over the same features."""
    options = {"m": 400, "d": 2, "rank": 12, "gamma": 0.5, "penalty": 1e-3, "targets": learnable_targets} | options
    return Problem(loss, task, intercept=intercept, **options)


def solve(solver, problem, *, objective=None, start=None, tol=1e-6, max_iter=5000, **options):
    objective, start = objective or problem.objective, start or Start()
    return minimise(solver, objective, problem.majoriser, start, tol=tol, max_iter=max_iter, **options)


def one_column(problem, j):
    """The objective of one of the columns, over rows that have no other targets."""
    rows = problem.rows
    return problem.objective_over(MemoryRows(rows.X, rows.targets[:, [j]], rows.weights))


def assert_same(one, other):
    """Equality of two results to the last bit."""
    for name in ("weights", "objective", "stationarity", "n_sweeps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.reasons == other.reasons
    assert len(one.history) == len(other.history)
    np.testing.assert_array_equal(one.history.objective, other.history.objective)
    np.testing.assert_array_equal(one.history.stationarity, other.history.stationarity)


# ---------------------------------------------------------------------- minimisers


@every_solver
@with_or_without_intercept
def test_goes_where_another_library_goes(solver, intercept):
    problem = problem_of(intercept=intercept)
    result = solve(solver, problem, tol=1e-12)
    assert set(result.reasons) <= {StopReason.CONVERGED, StopReason.PRECISION}
    for j in range(problem.n_columns):

        def value_and_slope(w, j=j):
            value, gradient = problem.objective(w[:, None], np.array([j]))
            return value[0], gradient[:, 0]

        start = np.zeros(problem.size)
        found = minimize(value_and_slope, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
        np.testing.assert_allclose(result.weights[:, j], found, atol=1e-4)


@every_solver
@with_or_without_intercept
@pytest.mark.parametrize(
    ("loss", "task"), [("hinge", "classification"), ("saturating", "classification"), ("huber", "regression")]
)
def test_result_says_what_it_is(solver, intercept, loss, task):
    problem = problem_of(loss, task, intercept=intercept)
    result = solve(solver, problem)
    assert result.reasons == [StopReason.CONVERGED] * 5
    assert (result.stationarity <= 1e-6).all()
    value, gradient = problem.objective(result.weights, problem.columns)
    np.testing.assert_allclose(result.objective, value, rtol=1e-9)
    promised = problem.majoriser.gradient(gradient)
    np.testing.assert_allclose(result.stationarity, solvers.relative_decrease(promised, value), rtol=1e-3, atol=1e-14)


@every_solver
@pytest.mark.parametrize("loss", ["logistic", "saturating"])
def test_a_batch_of_columns_is_as_the_columns_one_by_one(solver, loss):
    problem = problem_of(loss)
    together = solve(solver, problem)
    assert len(set(together.n_sweeps)) > 1
    for j in range(problem.n_columns):
        alone = solve(solver, problem, objective=one_column(problem, j))
        assert alone.n_sweeps[0] == together.n_sweeps[j]
        np.testing.assert_allclose(alone.objective, together.objective[[j]], rtol=1e-9)
        np.testing.assert_allclose(alone.weights[:, 0], together.weights[:, j], rtol=1e-5, atol=1e-7)
        # all along the way
        way = np.array(together.history.objective)[:, j]
        # where others moved and it did not, it stays where it was
        moved = np.append(True, np.diff(way) != 0)
        np.testing.assert_allclose(np.array(alone.history.objective)[:, 0], way[moved], rtol=1e-8)


@pytest.mark.parametrize("solver", [LBFGS(), LBFGS(memory=1000), GradientDescent()], ids=["lbfgs", "memory", "user's"])
@with_or_without_intercept
def test_a_batch_of_different_losses_and_penalties_is_as_the_columns_one_by_one(solver, intercept):
    problem = problem_of(intercept=intercept)
    mixed = tuple(map(losses.get, ("least_squares", "squared_hinge", "logistic", "saturating")))
    loss_of, penalties = np.array([0, 1, 1, 2, 2, 3]), np.array([1e-2, 1e-1, 1e-4, 1e-3, 1e-2, 1e-2])
    shared = problem.objective.spec.take(np.array([0, 1, 4, 0, 2, 3]))
    spec = type(shared)(mixed, loss_of, penalties, shared.totals, shared.target_of)
    spectrum = Spectrum(problem.gram, intercept, np.dtype(float))

    class Basis:
        """The basis of eigenvectors, in which the majorisers of all columns are diagonal."""

        def to_dual(self, W):
            return problem.map.to_dual(spectrum.to_dual(W))

        def from_values(self, values):
            return spectrum.from_values(problem.map.from_values(values))

    mean = spectrum.vectors.T @ problem.mean if intercept else None
    objective = Objective(problem.rows, problem.features, Basis(), spec, True, mean)

    def solved(columns):
        part = spec.take(columns)
        constants = part.of_losses(lambda loss: loss.A)
        majoriser = SpectralMajoriser(spectrum, part.penalties, constants, intercept=intercept)
        return minimise(solver, objective.with_columns(part), majoriser, Start(), tol=1e-9, max_iter=20_000)

    together = solved(np.arange(6))
    assert set(together.reasons) <= {StopReason.CONVERGED, StopReason.PRECISION}
    for j in range(6):
        alone = solved(np.array([j]))
        np.testing.assert_allclose(alone.objective, together.objective[[j]], rtol=1e-7)
        np.testing.assert_allclose(alone.weights[:, 0], together.weights[:, j], atol=1e-2)
    # the first is least squares, which is solved by the start
    assert together.n_sweeps[0] <= 4


# ---------------------------------------------------------------------- the loop


@every_solver
def test_history(solver):
    problem = problem_of()
    result = solve(solver, problem)
    history = result.history
    objective, stationarity = np.array(history.objective), np.array(history.stationarity)
    assert objective.shape == stationarity.shape == (len(history), 5)
    assert (np.diff(objective, axis=0) <= 1e-14).all()
    np.testing.assert_array_equal(objective[-1], result.objective)
    np.testing.assert_array_equal(stationarity[-1], result.stationarity)
    assert len(history.seconds) == len(history.n_sweeps) == len(history)
    assert (np.diff(history.seconds) >= 0).all()
    # sweeps in which no column moved have no entry
    assert (np.diff(history.n_sweeps) >= 1).all()
    assert history.n_sweeps[0] == result.n_sweeps.max() - result.n_steps + 1
    assert history.n_sweeps[-1] <= result.n_sweeps.max()
    # a column that has left stays where it ended
    for j in range(5):
        has_left = np.array(history.n_sweeps) >= result.n_sweeps[j]
        assert (objective[has_left, j] == result.objective[j]).all()
        if not isinstance(solver, LBFGS):
            # which also asks its own model of the curvature
            assert (stationarity[np.array(history.n_sweeps) < result.n_sweeps[j], j] > 1e-6).all()


@pytest.mark.parametrize("solver", [LBFGS(), GradientDescent()], ids=["lbfgs", "user's"])
def test_columns_leave_when_they_are_done(monkeypatch, solver):
    problem, swept = problem_of(), []
    evaluate = Objective.__call__
    monkeypatch.setattr(
        Objective, "__call__", lambda self, W, columns: swept.append(columns.copy()) or evaluate(self, W, columns)
    )
    start = Start(np.zeros((problem.size, 5)), n_sweeps=7)
    result = solve(solver, problem, start=start)
    assert len(swept) == result.n_steps
    for k, columns in enumerate(swept):
        np.testing.assert_array_equal(columns, np.flatnonzero(result.n_sweeps - 7 > k))
    assert len(swept[0]) == 5 > len(swept[-1])


@every_solver
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_max_iter(solver, max_iter):
    problem = problem_of()
    result = solve(solver, problem, tol=1e-14, max_iter=max_iter)
    assert len(result.history) == max_iter
    assert result.n_steps >= max_iter
    assert len(set(result.n_sweeps)) == 1
    assert result.reasons == [StopReason.MAX_ITER] * 5
    # the weights are those that the objective belongs to
    value, _ = problem.objective(result.weights, problem.columns)
    np.testing.assert_allclose(result.objective, value, rtol=1e-10)


@every_solver
def test_a_callback_ends_the_loop(solver):
    problem, lengths, offered = problem_of(), [], []

    def callback(reached):
        lengths.append(len(reached.history))
        offered.append(reached.result())
        return len(reached.history) == 4

    ended = solve(solver, problem, callback=callback)
    assert lengths == [1, 2, 3, 4]
    assert set(ended.reasons) <= {StopReason.CALLBACK, StopReason.CONVERGED}
    assert StopReason.CALLBACK in ended.reasons
    stopped = solve(solver, problem, max_iter=4)
    assert StopReason.MAX_ITER in stopped.reasons
    for other in (stopped, offered[-1]):
        assert_same(ended, replace(other, reasons=ended.reasons))
    # what was offered before is as it was then
    for k, result in enumerate(offered):
        np.testing.assert_array_equal(result.objective, ended.history.objective[k])
        value, _ = problem.objective(result.weights, problem.columns)
        np.testing.assert_allclose(result.objective, value, rtol=1e-10)
        assert len(result.history) == k + 1


@every_solver
def test_a_callback_that_returns_nothing_changes_nothing(solver):
    problem = problem_of()
    assert_same(solve(solver, problem, callback=lambda reached: None), solve(solver, problem))


@every_solver_and_rule
@pytest.mark.parametrize("loss", ["logistic", "saturating"])
def test_resumes_from_any_iteration(solver, loss):
    problem, states = problem_of(loss), []
    whole = solve(solver, problem, callback=lambda reached: states.append(reached.state()))
    assert len(states) == len(whole.history)
    # all of them, or of many the first ones, the last, and those at which a column left
    few = {0, 1, 2, len(states) // 2, len(states) - 1, *np.searchsorted(whole.history.n_sweeps, whole.n_sweeps[:-1])}
    few = {min(int(k), len(states) - 1) for k in few}
    for k in range(len(states)) if len(states) < 50 else sorted(few):
        resumed = solve(solver, problem, state=states[k])
        assert_same(resumed, whole)
        np.testing.assert_array_equal(resumed.history.seconds[: k + 1], whole.history.seconds[: k + 1])
        assert (np.diff(resumed.history.seconds) >= 0).all()


@every_solver_and_rule
def test_a_state_stays_as_it_was_offered(solver):
    problem, states = problem_of(), []

    def callback(reached):
        states.append((reached.state(), {name: array.copy() for name, array in reached.state().items()}))

    solve(solver, problem, callback=callback)
    for _ in range(2):
        solve(solver, problem, state=states[1][0])
    for kept, copy in states:
        for name, array in copy.items():
            np.testing.assert_array_equal(kept[name], array, err_msg=name)


@every_solver
def test_max_iter_counts_the_iterations_before_a_resume(solver):
    problem, states = problem_of(), []
    solve(solver, problem, max_iter=3, tol=1e-14, callback=lambda reached: states.append(reached.state()))
    resumed = solve(solver, problem, max_iter=5, tol=1e-14, state=states[-1])
    assert_same(resumed, solve(solver, problem, max_iter=5, tol=1e-14))


@every_solver
def test_a_result_can_be_kept_as_arrays(solver):
    result = solve(solver, problem_of(), max_iter=9)
    state = result.state()
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in state.values())
    assert_same(Result.from_state(state), result)


@every_solver
@with_or_without_intercept
def test_starts_where_it_is_told_to(solver, intercept):
    problem = problem_of(intercept=intercept)
    start = problem.random_weights()
    result = solve(solver, problem, start=Start(start), max_iter=1)
    value, gradient = problem.objective(start, problem.columns)
    np.testing.assert_allclose(result.weights, start, atol=1e-10)
    np.testing.assert_allclose(result.history.objective[0], value)
    promised = problem.majoriser.gradient(gradient)
    np.testing.assert_allclose(result.stationarity, 0.5 * (promised**2).sum(axis=0) / value, rtol=1e-6)


def test_start_can_be_kept_as_arrays():
    problem = problem_of()
    for start in (
        Start(),
        Start(problem.random_weights(), n_sweeps=3),
        Start(problem.random_weights(), problem.majoriser, 1),
    ):
        other = Start.from_state(start.state(), problem.loss.A)
        assert other.n_sweeps == start.n_sweeps
        assert (other.weights is None) == (start.weights is None)
        if start.weights is not None:
            np.testing.assert_array_equal(other.weights, start.weights)
        assert (other.coordinates is None) == (start.coordinates is None)
        if start.coordinates is not None:
            np.testing.assert_array_equal(other.coordinates.factor, start.coordinates.factor)


# ---------------------------------------------------------------------- in the estimators

GAMMA = 0.05
IN_ESTIMATORS = {"lbfgs": "lbfgs", "dca": "dca", "full dca": DCA(form="full"), "user's": GradientDescent()}
every_solver_of_estimators = pytest.mark.parametrize("solver", IN_ESTIMATORS.values(), ids=IN_ESTIMATORS.keys())
each_estimator = pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])


def moons(estimator, n_columns=1, m=400):
    rng = np.random.RandomState(0)
    X = rng.randn(m, 2)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 0]) + 0.3 * rng.randn(m)
    if estimator is UniSVMRegressor:
        return X, y if n_columns == 1 else np.column_stack([y, X[:, 0] ** 2])
    return X, (y > 0).astype(int) if n_columns == 1 else np.digitize(y, [-0.5, 0.5])


@every_solver_of_estimators
@pytest.mark.parametrize("loss", losses.names("classification"))
def test_every_loss_of_labels(labels, solver, loss):
    check_loss(UniSVMClassifier, loss, solver, *labels)


@every_solver_of_estimators
@pytest.mark.parametrize("loss", losses.names("regression"))
def test_every_loss_of_real_targets(real_targets, solver, loss):
    check_loss(UniSVMRegressor, loss, solver, *real_targets)


def check_loss(estimator, loss, solver, X, y):
    tol = 1e-8
    options = {"gamma": GAMMA, "tol": tol, "max_iter": 20_000, "random_state": 0}
    model = estimator(loss, solver=solver, **options).fit(X, y)
    assert model.stationarity_ < tol
    history = np.asarray(model.history_["objective"])
    assert len(history) == model.n_iter_
    assert (np.diff(history) <= 1e-14 * history[0]).all()
    assert history[-1] == model.objective_
    if losses.get(loss).is_convex and solver != "lbfgs":
        default = estimator(loss, **options).fit(X, y)
        assert default.objective_ <= model.objective_ * (1 + 1e-6)
        assert model.objective_ == pytest.approx(default.objective_, rel=1e-3)


@every_solver_of_estimators
@each_estimator
@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_function_as_the_default_on_a_convex_problem(solver, estimator, n_columns, intercept, weighted):
    X, y = moons(estimator, n_columns)
    weights = np.random.RandomState(1).uniform(0.5, 2, size=len(X)) if weighted else None
    loss = "huber" if estimator is UniSVMRegressor else "logistic"
    options = {"C": 1.0, "rank": 30, "tol": 1e-9, "max_iter": 20_000, "fit_intercept": intercept, "random_state": 0}
    default = estimator(loss, **options).fit(X, y, weights)
    model = estimator(loss, solver=solver, **options).fit(X, y, weights)
    assert (np.asarray(model.stationarity_) <= 1e-9).all()
    np.testing.assert_array_equal(model.landmarks_, default.landmarks_)
    np.testing.assert_allclose(model.objective_, default.objective_, rtol=1e-6)
    decide = "predict" if estimator is UniSVMRegressor else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(default, decide)(X), atol=0.02)


@each_estimator
def test_a_solver_is_asked_for_what_it_needs(estimator):
    # a majoriser of all rows instead of a sample, and room for what it copies
    X, y = moons(estimator, m=3000)
    seen = []

    class Noting(GradientDescent):
        def begin(self, objective, majoriser, start):
            seen.append((majoriser, start, objective))
            return super().begin(objective, majoriser, start)

    class Sampled(Noting):
        needs_exact_majoriser = False

    options = {"C": 1.0, "rank": 20, "rank_tol": 0.0, "random_state": 0, "max_iter": 10_000}
    loss = "huber" if estimator is UniSVMRegressor else "logistic"
    exact, sampled = (estimator(loss, solver=solver(), **options).fit(X, y) for solver in (Noting, Sampled))
    assert seen[0][1].weights is None
    # a sample was solved first
    assert seen[1][1].weights is not None
    assert seen[1][1].coordinates is not None
    assert not np.array_equal(seen[0][0].factor, seen[1][0].factor)
    assert exact.objective_ == pytest.approx(sampled.objective_, rel=1e-3)
    Noting.copies_of_features = 10
    with pytest.raises(MemoryError, match="3000 rows and 20 landmarks"):
        estimator(loss, solver=Noting(), memory_limit="3MB", **options).fit(X, y)


@each_estimator
def test_clone_and_set_params(estimator):
    X, y = moons(estimator)
    model = clone(estimator(solver=DCA(form="full", change=0.5)))
    assert model.solver == DCA(form="full", change=0.5)
    model.set_params(solver=GradientDescent(), rank=20, max_iter=20_000)
    copy = clone(model)
    assert isinstance(copy.solver, GradientDescent)
    assert copy.fit(X, y).stationarity_ <= copy.tol
    assert model.set_params(solver="lbfgs").fit(X, y).stationarity_ <= model.tol


@each_estimator
@pytest.mark.parametrize("solver", [GradientDescent, LBFGS, DCA])
def test_a_class_is_no_object(estimator, solver):
    with pytest.raises(ValueError, match=rf"solver must be an object: use {solver.__name__}\(\) instead of the class"):
        estimator(solver=solver).fit(*moons(estimator))


@each_estimator
@pytest.mark.parametrize("solver", ["lbgfs", "newton", None, 3, object()])
def test_an_unknown_solver_is_refused(estimator, solver):
    with pytest.raises(ValueError, match=r"Unknown solver|solver must be .* or an object with a method begin"):
        estimator(solver=solver).fit(*moons(estimator))


@every_solver_of_estimators
@each_estimator
def test_too_few_iterations_are_warned_of(solver, estimator):
    model = estimator("huber" if estimator is UniSVMRegressor else "logistic", solver=solver, max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 iterations"):
        model.fit(*moons(estimator))
    assert model.n_iter_ == 2


@every_solver_of_estimators
@each_estimator
def test_warm_start(solver, estimator):
    X, y = moons(estimator)
    loss = "huber" if estimator is UniSVMRegressor else "logistic"
    model = estimator(loss, solver=solver, warm_start=True, rank=30, random_state=0, tol=1e-6, max_iter=20_000)
    cold = model.fit(X, y).n_iter_
    assert cold > 3
    assert model.fit(X, y).n_iter_ <= 3


@every_solver_of_estimators
def test_resumes_from_a_checkpoint(tmp_path, solver):
    X, y = moons(UniSVMClassifier)
    options = {"rank": 30, "random_state": 0, "max_iter": 20_000, "checkpoint": tmp_path}
    first = UniSVMClassifier("logistic", solver=solver, **options).fit(X, y)
    again = UniSVMClassifier("logistic", solver=solver, **options).fit(X, y)
    np.testing.assert_array_equal(again.dual_coef_, first.dual_coef_)
    assert again.history_ == first.history_


@pytest.mark.parametrize("solver", [LBFGS(), DCA(), GradientDescent()], ids=["lbfgs", "dca", "user's"])
def test_resuming_looks_for_no_start(monkeypatch, solver):
    problem = Problem("logistic", intercept=True, targets=learnable_targets)
    states = []
    minimise(
        solver,
        problem.objective,
        problem.majoriser,
        Start(),
        tol=1e-6,
        max_iter=3,
        callback=lambda reached: states.append(reached.state()),
    )
    sweeps = []
    for name in ("correlate_targets", "values_along"):
        monkeypatch.setattr(Objective, name, lambda *args, name=name: sweeps.append(name))
    minimise(solver, problem.objective, problem.majoriser, Start(), tol=1e-6, max_iter=6, state=states[-1])
    assert sweeps == []


class Wrong(GradientDescent):
    """A solver with an iteration that is changed before it is returned."""

    def __init__(self, change):
        self.change = change

    def begin(self, objective, majoriser, start):
        return self.change(super().begin(objective, majoriser, start))


def with_weights(change):
    def changed(iteration):
        iteration.weights = change(iteration.weights)
        return iteration

    return changed


def with_step(name, value):
    def changed(iteration):
        step = iteration.step
        iteration.step = lambda: (step(), setattr(iteration, name, value))
        return iteration

    return changed


@each_estimator
@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda iteration: None, TypeError, "Wrong.begin must return an Iteration, got .*NoneType"),
        (lambda iteration: iteration.weights, TypeError, "Wrong.begin must return an Iteration"),
        (with_weights(lambda weights: weights[:, 0]), ValueError, r"weights must have shape \(n_coordinates, 1\)"),
        (
            with_weights(lambda weights: np.tile(weights, 2)),
            ValueError,
            r"weights must have shape \(n_coordinates, 1\)",
        ),
        (with_step("value", 1.0), ValueError, r"step must set value to a number for each column.*got shape \(\)"),
        (with_step("stationarity", np.ones(2)), ValueError, r"set stationarity to .*shape \(1,\); got shape \(2,\)"),
    ],
    ids=["nothing", "array", "vector", "columns", "number", "too many"],
)
def test_a_solver_that_returns_nonsense_is_told_so(estimator, change, error, said):
    with pytest.raises(error, match=said):
        estimator(solver=Wrong(change), rank=20).fit(*moons(estimator))


def test_a_state_of_objects_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "_SECONDS_BETWEEN", 0)
    monkeypatch.setattr(stages, "_SHARE", 0)

    def with_objects(iteration):
        iteration.note = np.array([{}], dtype=object)
        iteration.arrays = (*iteration.arrays, "note")
        return iteration

    model = UniSVMClassifier("hinge", solver=Wrong(with_objects), rank=20, checkpoint=tmp_path, random_state=0)
    with pytest.raises(TypeError, match="note is of objects"):
        model.fit(*moons(UniSVMClassifier))


@each_estimator
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_an_objective_that_is_not_finite_is_an_error(estimator, value):
    with pytest.raises(ValueError, match=f"The objective is {value} after a step of Descent"):
        estimator(solver=Wrong(with_step("value", np.array([value]))), rank=20).fit(*moons(estimator))

"""Properties of every fit, on nasty data: a finite model or a refusal in words, the same bits, and invariances."""

import signal
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import clone
from sklearn.exceptions import ConvergenceWarning

import unisvm
from hard import nasty
from hard.effort import effort
from unisvm import FitWarning, losses

#: folders whose sentences an error may have
SPEAKERS = tuple(str(Path(package.__file__).parent) for package in (unisvm, sklearn))
#: warnings that say something of the data to the user
TOLD = (FitWarning, ConvergenceWarning)
#: a fit of so few rows that takes longer hangs
MOST_SECONDS = 60


@contextmanager
def quick():
    """Context that ends with an error when it takes too long."""

    def stop(*_):
        raise AssertionError(f"still running after {MOST_SECONDS} seconds")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def refusal(work):
    """The error by which a function refuses its data in words, or None; raises any other error and warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in TOLD:
            warnings.simplefilter("ignore", category)
        for message in ("The kernel matrix is not positive semidefinite", "The least populated class in y has only"):
            warnings.filterwarnings("ignore", message, UserWarning)
        try:
            with quick():
                work()
        except (ValueError, MemoryError) as error:
            said_by = traceback.extract_tb(error.__traceback__)[-1]
            # not what NumPy, SciPy or LAPACK say to the library
            if type(error) not in (ValueError, MemoryError) or not said_by.filename.startswith(SPEAKERS):
                raise
            if not (said_by.line or "").startswith("raise") or len(str(error).split()) < 5:
                raise
            return error
    return None


def attributes(estimator):
    """The attributes of an estimator, to be compared with themselves later."""
    return dict(vars(estimator))


def same_attributes(estimator, before):
    """Whether an estimator has the attributes that it had, and no others."""
    after = vars(estimator)
    return after.keys() == before.keys() and all(after[name] is before[name] for name in before)


def content(array):
    """A copy of all numbers of an array or sparse matrix."""
    if sparse.issparse(array):
        array = array.copy()
        parts = [array.tocoo().data] if not hasattr(array, "indptr") else [array.data, array.indices, array.indptr]
        return [part.tobytes() for part in parts]
    if isinstance(array, Path):
        return [array.read_bytes()]
    array = np.asarray(array)
    if array.dtype == np.longdouble:
        # its padding may be anything
        high = array.astype(np.float64)
        return [high.tobytes(), np.where(np.isfinite(high), array - high, 0).astype(np.float64).tobytes()]
    return [array.tobytes()]


def decisions(model, X):
    """Decisions on rows, of a regressor its predictions."""
    with warnings.catch_warnings():
        # rows of a table are given as an array, or to a model of arrays
        warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")
        return np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))


def numbers_of(model):
    """Fitted numbers, by their names."""
    names = ("dual_coef_", "intercept_", "objective_", "stationarity_")
    found = {name: getattr(model, name) for name in names}
    return found | {f"history_ {name}": np.array(values) for name, values in model.history_.items()}


def check_finite(model, X, weights=None):
    for name, values in numbers_of(model).items():
        assert np.isfinite(values).all(), name
    # rows of weight 0 had no part in the fit
    present = ... if np.ndim(weights) == 0 else np.asarray(weights) > 0
    assert np.isfinite(decisions(model, X)[present]).all(), "decisions"
    assert np.all(model.stationarity_ >= 0)


def two_fits(task):
    """Recipes of a tame fit and of a nasty one that starts from it."""
    return st.tuples(nasty.recipes(task, tame=True), nasty.recipes(task, warm_start=True))


# ------------------------------------------------------------------ finite, or refused in words


class TestOutcome:
    @settings(report_multiple_bugs=False, max_examples=effort(300, 6000))
    @given(recipe=nasty.recipes())
    def test_of_fits(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        before, inputs = attributes(case.estimator), content(case.X) + content(case.y)
        error = refusal(case.fit)
        assert content(case.X) + content(case.y) == inputs
        if error is None:
            assert refusal(lambda: check_finite(case.estimator, case.X, case.weights)) is None
        else:
            assert same_attributes(case.estimator, before)
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(80, 1200))
    @given(recipes=st.sampled_from(nasty.TASKS).flatmap(two_fits))
    def test_of_another_fit(self, tmp_path, tried, recipes):
        """A model that has been fitted is as it was after a fit that is refused, and a start does no harm."""
        good, recipe = recipes
        first = nasty.build(good, tmp_path)
        model = first.estimator
        if refusal(first.fit) is not None:
            return
        before, said = attributes(model), decisions(model, first.X)
        (tmp_path / "another").mkdir(exist_ok=True)
        case = nasty.build(recipe, tmp_path / "another")
        model.set_params(**case.estimator.get_params())
        parameters = attributes(model)
        if refusal(lambda: model.fit(case.X, case.y, sample_weight=case.weights)) is None:
            assert refusal(lambda: check_finite(model, case.X, case.weights)) is None
        else:
            assert same_attributes(model, parameters)
            model.set_params(**first.estimator.get_params())
            assert before.keys() == attributes(model).keys()
            assert np.array_equal(decisions(model, first.X), said)
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(30, 600))
    @given(recipe=nasty.searches())
    def test_of_searches(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        before = attributes(case.estimator)
        error = refusal(case.fit)
        if error is not None:
            assert same_attributes(case.estimator, before)
        elif recipe["parameters"]["refit"]:
            search = case.estimator
            assert refusal(lambda: check_finite(search.best_estimator_, case.X, case.weights)) is None
            assert np.isfinite(search.best_score_)
        tried.add()


# ------------------------------------------------------------------ the same bits


def quietly(fit):
    """A fit, of which its warnings do not matter here; None when it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fit()
        except (ValueError, MemoryError):
            return None


def same_bits(a, b):
    """Whether two models agree in all their numbers but for times."""
    numbers = [numbers_of(model) for model in (a, b)]
    return all(
        np.array_equal(numbers[0][name], numbers[1][name]) for name in numbers[0] if not name.endswith("seconds")
    )


class TestSameBits:
    @settings(report_multiple_bugs=False, max_examples=effort(60, 1200))
    @given(recipe=nasty.recipes())
    def test_of_fits(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        again = clone(case.estimator)
        if quietly(case.fit) is None:
            return
        quietly(lambda: again.fit(case.X, case.y, sample_weight=case.weights))
        assert same_bits(case.estimator, again)
        # and once more by the estimator itself
        numbers = [np.copy(values) for values in numbers_of(case.estimator).values()]
        quietly(case.fit)
        names = list(numbers_of(case.estimator))
        for name, values in zip(names, numbers, strict=True):
            assert name.endswith("seconds") or np.array_equal(values, numbers_of(case.estimator)[name])
        assert np.array_equal(decisions(case.estimator, case.X), decisions(again, case.X))
        tried.add()


# ------------------------------------------------------------------ invariances


def invariant(task=None, **others):
    """Recipes of fits in double precision, of few iterations and distant rows, so that rounding errors stay small."""
    few = {"C": 1.0, "memory_limit": None, "rank": 20, "rank_tol": 0.0, "tol": 1e-12, "max_iter": 4}
    recipes = nasty.recipes(task, tame=True, **few, **others)
    plain = {"dtype": "f8", "container": "array", "scales": "one", "offset": 1, "spoilers": [], "n_columns": 4}
    return recipes.map(lambda recipe: recipe | {"rows": recipe["rows"] | plain})


def on_same_landmarks(case):
    """The estimator with landmarks that are given as points, so that they do not depend on the rows."""
    points = case.dense[:: max(len(case.dense) // 8, 1)]
    return clone(case.estimator).set_params(landmarks=points)


def check_alike(a, b, X, map_decisions=lambda f: f, X_of_b=None):
    """Two models have the same function up to rounding, where `map_decisions` takes those of the first to the other's.

    Slopes that jump, or all but do, may turn a rounding error into another path.
    """
    f, g = map_decisions(decisions(a, X)), decisions(b, X if X_of_b is None else X_of_b)
    assert np.abs(f - g).max() <= 1e-6 * (1 + np.abs(f).max())


def is_steep(model):
    """Whether rounding errors of residuals may be multiplied."""
    loss = losses.get(model.loss)
    return loss.has_jumps or loss.A > 20


class TestInvariance:
    @settings(report_multiple_bugs=False, max_examples=effort(30, 500))
    @given(recipe=invariant())
    def test_order_of_rows(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        a = on_same_landmarks(case)
        b, order = clone(a), np.random.RandomState(recipe["seed"]).permutation(len(case.y))
        weights = case.weights
        if quietly(lambda: a.fit(case.X, case.y, sample_weight=weights)) is None or is_steep(a):
            return
        weights = weights[order] if np.ndim(weights) else weights
        quietly(lambda: b.fit(case.X[order], case.y[order], sample_weight=weights))
        check_alike(a, b, case.dense)
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(30, 500))
    @given(recipe=invariant(nasty.CLASSIFICATION, class_weight=None, weights=["integers"]))
    def test_weights_are_repetitions(self, tmp_path, tried, recipe):
        check_repetitions(nasty.build(recipe, tmp_path))
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(30, 500))
    @given(recipe=invariant(nasty.REGRESSION, weights=["integers"], reals=["smooth", "cauchy", "two", "offset"]))
    def test_weights_of_targets_are_repetitions(self, tmp_path, tried, recipe):
        check_repetitions(nasty.build(recipe, tmp_path))
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(30, 500))
    @given(recipe=invariant(nasty.CLASSIFICATION, labels=["two", "three", "five", "few of one", "noise"]))
    def test_names_of_classes(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        if quietly(case.fit) is None:
            return
        model, codes = case.estimator, case.y.astype(int)
        for names in (np.array(list("abcde")), np.array([-7, -1, 0, 5, 2**40]), np.arange(5) - 2.0, np.arange(5) > 0):
            if len(model.classes_) > 2 and names.dtype.kind == "b":
                continue
            other = clone(model)
            quietly(lambda other=other, y=names[codes]: other.fit(case.X, y, sample_weight=case.weights))
            assert same_bits(model, other)
            assert np.array_equal(names[model.predict(case.X)], other.predict(case.X))
        if len(model.classes_) == 2 and not is_steep(model):
            swapped = clone(model)
            quietly(lambda: swapped.fit(case.X, 1 - codes, sample_weight=case.weights))
            check_alike(model, swapped, case.dense, np.negative)
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(30, 500))
    @given(
        recipe=invariant(nasty.REGRESSION, reals=["smooth", "cauchy", "two", "integers"]),
        power=st.integers(-400, 400),
        factor=st.floats(0.1, 10),
        offset=st.floats(-100, 100),
    )
    def test_units_of_targets(self, tmp_path, tried, recipe, power, factor, offset):
        case = nasty.build(recipe, tmp_path)
        if quietly(case.fit) is None:
            return
        model, scaled, moved = case.estimator, clone(case.estimator), clone(case.estimator)
        unit = 2.0**power
        quietly(lambda: scaled.fit(case.X, unit * case.y, sample_weight=case.weights))
        # multiplication by powers of two is exact
        assert np.array_equal(unit * decisions(model, case.X), decisions(scaled, case.X))
        assert np.array_equal(model.history_["objective"], scaled.history_["objective"])
        if model.fit_intercept and not is_steep(model) and recipe["targets"] != "two":
            quietly(lambda: moved.fit(case.X, factor * case.y + offset, sample_weight=case.weights))
            check_alike(model, moved, case.dense, lambda f: factor * f + offset)
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(30, 500))
    @given(recipe=invariant(), power=st.integers(-450, 450), factor=st.floats(1e-3, 1e3))
    def test_units_of_rows(self, tmp_path, tried, recipe, power, factor):
        kernel = recipe["parameters"]["kernel"]
        if kernel == "linear":
            # its gamma is 1
            return
        recipe["parameters"] |= {"gamma": "scale", "coef0": 0.5}
        case = nasty.build(recipe, tmp_path)
        if quietly(case.fit) is None:
            return
        model, scaled, other = case.estimator, clone(case.estimator), clone(case.estimator)
        unit = 2.0**power
        quietly(lambda: scaled.fit(unit * case.X, case.y, sample_weight=case.weights))
        assert same_bits(model, scaled)
        assert np.array_equal(decisions(model, case.X), decisions(scaled, unit * case.X))
        if not is_steep(model):
            gamma = model.kernel_.gamma / (factor if kernel == "laplacian" else factor**2)
            landmarks = model.landmarks_
            other.set_params(gamma=gamma, landmarks=landmarks)
            again = clone(model).set_params(gamma=model.kernel_.gamma, landmarks=landmarks)
            quietly(lambda: again.fit(case.X, case.y, sample_weight=case.weights))
            quietly(lambda: other.fit(factor * case.X, case.y, sample_weight=case.weights))
            check_alike(again, other, case.dense, X_of_b=factor * case.dense)
        tried.add()


def check_repetitions(case):
    """A row of weight 3 is a row given three times."""
    a = on_same_landmarks(case)
    if is_steep(a) or quietly(lambda: a.fit(case.X, case.y, sample_weight=case.weights)) is None:
        return
    b = clone(a)
    times = case.weights.astype(int)
    quietly(lambda: b.fit(np.repeat(case.X, times, axis=0), np.repeat(case.y, times, axis=0)))
    check_alike(a, b, case.dense)

"""Algorithm 1 of the paper: its closed forms, its start and its rule to stop."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from unisvm import UniSVMClassifier, losses, solvers

GAMMA = 0.05


@pytest.fixture(scope="module")
def labels():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:300], y[:300]


def penalty_of(C, m):
    return 1 / (2 * C * m)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["smooth_hinge", "truncated_squared_hinge", "saturating"])
def test_three_closed_forms_agree(labels, loss, weighted, intercept):
    X, y = labels
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    functions = []
    for form in solvers.dca.FORMS:
        model = UniSVMClassifier(
            loss, C=1.0, gamma=GAMMA, solver=solvers.DCA(form=form), fit_intercept=intercept, tol=1e-7
        )
        functions.append(model.fit(X, y, sample_weight=weights).decision_function(X))
    np.testing.assert_allclose(functions[1], functions[0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(functions[2], functions[0], rtol=1e-8, atol=1e-8)


def test_paper_rule_stops_by_the_change_of_the_working_response(labels):
    X, y = labels
    loose = UniSVMClassifier("hinge", C=1.0, gamma=GAMMA, solver=solvers.DCA(stop="change", change=1.0)).fit(X, y)
    tight = UniSVMClassifier("hinge", C=1.0, gamma=GAMMA, solver=solvers.DCA(stop="change", change=0.01)).fit(X, y)
    assert 1 < loose.n_iter_ < tight.n_iter_
    assert tight.objective_ < loose.objective_


def test_dca_start_is_least_squares(labels):
    X, y = labels
    hinge = UniSVMClassifier("squared_hinge", C=1.0, gamma=GAMMA, solver="dca").fit(X, y)
    ridge = UniSVMClassifier("least_squares", C=1.0, gamma=GAMMA, solver="dca").fit(X, y)
    sign = 2 * y - 1
    margins = 1 - sign * ridge.decision_function(X)
    squared_norm = (
        penalty_of(1.0, len(y))
        * (ridge.dual_coef_ @ rbf_kernel(X[ridge.landmarks_], gamma=GAMMA))
        @ (ridge.dual_coef_.T)
    )
    expected = squared_norm[0, 0] + np.mean(np.maximum(margins, 0) ** 2)
    assert hinge.history_["objective"][0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("parameter", "value"), [("form", "spare"), ("stop", "chang")])
def test_unknown_forms_and_rules_are_refused(parameter, value):
    with pytest.raises(ValueError, match=f"Unknown {parameter} '{value}': did you mean"):
        solvers.DCA(**{parameter: value})


def test_the_paper_rule_compares_all_rows(labels):
    # it ends after the first iteration at which ‖ψ'/(2A)‖ over all rows changed by less
    X, y = labels
    model = UniSVMClassifier("squared_hinge", C=1.0, gamma=GAMMA, solver=solvers.DCA(stop="change", change=0.3)).fit(
        X, y
    )
    responses = []
    for max_iter in range(1, model.n_iter_ + 1):
        options = {"C": 1.0, "gamma": GAMMA, "max_iter": max_iter, "solver": solvers.DCA(stop="change", change=1e-300)}
        with pytest.warns(ConvergenceWarning):
            f = UniSVMClassifier("squared_hinge", **options).fit(X, y).decision_function(X)
        sign = 2 * y - 1
        responses.append(sign * np.maximum(1 - sign * f, 0))
    changes = np.linalg.norm(np.diff(responses, axis=0), axis=1)
    assert (changes[:-1] >= 0.3).all()
    assert changes[-1] < 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["sparse", "woodbury", "full"])
@pytest.mark.parametrize("C", [1e10, 1e15, 1e30])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_C_that_is_too_high_is_said_and_never_raises_the_objective(dtype, form, C):
    rows = np.random.RandomState(0).randn(500, 4).astype(dtype)
    for loss in ("feng", losses.get("hinge", p=1000.0)):
        model = UniSVMClassifier(loss, C=C, rank=60, solver=solvers.DCA(form=form), max_iter=30, random_state=0)
        try:
            found = model.fit(rows, rows[:, 0] > 0).history_["objective"]
        except ValueError as error:
            found, refusal = [0.0], str(error)
        else:
            refusal = ""
        assert (np.diff(found) <= 1e-12 * found[0]).all()
        assert refusal == "" or "ower C" in refusal


def test_the_papers_rule_has_the_papers_tolerance():
    assert solvers.DCA() == solvers.DCA(form="sparse", stop="stationarity", change=0.01)

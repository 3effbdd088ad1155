"""The machine of a cell is a plain one of the cell's rows; rows are decided on by the machine of their cell."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from local.cell_cases import (
    CLASSES,
    EXACT,
    FLAG,
    LABELS,
    LETTERS,
    NEW,
    WAVE,
    WAVES,
    X,
    assert_same_decisions,
    cells_of,
    classifier,
    machine_of,
    regressor,
)
from unisvm import UniSVMClassifier, UniSVMRegressor, kernels, losses
from unisvm.class_pairs import class_scores
from unisvm.nystrom.landmarks import LandmarkRule

pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning")
#: labels that are in every cell
MIXED = np.array(["ant", "bee", "cat", "dog"])[np.arange(240) % 4]
CLOSE = {"rtol": 2e-4, "atol": 2e-4}


def assert_plain_machines(model, y, weights=None, **tolerances):
    """Each machine of a model agrees with a plain one of the rows of its cell, where these have two classes or more."""
    cells, n_compared = cells_of(model, X), 0
    for number, machine in enumerate(model.cells_):
        rows = cells == number
        if isinstance(model, UniSVMClassifier) and len(np.unique(y[rows])) < len(np.unique(y)):
            continue
        plain = machine_of(model, X[rows], y[rows], None if weights is None else weights[rows])
        assert_same_decisions(machine, plain, **(CLOSE | tolerances))
        n_compared += 1
    assert n_compared >= 2


SETTINGS = {
    "default": {},
    "hinge": {"loss": "hinge"},
    "squared hinge": {"loss": "squared_hinge"},
    "linear": {"kernel": "linear", "loss": "squared_hinge"},
    "laplacian": {"kernel": "laplacian"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.1, "loss": "logistic"},
    "function": {"kernel": lambda A, B: np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))},
    "gamma": {"gamma": 2.0, "C": 10.0},
    "scaled": {"scale": "standard"},
    "to a range": {"scale": "minmax"},
    "no intercept": {"fit_intercept": False},
    "penalised": {"fit_intercept": "penalised"},
    "dca": {"loss": "squared_hinge", "solver": "dca", "tol": 1e-7},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_two_classes(settings):
    # convex losses have one minimum; others are left at a low C, where they have one too
    y = (X[:, 1] + np.sin(2 * X[:, 0]) > X[:, 1].mean()).astype(int)
    model = classifier(**(EXACT | {"cells": 60, "C": 0.05} | settings)).fit(X, y)
    assert len(model.cells_) == 4
    assert_plain_machines(model, y)


@pytest.mark.parametrize("kind", ["ovo", "ovr"])
def test_many_classes(kind):
    model = classifier(**(EXACT | {"cells": 120, "loss": "squared_hinge", "multi_class": kind})).fit(X, MIXED)
    # labels at random: the objective is flat about its minimum
    assert_plain_machines(model, MIXED, atol=2e-3)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]


@pytest.mark.parametrize("kind", ["ovo", "ovr"])
def test_cells_that_lack_classes(kind):
    model = classifier(**(EXACT | {"loss": "squared_hinge", "multi_class": kind})).fit(X, LETTERS)
    cells, n_lacking = cells_of(model, X), 0
    for number, machine in enumerate(model.cells_):
        rows = cells == number
        present = np.unique(LETTERS[rows])
        if len(present) == 4:
            continue
        n_lacking += 1
        assert machine.classes_.tolist() == ["ant", "bee", "cat", "dog"]
        assert np.isin(machine.predict(NEW), present).all()
        if len(present) == 1:
            continue
        plain = machine_of(model, X[rows], LETTERS[rows])
        np.testing.assert_array_equal(machine.predict(NEW), plain.predict(NEW))
        if kind == "ovo":
            among = [k for k, pair in enumerate(machine.pairs_) if np.isin(machine.classes_[pair], present).all()]
            coefficients = plain.dual_coef_ if plain.dual_coef_.ndim == 2 else plain.dual_coef_[None]
            np.testing.assert_allclose(machine.intercept_[among], plain.intercept_, **CLOSE)
            assert machine.dual_coef_[among].shape == coefficients.shape
            # no coefficients for the other pairs
            others = np.setdiff1d(np.arange(6), among)
            assert not machine.dual_coef_[others].any()
    assert n_lacking >= 2


def test_cells_of_one_class_have_its_label_everywhere():
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    model = classifier(cells=10, C="auto").fit(X, np.where(y, "yes", "no"))
    cells, n_constant = cells_of(model, X), 0
    for number, machine in enumerate(model.cells_):
        of_cell = np.unique(y[cells == number])
        if len(of_cell) > 1:
            continue
        n_constant += 1
        np.testing.assert_array_equal(machine.decision_function(NEW), 2.0 * of_cell[0] - 1)
        assert set(machine.predict(NEW)) == {"yes" if of_cell[0] else "no"}
        assert model.objective_[number] == model.stationarity_[number] == model.n_sweeps_[number] == 0
    assert 5 < n_constant < len(model.cells_)


@pytest.mark.parametrize("kernel", ["rbf", "linear", kernels.Linear()], ids=str)
def test_cells_that_all_have_one_class(kernel):
    apart = np.concatenate([X[:40], X[:40] + 1e3])
    y = np.repeat([0, 1], 40)
    model = classifier(C="auto", kernel=kernel).fit(apart, y)
    assert len(model.cells_) == 2
    assert model.C_ == 1.0
    assert model.score(apart, y) == 1
    assert model.trust(apart, y).min() > 0.5


def test_labels():
    model = classifier(**(EXACT | {"loss": "squared_hinge"})).fit(X, LABELS)
    cells, decision = cells_of(model, X), model.decision_function(X)
    assert decision.shape == (240, 3)
    n_constant = 0
    for number in range(len(model.cells_)):
        rows = cells == number
        for label in range(3):
            if len(np.unique(LABELS[rows, label])) == 1:
                n_constant += 1
                np.testing.assert_array_equal(decision[rows, label], 2.0 * LABELS[rows][0, label] - 1)
            else:
                plain = machine_of(model, X[rows], LABELS[rows, label])
                np.testing.assert_allclose(decision[rows, label], plain.decision_function(X[rows]), **CLOSE)
    assert n_constant > 0
    assert model.trust(X, LABELS).min() > 0


@pytest.mark.parametrize("y", [WAVE, WAVES], ids=["one target", "two targets"])
@pytest.mark.parametrize("settings", [{}, {"scale": "standard"}, {"fit_intercept": False}, {"kernel": "linear"}])
def test_real_targets(y, settings):
    # least squares do not depend on the units of y, which are those of all rows
    model = regressor(**(EXACT | {"loss": "least_squares"} | settings)).fit(X, y)
    assert_plain_machines(model, y, rtol=1e-5, atol=1e-5)


def test_losses_of_real_targets_have_the_units_of_all_rows():
    y = WAVE + 100 * (X[:, 0] > X[:, 0].mean())
    model = regressor(**(EXACT | {"loss": "huber"})).fit(X, y)
    assert all(machine.target_scale_ == model.target_scale_ for machine in model.cells_)
    assert np.abs(model.predict(X) - y).mean() < np.abs(y - np.median(y)).mean() / 2


# ------------------------------------------------------------------ predictions


@pytest.mark.parametrize("y", [FLAG, LETTERS, LABELS], ids=["two", "many", "labels"])
def test_rows_are_decided_on_by_the_machines_of_their_cells(y):
    model = classifier().fit(X, y)
    cells, decision, predicted = cells_of(model, NEW), model.decision_function(NEW), model.predict(NEW)
    for i, number in enumerate(cells):
        machine = model.cells_[number]
        np.testing.assert_allclose(decision[i], machine.decision_function(NEW[i : i + 1])[0], atol=1e-12)
        np.testing.assert_array_equal(predicted[i], machine.predict(NEW[i : i + 1])[0])
    np.testing.assert_allclose(model.decision_function(NEW[7:9]), decision[7:9], atol=1e-12)


@pytest.mark.parametrize("y", [WAVE, WAVES], ids=["one target", "two targets"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_partitions_of_reals_are_averaged(y, n_jobs):
    model = regressor(partitions=3, n_jobs=n_jobs).fit(X, y)
    assert len(model.partitions_) == 3
    assert len(model.cells_) == sum(tree.n_cells for tree in model.partitions_) == 18
    mean, first = np.zeros((150, *y.shape[1:])), 0
    for partition in range(3):
        cells = cells_of(model, NEW, partition)
        mean += [model.cells_[first + k].predict(x[None])[0] for k, x in zip(cells, NEW, strict=True)]
        first += model.partitions_[partition].n_cells
    np.testing.assert_allclose(model.predict(NEW), mean / 3, rtol=1e-9)


@pytest.mark.parametrize("y", [FLAG, LETTERS], ids=["two", "many"])
def test_partitions_of_classes_average_the_columns(y, monkeypatch):
    model = classifier(partitions=2).fit(X, y)
    mean = []
    for x in NEW:
        of_x = []
        for partition, first in ((0, 0), (1, model.partitions_[0].n_cells)):
            machine = model.cells_[first + cells_of(model, x[None], partition)[0]]
            values = machine.kernel_(x[None], machine.landmark_vectors_)[0]
            of_x.append(machine.dual_coef_ @ values + machine.intercept_)
        mean.append(np.mean(of_x, axis=0))
    expected = np.array(mean)[:, 0] if model.pairs_ is None else class_scores(np.array(mean), model.pairs_)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-9)
    # a few rows at a time
    monkeypatch.setattr("unisvm.local.expansion._MOST_DECISIONS", 1)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-9)


def test_partitions_are_not_the_same():
    model = classifier(partitions=2).fit(X, FLAG)
    assert not model.partitions_[0].is_same(model.partitions_[1])


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("y", [FLAG, LETTERS], ids=["two", "many"])
def test_out(y, partitions):
    model = classifier(partitions=partitions).fit(X, y)
    out = np.empty_like(model.decision_function(NEW))
    assert model.decision_function(NEW, out=out) is out
    np.testing.assert_array_equal(out, model.decision_function(NEW))
    labels = np.empty(150, model.classes_.dtype)
    model.predict(NEW, out=labels)
    np.testing.assert_array_equal(labels, model.predict(NEW))
    with pytest.raises(ValueError, match="shape"):
        model.decision_function(NEW, out=out[:-1])


def test_scores_and_trust_go_by_the_decisions():
    model = classifier(loss="feng").fit(X, FLAG)
    decision = model.decision_function(X)
    assert model.score(X, FLAG) == np.mean((decision > 0) == FLAG)
    loss = losses.get("feng")
    expected = 1 - loss.value(1 - np.where(FLAG, decision, -decision)) / loss.bound
    np.testing.assert_allclose(model.trust(X, FLAG), np.clip(expected, 0, 1), atol=1e-12)
    of_reals = regressor().fit(X, WAVE)
    assert of_reals.score(X, WAVE) == pytest.approx(1 - np.var(WAVE - of_reals.predict(X)) / np.var(WAVE), abs=0.02)
    assert of_reals.trust(X, WAVE).shape == (240,)


# ------------------------------------------------------------------ rows


def test_weight_two_is_a_row_given_twice():
    weights = np.where(np.arange(240) % 3 == 0, 2.0, 1.0)
    settings = EXACT | {"cells": 40, "loss": "squared_hinge", "tol": 1e-12}
    weighted = classifier(**settings).fit(X, FLAG, sample_weight=weights)
    copied = classifier(**settings).fit(np.concatenate([X, X[::3]]), np.concatenate([FLAG, FLAG[::3]]))
    assert len(weighted.cells_) == len(copied.cells_) == 6
    assert_same_decisions(weighted, copied, rtol=1e-6, atol=1e-6)


def test_rows_in_another_order():
    order = np.random.RandomState(0).permutation(240)
    settings = EXACT | {"loss": "squared_hinge", "tol": 1e-12}
    one = classifier(**settings).fit(X, FLAG)
    assert_same_decisions(classifier(**settings).fit(X[order], FLAG[order]), one, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weights", ["zero", "any"])
def test_weights(weights):
    rng = np.random.RandomState(0)
    y = (X[:, 1] > X[:, 1].mean()).astype(int)
    weights = rng.randint(2, size=240) * 1.0 if weights == "zero" else rng.uniform(0.1, 3, 240)
    model = classifier(**(EXACT | {"cells": 70, "loss": "squared_hinge"})).fit(X, y, sample_weight=weights)
    if (weights == 0).any():
        kept = weights > 0
        fewer = classifier(**(EXACT | {"cells": 70, "loss": "squared_hinge"})).fit(X[kept], y[kept])
        assert_same_decisions(model, fewer, rtol=1e-9, atol=1e-9)
    assert_plain_machines(model, y, weights)


def test_class_weights_are_those_of_all_rows():
    y = (np.arange(240) % 5 == 0).astype(int)
    balanced = classifier(**(EXACT | {"cells": 120, "loss": "squared_hinge", "class_weight": "balanced"})).fit(X, y)
    share = np.bincount(y)
    weights = (240 / (2 * share))[y]
    assert_plain_machines(balanced, y, weights, atol=2e-3)


def test_landmarks_are_rows_of_the_cell_by_their_index_in_x():
    model = classifier(rank=8).fit(X, FLAG, sample_weight=np.arange(240) % 4)
    cells = cells_of(model, X)
    for number, machine in enumerate(model.cells_):
        assert (cells[machine.landmarks_] == number).all()
        assert (machine.landmarks_ % 4 > 0).all()
        np.testing.assert_array_equal(machine.landmark_vectors_, X[machine.landmarks_])
        assert machine.rank_ <= 8
    np.testing.assert_array_equal(model.rank_, [machine.rank_ for machine in model.cells_])


class First(LandmarkRule):
    """The first rows of the store."""

    def choose(self, rows, kernel, rank, tol, rng):
        return np.arange(min(rank, rows.n_rows))


@pytest.mark.parametrize("rule", ["uniform", "pivoted_cholesky", First()], ids=["uniform", "pivoted", "own"])
def test_landmark_rules(rule):
    model = classifier(rank=6, landmarks=rule, cells=60).fit(X, FLAG)
    cells = cells_of(model, X)
    for number, machine in enumerate(model.cells_):
        rows = np.flatnonzero(cells == number)
        assert np.isin(machine.landmarks_, rows).all()
        if isinstance(rule, First) and len(np.unique(FLAG[rows])) == 2:
            np.testing.assert_array_equal(np.sort(machine.landmarks_), rows[:6])


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"scale": "minmax"}, {"partitions": 2}])
def test_sparse_rows(form, settings):
    rows = np.where(np.abs(X) > 2, X, 0)
    settings = EXACT | {"loss": "squared_hinge"} | settings
    if "scale" in settings:
        # dense rows would be shifted
        rows = np.abs(rows)
        rows[0] = 0
    dense, of_sparse = classifier(**settings).fit(rows, FLAG), classifier(**settings).fit(form(rows), FLAG)
    np.testing.assert_allclose(of_sparse.decision_function(form(rows)), dense.decision_function(rows), atol=1e-5)
    np.testing.assert_allclose(of_sparse.decision_function(rows), dense.decision_function(rows), atol=1e-5)


def test_single_precision():
    model = classifier(**(EXACT | {"tol": 1e-5, "loss": "squared_hinge"})).fit(X.astype(np.float32), LETTERS)
    decision = model.decision_function(NEW.astype(np.float32))
    assert decision.dtype == np.float32
    assert {machine.dual_coef_.dtype for machine in model.cells_} == {np.dtype(np.float32)}
    assert {machine.intercept_.dtype for machine in model.cells_} == {np.dtype(np.float32)}
    double = classifier(**(EXACT | {"tol": 1e-5, "loss": "squared_hinge"})).fit(
        X.astype(np.float32).astype(float), LETTERS
    )
    np.testing.assert_allclose(decision, double.decision_function(NEW.astype(np.float32)), atol=0.02)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.usefixtures("small_reads")
def test_rows_in_files(tmp_path, monkeypatch, partitions):
    model = classifier(partitions=partitions, C="auto").fit(X, LETTERS)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "new.npy", NEW)
    of_map = classifier(partitions=partitions, C="auto").fit(np.load(tmp_path / "X.npy", mmap_mode="r"), LETTERS)
    of_path = classifier(partitions=partitions, C="auto").fit(tmp_path / "X.npy", LETTERS)
    for other in (of_map, of_path):
        assert pytest.approx(model.C_, rel=1e-9) == other.C_
        assert_same_decisions(other, model, rtol=1e-6, atol=1e-6)
    expected = model.decision_function(NEW)
    monkeypatch.setattr("unisvm.local.expansion._READ_BYTES", 1)
    np.testing.assert_allclose(model.decision_function(tmp_path / "new.npy"), expected, atol=1e-12)


def test_libsvm_files_mean_the_same_columns_in_every_machine(tmp_path):
    (tmp_path / "one.txt").write_text("".join(f"{i % 2} 1:{i} 3:{i % 7}\n" for i in range(60)))
    # which would be read with indices from 0 by itself
    (tmp_path / "new.txt").write_text("0 1:3 3:2\n1 1:4 2:2\n")
    model = classifier(cells=20).fit(tmp_path / "one.txt")
    for machine in model.cells_:
        np.testing.assert_array_equal(machine.predict(tmp_path / "one.txt"), machine.predict(rows_of_libsvm(60)))
        (tmp_path / "zero.txt").write_text("0 0:1\n")
        with pytest.raises(ValueError, match="ind"):
            machine.predict(tmp_path / "zero.txt")


def rows_of_libsvm(n):
    return np.array([[i, 0, i % 7] for i in range(n)], dtype=float)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_copies_of_one_row(kernel):
    same = np.ones((100, 3))
    model = classifier(cells=10, kernel=kernel, gamma=1.0).fit(same, np.arange(100) % 2)
    assert not hasattr(model, "cells_")
    many = np.repeat(X[:8], 30, axis=0)
    model = classifier(cells=4, gamma=1.0).fit(many, np.tile([0, 1, 1], 80))
    assert len(model.cells_) == 2
    assert model.predict(many).all()


@pytest.mark.parametrize("cells", [240, 1000, "auto"])
@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_one_cell_is_a_plain_fit(make, cells, partitions):
    y = FLAG if make is classifier else WAVE
    plain = make(cells=None, C="auto").fit(X, y)
    model = make(cells=cells, partitions=partitions, C="auto").fit(X, y)
    copied, of_copies = make(cells=None).fit(np.tile(X, (2, 1)), np.tile(y, 2)), make(cells=cells)
    of_copies.fit(np.tile(X, (2, 1)), np.tile(y, 2))
    for one, other in ((plain, model), (copied, of_copies)):
        assert sorted(vars(one)) == sorted(vars(other))
        for name in ("dual_coef_", "intercept_", "landmarks_", "landmark_vectors_", "C_", "objective_", "n_sweeps_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.predict(NEW), other.predict(NEW))


def test_more_than_64_cells():
    model = classifier(cells=2, rank=2).fit(X, LETTERS)
    assert len(model.cells_) == 120
    cells = cells_of(model, NEW)
    expected = [model.cells_[k].predict(x[None])[0] for k, x in zip(cells, NEW, strict=True)]
    np.testing.assert_array_equal(model.predict(NEW), expected)


def test_cells_of_one_row():
    model = classifier(cells=1, rank=2).fit(X, CLASSES)
    assert len(model.cells_) == 240
    assert model.score(X, CLASSES) == 1
    of_reals = regressor(cells=1).fit(X, WAVE)
    np.testing.assert_allclose(of_reals.predict(X), WAVE, atol=1e-8)


def test_C_that_suits_the_data():
    chosen = classifier(C="auto", loss="least_squares").fit(X, FLAG)
    assert chosen.C_ > 0
    assert len(chosen.C_scores_["C"]) == len(chosen.C_scores_["error"]) > 3
    assert {machine.C_ for machine in chosen.cells_} == {chosen.C_}
    # of noise it is lower
    noise = np.random.RandomState(0).randint(2, size=240)
    assert classifier(C="auto", loss="least_squares").fit(X, noise).C_ < chosen.C_
    given = classifier(C=3.0).fit(X, FLAG)
    assert given.C_ == 3.0
    assert len(given.C_scores_["C"]) == 0


def test_random_state_decides():
    one, same, other = (classifier(rank=5, random_state=seed).fit(X, FLAG) for seed in (0, 0, 1))
    assert_same_decisions(one, same)
    assert not one.partitions_[0].is_same(other.partitions_[0])
    assert_same_decisions(clone(one).fit(X, FLAG), one)
    generator = np.random.RandomState(0)
    first, second = (classifier(rank=5, random_state=generator).fit(X, FLAG) for _ in range(2))
    assert_same_decisions(first, one)
    assert not first.partitions_[0].is_same(second.partitions_[0])


@pytest.mark.parametrize("settings", [{}, {"C": "auto", "scale": "standard"}, {"partitions": 2, "kernel": "linear"}])
def test_threads(settings):
    one, two = (classifier(n_jobs=n_jobs, **settings).fit(X, LETTERS) for n_jobs in (1, 2))
    assert_same_decisions(one, two, rtol=1e-8, atol=1e-8)


def test_coefficients_of_columns_are_those_of_cells():
    model = classifier(kernel="linear").fit(X, FLAG)
    with pytest.raises(AttributeError, match=r"cells_\[k\]"):
        _ = model.coef_
    assert model.cells_[0].coef_.shape == (1, 3)


def test_machines_are_plain_estimators():
    model = regressor(partitions=2, verbose=0).fit(X, WAVE)
    for machine in model.cells_:
        assert type(machine) is UniSVMRegressor
        assert machine.cells is None
        assert machine.n_features_in_ == 3
        assert machine.predict(NEW).shape == (150,)
        clone(machine).fit(X[:50], WAVE[:50])


def test_C_is_chosen_by_cells_that_have_something_to_learn():
    """Of thirty cells, one or two have both classes."""
    rng = np.random.RandomState(0)
    rows = rng.uniform(0, 1, (600, 2))
    labels = (rows.sum(axis=1) < 0.2) | ((rows.sum(axis=1) < 0.3) & (rng.rand(600) < 0.3))
    model = UniSVMClassifier(cells=20, random_state=0).fit(rows, labels)
    assert len(model.cells_) == 30
    assert 0 < sum(len(np.unique(labels[model.partitions_[0].cells_of(rows) == k])) > 1 for k in range(30)) < 8
    assert len(model.C_scores_["C"]) > 0

"""LIBSVM's own command lines, with only the name of the program changed."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_diabetes
from sklearn.svm import SVR

from unisvm import UniSVMClassifier, UniSVMRegressor


def labels(path):
    return np.loadtxt(path)


def test_train_and_predict_with_the_defaults(unisvm, tmp_path, libsvm_files, cancer):
    train, test = libsvm_files
    unisvm("train", train)
    ended = unisvm("predict", test, "train.model", "out")
    X, y = cancer
    model = UniSVMClassifier(scale="minmax", random_state=0).fit(sparse.csr_array(X[:400]), y[:400])
    expected = model.predict(sparse.csr_array(X[400:]))
    np.testing.assert_array_equal(labels(tmp_path / "out"), expected)
    n_right = (expected == y[400:]).sum()
    assert f"Accuracy = {100 * n_right / 169:g}% ({n_right}/169) (classification)" in ended.out


@pytest.mark.filterwarnings("ignore:.*negative part:unisvm.FitWarning")
@pytest.mark.parametrize(
    ("words", "parameters"),
    [
        ("-s 0 -t 2 -c 32 -g 0.5 -q", {"loss": "hinge", "C": 32.0, "gamma": 0.5}),
        ("-t 0 -c 0.1", {"kernel": "linear", "C": 0.1}),
        ("-t 1 -d 2 -g 0.2 -r 1 -c 1", {"kernel": "poly", "degree": 2, "gamma": 0.2, "coef0": 1.0, "C": 1.0}),
        ("-t 3 -g 0.01 -r -1 -c 5", {"kernel": "sigmoid", "gamma": 0.01, "coef0": -1.0, "C": 5.0}),
        ("-c 1 -w1 2.5 -w-1 0.5", {"C": 1.0, "class_weight": {1: 2.5, -1: 0.5}}),
        ("-c 1 -m 500 -h 0 -e 0.01", {"C": 1.0}),
    ],
)
def test_options_mean_what_they_mean_there(unisvm, tmp_path, libsvm_files, cancer, words, parameters):
    train, test = libsvm_files
    unisvm("train", *words.split(), train, "a model")
    unisvm("predict", "-q", test, "a model", "out")
    X, y = sparse.csr_array(cancer[0]), cancer[1]
    model = UniSVMClassifier(scale="minmax", random_state=0, **parameters).fit(X[:400], y[:400])
    np.testing.assert_array_equal(labels(tmp_path / "out"), model.predict(X[400:]))


def test_options_without_a_counterpart_are_told_of(unisvm, libsvm_files):
    ended = unisvm("train", "-m", "100", "-h", "1", "-e", "0.001", "-n", "0.5", libsvm_files[0])
    assert [line[:8] for line in ended.err.splitlines() if line.startswith("note: -")] == [
        "note: -m", "note: -h", "note: -e", "note: -n",
    ]  # fmt: skip


def test_probabilities_are_in_columns_of_the_labels(unisvm, tmp_path, libsvm_files):
    train, test = libsvm_files
    unisvm("train", "-b", "1", "-c", "1", train, "m")
    unisvm("predict", "-b", "1", test, "m", "out")
    first, *lines = (tmp_path / "out").read_text().splitlines()
    assert first == "labels -1 1"
    found = np.array([line.split() for line in lines], dtype=float)
    np.testing.assert_allclose(found[:, 1:].sum(axis=1), 1, atol=1e-4)
    # labels are those of decisions, which a curve brings to probabilities: near 0 the two may differ
    likely = np.array([-1, 1])[found[:, 1:].argmax(axis=1)]
    assert (found[:, 0] != likely).sum() <= 2


def test_probabilities_need_a_training_that_provides_for_them(unisvm, libsvm_files):
    train, test = libsvm_files
    unisvm("train", "-q", train, "m")
    ended = unisvm("predict", "-b", "1", test, "m", "out", code=1)
    assert "train it with --probabilities" in ended.err


def test_cross_validation_writes_no_model(unisvm, tmp_path, libsvm_files):
    ended = unisvm("train", "-v", "4", libsvm_files[0])
    assert ended.out.startswith("Cross Validation Accuracy = 9")
    assert not (tmp_path / "train.model").exists()


def test_quiet_says_nothing(unisvm, libsvm_files):
    assert unisvm("train", "-q", libsvm_files[0])[1:] == ("", "")


@pytest.fixture
def real_targets(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X = X / np.abs(X).max(axis=0)
    dump_svmlight_file(X[:300], y[:300], str(tmp_path / "train"), zero_based=False)
    dump_svmlight_file(X[300:], y[300:], str(tmp_path / "test"), zero_based=False)
    return X, y


def test_regression_has_LIBSVMs_units(unisvm, tmp_path, real_targets):
    X, y = real_targets
    unisvm("train", "-s", "3", "-c", "50", "-p", "10", "-g", "0.2", "train", "m")
    ended = unisvm("predict", "test", "m", "out")
    expected = SVR(C=50, epsilon=10, gamma=0.2).fit(X[:300], y[:300]).predict(X[300:])
    found = labels(tmp_path / "out")
    # the loss is smoothed
    assert np.abs(found - expected).mean() < 0.05 * expected.std()
    assert f"Mean squared error = {np.mean((found - y[300:]) ** 2):g} (regression)" in ended.out
    assert "Squared correlation coefficient = 0." in ended.out


def test_real_targets_are_told_by_their_values(unisvm, tmp_path, real_targets):
    X, y = real_targets
    ended = unisvm("train", "--json", "train", "m")
    assert json.loads(ended.out)["task"] == "regression"
    unisvm("predict", "-q", "test", "m", "out")
    model = UniSVMRegressor(scale="minmax", random_state=0).fit(sparse.csr_array(X[:300]), y[:300])
    np.testing.assert_allclose(labels(tmp_path / "out"), model.predict(sparse.csr_array(X[300:])))


def test_cross_validation_of_real_targets(unisvm, real_targets):
    ended = unisvm("train", "-s", "3", "-v", "3", "train")
    assert "Cross Validation Mean squared error = " in ended.out
    assert "Cross Validation Squared correlation coefficient = 0." in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-s 1", "ν-SVC is not here"),
        ("-s 2", "one-class"),
        ("-s 4", "ν-SVR is not here"),
        ("-t 4", "precomputed"),
        ("-s 0 -p 0.1", "-p is the width of a loss of real targets"),
        ("-w7 2", "there is no class '7'; the classes are -1, 1"),
        ("-v 1", "number of folds must be from 2"),
        ("-c none", "C must be a number or 'auto', got 'none'"),
        ("-g large", "gamma must be a number, 'scale' or 'auto', got 'large'"),
        ("-c -1", "C must be a positive number"),
        ("--loss hinges", "did you mean 'hinge'"),
        ("--loss huber", "is not for classification"),
    ],
)
def test_what_is_not_here_says_what_is(unisvm, tmp_path, libsvm_files, words, said):
    ended = unisvm("train", *words.split(), libsvm_files[0], code=1)
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "train.model").exists()


def test_decisions_have_no_place_in_LIBSVMs_form(unisvm, libsvm_files):
    train, test = libsvm_files
    unisvm("train", "-q", train, "m")
    assert "use --to csv" in unisvm("predict", "--decisions", test, "m", "out", code=1).err
    unisvm("predict", "-q", "--decisions", "--to", "csv", test, "m", "out")


def test_the_units_of_C_are_those_of_the_targets_whatever_the_loss(unisvm, tmp_path, real_targets):
    X, y = real_targets
    unisvm("train", "-q", "-s", "3", "--loss", "huber", "-c", "50", "train", "m")
    scale = 1.4826 * np.median(np.abs(y[:300] - np.median(y[:300])))
    model = UniSVMRegressor("huber", C=50 / scale, scale="minmax", random_state=0).fit(
        sparse.csr_array(X[:300]), y[:300]
    )
    unisvm("predict", "-q", "test", "m", "out")
    np.testing.assert_allclose(labels(tmp_path / "out"), model.predict(sparse.csr_array(X[300:])), rtol=1e-6)


def test_cross_validation_of_constant_targets(unisvm, tmp_path):
    (tmp_path / "flat").write_text("".join(f"3 1:{i}\n" for i in range(20)))
    ended = unisvm("train", "-s", "3", "-v", "2", "flat")
    assert "Cross Validation Mean squared error = " in ended.out

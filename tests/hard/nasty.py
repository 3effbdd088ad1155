"""The grammar of nasty data: recipes of fits, drawn by hypothesis, and the estimators and arrays that they stand for.

A recipe is a dict of plain choices and a seed, so that a failure prints all that is needed to see it again.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, kernels, losses

TASKS = CLASSIFICATION, REGRESSION = "classification", "regression"
#: features that take more than this go to a scratch file
LITTLE_MEMORY = "30KB"
DTYPES = ["f8", "f4", "f2", "g", ">f8", ">f4", "i8", "u1", ">i2", "?", "O"]
SHAPES_IN_MEMORY = ["C", "F", "strided", "backwards", "read-only", "unaligned"]
SPARSE = ["csr", "csc", "coo", "csr_array", "unsorted csr", "coo with duplicates", "csr with zeros", "long csr"]
FILES = ["memory map", "npy", "parquet", "svm"]
SPOILERS = ["duplicates", "equal rows", "constant", "outlier", "rare column", "zeros", "zero rows", "collinear"]
SCALES = ["one", "apart", "far apart", "huge", "tiny", "subnormal"]
WEIGHTS = [None, "scalar", "twenty orders", "with zeros", "mostly zeros", "subnormal", "tiny", "huge", "integers", "f4"]
LABELS = ["two", "text", "bool", "three", "five", "few of one", "one row a class", "several labels", "noise", "floats"]
REALS = ["smooth", "huge", "tiny", "offset", "constant", "outlier", "cauchy", "two", "integers", "mostly equal", "f4"]
KERNELS = ["linear", "rbf", "laplacian", "poly", "sigmoid", "callable", "object"]


def sech(X, Z):
    """A kernel of the user's, of dense or sparse rows."""
    X, Z = (points.toarray() if sparse.issparse(points) else points for points in (X, Z))
    return 1 / np.cosh(np.clip(np.abs(X[:, None] - Z[None]).sum(axis=-1), 0, 80))


def loss_variants(task):
    """The losses of a task by name, and with parameters near the ends of their ranges."""
    by_name = losses.names(task)
    extreme: list[Any] = [losses.get(name, p=p) for name in by_name for p in (0.01, 1e4) if _has(name, "p")]
    extreme += [losses.get(name, a=a) for name in by_name for a in (1e-4, 1e4) if _has(name, "a")]
    return by_name + extreme


def _has(name, parameter):
    return parameter in losses.get(name).get_params()


# ------------------------------------------------------------------ strategies


def _often(usual, *others):
    """The usual choice half of the time."""
    return st.one_of(st.just(usual), st.sampled_from(others))


def rows(*, tame=False):
    """Recipes of X. Tame ones have scales that are not far apart, in single or double precision."""
    spoilers = st.frozensets(st.sampled_from(SPOILERS), max_size=2 if tame else 3).map(sorted)
    container = _often("array", *SPARSE, *FILES, "frame", "list")
    return st.fixed_dictionaries(
        {
            "n_rows": st.sampled_from([12, 30, 60, 120] if tame else [2, 3, 5, 12, 30, 60, 120]),
            "n_columns": st.sampled_from([1, 2, 4] if tame else [1, 2, 4, 9]),
            "scales": _often("one", "apart") if tame else st.sampled_from(SCALES),
            "offset": st.sampled_from([0, 1, 100] if tame else [0, 0, 1, 1e4, 1e8, 1e16]),
            "spoilers": spoilers,
            "dtype": _often("f8", "f4", ">f8", "i8") if tame else _often("f8", *DTYPES),
            "layout": st.sampled_from(SHAPES_IN_MEMORY),
            "container": container,
        }
    )


def parameters(task, *, tame=False):
    """Parameters of a plain estimator."""
    Cs = [1.0, 0.01, 100.0] if tame else ["auto", 1.0, 1e-12, 1e-3, 1e3, 1e12, 1e-100, 1e100]
    gammas = ["scale", "auto", 0.3] if tame else ["scale", "scale", "auto", 1e-9, 1e9, 1e-150, 1e150]
    choices = {
        "loss": st.sampled_from(loss_variants(task)),
        "C": st.sampled_from(Cs),
        "kernel": st.sampled_from(["linear", "rbf", "laplacian", "poly"] if tame else KERNELS),
        "gamma": st.sampled_from(gammas),
        "degree": _often(2, 1, 3) if tame else _often(3, 1, 2, 30),
        "coef0": st.sampled_from([0.0, 1.0]) if tame else st.sampled_from([0.0, 1.0, -1.0, 1e3]),
        "rank": st.sampled_from([5, 30, None] if tame else [1, 2, 5, 30, None]),
        "rank_tol": _often(1e-3, 0.0, 0.3),
        "landmarks": st.sampled_from(["rpcholesky", "pivoted_cholesky", "uniform"]),
        "fit_intercept": st.booleans(),
        "solver": _often("lbfgs", "dca"),
        "tol": _often(1e-4, 1e-2, 1e-10),
        "max_iter": _often(100, 1, 2, 7),
        "n_jobs": _often(1, 2),
        "memory_limit": _often(None, LITTLE_MEMORY),
        "random_state": st.integers(0, 5),
    }
    if task == CLASSIFICATION:
        choices |= {
            "class_weight": _often(None, "balanced"),
            "multi_class": st.sampled_from(["auto", "ovo", "ovr"]),
        }
    return st.fixed_dictionaries(choices)


@st.composite
def recipes(draw, task=None, *, tame=False, labels=None, reals=None, weights=None, **fixed):
    """Recipes of plain fits; `fixed` are parameters of the estimator."""
    task = draw(st.sampled_from(TASKS)) if task is None else task
    usual_weights = [None, "with zeros", "integers"] if tame else WEIGHTS
    usual = (labels or LABELS) if task == CLASSIFICATION else (reals or REALS)
    return {
        "task": task,
        "seed": draw(st.integers(0, 2**16)),
        "rows": draw(rows(tame=tame)),
        "targets": draw(st.sampled_from(usual)),
        "weights": draw(st.sampled_from(weights or usual_weights)),
        "parameters": draw(parameters(task, tame=tame)) | fixed,
    }


@st.composite
def searches(draw, **fixed):
    """Recipes of searches of small grids."""
    recipe = draw(recipes(**fixed))
    task, plain = recipe["task"], recipe["parameters"]
    kept = {name: plain[name] for name in plain if name in UniSVMRegressorCV().get_params()}
    is_label = task == CLASSIFICATION
    kept |= {
        "losses": draw(st.lists(st.sampled_from(loss_variants(task)), min_size=1, max_size=2)),
        "Cs": draw(st.sampled_from([2, [1e-3, 1e3], [1.0]])),
        "gammas": draw(st.sampled_from([1, 2, [1.0], ["scale"]])),
        "cv": draw(st.sampled_from([2, 3])),
        "search": draw(st.sampled_from(["auto", "full", "halving", "adaptive"])),
        "refit": draw(_often(True, False)),
    }
    kept |= {"drop_suspects": draw(st.booleans()), "class_weight": plain["class_weight"]} if is_label else {}
    return recipe | {"parameters": kept}


# ------------------------------------------------------------------ what they stand for


class Given(NamedTuple):
    """An estimator before its fit, and what it is given.

    `X` may be a path; `dense` are its rows in double precision, as the estimator is meant to read them.
    """

    estimator: Any
    X: Any
    y: np.ndarray
    weights: Any
    dense: np.ndarray

    def fit(self):
        """The estimator, fitted."""
        return self.estimator.fit(self.X, self.y, sample_weight=self.weights)


def build(recipe, folder) -> Given:
    """The estimator and the data of a recipe, with files in this folder."""
    rng = np.random.RandomState(recipe["seed"])
    choice, params = recipe["rows"], dict(recipe["parameters"])
    plain = rng.randn(choice["n_rows"], choice["n_columns"])
    is_label = recipe["task"] == CLASSIFICATION
    y = (labels_of if is_label else reals_of)(recipe["targets"], plain, rng)
    X = np.asarray(_entries(choice, plain, rng))
    if params["kernel"] == "callable":
        params["kernel"] = sech
    elif params["kernel"] == "object":
        params["kernel"] = kernels.Laplacian(0.5)
    kind = (UniSVMClassifierCV if is_label else UniSVMRegressorCV) if "losses" in params else None
    estimator = (kind or (UniSVMClassifier if is_label else UniSVMRegressor))(scratch_dir=folder, **params)
    weights = weights_of(recipe["weights"], len(y), rng)
    return Given(estimator, _contained(choice, X, rng, folder), y, weights, X.astype(np.float64))


def _entries(choice, plain, rng):
    """X as an array of its type."""
    d = plain.shape[1]
    exponents = {"one": 0, "apart": rng.uniform(-3, 3, d), "far apart": rng.uniform(-150, 150, d)}
    exponents |= {"huge": 152.0, "tiny": -152.0, "subnormal": -310.0}
    X, scale = plain + choice["offset"], 10.0 ** np.asarray(exponents[choice["scales"]])
    for spoiler in choice["spoilers"]:
        _SPOIL[spoiler](X, rng)
    dtype = np.dtype(choice["dtype"])
    if dtype.kind in "iu":
        low, high = max(np.iinfo(dtype).min, -(2**50)), min(np.iinfo(dtype).max, 2**50)
        return np.rint(np.clip(10 * X, low, high)).astype(dtype)
    X = X * scale
    if dtype.kind == "b":
        return np.median(X) < X
    if dtype.itemsize < 8:
        most = {2: 6e4, 4: 1e38}[dtype.itemsize]
        X = np.clip(X, -most, most)
    return X.astype(dtype)


def _duplicate(X, rng):
    X[: len(X) // 2] = X[len(X) - len(X) // 2 :]


def _zero_out(X, rng):
    X[rng.rand(*X.shape) < 0.7] = 0


def _zero_rows(X, rng):
    X[rng.rand(len(X)) < 0.5] = 0


_SPOIL = {
    "duplicates": _duplicate,
    "equal rows": lambda X, rng: X.__setitem__(slice(None), X[0]),
    "constant": lambda X, rng: X.__setitem__((slice(None), 0), X[0, 0]),
    "outlier": lambda X, rng: X.__setitem__((rng.randint(len(X)), -1), 1e6),
    "rare column": lambda X, rng: X.__setitem__((slice(1, None), -1), 0),
    "zeros": _zero_out,
    "zero rows": _zero_rows,
    "collinear": lambda X, rng: X.__setitem__((slice(None), -1), 2 * X[:, 0]),
}


def _contained(choice, X, rng, folder):
    """X in its container and layout."""
    kind = choice["container"]
    if kind in FILES:
        return _in_file(kind, X, folder)
    if kind in SPARSE:
        # scipy has no sparse matrices of other types
        return _as_sparse(kind, X.astype(X.dtype.newbyteorder("=")) if X.dtype.char not in "eO" else X.astype("f8"))
    if kind == "frame":
        return pd.DataFrame(X.astype(X.dtype.newbyteorder("=")), columns=[f"column {j}" for j in range(X.shape[1])])
    return X.tolist() if kind == "list" and X.dtype.kind in "fib" else _laid_out(choice["layout"], X)


def _laid_out(layout, X):
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        wide[::2, 1::3] = X
        return wide[::2, 1::3]
    if layout == "backwards":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "unaligned" and not X.dtype.hasobject:
        return np.frombuffer(b"x" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)
    X = X.copy()
    X.flags.writeable = layout != "read-only"
    return X


def _as_sparse(kind, X):
    entries = sparse.coo_matrix(X)
    if kind == "coo with duplicates":
        twice = [np.concatenate([part, part]) for part in (entries.data / 2, entries.row, entries.col)]
        return sparse.coo_matrix((twice[0], (twice[1], twice[2])), shape=X.shape)
    matrix = entries.asformat(kind if kind in ("csc", "coo") else "csr")
    if kind == "csr_array":
        return sparse.csr_array(matrix)
    if kind == "csr with zeros":
        at = np.indices(X.shape).reshape(2, -1)
        return sparse.csr_matrix((X.ravel(), at[1], np.arange(0, X.size + 1, X.shape[1])), shape=X.shape)
    if kind == "unsorted csr":
        order = np.concatenate([np.arange(*ends)[::-1] for ends in zip(matrix.indptr, matrix.indptr[1:], strict=False)])
        matrix = sparse.csr_matrix((matrix.data[order], matrix.indices[order], matrix.indptr), shape=X.shape)
    if kind == "long csr":
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def _in_file(kind, X, folder):
    numbers = X if X.dtype.char in "dfbhilB?" else X.astype(np.float64)
    if kind in ("memory map", "npy"):
        np.save(folder / "rows.npy", numbers)
        return np.load(folder / "rows.npy", mmap_mode="r") if kind == "memory map" else folder / "rows.npy"
    if kind == "parquet":
        names = [f"column {j}" for j in range(X.shape[1])]
        pd.DataFrame(numbers.astype(numbers.dtype.newbyteorder("=")), columns=names).to_parquet(folder / "rows.parquet")
        return folder / "rows.parquet"
    dump_svmlight_file(numbers.astype(np.float64), np.zeros(len(X)), str(folder / "rows.svm"), zero_based=False)
    return folder / "rows.svm"


def labels_of(kind, plain, rng):
    """Labels of a kind for these rows."""
    n = len(plain)
    score = plain[:, 0] + 0.3 * rng.randn(n)
    ranks = np.argsort(np.argsort(score))
    shares = {"three": 3, "five": 5}
    if kind in shares:
        return ranks * shares[kind] // n
    if kind == "one row a class":
        return np.minimum(ranks, 3)
    if kind == "few of one":
        return (ranks == n - 1).astype(int)
    if kind == "several labels":
        return np.column_stack([ranks < n // 2, rng.rand(n) < 0.5, np.zeros(n)]).astype(int)
    if kind == "noise":
        return np.arange(n) % 2
    above = ranks >= n // 2
    return {
        "two": above.astype(int),
        "text": np.where(above, "yes", "no"),
        "bool": above,
        "floats": np.where(above, 7.0, -1.0),
    }[kind]


def reals_of(kind, plain, rng):
    """Real targets of a kind for these rows."""
    n = len(plain)
    y = np.sin(plain[:, 0]) + plain[:, -1] + 0.1 * rng.randn(n)
    outlier = y.copy()
    outlier[rng.randint(n)] = 10.0 ** rng.uniform(2, 140)
    return {
        "smooth": y,
        "huge": y * 1e150,
        "tiny": y * 1e-150,
        "offset": y + 1e8,
        "constant": np.full(n, 1e10),
        "outlier": outlier,
        "cauchy": y + np.tan(np.pi * (rng.rand(n) - 0.5)),
        "two": np.column_stack([y, 1e-20 * (y**2 - 3)]),
        "integers": np.rint(3 * y).astype(int),
        "mostly equal": np.where(rng.rand(n) < 0.8, 2.0, y),
        "f4": y.astype(np.float32),
    }[kind]


def weights_of(kind, n, rng):
    """Weights of a kind for so many rows."""
    if kind is None or kind == "scalar":
        return kind and 2.5
    wide = 10.0 ** rng.uniform(-20, 0, n)
    mixed = rng.rand(n) * (rng.rand(n) < 0.7)
    mixed[:1] += 1
    few = np.where(np.arange(n) < max(2, n // 10), 1.0, 0.0)
    return {
        "twenty orders": wide,
        "with zeros": mixed,
        "mostly zeros": few,
        "subnormal": np.where(rng.rand(n) < 0.5, 1.0, 5e-324),
        "tiny": wide * 1e-100,
        "huge": (0.1 + rng.rand(n)) * 1e28,
        "integers": rng.randint(0, 4, n) + (np.arange(n) < 2),
        "f4": rng.rand(n).astype(np.float32) + np.float32(0.1),
    }[kind]

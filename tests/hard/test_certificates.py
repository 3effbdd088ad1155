"""What a fit says of itself, against the formulas in extended precision: objective, stationarity and their course."""

import warnings

import numpy as np
from hypothesis import given, settings
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight

from hard import nasty
from hard.effort import effort
from losses.loss_cases import FORMULAS
from unisvm import losses

LONG = np.longdouble
#: rounding errors are at most so many times as large as one operation's
_SAFETY = 300
#: of the rbf kernel, which says that it goes over to a higher precision before more is lost
_MOST_EXPONENT_ERROR = 1e-4


def fitted(case):
    """The estimator of a case, fitted; that its solver may end early is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.fit()


# ------------------------------------------------------------------ the formulas


def kernel_matrix(model, X, Z):
    """k(X, Z) in extended precision."""
    X, Z, kernel = X.astype(LONG), Z.astype(LONG), model.kernel_
    name = type(kernel).__name__
    if name == "Linear":
        return X @ Z.T
    gamma = LONG(float(kernel.gamma))
    if name == "Polynomial":
        return (gamma * (X @ Z.T) + LONG(kernel.coef0)) ** int(kernel.degree)
    apart = X[:, None] - Z[None]
    return np.exp(-gamma * ((apart**2).sum(axis=-1) if name == "RBF" else np.abs(apart).sum(axis=-1)))


def solve(matrix, right):
    """The solution of positive definite equations by Cholesky's method, in extended precision."""
    L, n = np.zeros_like(matrix), len(matrix)
    for j in range(n):
        # nearly dependent landmarks leave rounding error
        pivot = max(matrix[j, j] - L[j, :j] @ L[j, :j], 8 * np.finfo(LONG).eps * matrix[j, j], np.finfo(LONG).tiny)
        L[j, j] = np.sqrt(pivot)
        L[j + 1 :, j] = (matrix[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    x = right.copy()
    for j in range(n):
        x[j] = (x[j] - L[j, :j] @ x[:j]) / L[j, j]
    for j in reversed(range(n)):
        x[j] = (x[j] - L[j + 1 :, j] @ x[j + 1 :]) / L[j, j]
    return x


class Problem:
    """The training problem of a fitted model in extended precision, a list entry for each column of it.

    Attributes
    ----------
    K, K_BB : ndarray
        The kernel between rows or landmarks and landmarks; of a linear kernel, the columns of X and the identity.
    alpha, intercept : ndarray of shape (n_columns, rank) and (n_columns,)
        In training units.
    targets, counts : ndarray of shape (n_rows, n_columns)
        Training targets, and whether a row counts in a column.
    weights : ndarray of shape (n_rows,)
    penalty : float
        λ.
    """

    def __init__(self, case):
        model = self.model = case.estimator
        self.loss, self.is_margin = losses.get(model.loss), hasattr(model, "classes_")
        dense = case.dense.astype(model.dual_coef_.dtype)
        self.dtype = model.dual_coef_.dtype
        # the formulas are without care for what cancels
        self.of_formulas = 10 * np.finfo(LONG).eps
        self.unit = _SAFETY * np.finfo(self.dtype).eps
        self.rows, self.is_sparse = dense.astype(LONG), sparse.issparse(model.landmark_vectors_)
        if model.landmark_vectors_ is None:
            self.K, self.K_BB = dense.astype(LONG), np.eye(dense.shape[1], dtype=LONG)
        else:
            B = model.landmark_vectors_
            B = B.toarray() if self.is_sparse else B
            self.points = B.astype(LONG)
            self.K, self.K_BB = kernel_matrix(model, dense, B), kernel_matrix(model, B, B)
        weights = np.ones(len(dense)) if case.weights is None else np.broadcast_to(case.weights, len(dense))
        self.weights = weights.astype(self.dtype).astype(LONG)
        self.alpha, self.intercept = model.dual_coef_.astype(LONG), model.intercept_.astype(LONG)
        if self.is_margin:
            self._read_labels(case.y)
        else:
            y = np.reshape(case.y, (len(dense), -1)).astype(LONG)
            scale, offset = model.target_scale_.astype(LONG), model.target_centre_.astype(LONG)
            # targets of weight 0 may be anything
            targets = np.where(self.weights[:, None] > 0, (y - offset) / scale, 0)
            self.targets = targets.astype(self.dtype).astype(LONG)
            self.alpha, self.intercept = self.alpha / scale[:, None], (self.intercept - offset) / scale
            self.counts = np.ones_like(self.targets)
        self.penalty = 1 / (2 * LONG(model.C_) * self.weights.sum())

    def _read_labels(self, y):
        model, classes = self.model, self.model.classes_
        if model.class_weight == "balanced":
            present = self.weights > 0
            factors = np.zeros(len(y))
            factors[present] = compute_sample_weight("balanced", y[present])
            self.weights = (self.weights * factors).astype(self.dtype).astype(LONG)
        if y.ndim == 2:
            self.targets = np.where(y != 0, LONG(1), LONG(-1))
        elif len(classes) == 2:
            self.targets = np.where(y == classes[1], LONG(1), LONG(-1))[:, None]
        elif model._pairs is None:
            self.targets = np.where(y[:, None] == classes, LONG(1), LONG(-1))
        else:
            first, second = classes[model._pairs.T]
            self.targets = (y[:, None] == second).astype(LONG) - (y[:, None] == first)
        self.counts = np.abs(self.targets)

    def values(self):
        """f at each row."""
        return self.K @ self.alpha.T + self.intercept

    def residuals(self, f):
        """1 − y f(x), or y − f(x)."""
        return 1 - self.targets * f if self.is_margin else self.targets - f

    def objective(self):
        """λ‖f‖² + Σ s ψ(r) / Σ s for each column."""
        cost = FORMULAS[self.loss.name](self.residuals(self.values()), **self.loss.get_params())
        norms = np.einsum("ij,jk,ik->i", self.alpha, self.K_BB, self.alpha)
        return self.penalty * norms + self._mean(cost * self.counts)

    def _mean(self, values):
        return self.weights @ values / self.weights.sum()

    def slopes(self, f):
        """Derivative of ψ by f at each row."""
        slopes = self.loss.derivative(self.residuals(f).astype(np.float64)).astype(LONG) * self.counts
        return slopes * (-self.targets if self.is_margin else -1)

    def promises(self):
        """¼ gᵀH⁻¹g with H = λK_BB + A (second moments about the mean), the decrease that one majoriser step promises,
        and the error of its root that comes with rounding."""
        model, A, f = self.model, self.loss.A, self.values()
        K = self.K - self._mean(self.K) if model.fit_intercept else self.K
        moments = A * (K.T @ (self.weights[:, None] * K)) / self.weights.sum()
        H = self.penalty * self.K_BB + moments
        inverse = solve(H, np.eye(len(H), dtype=LONG))
        slopes, errors = self.slopes(f), self._slope_errors(f)
        promised, noise = [], []
        for slope, error, alpha in zip(slopes.T, errors.T, self.alpha, strict=True):
            g = self._mean(slope[:, None] * K) + 2 * self.penalty * self.K_BB @ alpha
            # the part of the intercept in H is A
            of_intercept = self._mean(slope) ** 2 / A if model.fit_intercept else 0
            # never negative but by rounding
            promised.append(max(g @ inverse @ g + of_intercept, 0) / 4)
            # errors of the slopes count for no more than they do in the moments; then there are those of sums over rows
            sums = np.abs(self.K).T @ (self.weights * np.abs(slope)) / self.weights.sum()
            sums += 2 * self.penalty * np.abs(self.K_BB) @ np.abs(alpha)
            noise.append(np.sqrt(self._mean(error**2) / A) / 2 + self.unit * np.sqrt(sums @ np.abs(inverse) @ sums) / 2)
        # what rounding of the moments about 0 in the orthonormal basis is beside the penalty, and that of the basis
        squares = A * (self.K.T @ (self.weights[:, None] * self.K)) / self.weights.sum()
        rounded = self.unit * np.trace(solve(self.K_BB, squares)) / self.penalty
        rounded += self.basis_error
        return np.array(promised), np.array(noise) + rounded * np.sqrt(promised)

    @property
    def basis_error(self):
        """Relative error of the orthonormal basis by rounding in the landmarks' kernel matrix."""
        return np.finfo(self.dtype).eps * np.linalg.cond(self.K_BB.astype(np.float64))

    # -------------------------------------------------------------- rounding

    def _kernel_noise(self):
        """Relative errors of the kernel: an exponent of the rbf kernel may be that far off, by what cancels in it."""
        kernel = self.model.kernel_
        if type(kernel).__name__ != "RBF":
            return 0
        origin = 0 if self.is_sparse else self.points.mean(axis=0)
        squares = [((Z - origin) ** 2).sum(axis=1) for Z in (self.rows, self.points)]
        cancels = float(kernel.gamma) * (squares[0][:, None] + squares[1])
        return np.minimum(self.unit * cancels, _MOST_EXPONENT_ERROR)

    def _noise(self):
        """Errors of f at each row that rounding of coefficients and sums may bring about."""
        scale = 1 if self.is_margin else self.model.target_scale_
        given = np.abs(self.model.intercept_ / scale)
        if not self.is_margin:
            given = given + np.abs(self.model.target_centre_ / scale)
        sums = (np.abs(self.K) * (self.unit + self._kernel_noise())) @ np.abs(self.alpha.T)
        return sums + self.unit * (given + 1)

    def objective_noise(self):
        """Error of the objective that comes with it."""
        f, noise = self.values(), self._noise()
        sizes = np.abs(self.alpha)
        norms = np.einsum("ij,jk,ik->i", sizes, np.abs(self.K_BB), sizes)
        risk = self._mean((np.abs(self.slopes(f)) * noise + self.loss.A * noise**2) * self.counts)
        bound = self.loss.bound if np.isfinite(self.loss.bound) else 0
        unit = self.unit + np.max(self._kernel_noise())
        return risk + unit * self.penalty * norms + self.unit * (self.objective() + bound) + self.of_formulas

    def _slope_errors(self, f):
        """Errors of the derivatives at each row, which may jump."""
        noise = self._noise()
        jumps = np.abs(self.slopes(f + noise) - self.slopes(f - noise))
        return jumps + 2 * self.loss.A * noise + self.unit * np.abs(self.slopes(f))


# ------------------------------------------------------------------ tests


class TestCertificate:
    """Columns of moderate scales; the exact majoriser, since the rows are few."""

    @settings(report_multiple_bugs=False, max_examples=effort(80, 1800))
    @given(recipe=nasty.recipes(tame=True))
    def test_is_true(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        try:
            model = fitted(case)
        except (ValueError, MemoryError):
            # test_properties.py is about refusals
            return
        problem = Problem(case)
        objective, said = problem.objective(), np.atleast_1d(model.objective_)
        noise = problem.objective_noise()
        assert (np.abs(said - objective) <= noise).all()
        # where rounding does not hide all of it
        most = 1e-6 if problem.dtype == np.float64 else 0.01
        clear = (noise < most * objective) & (problem.basis_error < most)
        promises, errors = problem.promises()
        promised = np.sqrt(np.atleast_1d(model.stationarity_) * said)
        share = 1e-3 if problem.dtype == np.float64 else 0.05
        expected = np.sqrt(promises)
        assert (np.abs(promised - expected) <= share * expected + errors)[clear].all()
        tried.add()


class TestCourse:
    @settings(report_multiple_bugs=False, max_examples=effort(80, 1800))
    @given(recipe=nasty.recipes())
    def test_objective_never_rises(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        try:
            model = fitted(case)
        except (ValueError, MemoryError):
            return
        course = np.array(model.history_["objective"]).reshape(model.n_iter_, -1)
        # sums over the rows, of features in the precision of the rows
        rounding = 1e-9 if model.dual_coef_.dtype == np.float64 else 1e-3
        unit = losses.get(model.loss).A * np.finfo(model.dual_coef_.dtype).eps
        assert (course[1:] <= course[:-1] * (1 + rounding) + unit).all()
        assert np.array_equal(course[-1], np.atleast_1d(model.objective_))
        tried.add()

    @settings(report_multiple_bugs=False, max_examples=effort(40, 600))
    @given(recipe=nasty.recipes(tame=True, max_iter=2000, tol=1e-8))
    def test_minimum_is_below_zero_function(self, tmp_path, tried, recipe):
        case = nasty.build(recipe, tmp_path)
        loss = losses.get(case.estimator.loss)
        if not loss.is_convex or (recipe["parameters"]["solver"], recipe["targets"]) == ("dca", "outlier"):
            # Algorithm 1 starts from least squares, which a huge target spoils
            return
        try:
            model = fitted(case)
        except (ValueError, MemoryError):
            return
        problem = Problem(case)
        problem.alpha, problem.intercept = 0 * problem.alpha, 0 * problem.intercept
        said, of_zero = np.atleast_1d(model.objective_), problem.objective()
        rounding = 1e-6 if problem.dtype == np.float64 else 1e-3
        converged = np.atleast_1d(model.stationarity_) <= model.tol
        assert (said <= of_zero * (1 + rounding))[converged].all()
        tried.add()

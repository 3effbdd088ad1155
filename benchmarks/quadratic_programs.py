"""Solvers for the quadratic programs of the baselines: processor seconds, and the distance from the optimum.

The programs are those of L2SVM (α ≥ 0) and of RampSVM (0 ≤ α ≤ C) on the xor problem. A second table has whole fits of
the robust comparators, by the Newton method and by the interior-point code. Run:
python benchmarks/quadratic_programs.py [--rows N ...] [--fits N ...]. Solvers that cannot be imported are named
and left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from unisvm import datasets
from unisvm.baselines import MultiStageSVM, RampSVM, ReweightedL2SVM
from unisvm.baselines.interior_point import solve_by_interior_point
from unisvm.baselines.quadratic import BoxProgram

LAMBDA, GAMMA = 1e-5, 0.5


def newton(Q, c, lower, upper):
    # the part of the diagonal that an L2SVM adds is known to it
    ridge = Q.diagonal() - 1
    plain = Q.copy()
    plain[np.diag_indices_from(plain)] -= ridge
    return BoxProgram(plain).solve(c, lower, upper, ridge)


def piqp(Q, c, lower, upper):
    import piqp

    solver = piqp.DenseSolver()
    solver.setup(Q, -c, x_l=lower, x_u=upper)
    solver.solve()
    return solver.result.x


def proxqp(Q, c, lower, upper):
    from proxsuite import proxqp

    n = len(c)
    solver = proxqp.dense.QP(n, 0, 0, True)
    solver.settings.eps_abs = 1e-8
    solver.init(Q, -c, None, None, None, None, None, lower, upper)
    solver.solve()
    return solver.results.x


def clarabel(Q, c, lower, upper):
    import clarabel

    finite = np.isfinite(upper)
    eye = sparse.eye(len(c), format="csc")
    A = sparse.vstack([-eye, eye[finite]], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    bounds = np.concatenate([-lower, upper[finite]])
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    return np.asarray(clarabel.DefaultSolver(sparse.csc_matrix(np.triu(Q)), -c, A, bounds, cones, settings).solve().x)


def osqp(Q, c, lower, upper):
    import osqp

    solver = osqp.OSQP()
    eye = sparse.eye(len(c), format="csc")
    solver.setup(
        sparse.csc_matrix(np.triu(Q)), -c, eye, lower, upper, verbose=False, eps_abs=1e-6, eps_rel=1e-6, max_iter=20000
    )
    return solver.solve().x


def quadprog(Q, c, lower, upper):
    import quadprog

    finite = np.isfinite(upper)
    eye = np.eye(len(c))
    G = np.hstack([eye, -eye[:, finite]])
    ridge = 1e-10 * np.trace(Q) / len(c)
    return quadprog.solve_qp(Q + ridge * eye, c, G, np.concatenate([lower, -upper[finite]]))[0]


SOLVERS: dict[str, Callable] = {
    "Newton": newton,
    "piqp, polished": solve_by_interior_point,
    "piqp": piqp,
    "proxqp": proxqp,
    "clarabel": clarabel,
    "osqp": osqp,
    "quadprog": quadprog,
}


def data(m: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows, labels of which a tenth is wrong, and C."""
    X, y = datasets.make_xor(m, random_state=0)
    return X, datasets.flip_labels(y, 0.1, random_state=0)[0].astype(float), 1 / (2 * LAMBDA * m)


def programs(m: int) -> dict[str, tuple[np.ndarray, ...]]:
    X, y, C = data(m)
    Q = np.outer(y, y) * rbf_kernel(X, X, gamma=GAMMA)
    ones, zeros = np.ones(m), np.zeros(m)
    return {
        "L2SVM": (Q + np.eye(m) / (2 * C), ones, zeros, np.full(m, np.inf)),
        "RampSVM": (Q, ones, zeros, np.full(m, C)),
    }


def error(alpha, Q, c, lower, upper) -> float:
    """Largest change that a projected gradient step of length one makes: 0 at the solution."""
    return float(np.abs(np.clip(alpha - (Q @ alpha - c), lower, upper) - alpha).max())


def compare_solvers(m: int, solvers: list[str]) -> None:
    for name, program in programs(m).items():
        for solver in solvers:
            started = process_time()
            try:
                alpha = SOLVERS[solver](*program)
            except ImportError as missing:
                print(f"{name:<18}{m:>6}  {solver:<16}  {missing}")
                continue
            seconds = process_time() - started
            print(f"{name:<18}{m:>6}  {solver:<16}{seconds:>9.2f}{error(alpha, *program):>10.1e}", flush=True)


def by_interior_point(program: BoxProgram, c, lower, upper, ridge=None) -> np.ndarray:
    """In place of `BoxProgram.solve`."""
    return solve_by_interior_point(program.Q if ridge is None else program.Q + np.diag(ridge), c, lower, upper)


def compare_fits(m: int) -> None:
    X, y, C = data(m)
    for cls in (RampSVM, MultiStageSVM, ReweightedL2SVM):
        decisions = []
        for name, solve in (("Newton", BoxProgram.solve), ("piqp, polished", by_interior_point)):
            with patch.object(BoxProgram, "solve", solve):
                started = process_time()
                model = cls(C=C, gamma=GAMMA).fit(X, y)
                seconds = process_time() - started
            decisions.append(model.decision_function(X))
            apart = np.abs(decisions[-1] - decisions[0]).max()
            print(f"{cls.__name__:<18}{m:>6}  {name:<16}{seconds:>9.2f}{apart:>10.1e}  {model.n_iter_}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 1000, 2000])
    parser.add_argument("--fits", type=int, nargs="*", default=[400, 1000, 2000], help="rows of the second table")
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    chosen = parser.parse_args()
    # with one thread, processor seconds hardly depend on other work
    with threadpool_limits(1):
        print(f"{'program':<18}{'rows':>6}  {'solver':<16}{'seconds':>9}{'error':>10}")
        for m in chosen.rows:
            compare_solvers(m, chosen.solvers)
        print(f"{'fit':<18}{'rows':>6}  {'solver':<16}{'seconds':>9}{'apart':>10}  programs")
        for m in chosen.fits:
            compare_fits(m)


if __name__ == "__main__":
    main()

"""Solvers for the quadratic programs of the baselines: seconds, and the distance of the answer from the optimum.

The programs are those of L2SVM (α ≥ 0) and of RampSVM (0 ≤ α ≤ C) on the xor problem. Run:
python benchmarks/quadratic_programs.py [--rows N ...]. Solvers that cannot be imported are named and left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from unisvm import datasets
from unisvm.baselines.quadratic import BoxProgram


def ours(Q, c, lower, upper):
    return BoxProgram(Q, c).solve(lower, upper)


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
    "piqp, polished": ours,
    "piqp": piqp,
    "proxqp": proxqp,
    "clarabel": clarabel,
    "osqp": osqp,
    "quadprog": quadprog,
}


def programs(m: int) -> dict[str, tuple[np.ndarray, ...]]:
    X, y = datasets.make_xor(m, random_state=0)
    y = datasets.flip_labels(y, 0.1, random_state=0)[0].astype(float)
    C = 1 / (2 * 1e-5 * m)
    Q = np.outer(y, y) * rbf_kernel(X, X, gamma=0.5)
    ones, zeros = np.ones(m), np.zeros(m)
    return {
        "L2SVM": (Q + np.eye(m) / (2 * C), ones, zeros, np.full(m, np.inf)),
        "RampSVM": (Q, ones, zeros, np.full(m, C)),
    }


def error(alpha, Q, c, lower, upper) -> float:
    """Largest change that a projected gradient step of length one makes: 0 at the solution."""
    return float(np.abs(np.clip(alpha - (Q @ alpha - c), lower, upper) - alpha).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 1000, 2000])
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    chosen = parser.parse_args()
    print(f"{'program':<10}{'rows':>6}  {'solver':<16}{'seconds':>9}{'error':>10}")
    for m in chosen.rows:
        for name, program in programs(m).items():
            for solver in chosen.solvers:
                started = perf_counter()
                try:
                    alpha = SOLVERS[solver](*program)
                except ImportError as missing:
                    print(f"{name:<10}{m:>6}  {solver:<16}  {missing}")
                    continue
                seconds = perf_counter() - started
                print(f"{name:<10}{m:>6}  {solver:<16}{seconds:>9.2f}{error(alpha, *program):>10.1e}", flush=True)


if __name__ == "__main__":
    main()

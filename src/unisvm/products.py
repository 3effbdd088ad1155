"""Products that BLAS may share out among threads, all of them by SciPy's BLAS.

The wheels of NumPy and SciPy each carry an OpenBLAS, whose idle threads spin on for some 20 ms and take the processors
from the other's. Factorisations and solves are SciPy's, so the products between them are as well. Where BLAS has one
thread, others may be at work beside it: NumPy's products release the interpreter's lock, and SciPy's do not.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import get_blas_funcs

from unisvm.rows.threads import has_one_thread


def multiply(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B for two matrices of one precision; A is contiguous in either order."""
    if has_one_thread() or A.size == 0:
        # threads over blocks wait longer for the interpreter's lock after matmul than after dot
        return np.dot(A, B)
    gemm, gemv = get_blas_funcs(("gemm", "gemv"), (A, B))
    # the transpose of a matrix in the order of C is one in the order of Fortran, which needs no copy
    a, transposed = (A.T, 1) if A.flags.c_contiguous else (A, 0)
    if B.shape[1] == 1:
        return gemv(1.0, a, B[:, 0], trans=transposed)[:, None]
    return gemm(1.0, a, B, trans_a=transposed)

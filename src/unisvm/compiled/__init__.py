"""Sweeps in compiled code. Where it could not be built, `unisvm.objective` does the same with NumPy, more slowly.

The environment variable ``UNISVM_COMPILED=0`` turns it off.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from unisvm.losses.base import Loss

try:
    from unisvm.compiled import _sweeps  # type: ignore[attr-defined]
except ImportError:
    _sweeps = None
if os.environ.get("UNISVM_COMPILED") == "0":
    _sweeps = None

#: forms of losses, in the order in which the compiled code numbers them
_FORMS = ("parabolas", "softplus", "saturating", "logarithm", "biweight")
# shorter rows fill no vector
_LEAST_WIDTH = 8


def is_available() -> bool:
    """Whether sweeps are compiled here.

    Examples
    --------
    >>> from unisvm import compiled
    >>> compiled.is_available() in (True, False)
    True
    """
    return _sweeps is not None


def computes(loss: Loss) -> bool:
    """Whether sweeps with this loss are compiled here."""
    return is_available() and loss.form is not None


class Known(NamedTuple):
    """A loss as the compiled code knows it."""

    form: int
    parameters: np.ndarray


def known(loss: Loss) -> Known | None:
    """The loss for `sweep` and `pulls`; None if it has no form that the compiled code computes."""
    if loss.form is None:
        return None
    return Known(_FORMS.index(loss.form.name), np.array(loss.form.parameters, dtype=np.float64))


def sweep(
    loss: Known | None,
    features: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    dual: np.ndarray,
    intercept: np.floating,
    margins: bool,
) -> tuple[np.ndarray, float, float] | None:
    """What rows add to the gradient of one column, to that of its intercept, and to its risk; None if NumPy must tell.

    Parameters
    ----------
    loss : Known or None
    features : ndarray of shape (n_rows, n_features)
    y, weights : ndarray of shape (n_rows,)
        Every row counts once if the weights are None.
    dual : ndarray of shape (n_features,)
    intercept : float
    margins : bool
        Whether the residual is 1 − y f or y − f.
    """
    if loss is None or features.shape[1] < _LEAST_WIDTH or not _can_read(features, y, weights, dual):
        return None
    gradient = np.empty(features.shape[1])
    pull, risk = _sweeps.sweep(features, y, weights, dual, float(intercept), *loss, margins, gradient)
    return gradient, pull, risk


def pulls(
    loss: Known | None,
    f: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    intercept: np.ndarray,
    margins: bool,
    sums: np.ndarray,
    risks: np.ndarray,
) -> bool:
    """Write what the rows of several columns pull over their values f, and their sums; False if nothing was done.

    Parameters
    ----------
    loss : Known or None
    f : ndarray of shape (n_rows, n_columns)
        By columns; without the intercepts.
    y, weights : ndarray of shape (n_rows, n_columns) or (n_rows, 1)
        By columns.
    intercept : ndarray of shape (n_columns,)
    margins : bool
        Whether the residual is 1 − y f or y − f.
    sums, risks : ndarray of shape (n_columns,)
        What the rows of each column pull at its intercept, and what they cost.
    """
    by_columns = f.T, y.T, None if weights is None else weights.T
    if loss is None or not _can_read(*by_columns, intercept):
        return False
    _sweeps.pulls(*by_columns, intercept, *loss, margins, sums, risks)
    return True


def decay(exponents: np.ndarray) -> bool:
    """Write e to the power of min(x, 0) over every x; False if nothing was done."""
    if not _can_read(exponents):
        return False
    _sweeps.decay(exponents)
    return True


def _can_read(first: np.ndarray, *others: np.ndarray | None) -> bool:
    """Whether there is compiled code here, for arrays of this precision that lie in memory as it needs them."""
    if _sweeps is None or first.dtype not in (np.float32, np.float64) or not first.flags.c_contiguous:
        return False
    return all(array is None or (array.dtype == first.dtype and array.flags.c_contiguous) for array in others)

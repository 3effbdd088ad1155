"""The warning of a fit that may not be what its user thinks."""

from __future__ import annotations


class FitWarning(UserWarning):
    """A fit may not be what its user thinks; the message says why, and what to do.

    Fits that did not converge are told of by scikit-learn's `ConvergenceWarning`.

    Examples
    --------
    >>> import warnings
    >>> from unisvm import FitWarning
    >>> warnings.simplefilter("ignore", FitWarning)
    """

"""The warning of a fit that may not be what its user thinks, and warnings about the line that called the library."""

from __future__ import annotations

import inspect
import warnings


class FitWarning(UserWarning):
    """A fit may not be what its user thinks; the message says why, and what to do.

    Fits that did not converge are told of by scikit-learn's `ConvergenceWarning`.

    Examples
    --------
    >>> import warnings
    >>> from unisvm import FitWarning
    >>> warnings.simplefilter("ignore", FitWarning)
    """


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn about the line outside of this package that the call came from."""
    level, frame = 1, inspect.currentframe()
    while (
        frame is not None
        and frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == "unisvm"
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

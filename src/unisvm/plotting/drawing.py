"""Helpers of all displays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unisvm.model_selection.base import BaseSearch


def require_matplotlib():
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError("Displays draw with matplotlib. Install it with: pip install 'unisvm[plot]'") from error
    return matplotlib.pyplot


def axes_or_new(ax: Any) -> Any:
    """The axes that were given, or those of a new figure."""
    pyplot = require_matplotlib()
    return pyplot.subplots()[1] if ax is None else ax


def plain_model(estimator: Any) -> Any:
    """A fitted estimator itself, or the best one of a search."""
    check_is_fitted(estimator)
    if not isinstance(estimator, BaseSearch):
        return estimator
    if not hasattr(estimator, "best_estimator_"):
        raise ValueError(
            f"The last fit of this {type(estimator).__name__} was with refit=False: there is no fit to draw. Fit it "
            "with refit=True."
        )
    return estimator.best_estimator_


def positive_or_nan(values: np.ndarray) -> np.ndarray:
    """The values, with NaN for those that a logarithmic axis cannot show."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)

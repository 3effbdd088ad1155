"""Probabilities from decision values of rows that were left out of the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

_MOST_STEPS = 100


class Sigmoid:
    """Platt's scaling: the probability is 1/(1 + exp(a f + b)).

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.model_selection.calibration import Sigmoid
    >>> decision = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    >>> positive = np.array([False, False, False, True, True, True])
    >>> Sigmoid().fit(decision, positive).predict(np.array([-3.0, 0.0, 3.0])).round(2)
    array([0.13, 0.5 , 0.87])
    """

    def fit(self, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray | None = None) -> Sigmoid:
        """Fit a and b to decisions and whether each row is positive."""
        f = np.asarray(decision, dtype=np.float64)
        weights = np.ones(len(f)) if weights is None else np.asarray(weights, dtype=np.float64)
        n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
        # Platt's targets, which keep the probabilities of a separable set away from 0 and 1
        target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
        # Newton's method on a and b is quick when the decisions are of size one
        unit = max(float(np.abs(f).max(initial=0.0)), np.finfo(float).tiny)
        design = np.stack([-f / unit, -np.ones_like(f)], axis=1)
        ab = np.array([0.0, np.log((n_negative + 1) / (n_positive + 1))])
        value = _cross_entropy(design @ ab, target, weights)
        for _ in range(_MOST_STEPS):
            p = expit(design @ ab)
            gradient = design.T @ (weights * (p - target))
            hessian = (design * (weights * p * (1 - p))[:, None]).T @ design
            hessian[np.diag_indices(2)] += 1e-12 * weights.sum()
            step = np.linalg.solve(hessian, gradient)
            length = 1.0
            while (trial := _cross_entropy(design @ (ab - length * step), target, weights)) > value and length > 1e-10:
                length /= 2
            if not trial < value:
                break
            small = value - trial <= 1e-14 * abs(value)
            ab, value = ab - length * step, trial
            if small:
                break
        self.a_, self.b_ = ab[0] / unit, ab[1]
        return self

    def state(self) -> dict[str, Any]:
        """The curve, as numbers and arrays."""
        return {"a": float(self.a_), "b": float(self.b_)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Sigmoid:
        """Inverse of `state`."""
        curve = cls()
        curve.a_, curve.b_ = np.float64(state["a"]), np.float64(state["b"])
        return curve

    def predict(self, decision: np.ndarray) -> np.ndarray:
        """The probabilities of being positive."""
        return expit(-(self.a_ * np.asarray(decision, dtype=np.float64) + self.b_))


class Isotonic:
    """The best rising function of the decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.model_selection.calibration import Isotonic
    >>> decision = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    >>> positive = np.array([False, False, False, True, True, True])
    >>> Isotonic().fit(decision, positive).predict(np.array([-3.0, 0.0, 3.0]))
    array([0. , 0.5, 1. ])
    """

    def fit(self, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray | None = None) -> Isotonic:
        """Fit to decisions and whether each row is positive."""
        self._curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        self._curve.fit(np.asarray(decision, dtype=np.float64), np.asarray(positive, dtype=np.float64), weights)
        return self

    def state(self) -> dict[str, Any]:
        """The curve, as numbers and arrays."""
        decision, probability = self.thresholds
        return {"decision": decision, "probability": probability}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Isotonic:
        """Inverse of `state`: the curve through its own corners."""
        curve = cls()
        return curve.fit(state["decision"], state["probability"])

    @property
    def thresholds(self) -> tuple[np.ndarray, np.ndarray]:
        """Decisions in rising order, and the probabilities at them: between two of them the curve is a line."""
        return self._curve.X_thresholds_, self._curve.y_thresholds_

    def predict(self, decision: np.ndarray) -> np.ndarray:
        """The probabilities of being positive."""
        return self._curve.predict(np.asarray(decision, dtype=np.float64))


METHODS: dict[str, type[Sigmoid] | type[Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


class Calibration:
    """A curve for each column of decisions.

    Parameters
    ----------
    method : {"sigmoid", "isotonic"}
    decision : ndarray of shape (n_samples, n_columns)
        Decisions on rows that were left out; rows with NaN are passed over.
    positive : ndarray of bool of shape (n_samples, n_columns)
    weights : ndarray of shape (n_samples,)
    """

    def __init__(self, method: str, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray):
        known = np.isfinite(decision).all(axis=1) & (weights > 0)
        self.curves: list[Sigmoid | Isotonic] = [
            METHODS[method]().fit(decision[known, j], positive[known, j], weights[known])
            for j in range(decision.shape[1])
        ]

    @classmethod
    def from_curves(cls, curves: Sequence[Sigmoid | Isotonic]) -> Calibration:
        """The calibration with these curves, one for each column."""
        calibration = cls.__new__(cls)
        calibration.curves = list(curves)
        return calibration

    def probabilities(self, decision: np.ndarray, *, exclusive: bool) -> np.ndarray:
        """Of each class if exactly one is right, two of them for one column; else of each label."""
        p = np.stack([curve.predict(column) for curve, column in zip(self.curves, decision.T, strict=True)], axis=1)
        if not exclusive:
            return p
        if p.shape[1] == 1:
            return np.concatenate([1 - p, p], axis=1)
        total = p.sum(axis=1, keepdims=True)
        # no class at all is likely: they are all equally so
        return np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)


def _cross_entropy(z: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    """Of probabilities expit(z)."""
    return float(weights @ (np.logaddexp(0, z) - target * z))

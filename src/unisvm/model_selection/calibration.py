"""Probabilities from decision values of rows that were left out of the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax
from sklearn.isotonic import IsotonicRegression

_MOST_STEPS = 100
# of the decisions' largest spread: probabilities are then equal within 1e-6, as for decisions that tell nothing
_MOST_TEMPERATURE = 1e6


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


CURVES: dict[str, type[Sigmoid] | type[Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}
METHODS = (*CURVES, "temperature")


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
        known = _are_known(decision, weights)
        self.curves: list[Sigmoid | Isotonic] = [
            CURVES[method]().fit(decision[known, j], positive[known, j], weights[known])
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


class Temperature:
    """One temperature T > 0 for all columns: the probabilities are softmax(f / T), or 1/(1 + exp(−f / T)) of a label.

    T minimises the log loss of rows that were left out. One more row, spread evenly over all rows and classes, keeps
    the probabilities of a separable set away from 0 and 1.

    Attributes
    ----------
    temperature_ : float
        T.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.model_selection.calibration import Temperature
    >>> decision = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])[:, None]
    >>> positive = np.array([False, False, False, True, True, True])[:, None]
    >>> curve = Temperature().fit(decision, positive, np.ones(6), exclusive=True)
    >>> curve.probabilities(np.array([[-3.0], [0.0], [3.0]]), exclusive=True)[:, 1].round(2)
    array([0.04, 0.5 , 0.96])
    """

    def fit(self, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray, *, exclusive: bool) -> Temperature:
        """Fit T.

        Parameters
        ----------
        decision : ndarray of shape (n_samples, n_columns)
            Decisions on rows that were left out; rows with NaN are passed over.
        positive : ndarray of bool of shape (n_samples, n_columns)
        weights : ndarray of shape (n_samples,)
        exclusive : bool
            Whether exactly one class is right, of two for one column; labels are independent of each other otherwise.
        """
        known = _are_known(decision, weights)
        f, positive, weights = decision[known].astype(np.float64), positive[known], weights[known].astype(np.float64)
        if not exclusive or f.shape[1] == 1:
            # each label is two classes with the decisions 0 and f
            weights = np.repeat(weights, f.shape[1])
            f, positive = (
                np.stack([below.ravel(), of.ravel()], axis=1) for below, of in ((0 * f, f), (~positive, positive))
            )
        below = f - f.max(axis=1, keepdims=True)
        spread = -float(below.min(initial=0.0))
        unit = spread if spread > 0 else 1.0
        below /= unit
        total = weights.sum()
        target = (total * positive + 1 / f.shape[1]) / (total + 1)

        def slope(log_inverse: float) -> float:
            """Derivative of the log loss in 1/T, which rises with it."""
            p = softmax(np.exp(log_inverse) * below, axis=1)
            return float(weights @ ((p - target) * below).sum(axis=1))

        low = high = -np.log(_MOST_TEMPERATURE)
        while slope(high) < 0:
            high += 4.0
        log_inverse = brentq(slope, high - 4.0, high, xtol=1e-12) if high > low else low
        self.temperature_ = unit * float(np.exp(-log_inverse))
        return self

    def state(self) -> dict[str, Any]:
        """The temperature."""
        return {"temperature": float(self.temperature_)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Temperature:
        """Inverse of `state`."""
        curve = cls()
        curve.temperature_ = float(state["temperature"])
        return curve

    def probabilities(self, decision: np.ndarray, *, exclusive: bool) -> np.ndarray:
        """Of each class if exactly one is right, two of them for one column; else of each label."""
        f = np.asarray(decision, dtype=np.float64)
        with np.errstate(over="ignore"):
            if exclusive and f.shape[1] > 1:
                return softmax((f - f.max(axis=1, keepdims=True)) / self.temperature_, axis=1)
            z = f / self.temperature_
        return np.concatenate([expit(-z), expit(z)], axis=1) if exclusive else expit(z)


def calibrate(
    method: str, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray, *, exclusive: bool
) -> Calibration | Temperature:
    """The calibration of this method, for rows as `Temperature.fit` takes them."""
    if method == "temperature":
        return Temperature().fit(decision, positive, weights, exclusive=exclusive)
    return Calibration(method, decision, positive, weights)


def _are_known(decision: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Whether each row has decisions and a positive weight."""
    return np.isfinite(decision).all(axis=1) & (weights > 0)


def _cross_entropy(z: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    """Of probabilities expit(z)."""
    return float(weights @ (np.logaddexp(0, z) - target * z))

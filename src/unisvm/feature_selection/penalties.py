"""Saturating penalties φ of a single weight: up to 1 for a weight that is in use, however large it is.

They are of least-squares DC type as the losses are: t²/b − φ(t) is convex, so that A_φ = 1/b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Penalty(ABC):
    """φ(t) of weights t.

    Attributes
    ----------
    width : float or ndarray of shape (n_columns,)
        b: φ saturates where t² is well above it. An array has one for each column of weights.
    """

    width: Any

    def take(self, columns: np.ndarray) -> Penalty:
        """The penalties of some columns of weights."""
        return type(self)(self.width[columns])

    @property
    def A(self) -> Any:
        """The smallest constant for which A t² − φ(t) is convex."""
        return 1 / self.width

    @property
    @abstractmethod
    def cutoff(self) -> Any:
        """Size of a weight where the slope of φ is largest; beyond it, φ lets go of the weight."""

    @property
    def steepest(self) -> Any:
        """The largest slope of φ."""
        return self.derivative(np.nextafter(self.cutoff, 0))

    @abstractmethod
    def value(self, t: np.ndarray) -> np.ndarray:
        """φ(t), elementwise."""

    @abstractmethod
    def derivative(self, t: np.ndarray) -> np.ndarray:
        """φ'(t), elementwise."""


class Exponential(Penalty):
    """φ(t) = 1 − exp(−t²/b)."""

    @property
    def cutoff(self) -> Any:
        """√(b/2), where φ turns from convex to concave."""
        return np.sqrt(self.width / 2)

    def value(self, t: np.ndarray) -> np.ndarray:
        """φ(t), elementwise."""
        return np.asarray(-np.expm1(-t * t / self.width))

    def derivative(self, t: np.ndarray) -> np.ndarray:
        """φ'(t), elementwise."""
        return np.asarray(2 * t / self.width * np.exp(-t * t / self.width))


class Truncated(Penalty):
    """φ(t) = min(t²/b, 1)."""

    @property
    def cutoff(self) -> Any:
        """√b, where φ is cut off."""
        return np.sqrt(self.width)

    def value(self, t: np.ndarray) -> np.ndarray:
        """φ(t), elementwise."""
        return np.minimum(t * t / self.width, 1)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        """φ'(t), elementwise; 0 at the kink."""
        return np.where(t * t < self.width, 2 * t / self.width, 0)


#: penalties by their names
PENALTIES: dict[str, type[Penalty]] = {"exponential": Exponential, "truncated": Truncated}

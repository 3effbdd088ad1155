"""Saturating penalties φ of a single weight: up to 1 for a weight that is in use, however large it is.

They are of least-squares DC type as the losses are: t²/b − φ(t) is convex, so that A_φ = 1/b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from unisvm._checks import one_of


@dataclass(frozen=True)
class Penalty(ABC):
    """φ(t) of weights t.

    Attributes
    ----------
    width : float
        b: φ saturates where t² is well above it.
    """

    width: float

    @property
    def A(self) -> float:
        """The smallest constant for which A t² − φ(t) is convex."""
        return 1 / self.width

    @property
    @abstractmethod
    def cutoff(self) -> float:
        """Size of a weight where the slope of φ is largest; beyond it, φ lets go of the weight."""

    @property
    def steepest(self) -> float:
        """The largest slope of φ."""
        return float(self.derivative(np.nextafter(np.array([self.cutoff]), 0))[0])

    @abstractmethod
    def value(self, t: np.ndarray) -> np.ndarray:
        """φ(t), elementwise."""

    @abstractmethod
    def derivative(self, t: np.ndarray) -> np.ndarray:
        """φ'(t), elementwise."""


class Exponential(Penalty):
    """φ(t) = 1 − exp(−t²/b)."""

    @property
    def cutoff(self) -> float:
        """√(b/2), where φ turns from convex to concave."""
        return float(np.sqrt(self.width / 2))

    def value(self, t: np.ndarray) -> np.ndarray:
        """φ(t), elementwise."""
        return np.asarray(-np.expm1(-t * t / self.width))

    def derivative(self, t: np.ndarray) -> np.ndarray:
        """φ'(t), elementwise."""
        return np.asarray(2 * t / self.width * np.exp(-t * t / self.width))


class Truncated(Penalty):
    """φ(t) = min(t²/b, 1)."""

    @property
    def cutoff(self) -> float:
        """√b, where φ is cut off."""
        return float(np.sqrt(self.width))

    def value(self, t: np.ndarray) -> np.ndarray:
        """φ(t), elementwise."""
        return np.minimum(t * t / self.width, 1)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        """φ'(t), elementwise; 0 at the kink."""
        return np.where(t * t < self.width, 2 * t / self.width, 0)


#: penalties by their names
PENALTIES: dict[str, type[Penalty]] = {"exponential": Exponential, "truncated": Truncated}


def get(name: str, width: float) -> Penalty:
    """The penalty of that name and width."""
    return PENALTIES[one_of("penalty", name, PENALTIES)](width)

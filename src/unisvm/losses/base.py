"""The base class of the losses: a pointwise function of the residual, and its least-squares DC constant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from unisvm._checks import check_number
from unisvm.compiled import keep_subnormals

CLASSIFICATION = "classification"
REGRESSION = "regression"
TASKS = (CLASSIFICATION, REGRESSION)
# where a loss is looked at for its symmetry
_SIZES = np.geomspace(1e-2, 1e3, 51)


class Form(NamedTuple):
    """A loss as one of the forms that compiled code computes, with its parameters in the order that the form has."""

    name: str
    parameters: tuple[float, ...]


class Loss(BaseEstimator, ABC):
    """Base class of the losses ψ(u) for which A u² − ψ(u) is convex.

    The residual is u = 1 − y f(x) for classification and u = y − f(x) for regression.
    A loss knows nothing of kernels, labels or weights.

    Subclasses state `name`, `tasks` and `ranges` and supply `_value`, `_derivative` and `A`; the two
    functions are given a floating array, and overflow inside them is not reported.

    Attributes
    ----------
    A : float
        The smallest constant for which A u² − ψ(u) is convex.
    bound : float
        The supremum of ψ, infinite when the loss grows without limit.
    is_convex : bool
    is_quadratic : bool
        Whether ψ(u) = A u², which needs no iteration.
    has_jumps : bool
        Whether ψ' jumps, as it does where a loss is cut off.
    is_symmetric : bool
        Whether ψ(−u) = ψ(u), so that a regression aims at the middle of its targets.
    seeds_nonconvex : bool
        Whether its solutions are good starts for nonconvex losses of labels.
    tasks : frozenset of {"classification", "regression"}
    form : Form or None
        What compiled code knows the loss by; without it, it is computed by NumPy alone.
    """

    name: ClassVar[str]
    is_quadratic: ClassVar[bool] = False
    seeds_nonconvex: ClassVar[bool] = False
    #: range of each parameter, as (lowest, highest, whether the lowest itself is allowed)
    ranges: ClassVar[dict[str, tuple[float, float, bool]]] = {}

    @property
    @abstractmethod
    def tasks(self) -> frozenset[str]: ...

    @property
    @abstractmethod
    def A(self) -> float: ...

    @property
    def is_convex(self) -> bool:
        return False

    @property
    def has_jumps(self) -> bool:
        return False

    @property
    def bound(self) -> float:
        return np.inf

    @property
    def is_symmetric(self) -> bool:
        return np.allclose(self.value(_SIZES), self.value(-_SIZES))

    @property
    def form(self) -> Form | None:
        return None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # a loss that computes otherwise than its parent does not have its form
        if "form" not in vars(cls) and {"_value", "_derivative", "_value_and_derivative"} & vars(cls).keys():
            cls.form = Loss.form  # type: ignore[method-assign]

    @abstractmethod
    def _value(self, u: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _derivative(self, u: np.ndarray) -> np.ndarray: ...

    def _value_and_derivative(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both, of an array; here they may share work, and write over what is theirs."""
        return self._value(u), self._derivative(u)

    def value(self, u: Any) -> np.ndarray:
        """ψ(u), elementwise, in the precision of u."""
        with np.errstate(over="ignore", under="ignore"), self._subnormals():
            return self._value(_as_floating(u))

    def derivative(self, u: Any) -> np.ndarray:
        """ψ'(u), elementwise, in the precision of u; 0 where a truncated loss has its kink."""
        with np.errstate(over="ignore", under="ignore"), self._subnormals():
            return self._derivative(_as_floating(u))

    def value_and_derivative(self, u: Any) -> tuple[np.ndarray, np.ndarray]:
        """ψ(u) and ψ'(u) in one go."""
        u = _as_floating(u)
        with np.errstate(over="ignore", under="ignore"), self._subnormals():
            # writing in place needs an array
            return self._value_and_derivative(u) if u.ndim else (self._value(u), self._derivative(u))

    def _subnormals(self) -> AbstractContextManager[None]:
        """A loss without a form is the user's own, whose functions keep subnormal numbers."""
        return keep_subnormals() if type(self).form is Loss.form else nullcontext()

    def validate(self) -> Loss:
        """Raise when a parameter is out of range; return the loss itself.

        Returns
        -------
        loss : Loss
        """
        for parameter, (low, high, closed) in self.ranges.items():
            check_number(f"{type(self).__name__}: {parameter}", getattr(self, parameter), low, high, closed=closed)
        return self


def parabolas(*pieces: tuple[float, float, float, float]) -> Form:
    """The form of parabolas one after the other: where each begins, and its constant, linear and square terms."""
    return Form("parabolas", (*(piece[0] for piece in pieces[1:]), *(c for piece in pieces for c in piece[1:])))


def _as_floating(u: Any) -> np.ndarray:
    u = np.asarray(u)
    return u if u.dtype.kind == "f" else u.astype(np.float64)


# residuals are in units of 1, and beyond these bounds losses overflow or vanish
_LEAST, _MOST = 1e-15, 1e15
POSITIVE = (_LEAST, _MOST, True)
NON_NEGATIVE = (0.0, _MOST, True)
FRACTION = (0.0, 1.0, False)
AT_LEAST_TWO = (2.0, 100.0, True)
BOTH = frozenset(TASKS)
ONLY_CLASSIFICATION = frozenset({CLASSIFICATION})
ONLY_REGRESSION = frozenset({REGRESSION})

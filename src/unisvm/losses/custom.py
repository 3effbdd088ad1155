"""A user's own loss, checked before it is used."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unisvm.losses.base import POSITIVE, TASKS, Loss

Function = Callable[[np.ndarray], np.ndarray]

# where a user's ψ is looked at: densely near 0, where losses bend, and far out, where they saturate
_NEAR = np.linspace(-20, 20, 200_001)
_FAR = np.geomspace(20, 1e6, 400)[1:]
_GRID = np.concatenate([-_FAR[::-1], _NEAR, _FAR])
_IS_NEAR = np.abs(_GRID) <= 20
# beyond this residual, what is not finite has most likely overflowed
_LARGE = 10.0
_OVERFLOW = (
    " Residuals are looked at up to 10⁶: write it so that nothing overflows, such as log(cosh(u)) as "
    "np.logaddexp(u, -u) - np.log(2), log(1 + exp(u)) as np.logaddexp(0, u), and 1/(1 + exp(-u)) as "
    "scipy.special.expit(u)."
)


class CustomLoss(Loss):
    """A loss given by two functions. Build it with `unisvm.losses.custom`, which checks them.

    Parameters
    ----------
    value_function, derivative_function : callable
        ψ and ψ', each taking and returning an array.
    curvature : float
        The constant A.
    task : {"classification", "regression", "both"}
    upper_bound : float, default=inf
        The supremum of ψ.
    convex : bool, default=False
    jumps : bool, default=False
        Whether ψ' has jumps.

    Examples
    --------
    >>> from unisvm.losses import CustomLoss
    >>> half_square = CustomLoss(lambda u: u**2 / 2, lambda u: u, curvature=0.5, task="both", convex=True)
    >>> half_square.value(2.0)
    array(2.)
    """

    name = "custom"
    ranges = {"curvature": POSITIVE}

    def __init__(
        self,
        value_function: Function,
        derivative_function: Function,
        curvature: float,
        task: str,
        upper_bound: float = np.inf,
        convex: bool = False,
        jumps: bool = False,
    ):
        self.value_function = value_function
        self.derivative_function = derivative_function
        self.curvature = curvature
        self.task = task
        self.upper_bound = upper_bound
        self.convex = convex
        self.jumps = jumps
        self.validate()

    def validate(self):
        if self.task not in (*TASKS, "both"):
            raise ValueError(f"task must be 'classification', 'regression' or 'both', got {self.task!r}.")
        return super().validate()

    @property
    def A(self):
        return self.curvature

    @property
    def bound(self):
        return self.upper_bound

    @property
    def is_convex(self):
        return self.convex

    @property
    def has_jumps(self):
        return self.jumps

    @property
    def tasks(self):
        return frozenset(TASKS if self.task == "both" else [self.task])

    def _value(self, u):
        return np.asarray(self.value_function(u)).astype(u.dtype, copy=False)

    def _derivative(self, u):
        return np.asarray(self.derivative_function(u)).astype(u.dtype, copy=False)


def custom(value: Function, derivative: Function, A: float | None = None, *, task: str) -> CustomLoss:
    """Make a loss out of ψ and ψ'.

    Both are looked at on a grid that reaches from −10⁶ to 10⁶: ψ' must be the derivative of ψ, ψ must not be
    negative, and A u² − ψ(u) must be convex.

    Parameters
    ----------
    value, derivative : callable
        ψ and ψ', each mapping an array of residuals to an array of the same shape. The residual is 1 − y f(x)
        for classification and y − f(x) for regression. Use module-level functions if the model is to be pickled.
    A : float, optional
        A constant for which A u² − ψ(u) is convex; the smallest is best. Found numerically when not given.
    task : {"classification", "regression", "both"}
        What the loss is for.

    Returns
    -------
    loss : CustomLoss

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm import losses
    >>> geman_mcclure = losses.custom(
    ...     lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, task="regression"
    ... )
    >>> round(geman_mcclure.A, 3), geman_mcclure.is_convex, round(geman_mcclure.bound, 3)
    (1.0, False, 1.0)
    """
    if A is not None and not (np.isfinite(A) and A > 0):
        raise ValueError(f"A must be a positive number or None, got {A!r}.")
    values, slopes = _evaluated(value, "value", _GRID), _evaluated(derivative, "derivative", _GRID)
    if values.min() < 0:
        raise ValueError(f"A loss must not be negative, but value({_GRID[values.argmin()]:g}) = {values.min():g}.")
    _check_derivative(value, derivative, slopes)
    steepest, where = _steepest_rise(derivative, slopes)
    if A is None:
        A = steepest / 2
    elif steepest > 2 * A * (1 + 1e-6):
        raise ValueError(
            f"A u² − ψ(u) is not convex for A = {A:g}: near u = {where:.6g} the derivative rises with slope "
            f"{steepest:g} > 2A. Use A ≥ {steepest / 2:g}, or leave A out to have it found."
        )
    far = 100
    flat = np.allclose(values[[0, -1]], values[[far, -far - 1]], rtol=1e-3, atol=0)
    rises, range_near = np.diff(slopes), np.abs(slopes[_IS_NEAR]).max()
    return CustomLoss(
        value,
        derivative,
        curvature=float(A),
        task=task,
        upper_bound=float(values.max()) if flat else np.inf,
        convex=bool(rises.min() >= -1e-9 * range_near),
        # a hundredth of the range between two neighbours of a grid this dense
        jumps=bool(rises[_IS_NEAR[1:] & _IS_NEAR[:-1]].min() < -0.01 * range_near),
    )


def _evaluated(function: Function, name: str, u: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(function(u.copy()), dtype=float)
        except Exception as error:
            raise _why_it_failed(function, name, u, error) from error
    if result.shape != u.shape:
        raise ValueError(f"{name} must return an array of its argument's shape; for {u.shape} it gave {result.shape}.")
    if not np.isfinite(result).all():
        wrong = np.flatnonzero(~np.isfinite(result))
        nearest = wrong[np.abs(u[wrong]).argmin()]
        advice = _OVERFLOW if abs(u[nearest]) > _LARGE else ""
        raise ValueError(f"{name} is not finite at u = {u[nearest]:g}, where it is {result[nearest]:g}.{advice}")
    return result


def _why_it_failed(function: Function, name: str, u: np.ndarray, error: Exception) -> ValueError:
    """Error that says at which point a function fails, or what to do if it fails for arrays alone."""
    for point in u[np.argsort(np.abs(u), kind="stable")]:
        try:
            float(function(point))
        except Exception as at_point:
            advice = _OVERFLOW if isinstance(at_point, OverflowError) else ""
            return ValueError(f"{name} fails at u = {point:g}: {type(at_point).__name__}: {at_point}.{advice}")
    return ValueError(
        f"{name} takes single numbers, such as u = {u[0]:g}, but no arrays of them, which it must take. Write it with "
        "NumPy's functions, np.exp for math.exp, and np.where(u < 0, ..., ...) for `if u < 0`; or pass the slower "
        f"np.vectorize({name}, otypes=[float]). NumPy's error: {error}"
    )


def _check_derivative(value: Function, derivative: Function, slopes: np.ndarray) -> None:
    h = 1e-5 * np.maximum(1, np.abs(_GRID))
    left, right = _GRID - h, _GRID + h
    difference = (_evaluated(value, "value", right) - _evaluated(value, "value", left)) / (right - left)
    # at a kink the difference lies between the slopes on both sides
    around = np.stack([_evaluated(derivative, "derivative", left), slopes, _evaluated(derivative, "derivative", right)])
    slack = 1e-4 * (1 + np.abs(difference))
    bad = (difference < around.min(0) - slack) | (difference > around.max(0) + slack)
    if bad.any():
        worst = np.flatnonzero(bad)[np.argmin(np.abs(_GRID[bad]))]
        raise ValueError(
            f"derivative is not the derivative of value: at u = {_GRID[worst]:.6g} the difference quotient is "
            f"{difference[worst]:.6g}, derivative gives {slopes[worst]:.6g}."
        )


def _steepest_rise(derivative: Function, slopes: np.ndarray) -> tuple[float, float]:
    """The supremum of the slope of ψ', and where it is; raises when there is none."""
    rise = np.diff(slopes) / np.diff(_GRID)
    if rise.max() <= 0:
        raise ValueError("The derivative never rises: a loss must bend upwards somewhere.")
    near = rise[_IS_NEAR[1:] & _IS_NEAR[:-1]].max()
    if max(rise[0], rise[-1]) > 1.5 * max(near, 0.0):
        raise ValueError(
            "Not a least-squares DC loss: its derivative rises ever more steeply for large |u|, so that A u² − ψ(u) is "
            "not convex for any A. A loss may grow no faster than u²."
        )
    best, where = -np.inf, 0.0
    # where many cells are equally steep, those nearest 0 come first
    order = np.lexsort((np.abs(_GRID[:-1]), -np.round(rise / np.abs(rise).max(), 6)))
    for cell in order[:5]:
        low, high = _GRID[max(cell - 1, 0)], _GRID[min(cell + 2, len(_GRID) - 1)]
        steepest = previous = rise[cell]
        while high - low > 1e-6 * max(1.0, abs(low)):
            u = np.linspace(low, high, 49)
            slope = np.diff(_evaluated(derivative, "derivative", u)) / (u[1] - u[0])
            top = int(slope.argmax())
            previous, steepest = steepest, slope[top]
            low, high = u[max(top - 1, 0)], u[min(top + 2, len(u) - 1)]
        if steepest > 1.05 * previous > 0:
            raise ValueError(
                f"Not a least-squares DC loss: its derivative jumps upwards near u = {low:.6g}, so that A u² − ψ(u) is "
                "not convex there for any A. Smooth the kink, for example max(u, 0) by log(1 + exp(p u))/p."
            )
        if steepest > best * (1 + 1e-6):
            best, where = steepest, low
    return best, where

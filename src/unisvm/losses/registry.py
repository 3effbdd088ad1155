"""Losses by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unisvm._checks import one_of
from unisvm.losses import piecewise, saturating, softplus, squared
from unisvm.losses.base import TASKS, Loss

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        squared.LeastSquares,
        squared.TruncatedLeastSquares,
        squared.SquaredHinge,
        squared.TruncatedSquaredHinge,
        softplus.SmoothHinge,
        piecewise.QuadraticRamp,
        softplus.SoftplusRamp,
        saturating.Feng,
        saturating.Saturating,
        softplus.Logistic,
        softplus.SmoothEpsilonInsensitive,
        piecewise.Huber,
        piecewise.TruncatedHuber,
        softplus.SmoothAbsolute,
        softplus.SmoothPinball,
        squared.Expectile,
        saturating.Welsch,
        saturating.Cauchy,
        piecewise.Tukey,
        saturating.LogSaturating,
    )
}

#: losses that are not least-squares DC themselves: their names stand for their smoothings
ALIASES = {
    "hinge": "smooth_hinge",
    "ramp": "quadratic_ramp",
    "epsilon_insensitive": "smooth_epsilon_insensitive",
    "absolute": "smooth_absolute",
    "pinball": "smooth_pinball",
    "quantile": "smooth_pinball",
}


def names(task: str | None = None) -> list[str]:
    """Names of the losses, without their aliases.

    Parameters
    ----------
    task : {"classification", "regression"}, optional
        Only those for this task.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from unisvm import losses
    >>> "huber" in losses.names("regression"), "huber" in losses.names("classification")
    (True, False)
    """
    if task is not None:
        one_of("task", task, TASKS)
    return [name for name, loss in LOSSES.items() if task is None or task in loss().tasks]


def get_for(task: str, loss: str | Loss, params: dict[str, Any] | None = None) -> Loss:
    """The loss of that name with these parameters, or the instance; raises ValueError if it is not for this task."""
    params = read_loss_params(params)
    check_names(get(loss), params)
    found = get(loss, **params)
    if task not in found.tasks:
        usable = ", ".join(map(repr, names(task)))
        raise ValueError(f"The loss {found!r} is not for {task}. Losses for {task}: {usable}.")
    return found


def read_loss_params(params: Any) -> dict[str, Any]:
    """Parameters of a loss, as an estimator has them beside it: none for None."""
    if params is not None and not isinstance(params, dict):
        raise TypeError(f"loss_params must be a dict of parameters of the loss, or None; got {params!r}.")
    return params or {}


def check_names(loss: Loss, params: Iterable[str], error: type[Exception] = ValueError) -> None:
    """Raise an error when the loss does not have parameters of these names."""
    known = list(loss.get_params(deep=False))
    unknown = [name for name in params if name not in known]
    if unknown:
        has = f"Its parameters are {', '.join(map(repr, known))}." if known else "It has no parameters."
        raise error(f"The loss {loss.name!r} has no parameter {unknown[0]!r}. {has}")


def get(loss: str | Loss, **params: Any) -> Loss:
    """The loss of that name, or the instance itself, with its parameters checked.

    Parameters
    ----------
    loss : str or Loss
        A name or alias, or an instance, which is left as it is.
    **params
        Parameters of the loss.

    Returns
    -------
    loss : Loss

    Examples
    --------
    >>> from unisvm import losses
    >>> losses.get("hinge", p=20.0)
    SmoothHinge(p=20.0)
    """
    if isinstance(loss, str):
        loss = LOSSES[one_of("loss", ALIASES.get(loss, loss), LOSSES, also=ALIASES)]()
    elif not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a name or a unisvm.losses.Loss instance, got {type(loss).__name__}. "
            "Wrap functions of your own with unisvm.losses.custom(value, derivative, task=...)."
        )
    if params:
        check_names(loss, params, TypeError)
        loss = type(loss)(**{**loss.get_params(deep=False), **params})
    return loss.validate()

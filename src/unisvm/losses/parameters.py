"""The loss of an estimator: an instance, or a name with its parameters beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from unisvm.losses.base import Loss
from unisvm.losses.registry import check_names, get, read_loss_params

_PREFIX = "loss__"


@dataclass(eq=False, repr=False, kw_only=True)
class LossParameters(BaseEstimator):
    """An estimator whose loss has parameters that are reached as ``loss__a``, also if it is given by its name."""

    loss: Any = None
    loss_params: dict[str, Any] | None = None

    def get_params(self, deep=True):
        """Parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list those of a loss that is an instance as well, such as ``loss__a``, with the values that a fit
            would use. Those of a loss that is given by its name are in `loss_params`, so that a constructor takes what
            is listed.

        Returns
        -------
        params : dict
        """
        params = super().get_params(deep=deep)
        if not deep or not isinstance(self.loss, Loss):
            return params
        try:
            of_loss = get(self.loss, **read_loss_params(self.loss_params)).get_params()
        except (TypeError, ValueError):
            # a fit says what is wrong with it
            return params
        return params | {_PREFIX + name: value for name, value in of_loss.items()}

    def set_params(self, **params):
        """Set parameters of this estimator.

        Parameters
        ----------
        **params : dict
            By name. Those of the loss, such as ``loss__a``, are set last; they go into `loss_params` for a loss that is
            given by its name.

        Returns
        -------
        self : object
            This estimator.
        """
        of_loss = {name: params[name] for name in params if name.startswith(_PREFIX)}
        super().set_params(**{name: params[name] for name in params if name not in of_loss})
        if not of_loss:
            return self
        beside = read_loss_params(self.loss_params)
        chosen = {name.removeprefix(_PREFIX): value for name, value in of_loss.items()}
        if isinstance(self.loss, Loss):
            inside = {name: value for name, value in chosen.items() if name not in beside}
            super().set_params(**{_PREFIX + name: value for name, value in inside.items()})
            chosen = {name: value for name, value in chosen.items() if name in beside}
        if chosen:
            check_names(get(self.loss), chosen)
            self.loss_params = {**beside, **chosen}
        return self

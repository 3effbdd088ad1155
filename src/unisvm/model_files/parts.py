"""What estimators are made of, in model files: kernels, losses, solvers, scorers, splitters and random states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from sklearn import metrics, model_selection
from sklearn.metrics import get_scorer, make_scorer

from unisvm._checks import is_number
from unisvm.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Precomputed, Scaled, Sigmoid
from unisvm.losses.registry import LOSSES
from unisvm.model_files.encoding import CannotSave
from unisvm.model_files.fields import Fields
from unisvm.model_files.registry import FileType, name_of
from unisvm.solvers import DCA, LBFGS

_SPLITTERS = (
    model_selection.KFold,
    model_selection.StratifiedKFold,
    model_selection.GroupKFold,
    model_selection.StratifiedGroupKFold,
    model_selection.ShuffleSplit,
    model_selection.StratifiedShuffleSplit,
    model_selection.TimeSeriesSplit,
    model_selection.LeaveOneOut,
)
#: the class of what `make_scorer` returns
_SCORER = type(get_scorer("accuracy"))
_ENDINGS_OF_METRICS = ("_score", "_loss", "_error")
# of the Mersenne twister in its block of numbers, which NumPy takes as it is
_LAST_POSITION = 624


def make(cls: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """An object of these parameters; raises when the class has no such ones."""
    unknown = sorted(parameters.keys() - signature(cls).parameters.keys())
    if unknown:
        raise ValueError(f"{name_of(cls)} has no parameter {', '.join(unknown)} in this version")
    return cls(**parameters)


def make_of_fields(cls: type, fields: Fields) -> Any:
    """An object whose constructor checks its parameters, which are the fields."""
    return make(cls, {name: fields.take(name) for name in fields})


# ------------------------------------------------------------------ kernels


def _kernel_of(cls: type[Kernel], fields: Fields) -> Kernel:
    kernel = make_of_fields(cls, fields)
    # raises for parameters that are out of range
    kernel.resolve(1, lambda: 1.0)
    return kernel


def _scaled_of(fields: Fields) -> Scaled:
    kernel = fields.of_type("kernel", Kernel)
    for name in ("centre", "divisor"):
        array = np.asarray(fields.take(name))
        if array.ndim > 1 or array.dtype.kind not in "fiu" or np.isnan(array).any():
            raise fields.refuse(name, "a number, or one for each column")
    if np.isinf(fields.take("centre")).any():
        raise fields.refuse("centre", "finite")
    if not np.all(fields.take("divisor")):
        raise fields.refuse("divisor", "numbers other than 0")
    if kernel.points_are_indices:
        raise fields.refuse("kernel", "a kernel of rows")
    return Scaled(kernel, fields.take("centre"), fields.take("divisor"))


def check_fitted_kernel(kernel: Kernel, n_features: int, *, sparse_points: bool) -> None:
    """Raise unless a kernel can be evaluated on rows of so many features: its gamma is a number by now."""
    if isinstance(kernel, Scaled):
        for numbers in map(np.asarray, (kernel.centre, kernel.divisor)):
            if numbers.ndim and len(numbers) != n_features:
                raise ValueError(f"kernel_ scales {len(numbers)} columns, and there are {n_features}")
        if sparse_points and np.any(kernel.centre):
            raise ValueError("kernel_ shifts the columns of sparse landmarks")
        check_fitted_kernel(kernel.kernel, n_features, sparse_points=sparse_points)
    elif not is_number(kernel.get_params(deep=False).get("gamma", 1.0)):
        raise ValueError(f"gamma of the fitted kernel must be a number, got {kernel!r}")


# ------------------------------------------------------------------ random states, scorers and splitters


def _state_of_random(rng: np.random.RandomState) -> dict[str, Any]:
    state = rng.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise CannotSave(f"a RandomState of {state['bit_generator']} has no form in model files")
    words = state["state"]
    return {"key": words["key"], "pos": words["pos"], "has_gauss": state["has_gauss"], "gauss": state["gauss"]}


def _random_of(fields: Fields) -> np.random.RandomState:
    key = fields.array("key", (_LAST_POSITION,), "u")
    position, has_gauss = fields.integer("pos"), fields.integer("has_gauss")
    gauss = fields.number("gauss")
    if position > _LAST_POSITION or has_gauss > 1:
        raise fields.refuse("pos", f"at most {_LAST_POSITION}")
    rng = np.random.RandomState(0)
    words = {"key": key, "pos": position}
    rng.set_state({"bit_generator": "MT19937", "state": words, "has_gauss": has_gauss, "gauss": gauss})
    return rng


def _metric(name: str) -> Callable[..., float] | None:
    """A function of scikit-learn's metrics."""
    return getattr(metrics, name) if name in metrics.__all__ and name.endswith(_ENDINGS_OF_METRICS) else None


def _state_of_scorer(scorer: Any) -> dict[str, Any]:
    state = dict(vars(scorer))
    function = getattr(scorer, "_score_func", None)
    name = name_of(function)
    if function is None or _metric(name) is not function:
        raise CannotSave(f"{name} is no function of sklearn.metrics")
    methods = getattr(scorer, "_response_method", "predict")
    return {"metric": name, "sign": state["_sign"], "arguments": state["_kwargs"], "response_method": methods}


def _scorer_of(fields: Fields) -> Any:
    function = _metric(fields.text("metric"))
    sign, arguments = fields.integer("sign", -1), fields.of_type("arguments", dict)
    methods = fields.of_type("response_method", str, tuple, list)
    if function is None or sign not in (-1, 1) or not all(isinstance(name, str) for name in arguments):
        raise fields.refuse("metric", "the name of a metric of scikit-learn, with a sign of -1 or 1")
    return make_scorer(function, response_method=methods, greater_is_better=sign > 0, **arguments)


def _state_of_splitter(splitter: Any) -> dict[str, Any]:
    state = dict(vars(splitter))
    return {name: state[name] for name in signature(type(splitter)).parameters if name in state}


# ------------------------------------------------------------------ all of them


def _parameters_of(value: Any) -> dict[str, Any]:
    return dict(value.get_params(deep=False))


def _state_of_dataclass(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclass_fields(value)}


def _lbfgs_of(fields: Fields) -> LBFGS:
    return LBFGS(fields.integer("memory", 1))


FILE_TYPES = (
    *(
        FileType(cls, f"kernels.{cls.__name__}", _parameters_of, partial(_kernel_of, cls))
        for cls in (RBF, Laplacian, Linear, Polynomial, Sigmoid, Precomputed)
    ),
    FileType(Scaled, "kernels.Scaled", _parameters_of, _scaled_of),
    *(FileType(cls, f"losses.{cls.__name__}", _parameters_of, partial(make_of_fields, cls)) for cls in LOSSES.values()),
    FileType(DCA, "solvers.DCA", _state_of_dataclass, partial(make_of_fields, DCA)),
    FileType(LBFGS, "solvers.LBFGS", _state_of_dataclass, _lbfgs_of),
    FileType(np.random.RandomState, "numpy.RandomState", _state_of_random, _random_of),
    FileType(_SCORER, "sklearn.scorer", _state_of_scorer, _scorer_of),
    *(FileType(cls, f"sklearn.{cls.__name__}", _state_of_splitter, partial(make_of_fields, cls)) for cls in _SPLITTERS),
)

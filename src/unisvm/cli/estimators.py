"""From the options of a command to an estimator that is not fitted yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from unisvm.classifier import UniSVMClassifier
from unisvm.cli.data import Data
from unisvm.losses.base import CLASSIFICATION, REGRESSION
from unisvm.losses.registry import get_for
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.regressor import UniSVMRegressor
from unisvm.robust_scale import as_columns, location_and_scale
from unisvm.tables import TableEncoder

#: step of a pipeline that makes numbers of the columns of a table, and the step of the machine
ENCODER, MACHINE = "columns", "machine"

_KERNELS = {"0": "linear", "1": "poly", "2": "rbf", "3": "sigmoid"}
_SVM_TYPES = {0: CLASSIFICATION, 3: REGRESSION}
_OTHER_SVM_TYPES = {
    1: "ν-SVC is not here: use -s 0 with C, or no -s and no -c for a C from the data",
    2: "one-class machines are not here",
    4: "ν-SVR is not here: use -s 3 with C and -p",
}
_LOSSES_WITH_WIDTH = ("epsilon_insensitive", "smooth_epsilon_insensitive")
#: losses that LIBSVM's machines have
_LIBSVM_LOSSES = {0: "hinge", 3: "epsilon_insensitive"}


@dataclass(frozen=True)
class MachineOptions:
    """Options of the machine, as they are given on the command line."""

    svm_type: int | None = None
    loss: str | None = None
    loss_params: tuple[str, ...] = ()
    kernel: str | None = None
    C: str = "auto"
    gamma: str = "scale"
    coef0: float = 0.0
    degree: int = 3
    epsilon: float | None = None
    class_weight: tuple[str, ...] = ()
    balanced: bool = False
    rank: int = 1000
    scale: str | None = None
    tol: float = 1e-4
    max_iter: int = 1000
    memory_limit: str | None = None
    scratch_dir: str | None = None
    checkpoint: str | None = None
    n_jobs: int | None = None
    seed: int = 0
    search: bool = False
    probabilities: bool = False


def task_of_svm_type(svm_type: int | None, task: str | None) -> str | None:
    """The task that -s or --task asks for."""
    if svm_type is None:
        return task
    if svm_type not in _SVM_TYPES:
        raise ValueError(f"-s {svm_type}: {_OTHER_SVM_TYPES.get(svm_type, 'use 0 for classes or 3 for real targets')}.")
    if task not in (None, _SVM_TYPES[svm_type]):
        raise ValueError(f"-s {svm_type} is for {_SVM_TYPES[svm_type]}, but --task is {task}.")
    return _SVM_TYPES[svm_type]


def build(options: MachineOptions, data: Data, task: str) -> Any:
    """The estimator that the options ask for, with an encoder before it for the columns of a table."""
    scale = default_scale(data) if options.scale is None else options.scale
    in_force = None if scale == "none" else scale
    parameters = _parameters(options, data, task) | {"scale": None if data.is_table else in_force}
    machine = _searching(options, parameters, task) if searches(options) else _plain(parameters, task)
    return Pipeline([(ENCODER, TableEncoder(scale=in_force)), (MACHINE, machine)]) if data.is_table else machine


def searches(options: MachineOptions) -> bool:
    """Whether the machine is chosen by cross-validation, as probabilities need it."""
    return options.search or options.probabilities


def machine_of(model: Any) -> Any:
    """The estimator of a model that may have an encoder before it."""
    return model.named_steps[MACHINE] if isinstance(model, Pipeline) else model


def has_encoder(model: Any) -> bool:
    """Whether a model takes tables."""
    return isinstance(model, Pipeline) and ENCODER in model.named_steps


def default_scale(data: Data) -> str:
    """Sparse rows are divided by the largest entries: zeros stay zeros, and files that were scaled stay as they are."""
    return "minmax" if data.is_sparse else "standard"


def _plain(parameters: dict[str, Any], task: str) -> Any:
    return (UniSVMClassifier if task == CLASSIFICATION else UniSVMRegressor)(**parameters)


def _searching(options: MachineOptions, parameters: dict[str, Any], task: str) -> Any:
    """A searching estimator, whose grid is what the options leave open."""
    loss, C, gamma = (parameters.pop(name) for name in ("loss", "C", "gamma"))
    loss_params, kernel = parameters.pop("loss_params"), parameters.pop("kernel")
    open_kernel = options.search and options.kernel is None and options.gamma == "scale"
    grid: dict[str, Any] = {
        "losses": None if options.search and options.loss is None else [get_for(task, loss, loss_params)],
        "Cs": 10 if C == "auto" else [C],
        "kernel": "auto" if open_kernel else kernel,
        "gammas": None if options.search and options.gamma == "scale" else [gamma],
    }
    if task == CLASSIFICATION:
        return UniSVMClassifierCV(**grid, **parameters)
    if options.probabilities:
        raise ValueError("--probabilities are those of classes; the targets are real numbers here.")
    return UniSVMRegressorCV(**grid, **parameters)


def _parameters(options: MachineOptions, data: Data, task: str) -> dict[str, Any]:
    """Parameters of a plain estimator."""
    loss = options.loss or _libsvm_loss(options) or ("feng" if task == CLASSIFICATION else "huber")
    loss_params = dict(_pair("--loss-param", text) for text in options.loss_params)
    C: Any = options.C if options.C == "auto" else _number("C", options.C)
    if options.epsilon is not None and task == CLASSIFICATION:
        raise ValueError("-p is the width of a loss of real targets: use it with -s 3.")
    if options.epsilon is not None or options.svm_type == 3:
        C, loss_params = _in_units_of_scale(options, data, loss, C, loss_params)
    kernel = kernel_name(options.kernel or "rbf")
    as_given = ("coef0", "degree", "rank", "tol", "max_iter", "memory_limit", "scratch_dir", "checkpoint", "n_jobs")
    parameters = {name: getattr(options, name) for name in as_given} | {
        "loss": loss,
        "loss_params": loss_params or None,
        "C": C,
        "gamma": options.gamma if options.gamma in ("scale", "auto") else _number("gamma", options.gamma),
        "kernel": kernel,
        "random_state": options.seed,
    }
    if task == CLASSIFICATION:
        parameters["class_weight"] = _class_weight(options, data)
    elif options.class_weight or options.balanced:
        raise ValueError("Weights of classes (-wi, --class-weight, --balanced) need classes, not real targets.")
    return parameters


def kernel_name(given: str) -> str:
    """Name of a kernel, which may be given by LIBSVM's number."""
    kernel = _KERNELS.get(given, given)
    if kernel in ("4", "precomputed"):
        raise ValueError("A precomputed kernel (-t 4) is for Python: UniSVMClassifier(kernel='precomputed').")
    return kernel


def _libsvm_loss(options: MachineOptions) -> str | None:
    """The loss of LIBSVM's machine, if -s asks for it."""
    return None if options.svm_type is None else _LIBSVM_LOSSES[options.svm_type]


def _in_units_of_scale(
    options: MachineOptions, data: Data, loss: str, C: Any, loss_params: dict[str, float]
) -> tuple[Any, dict[str, float]]:
    """C and ε in units of the targets' robust scale, from LIBSVM's, which are in those of the targets."""
    has_width = loss in _LOSSES_WITH_WIDTH
    if options.epsilon is not None and not has_width:
        raise ValueError("-p is the width of the ε-insensitive loss: use it with -s 3 or --loss epsilon_insensitive.")
    columns = as_columns(data.y)
    weights = np.ones(len(columns)) if data.weights is None else data.weights
    scale = float(location_and_scale(columns, weights)[1][0]) or 1.0
    if has_width:
        # LIBSVM's default is 0.1
        loss_params = {"epsilon": (0.1 if options.epsilon is None else options.epsilon) / scale} | loss_params
    return C / scale if options.svm_type == 3 and C != "auto" else C, loss_params


def _class_weight(options: MachineOptions, data: Data) -> Any:
    if options.balanced:
        if options.class_weight:
            raise ValueError("Give either --balanced or weights of classes, not both.")
        return "balanced"
    if not options.class_weight:
        return None
    classes, weights = np.unique(data.y), {}
    by_text = {str(label): label.item() for label in classes}
    for text in options.class_weight:
        label, weight = _pair("--class-weight", text)
        if label not in by_text:
            known = ", ".join(by_text)
            raise ValueError(f"--class-weight {text}: there is no class {label!r}; the classes are {known}.")
        weights[by_text[label]] = weight
    return weights


def _pair(option: str, text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    if not (name and equals):
        raise ValueError(f"{option} takes NAME=NUMBER, got {text!r}.")
    return name, _number(f"{option} {name}", number)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        choice = " or 'auto'" if name == "C" else ", 'scale' or 'auto'" if name == "gamma" else ""
        raise ValueError(f"{name} must be a number{choice}, got {text!r}.") from None

"""What a training came to: facts for programs, and lines that a person can act on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from unisvm._base import requested_loss
from unisvm.cli.data import Data
from unisvm.cli.estimators import ENCODER, machine_of
from unisvm.losses.base import CLASSIFICATION

# rows that a model is tried on when it is done
_MOST_JUDGED = 20_000
# a row with less trust has nearly all of the largest loss, where a bounded loss is flat
_IGNORED = 0.05
# a larger share of the trace left out is worth more landmarks
_WORTH_MORE_RANK = 0.01
# of the trace, in percent
_LEAST_SHOWN = 0.01
# of more classes, the counts of the largest are shown
_MOST_CLASSES = 8


def judge(model: Any, data: Data, task: str) -> dict[str, Any]:
    """Score on the training rows, and how many of them the loss ignores, by a sample if they are many."""
    rows = data.sample(_MOST_JUDGED)
    X, y = data.take(rows), np.asarray(data.y)[rows]
    # a table is encoded once
    encoded = model[:-1].transform(X) if isinstance(model, Pipeline) else X
    facts = score_facts(y, machine_of(model).predict(encoded), task)
    facts = {f"training_{name}": value for name, value in facts.items()} | {"judged_rows": len(rows)}
    machine = fitted_machine(model)
    if np.isfinite(requested_loss(machine).bound):
        n_ignored = int((machine.trust(encoded, y) < _IGNORED).sum())
        facts |= {"ignored_rows": round(n_ignored * data.n_rows / len(rows)), "ignored_share": n_ignored / len(rows)}
    return facts


def score_facts(y: np.ndarray, predicted: np.ndarray, task: str) -> dict[str, Any]:
    """Accuracy of labels, or mean squared error and squared correlation of real targets."""
    if task == CLASSIFICATION:
        n_right = int((np.asarray(y) == predicted).sum())
        return {"accuracy": n_right / len(y), "n_right": n_right, "n_rows": len(y)}
    with np.errstate(all="ignore"):
        return _errors(np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64))


def _errors(y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    varies = y.std() > 0 and predicted.std() > 0
    return {
        "mean_squared_error": float(np.mean((y - predicted) ** 2)),
        "mean_absolute_error": float(np.mean(np.abs(y - predicted))),
        "r2": float(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)) if y.std() > 0 else None,
        "squared_correlation": float(np.corrcoef(y, predicted)[0, 1] ** 2) if varies else None,
        "n_rows": len(y),
    }


def score_lines(facts: dict[str, Any], task: str) -> list[str]:
    """How good predictions are, in LIBSVM's words."""
    if task == CLASSIFICATION:
        return [f"Accuracy = {100 * facts['accuracy']:g}%"]
    lines = [f"Mean squared error = {facts['mean_squared_error']:g}"]
    correlation = facts["squared_correlation"]
    return lines + ([] if correlation is None else [f"Squared correlation coefficient = {correlation:g}"])


def fitted_machine(model: Any) -> Any:
    """The plain estimator of a fitted model."""
    machine = machine_of(model)
    return getattr(machine, "best_estimator_", machine)


def fit_facts(model: Any, data: Data, task: str, seconds: float) -> dict[str, Any]:
    """How a model was reached, as JSON values."""
    machine, searched = fitted_machine(model), machine_of(model)
    kernel = getattr(machine.kernel_, "kernel", machine.kernel_)
    facts: dict[str, Any] = {
        "task": task,
        "data": data.source.name,
        "rows": data.n_rows,
        "columns": data.n_columns,
        "features": machine.n_features_in_,
        "scale": model[ENCODER].scale if isinstance(model, Pipeline) else machine.scale,
        "loss": named(requested_loss(machine)),
        "C": float(machine.C_),
        "kernel": named(kernel),
        "rank": int(machine.rank_),
        "landmarks": machine.landmarks_ is not None or machine.landmark_vectors_ is not None,
        "trace_left_out": float(machine.trace_error_),
        "iterations": int(machine.n_iter_),
        "sweeps": int(np.max(machine.n_sweeps_)),
        "objective": float(np.mean(machine.objective_)),
        "stationarity": float(np.max(machine.stationarity_)),
        "tol": machine.tol,
        "seconds": seconds,
    }
    if task == CLASSIFICATION:
        labels, counts = np.unique(data.y, return_counts=True)
        facts["classes"] = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
    if hasattr(searched, "best_score_"):
        facts["cross_validated_score"] = searched.best_score_
    if len(getattr(searched, "suspects_", ())):
        facts["left_out_as_suspects"] = len(searched.suspects_)
    if isinstance(model, Pipeline):
        facts["encoding"] = list(model[ENCODER].summary())
    return facts


def named(part: Any) -> str:
    """A loss or a kernel with its parameters, such as "feng (a=2)"."""
    given = {key: value for key, value in part.get_params(deep=False).items() if isinstance(value, int | float)}
    parameters = ", ".join(f"{key}={value:.4g}" for key, value in given.items())
    return getattr(part, "name", type(part).__name__) + (f" ({parameters})" if parameters else "")


def describe(facts: dict[str, Any], warnings: list[Warning]) -> Iterator[tuple[str, str]]:
    """Lines of the summary, each with its heading."""
    yield "data", _data_line(facts)
    for line in facts.get("encoding", []):
        yield "columns", line
    kind = "classifier" if facts["task"] == CLASSIFICATION else "regressor"
    yield "machine", f"{kind}: loss {facts['loss']}, C {facts['C']:.3g}, kernel {facts['kernel']}"
    yield "scaling", facts["scale"] or "none"
    if facts["landmarks"]:
        share = 100 * facts["trace_left_out"]
        left_out = f"{share:.2g} %" if share >= _LEAST_SHOWN else "hardly anything"
        more = "; raise --rank" if facts["trace_left_out"] > _WORTH_MORE_RANK else ""
        yield "landmarks", f"{facts['rank']:,}, which leave out {left_out} of the kernel's trace{more}"
    failed = any(isinstance(warning, ConvergenceWarning) for warning in warnings)
    ended = "not converged: raise --max-iter or --tol, or lower -c" if failed else "converged"
    reached = f"stationarity {facts['stationarity']:.1e} for tol {facts['tol']:g} ({ended})"
    yield "fit", f"{facts['sweeps']} sweeps, {reached}, {facts['seconds']:.1f} s"
    yield from _quality_lines(facts)


def _data_line(facts: dict[str, Any]) -> str:
    line = f"{facts['rows']:,} rows of {facts['columns']:,} column{'s' if facts['columns'] != 1 else ''}"
    if facts["features"] != facts["columns"]:
        line += f", {facts['features']:,} once encoded"
    counts = sorted(facts.get("classes", {}).items(), key=lambda pair: -pair[1])
    if counts:
        shown = ", ".join(f"{label} ({count:,})" for label, count in counts[:_MOST_CLASSES])
        line += f"; classes {shown}" + (
            f" and {len(counts) - _MOST_CLASSES} more" if len(counts) > _MOST_CLASSES else ""
        )
    return line


def _quality_lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    about = "" if facts["judged_rows"] == facts["rows"] else "about "
    if "ignored_rows" in facts:
        line = f"{about}{facts['ignored_rows']:,} rows ({100 * facts['ignored_share']:.1f} %)"
        yield (
            "ignored",
            line + (": far on the wrong side, so that the loss gives them up" if facts["ignored_rows"] else ""),
        )
    if "left_out_as_suspects" in facts:
        yield "left out", f"{facts['left_out_as_suspects']:,} rows whose labels are doubtful"
    if "cross_validated_score" in facts:
        yield "score", f"{facts['cross_validated_score']:.4f} by cross-validation, of the best cell of the search"
    rows = "the training rows" if not about else f"{facts['judged_rows']:,} of the training rows"
    if facts["task"] == CLASSIFICATION:
        yield "accuracy", f"{100 * facts['training_accuracy']:.2f} % on {rows}"
    else:
        yield (
            "error",
            (
                f"mean absolute {facts['training_mean_absolute_error']:.4g}, root mean square "
                f"{facts['training_mean_squared_error'] ** 0.5:.4g} on {rows}"
            ),
        )

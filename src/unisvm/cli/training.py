"""`unisvm train`: from data to a model file, or to a cross-validated score."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from unisvm.cli import output
from unisvm.cli.data import Data, TableOptions, check_labels, read_training_data, take_rows, task_of
from unisvm.cli.display import shown_progress
from unisvm.cli.estimators import MACHINE, MachineOptions, build, machine_of, task_of_svm_type
from unisvm.cli.messages import Messages
from unisvm.cli.sources import STDIN, open_source
from unisvm.cli.summary import describe, fit_facts, judge, score_facts, score_lines
from unisvm.losses.base import CLASSIFICATION
from unisvm.model_files import save


@dataclass(frozen=True)
class Training:
    """A training that was asked for: the data, the machine, and the task."""

    source: str
    format: str | None
    table: TableOptions
    machine: MachineOptions
    task: str | None


def train(asked: Training, path: str, messages: Messages) -> None:
    """Fit the machine, and write the model."""
    output.check_place(path, asked.source)
    if path == output.STDOUT:
        raise ValueError("A model is a file: give its name.")
    task = task_of_svm_type(asked.machine.svm_type, asked.task)
    with open_source(asked.source, asked.format) as source, messages.collected_warnings() as warnings:
        data = read_training_data(source, asked.table, asked.machine.scratch_dir)
        task = task_of(data, task)
        check_labels(data, task)
        model = build(asked.machine, data, task)
        started = perf_counter()
        with shown_progress(messages, f"training on {source.name}"):
            fit(model, data.X, data.y, data.weights)
        facts = fit_facts(model, data, task, perf_counter() - started) | judge(model, data, task)
    extra = {"format": source.format, "target": data.target, "task": task}
    save(model, path, extra=extra)
    facts |= {"model": path, "bytes": Path(path).stat().st_size, "warnings": list(map(str, warnings))}
    messages.say_pairs([*describe(facts, warnings), ("model", f"{path}, {facts['bytes']:,} bytes")])
    messages.result(facts)


def default_model(source: str) -> str:
    """Name of the model file, as LIBSVM makes it: in the working folder, that of the data with .model at its end."""
    if source == STDIN:
        raise ValueError("Give the name of the model file: data from standard input have none to make it of.")
    return f"{Path(source).name}.model"


def fit(model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
    """The model, fitted; the weights are those of its machine."""
    if weights is None:
        return model.fit(X, y)
    name = f"{MACHINE}__sample_weight" if isinstance(model, Pipeline) else "sample_weight"
    return model.fit(X, y, **{name: weights})


def cross_validate(asked: Training, n_folds: int, messages: Messages) -> None:
    """Fit the machine to all folds but one in turn, and say how it predicts the other, in LIBSVM's words."""
    task = task_of_svm_type(asked.machine.svm_type, asked.task)
    with open_source(asked.source, asked.format) as source, messages.collected_warnings():
        data = read_training_data(source, asked.table, asked.machine.scratch_dir)
        task = task_of(data, task)
        check_labels(data, task)
        predicted, of_folds = _out_of_fold(asked.machine, data, task, n_folds, messages)
    facts = score_facts(data.y, predicted, task) | {"folds": of_folds}
    for line in score_lines(facts, task):
        messages.answer(f"Cross Validation {line}")
    if task == CLASSIFICATION:
        of_each = ", ".join(f"{100 * fold['accuracy']:.4g}%" for fold in of_folds)
        messages.say(f"of the folds: {of_each}")
    messages.result(facts)


def _out_of_fold(
    options: MachineOptions, data: Data, task: str, n_folds: int, messages: Messages
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Predictions of each row by the fit that has not seen it, and the scores of the folds."""
    folds = _folds(n_folds, data, task, options.seed)
    model, found, scores = build(replace(options, checkpoint=None), data, task), None, []
    for i, (train_rows, test_rows) in enumerate(folds.split(np.zeros(data.n_rows), data.y)):
        weights = None if data.weights is None else data.weights[train_rows]
        with shown_progress(messages, f"fold {i + 1} of {n_folds}"):
            fitted = fit(clone(model), take_rows(data.X, train_rows), data.y[train_rows], weights)
        predicted = fitted.predict(take_rows(data.X, test_rows))
        found = np.empty(data.n_rows, dtype=predicted.dtype) if found is None else found
        found[test_rows] = predicted
        scores.append(score_facts(data.y[test_rows], predicted, task))
    assert found is not None
    return found, scores


def _folds(n_folds: int, data: Data, task: str, seed: int) -> KFold | StratifiedKFold:
    """The splitter of rows into folds, at random: files are often sorted."""
    most = int(np.unique(data.y, return_counts=True)[1].max()) if task == CLASSIFICATION else data.n_rows
    if not 2 <= n_folds <= most:
        raise ValueError(f"-v {n_folds}: the number of folds must be from 2 to {most} for these data.")
    return (StratifiedKFold if task == CLASSIFICATION else KFold)(n_folds, shuffle=True, random_state=seed)


def compare(asked: Training, losses: list[str] | None, n_folds: int, messages: Messages) -> None:
    """Search the grid of every loss by cross-validation, and say which cell of each is best."""
    options = replace(asked.machine, search=True)
    task = task_of_svm_type(options.svm_type, asked.task)
    with open_source(asked.source, asked.format) as source, messages.collected_warnings():
        data = read_training_data(source, asked.table, options.scratch_dir)
        task = task_of(data, task)
        check_labels(data, task)
        model = build(options, data, task)
        search = machine_of(model).set_params(cv=_folds(n_folds, data, task, options.seed), refit=False)
        if losses is not None:
            search.set_params(losses=losses)
        with shown_progress(messages, f"searching on {source.name}"):
            fit(model, data.X, data.y, data.weights)
    cells, scoring = best_cells(search), scoring_of(search, task)
    messages.say(f"{scoring} by {n_folds} folds, and the options of `unisvm train` that stand for it")
    for cell in cells:
        messages.answer(f"{cell['score']:>11.4g} ± {cell['spread']:<8.2g} {cell['options']}")
    words = ["unisvm train", cells[0]["options"], *_same_options(asked), shlex.quote(asked.source), "MODEL"]
    messages.say(f"\nThe best: {' '.join(words)}")
    messages.result({"task": task, "scoring": scoring, "cells": cells})


def _same_options(asked: Training) -> list[str]:
    """Options of a comparison that its best cell has to be trained with, too, as a shell takes them."""
    table, machine = asked.table, asked.machine
    given: dict[str, Any] = {
        "--target": table.target,
        "--weights": table.weights,
        "--format": asked.format,
        "--delimiter": table.delimiter,
        "--task": asked.task,
        "--scale": machine.scale,
        "--memory-limit": machine.memory_limit,
        "--scratch-dir": machine.scratch_dir,
    }
    for name in ("rank", "tol", "max_iter", "seed"):
        if getattr(machine, name) != getattr(MachineOptions, name):
            given["--" + name.replace("_", "-")] = getattr(machine, name)
    words = [f"{option} {shlex.quote(str(value))}" for option, value in given.items() if value is not None]
    words += [f"--text {shlex.quote(name)}" for name in table.text]
    words += [f"--ignore {shlex.quote(name)}" for name in table.ignore]
    words += [f"--class-weight {shlex.quote(pair)}" for pair in machine.class_weight]
    flags = {"--balanced": machine.balanced, "--drop-unlabelled": table.drop_unlabelled, "--header": table.header}
    words += [option for option, is_given in flags.items() if is_given]
    return words + (["--no-header"] if table.header is False else [])


def scoring_of(search: Any, task: str) -> str:
    """Name of the score of a search."""
    if search.scoring is not None:
        return str(search.scoring)
    return "accuracy" if task == CLASSIFICATION else "neg_median_absolute_error"


def best_cells(search: Any) -> list[dict[str, Any]]:
    """The best cell of each loss of a search, the best first, with the options of `unisvm train` that stand for it."""
    results = search.cv_results_
    places = results["rank_test_score"]
    found: dict[str, int] = {}
    for i in np.argsort(places, kind="stable").tolist():
        params = results["params"][i]
        if np.isfinite(results["mean_test_score"][i]):
            found.setdefault(str(params["loss"]), i)
    cells = []
    for i in found.values():
        params = results["params"][i]
        loss = params["loss"]
        name, loss_params = (loss, {}) if isinstance(loss, str) else (loss.name, loss.get_params(deep=False))
        words = [f"--loss {name}", *(f"--loss-param {key}={value:g}" for key, value in loss_params.items())]
        kernel, gamma = params.get("kernel", search.kernel_), params["gamma"]
        words += [
            f"-t {kernel}",
            f"-c {params['C']:.6g}",
            f"-g {gamma if isinstance(gamma, str) else format(gamma, '.6g')}",
        ]
        words += [f"-d {search.degree}"] if kernel == "poly" else []
        words += [f"-r {search.coef0:g}"] if kernel in ("poly", "sigmoid") else []
        scores = {"score": float(results["mean_test_score"][i]), "spread": float(results["std_test_score"][i])}
        cells.append(scores | {"options": " ".join(words)})
    return cells

"""`unisvm predict`: a model's predictions for rows of data, in the form that is asked for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unisvm._checks import one_of
from unisvm.cli import output
from unisvm.cli.data import TableOptions
from unisvm.cli.display import shown_progress
from unisvm.cli.messages import Messages
from unisvm.cli.new_rows import NewRows, read_new_rows
from unisvm.cli.sources import open_source
from unisvm.cli.summary import score_facts, score_lines
from unisvm.io.table import is_missing
from unisvm.losses.base import CLASSIFICATION, REGRESSION
from unisvm.model_files.persistence import load_with_summary

_ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".npy": "npy"}
# rows that are turned into text at a time
_BLOCK = 50_000


class Prediction(NamedTuple):
    """A prediction that was asked for: data, model, where its results go, and which."""

    source: str
    format: str | None
    table: TableOptions
    model: str
    out: str
    to: str | None
    probabilities: bool
    decisions: bool


class Results(NamedTuple):
    """Results of a prediction.

    Attributes
    ----------
    predicted : ndarray of shape (n_rows,)
    numbers : dict of ndarray of shape (n_rows, n_columns)
        Probabilities and decisions, by their names.
    classes : list
        What the columns of probabilities are of.
    """

    predicted: np.ndarray
    numbers: dict[str, np.ndarray]
    classes: list[Any]


def predict(asked: Prediction, messages: Messages) -> None:
    """Write the predictions, and say how good they are where the data have targets."""
    if asked.to is not None:
        one_of("kind of output", asked.to, WRITERS)
    output.check_place(asked.out, asked.source, asked.model)
    model, summary = load_with_summary(asked.model)
    extra = summary["extra"] or {}
    task = CLASSIFICATION if hasattr(model, "classes_") else REGRESSION
    if messages.as_json and asked.out == output.STDOUT:
        raise ValueError("--json has standard output for its facts: give OUT, a file for the predictions.")
    with open_source(asked.source, asked.format) as source, messages.collected_warnings() as warnings:
        to = asked.to or _form_of(asked.out, source.format)
        _check_answers(model, asked, to, task)
        given = read_new_rows(source, model, asked.table, extra.get("target"))
        with shown_progress(messages, f"predicting {source.name}", "predicting"):
            results = _results(model, given, asked)
        if given.unused:
            messages.note(f"columns that the model does not know are passed over: {', '.join(given.unused)}.")
        with output.written(asked.out) as file:
            WRITERS[to](results, file)
    facts: dict[str, Any] = {"rows": len(results.predicted), "task": task, "out": asked.out}
    if given.y is not None:
        facts |= _score(given, results, task, messages)
    messages.result(facts | {"warnings": list(map(str, warnings))})


def _form_of(out: str, format: str) -> str:
    """The form that the ending of a name asks for; that of the data if it asks for none."""
    ending = Path(out).suffix.lower()
    if ending in (".parquet", ".npz", ".tsv"):
        raise ValueError(f"Predictions are not written as {ending}: use --to with one of {', '.join(WRITERS)}.")
    return _ENDINGS.get(ending) or ("libsvm" if format == "libsvm" else "csv")


def _check_answers(model: Any, asked: Prediction, to: str, task: str) -> None:
    """Raise when the model has no probabilities, or the form no room for what is asked."""
    if asked.probabilities and not hasattr(model, "predict_proba"):
        if task == REGRESSION:
            raise ValueError(f"{asked.model} predicts real targets, which have no probabilities of classes.")
        raise ValueError(f"{asked.model} has no probabilities: train it with --probabilities (-b 1).")
    if asked.decisions and task == REGRESSION:
        raise ValueError(f"{asked.model} predicts real targets: its decisions are the predictions.")
    if asked.decisions and to in ("libsvm", "npy"):
        raise ValueError(f"--decisions are not in the form --to {to}: use --to csv or --to json.")
    if asked.probabilities and to == "npy":
        raise ValueError("--probabilities are not in the form --to npy: use --to csv, json or libsvm.")


def _results(model: Any, given: NewRows, asked: Prediction) -> Results:
    numbers = {}
    if asked.probabilities:
        numbers["probability"] = model.predict_proba(given.X)
    if asked.decisions:
        decisions = model.decision_function(given.X)
        numbers["decision"] = decisions[:, None] if decisions.ndim == 1 else decisions
    return Results(model.predict(given.X), numbers, getattr(model, "classes_", np.empty(0)).tolist())


def _score(given: NewRows, results: Results, task: str, messages: Messages) -> dict[str, Any]:
    """How good predictions are, in LIBSVM's words."""
    y, predicted = np.asarray(given.y), results.predicted
    absent = is_missing(y) if y.dtype.kind in "Of" else np.zeros(len(y), dtype=bool)
    if absent.any():
        messages.note(f"{absent.sum():,} rows have no target, and no part in the scores.")
        y, predicted = y[~absent], predicted[~absent]
    if task == CLASSIFICATION:
        # 1 and "1", or 1.0 and 1, are the same label
        y, predicted = _as_text(y), _as_text(predicted)
        unknown = sorted(set(np.unique(y).tolist()) - set(map(_text, results.classes)))
        if unknown:
            shown = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
            messages.warn(f"the data have labels that the model does not know, which count as wrong: {shown}.")
    elif y.dtype.kind not in "iuf":
        messages.note("the targets are text, which the predictions are not compared with.")
        return {}
    facts = score_facts(y, predicted, task)
    counts = f" ({facts['n_right']}/{facts['n_rows']})" if task == CLASSIFICATION else ""
    for line in score_lines(facts, task):
        messages.say(f"{line}{counts} ({task})")
    return facts


# ------------------------------------------------------------------ forms


def _text(value: Any) -> str:
    """A label or number as text: whole numbers without a point, others with all their digits."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _as_text(labels: np.ndarray) -> np.ndarray:
    """Labels as text, each of them made once."""
    distinct, codes = np.unique(labels, return_inverse=True)
    return np.array([_text(label) for label in distinct.tolist()])[codes]


def _write_libsvm(results: Results, file: BinaryIO) -> None:
    if results.predicted.ndim == 2:
        raise ValueError("The model predicts several targets a row, which this form has no place for: use --to csv.")
    probabilities = results.numbers.get("probability")
    if probabilities is not None:
        file.write(f"labels {' '.join(map(_text, results.classes))}\n".encode())
    for low in range(0, len(results.predicted), _BLOCK):
        lines = [_text(label) for label in results.predicted[low : low + _BLOCK].tolist()]
        if probabilities is not None:
            numbers = (" ".join(format(p, "g") for p in row) for row in probabilities[low : low + _BLOCK].tolist())
            lines = [f"{label} {row}" for label, row in zip(lines, numbers, strict=True)]
        file.write("".join(f"{line}\n" for line in lines).encode())


def _write_csv(results: Results, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    several = results.predicted.ndim == 2
    names = [f"prediction {j + 1}" for j in range(results.predicted.shape[1])] if several else ["prediction"]
    writer.writerow([*names, *(name for names in _headings(results).values() for name in names)])
    for low in range(0, len(results.predicted), _BLOCK):
        some = slice(low, low + _BLOCK)
        columns = results.predicted[some].T.tolist() if several else [results.predicted[some].tolist()]
        for numbers in results.numbers.values():
            columns += numbers[some].T.tolist()
        writer.writerows(zip(*columns, strict=True))
    # the file stays open
    text.detach()


def _headings(results: Results) -> dict[str, list[str]]:
    """Names of the columns of probabilities and decisions."""
    headings = {}
    for kind, numbers in results.numbers.items():
        one = numbers.shape[1] == 1
        headings[kind] = [kind] if one else [f"{kind} of {_text(label)}" for label in results.classes]
    return headings


def _write_json(results: Results, file: BinaryIO) -> None:
    for low in range(0, len(results.predicted), _BLOCK):
        some = slice(low, low + _BLOCK)
        lines = [{"prediction": label} for label in results.predicted[some].tolist()]
        for kind, numbers in results.numbers.items():
            for line, row in zip(lines, numbers[some].tolist(), strict=True):
                line[kind] = row[0] if len(row) == 1 else dict(zip(map(_text, results.classes), row, strict=True))
        file.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())


def _write_npy(results: Results, file: BinaryIO) -> None:
    predicted = results.predicted
    np.save(file, predicted.astype(str) if predicted.dtype == object else predicted, allow_pickle=False)


#: writers of predictions, by the names that `--to` takes
WRITERS: dict[str, Callable[[Results, BinaryIO], None]] = {
    "libsvm": _write_libsvm,
    "csv": _write_csv,
    "json": _write_json,
    "npy": _write_npy,
}

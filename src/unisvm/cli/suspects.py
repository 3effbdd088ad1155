"""`unisvm suspects`: rows whose label or target looks wrong, as a list, a file of all rows, and repaired data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unisvm._checks import one_of
from unisvm.cli import output
from unisvm.cli.conversion import WRITERS, Converted, check_form, form_of
from unisvm.cli.data import (
    Data,
    TableOptions,
    check_labels,
    holds_matrix,
    read_matrix,
    read_rows,
    split_table,
    task_of,
)
from unisvm.cli.display import shown_progress
from unisvm.cli.estimators import kernel_name
from unisvm.cli.messages import Messages
from unisvm.cli.sources import Source, open_source
from unisvm.io.table import is_missing
from unisvm.losses.base import CLASSIFICATION
from unisvm.rows.mapped import StoredRows
from unisvm.tables import Table
from unisvm.wrong_labels import SuspectReport, suspects
from unisvm.wrong_labels.report import REPAIRS

_FORMS = {".csv": "csv", ".json": "json", ".jsonl": "json"}
_COLUMNS = ("row", "line", "given", "suggested", "score", "probability", "margin", "flagged")
# classes that are listed, those with the most suspects
_MOST_CLASSES = 10


class Search(NamedTuple):
    """A search for suspects that was asked for.

    Attributes
    ----------
    source : str
    format : str or None
    table : TableOptions
    task : str or None
    groups : str or None
        The column of a table that names the group of each row.
    out, repaired : str or None
        Files for the report of all rows, and for the repaired data.
    how : str
        How the data are repaired.
    top : int
        Most suspects that are listed.
    parameters : dict
        Of `unisvm.suspects`.
    """

    source: str
    format: str | None
    table: TableOptions
    task: str | None
    groups: str | None
    out: str | None
    repaired: str | None
    how: str
    top: int
    parameters: dict[str, Any]

    @classmethod
    def of(cls, given: dict[str, Any], table: TableOptions) -> Search:
        """The search that the options of the command ask for."""
        names = ("format", "task", "groups", "out", "repaired", "how", "top")
        parameters = {name: given[name] for name in ("rank", "confidence", "memory_limit", "scratch_dir")} | {
            "scale": {None: "auto", "none": None}.get(given["scale"], given["scale"]),
            "kernel": "auto" if given["kernel"] is None else kernel_name(given["kernel"]),
            "random_state": given["seed"],
            "n_jobs": given["jobs"],
        }
        return cls(source=given["data"], table=table, parameters=parameters, **{name: given[name] for name in names})


class _Rows(NamedTuple):
    """Rows with the table that they are of, if they are of one, and their places in it."""

    data: Data
    table: Table | None
    places: np.ndarray
    groups: np.ndarray | None


def find(asked: Search, messages: Messages) -> None:
    """List the suspects, and write what was asked for."""
    one_of("way to repair", asked.how, REPAIRS)
    _check_files(asked)
    with open_source(asked.source, asked.format) as source, messages.collected_warnings() as warnings:
        rows = _read(source, asked)
        data, started = rows.data, perf_counter()
        task = task_of(data, asked.task)
        check_labels(data, task)
        with shown_progress(messages, f"looking at {source.name}", "suspects"):
            report = suspects(
                data.X, data.y, task=task, sample_weight=data.weights, groups=rows.groups, **asked.parameters
            )
        facts = _facts(report, source, perf_counter() - started)
        if asked.out is not None:
            with output.written(asked.out) as file:
                _write_report(report, rows, _FORMS[_ending(asked.out)], file)
        if asked.repaired is not None:
            with output.written(asked.repaired) as file:
                WRITERS[form_of(asked.repaired)](_repaired(report, rows, asked.how), file)
    for heading, line in _lines(report, rows, asked):
        messages.answer(f"{heading:<8}  {line}")
    facts["suspects"] = [_entry(report, rows, row) for row in _listed(report, asked.top)]
    messages.result(facts | {"warnings": list(map(str, warnings))})


def _check_files(asked: Search) -> None:
    """Raise when files cannot be written, before any work is done."""
    for out, others in ((asked.out, [asked.source]), (asked.repaired, [asked.source, asked.out or ""])):
        if out is not None:
            output.check_place(out, *others)
            if out == output.STDOUT:
                raise ValueError("Standard output has the list of suspects: give the name of a file.")
    if asked.out is not None and asked.out == asked.repaired:
        raise ValueError(f"{asked.out} cannot be both the report and the repaired data: give two names.")
    if asked.out is not None and _ending(asked.out) not in _FORMS:
        raise ValueError(f"{asked.out}: a report ends in {', '.join(_FORMS)}; .gz or .bz2 may follow.")
    if asked.repaired is not None:
        check_form(asked.repaired)


def _ending(out: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(out).suffixes]
    return ([suffix for suffix in suffixes if suffix not in (".gz", ".bz2")] or [""])[-1]


def _read(source: Source, asked: Search) -> _Rows:
    """The rows with targets."""
    if holds_matrix(source, asked.table):
        if asked.groups is not None:
            raise ValueError(f"--groups names a column of a table, and {source.name} is {source.format}.")
        data = read_matrix(source, asked.table, asked.parameters["scratch_dir"])
        if data.y is None:
            raise ValueError(f"{source.name} has no targets: give a file that has them, or a .npy file by --target.")
        return _Rows(data, None, np.arange(data.n_rows), None)
    table = read_rows(source, asked.table)
    data = split_table(source, table, asked.table)
    # rows without a target are left out
    places = np.flatnonzero(~is_missing(table[str(data.target)]))
    groups = None
    if asked.groups is not None:
        groups = table[asked.groups][places].astype(str)
        data.X = data.X.without([asked.groups])
    return _Rows(data, table, places, groups)


def _repaired(report: SuspectReport, rows: _Rows, how: str) -> Converted:
    """The data with the suggested labels, or without the suspects; rows without a label stay as they are."""
    data, flagged = rows.data, rows.places[report.flagged]
    if rows.table is not None:
        if how == "drop":
            table = rows.table.take_rows(np.delete(np.arange(rows.table.n_rows), flagged))
        else:
            column = rows.table[str(data.target)].copy()
            column[flagged] = report.suggested[report.flagged]
            table = rows.table.with_column(str(data.target), column)
        return Converted(data.source, table, None, None, data.target)
    X = data.X[:] if isinstance(data.X, StoredRows) else data.X
    if how == "drop":
        return Converted(data.source, None, X[~report.flagged], np.asarray(data.y)[~report.flagged], None)
    return Converted(data.source, None, X, np.where(report.flagged, report.suggested, data.y), None)


# ------------------------------------------------------------------ what is said


def _listed(report: SuspectReport, top: int) -> list[int]:
    """Indices of the flagged rows that are listed."""
    return [row for row in report.ranking.tolist() if report.flagged[row]][:top]


def _entry(report: SuspectReport, rows: _Rows, row: int) -> dict[str, Any]:
    """A row of the report."""
    line = None if rows.table is None else int(rows.table.lines[int(rows.places[row])])
    values = (
        int(rows.places[row]),
        line,
        _plain(report.given[row]),
        _plain(report.suggested[row]),
        _number(report.scores[row]),
        _number(report.probability[row]),
        _number(report.margin[row]),
        bool(report.flagged[row]),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _plain(value: Any) -> Any:
    """A label or target as JSON and CSV have it."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _facts(report: SuspectReport, source: Source, seconds: float) -> dict[str, Any]:
    return {
        "data": source.name,
        "task": report.task,
        "rows": len(report.scores),
        "n_wrong": report.n_wrong,
        "n_wrong_interval": list(report.n_wrong_interval),
        "confidence": report.confidence,
        "flagged": int(report.flagged.sum()),
        "by_class": {str(label): count._asdict() for label, count in report.by_class.items()},
        "kernels": report.kernels,
        "seconds": seconds,
    }


def _lines(report: SuspectReport, rows: _Rows, asked: Search) -> Iterator[tuple[str, str]]:
    """Lines of the answer, each with its heading."""
    what = "labels" if report.task == CLASSIFICATION else "targets"
    n_rows, n_flagged, (low, high) = len(report.scores), int(report.flagged.sum()), report.n_wrong_interval
    between = f"{low:,} to {high:,} with {100 * report.confidence:g} % confidence"
    yield "wrong", f"about {report.n_wrong:,} of {n_rows:,} {what} ({between})"
    yield "flagged", f"{n_flagged:,} rows whose {what[:-1]} is more likely wrong than right"
    counts = sorted(report.by_class.items(), key=lambda pair: -pair[1].n_flagged)
    for i, (label, count) in enumerate(counts[:_MOST_CLASSES]):
        line = f"{label}: about {count.n_wrong:,} of {count.n_rows:,} wrong, {count.n_flagged:,} flagged"
        yield "" if i else "classes", line
    if len(counts) > _MOST_CLASSES:
        yield "", f"and {len(counts) - _MOST_CLASSES} more"
    listed = _listed(report, asked.top)
    if listed:
        yield from _table(report, rows, listed)
    if n_flagged > len(listed) > 0:
        yield "", f"and {n_flagged - len(listed):,} more: --top lists more of them, --out writes all rows to a file"
    if asked.out is not None:
        yield "report", f"{asked.out}, all rows, the most suspicious first"
    if asked.repaired is not None:
        done = "with other labels" if report.task == CLASSIFICATION else "with other targets"
        yield "repaired", f"{asked.repaired}, {n_flagged:,} rows {'left out' if asked.how == 'drop' else done}"


def _table(report: SuspectReport, rows: _Rows, listed: list[int]) -> Iterator[tuple[str, str]]:
    """The list of suspects, with a heading line."""
    by_line = rows.table is not None and rows.table.unit == "line"
    cells: list[tuple[str, ...]] = [("line" if by_line else "row", "given", "suggested", "right with probability")]
    for row in listed:
        entry = _entry(report, rows, row)
        shown = [
            f"{value:.6g}" if isinstance(value, float) else str(value) for value in (entry["given"], entry["suggested"])
        ]
        cells.append((str(entry["line" if by_line else "row"]), *shown, f"{entry['score']:.2g}"))
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    for i, line in enumerate(cells):
        yield "" if i else "suspects", "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()


def _write_report(report: SuspectReport, rows: _Rows, form: str, file: BinaryIO) -> None:
    """All rows, the most suspicious first; those of weight 0 last."""
    ranked = report.ranking
    order = np.concatenate([ranked, np.setdiff1d(np.arange(len(report.scores)), ranked)])
    entries = (_entry(report, rows, row) for row in order.tolist())
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    if form == "json":
        text.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    else:
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(entries)
    # the file stays open
    text.detach()

"""The page of the comparison, from raw results: claims, tables and pictures, with the machine of the runs."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from peers.jobs import LEFT_OUT, MAIN, RANKS, TEN_LOSSES
from peers.systems import SYSTEMS
from peers.targets import CLAIMS, Table
from peers.tasks import BOARD_SIZES, REGRESSION, TASKS

_COLOURS = plt.get_cmap("tab20").colors[::2] + plt.get_cmap("tab20").colors[1::2]


def write(folder: Path, machine: dict, results: list[dict]) -> None:
    """Write README.md and the pictures into the folder."""
    table = Table(results)
    pictures = [
        ("accuracy.png", "Accuracy against seconds of training", _accuracy_picture),
        ("growth.png", "Seconds of training against rows and against rank", _growth_picture),
    ]
    parts = [
        "# unisvm compared with its peers",
        "Time, accuracy and memory of unisvm, of other kernel machines and of LightGBM on the same rows. Kernel "
        "machines have the same parameters. Written by `make bench` from [results.json.gz](results.json.gz).",
        "Every run is a process of its own with the same number of threads. Libraries are warmed up on 1,000 rows "
        "first. Repeats are interleaved, and tables show their median.",
        _machine_text(machine),
        "## Claims\n\n"
        + _claims_text(table)
        + "\n\nA run that was stopped counts with the seconds after which it was stopped. Four settings were chosen "
        "with a look at the test accuracy: [which and how](settings.md).",
    ]
    for file, title, draw in pictures:
        figure = draw(table)
        figure.suptitle(f"{title}\n{_machine_line(machine)}", fontsize=9)
        figure.savefig(folder / file, dpi=120)
        plt.close(figure)
        parts.append(f"## {title}\n\n![{title}]({file})")
    parts.append("## All systems\n\n" + "\n\n".join(_task_text(table, task) for task in _measured(table)))
    parts.append("## Ten losses against Algorithm 1\n\n" + _losses_text(table))
    skipped = _skipped_text(table)
    if skipped:
        parts.append("## Left out\n\n" + skipped)
    (folder / "README.md").write_text("\n\n".join(parts) + "\n")


# ---------------------------------------------------------------------- text


def _machine_line(machine: dict) -> str:
    versions = machine["versions"]
    return (
        f"{machine['processor']}, {machine['threads']} threads, {machine['memory_gigabytes']} GB; "
        f"numpy {versions['numpy']}, scikit-learn {versions['scikit-learn']}, unisvm {versions['unisvm']}"
    )


def _machine_text(machine: dict) -> str:
    rates = machine["rates"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    return (
        f"Machine: {machine['processor']}, {machine['threads']} of {machine['processors']} processors, "
        f"{machine['memory_gigabytes']} GB. Measured on it: products {rates['gigaflops']:.0f} Gflop/s, exponentials "
        f"{rates['exp_nanoseconds']:.1f} ns each on one processor, reading {rates['read_gigabytes_per_second']:.1f} "
        f"GB/s (single precision).\n\nPython {machine['python']}, {versions}."
    )


def _row(*cells) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(*cells) -> list[str]:
    return [_row(*cells), _row(*["---"] * len(cells))]


def _claims_text(table: Table) -> str:
    lines = _head("claim", "must be", "is", "holds")
    for claim in CLAIMS:
        figure, holds = claim.check(table)
        sign = "≥" if claim.at_least else "≤"
        shown = "" if figure is None else f"{figure:.4g}{claim.unit}"
        lines.append(_row(claim.text, f"{sign} {claim.bound:g}{claim.unit}", shown, holds))
    return "\n".join(lines)


def _measured(table: Table) -> list[str]:
    present = {run["task"] for run in table.results}
    return [task for task in (*MAIN, "covtype-100k", *(f"board-{label}" for label in BOARD_SIZES)) if task in present]


def _name(run: dict) -> str:
    options = ", ".join(f"{name} {value}" for name, value in run["options"].items() if name != "rank_tol")
    return run["system"] + (f" ({options})" if options else "")


def _groups(table: Table, task: str, parts: tuple[str, ...]) -> dict[str, list[dict]]:
    """Runs of a task that finished, by system and options, the fastest first."""
    groups: dict[str, list[dict]] = {}
    for run in table.results:
        if run["task"] == task and run["part"] in parts and "fit_seconds" in run:
            groups.setdefault(_name(run), []).append(run)
    return dict(sorted(groups.items(), key=lambda item: np.median([run["fit_seconds"] for run in item[1]])))


def _task_text(table: Table, task: str) -> str:
    quantity = "rmse" if TASKS[task].kind == REGRESSION else "accuracy"
    lines = _head("system", "fit s", "predict s", quantity, "peak MB", "rank", "sweeps", "stationarity", "runs")
    n_rows = n_test = 0
    for name, runs in _groups(table, task, ("main", "rows", "rank")).items():
        middle = {
            key: np.median([run[key] for run in runs]) for key in runs[0] if isinstance(runs[0][key], int | float)
        }
        n_rows, n_test = int(middle["n_rows"]), int(middle["n_test"])
        own = "rank" in runs[0]
        lines.append(
            _row(
                name,
                f"{middle['fit_seconds']:.3g}",
                f"{middle['predict_seconds']:.3g}",
                f"{middle[quantity]:.4g}" if quantity == "rmse" else f"{middle[quantity]:.2f}",
                f"{middle['peak_megabytes']:.0f}",
                f"{middle['rank']:.0f}" if own else "",
                f"{middle['sweeps']:.0f}" if own else "",
                f"{middle['stationarity']:.1e}" if own else "",
                len(runs),
            )
        )
    return f"### {task}: {n_rows:,} training and {n_test:,} test rows\n\n" + "\n".join(lines)


def _losses_text(table: Table) -> str:
    lines = _head("data", "loss", "ours s", "Algorithm 1 s", "ratio", "ours %", "Algorithm 1 %")
    for task in ("a9a", "covtype"):
        for loss in TEN_LOSSES:
            ours = _seconds_and_accuracy(table, task, "unisvm", loss)
            paper = _seconds_and_accuracy(table, task, "algorithm-1", loss)
            if ours and paper:
                lines.append(
                    _row(
                        task,
                        loss,
                        f"{ours[0]:.3g}",
                        f"{paper[0]:.3g}",
                        f"{paper[0] / ours[0]:.1f}",
                        f"{ours[1]:.2f}",
                        f"{paper[1]:.2f}",
                    )
                )
    return "\n".join(lines)


def _seconds_and_accuracy(table: Table, task: str, system: str, loss: str) -> tuple[float, float] | None:
    runs = table.runs(task, system, loss=loss)
    if not runs:
        return None
    return tuple(float(np.median([run[key] for run in runs])) for key in ("fit_seconds", "accuracy"))


def _skipped_text(table: Table) -> str:
    reasons: dict[str, list[str]] = {}
    for run in table.results:
        if "fit_seconds" not in run:
            reason = run.get("skipped") or f"stopped after {run['stopped_after']:.0f} s"
            reasons.setdefault(f"{run['system']}: {reason}", []).append(run["task"])
    for (system, task), reason in LEFT_OUT.items():
        reasons.setdefault(f"{system}: {reason}", []).append(task)
    return "\n".join(f"- {reason} ({', '.join(dict.fromkeys(tasks))})" for reason, tasks in reasons.items())


# ---------------------------------------------------------------------- pictures


def _accuracy_picture(table: Table):
    """One panel for each data set: the upper left corner is best."""
    tasks = [task for task in _measured(table) if task in MAIN or task == "covtype-100k"]
    n_columns = 3
    n_rows = -(-len(tasks) // n_columns) or 1
    figure, axes = plt.subplots(n_rows, n_columns, figsize=(13, 3.4 * n_rows), squeeze=False, layout="constrained")
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    handles = {}
    for axis, task in zip(axes.flat, tasks, strict=False):
        quantity = "rmse" if TASKS[task].kind == REGRESSION else "accuracy"
        for name, runs in _groups(table, task, ("main",)).items():
            (handles[name],) = axis.plot(
                np.median([run["fit_seconds"] for run in runs]),
                np.median([run[quantity] for run in runs]),
                **_marker(name),
            )
        axis.set(xscale="log", title=task, xlabel="fit, seconds", ylabel=quantity)
        if quantity == "rmse":
            axis.invert_yaxis()
        axis.grid(alpha=0.3)
    ordered = sorted(handles, key=lambda name: (not name.startswith("unisvm"), name))
    figure.legend([handles[name] for name in ordered], ordered, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _marker(name: str) -> dict:
    """Marker of a system: ours are stars, every other system has its own colour in all panels."""
    if name.startswith("unisvm"):
        variants = ("unisvm", "unisvm (loss least_squares)")
        colour = {variants[0]: "crimson", variants[1]: "orange"}.get(name, "gold")
        return {"marker": "*", "markersize": 15, "color": colour, "linestyle": "", "markeredgecolor": "black"}
    return {"marker": "o", "markersize": 8, "color": _COLOURS[list(SYSTEMS).index(name)], "linestyle": ""}


def _growth_picture(table: Table):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for system in ("unisvm", "nystroem-ridge", "lightgbm", "intelex-svm"):
        points = [
            (n_rows, table.get("fit_seconds", f"board-{label}", system))
            for label, n_rows in BOARD_SIZES.items()
            if table.runs(f"board-{label}", system)
        ]
        if points:
            left.loglog(*zip(*points, strict=True), "o-", label=system)
    left.set(title="checkerboard, rank 300", xlabel="rows", ylabel="fit, seconds")
    for system, fixed in (("unisvm", {"rank_tol": 0.0}), ("nystroem-ridge", {})):
        points = [
            (rank, table.get("fit_seconds", "ijcnn1", system, rank=rank, **fixed))
            for rank in RANKS
            if table.runs("ijcnn1", system, rank=rank, **fixed)
        ]
        if points:
            right.loglog(*zip(*points, strict=True), "o-", label=system)
    right.set(title="ijcnn1", xlabel="rank", ylabel="fit, seconds")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend()
    return figure

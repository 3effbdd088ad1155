"""The paper's figure of training time and accuracy on xor of growing size with a tenth of the labels flipped.

Run: PYTHONPATH=benchmarks python -m paper.figure_robust_sizes [--sizes 400 1000 ...] [--trials 10] [--large-trials 3]
Without options it is the whole figure, in about a quarter of an hour. Every system has the same seeds. One that would
take more than --limit-seconds for a fit, as the cube of the number of rows predicts from its last size, is left out,
and its cell says so. `--fresh` measures everything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from paper import xor
from paper.common import SOLVERS, Results, markdown, options, write_section
from paper.figures import (
    counted,
    fit,
    median_seconds,
    medians_of_seconds,
    seconds_of,
    values,
    with_remark,
)
from paper.findings import answers
from paper.robust_sizes_findings import CLEAN, FLIPPED, findings, our_name
from paper.tables import mean_and_deviation

ITEM = "figure_robust_sizes"
SIZES = [400, 1000, 2000, 4000, 7000, 10_000]
#: beyond this, --large-trials applies
MANY_ROWS = 2000
STYLES = {
    CLEAN: ("black", "--", "o"),
    FLIPPED: ("black", "-", "o"),
    "robust L1SVM": ("tab:orange", "-", "s"),
    "MS-SVM": ("tab:green", "-", "s"),
    "re-weighted L2SVM": ("tab:brown", "-", "s"),
}
OUR_COLOURS = ("tab:blue", "tab:red", "tab:purple", "tab:cyan")
OUR_LINES = {"lbfgs": ("-", "^"), "dca": (":", "v")}


def systems() -> dict[str, Callable[[int], Any]]:
    """Builders of every system by name, for so many rows; UniSVM has a tenth as many landmarks."""
    found: dict[str, Callable[[int], Any]] = {CLEAN: xor.libsvm, FLIPPED: xor.libsvm}
    for name, make_model in xor.ROBUST_PROGRAMS.items():
        found[name] = lambda m, make_model=make_model: make_model(xor.A, **xor.settings(m))
    for solver in SOLVERS:
        for name, loss in xor.ROBUST_LOSSES.items():
            found[our_name(name, solver)] = lambda m, loss=loss, solver=solver: xor.unisvm(loss, m, m // 10, solver)
    return found


class Measurements:
    """What was measured, by size: in each size every system with the same seeds."""

    def __init__(self, results: Results):
        self.results = results
        keys = [key.split("/") for key in results.measured]
        self.sizes = sorted({int(size) for system, size, _ in keys if system in systems()})
        self.seeds = {m: self._common_seeds(m) for m in self.sizes}

    def is_over(self, system: str, m: int) -> bool:
        """Whether the system was left out for its time."""
        return any("over" in value for value in self._trials(system, m).values())

    def has(self, system: str, m: int) -> bool:
        return bool(self.seeds[m]) and not self.is_over(system, m) and bool(self._trials(system, m))

    def numbers(self, system: str, m: int, name: str) -> np.ndarray:
        """One figure, a number for each trial."""
        return values(self.results, f"{system}/{m}/", self.seeds[m], name)

    def seconds(self, system: str, m: int) -> float:
        """Median seconds, of undisturbed trials if there are any."""
        return seconds_of(self.results, f"{system}/{m}/", self.seeds[m])

    def _trials(self, system: str, m: int) -> dict[int, dict[str, Any]]:
        prefix = f"{system}/{m}/"
        return {
            int(key.removeprefix(prefix)): value
            for key, value in self.results.measured.items()
            if key.startswith(prefix)
        }

    def _common_seeds(self, m: int) -> list[int]:
        present = [set(self._trials(system, m)) for system in systems() if not self.is_over(system, m)]
        present = [seeds for seeds in present if seeds]
        return sorted(set.intersection(*present)) if present else []


def measure(results: Results, limit: float, system: str, m: int, seed: int) -> dict[str, float]:
    """Seconds and accuracy, or the limit that a fit would exceed."""
    earlier = Measurements(results)
    smaller = [size for size in earlier.sizes if size < m and earlier.has(system, size)]
    if smaller:
        last = max(smaller)
        if earlier.seconds(system, last) * (m / last) ** 3 > limit:
            return {"over": limit}
    X, y, _, X_test, y_test = xor.make(m, seed, 0.0 if system == CLEAN else xor.SHARE_FLIPPED)
    model = systems()[system](m)
    seconds = fit(model, X, y)
    return {"seconds": seconds, "accuracy": xor.accuracy(model, X_test, y_test)}


def jobs(
    results: Results, limit: float, sizes: list[int], first: int, trials: int, large_trials: int
) -> Iterator[tuple[str, Callable]]:
    # small sizes first, so that an interrupted run has complete sizes
    for m in sorted(sizes):
        count = trials if m <= MANY_ROWS else min(trials, large_trials)
        for seed in range(first, first + count):
            for system in systems():
                yield f"{system}/{m}/{seed}", partial(measure, results, limit, system, m, seed)


def picture(measured: Measurements, file: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(13, 6.2), layout="constrained")
    styles = dict(STYLES)
    for solver, (line, marker) in OUR_LINES.items():
        styles |= {
            our_name(loss, solver): (colour, line, marker)
            for loss, colour in zip(xor.ROBUST_LOSSES, OUR_COLOURS, strict=True)
        }
    for system, (colour, line, marker) in styles.items():
        sizes = [m for m in measured.sizes if measured.has(system, m)]
        accuracies = [measured.numbers(system, m, "accuracy").mean() for m in sizes]
        for ax, heights in zip(axes, (accuracies, [measured.seconds(system, m) for m in sizes]), strict=True):
            ax.plot(sizes, heights, line, color=colour, marker=marker, markersize=4, label=system)
    axes[0].set(title="(a) test accuracy, %", xlabel="training rows", xscale="log")
    axes[1].set(title="(b) training seconds", xlabel="training rows", xscale="log", yscale="log")
    for ax in axes:
        ax.minorticks_off()
        ax.set_xticks(measured.sizes, [f"{m:,}" for m in measured.sizes])
        ax.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def table(measured: Measurements, write: Callable[[str, int], str]) -> str:
    """A row for each system; `write` is told the system and the size of a cell."""

    def cell(system: str, m: int) -> str:
        if measured.has(system, m):
            return write(system, m)
        if not measured.is_over(system, m):
            return "not measured"
        limit = next(value["over"] for key, value in measured.results.measured.items() if f"{system}/{m}/" in key)
        return f"over {limit / 60:.3g} min"

    header = ["", *(f"m = {m:,}, {counted(len(measured.seeds[m]), 'trial')}" for m in measured.sizes)]
    return markdown(header, [[system, *(cell(system, m) for m in measured.sizes)] for system in systems()])


def section(results: Results) -> str:
    measured = Measurements(results)

    def accuracies(system: str, m: int) -> str:
        return mean_and_deviation(measured.numbers(system, m, "accuracy"), 2)

    def seconds(system: str, m: int) -> str:
        return median_seconds(results, f"{system}/{m}/", measured.seeds[m])

    return "\n\n".join(
        [
            "## xor of growing size with flipped labels (the paper's figure of time and accuracy)",
            f"![time and accuracy]({ITEM}.png)",
            f"{xor.SHARE_FLIPPED:.0%} of the training labels are wrong, except for LibSVM without outliers; as many "
            f"test rows as training rows, all clean; γ = {xor.GAMMA}, λ = {xor.LAMBDA:g}, a = {xor.A}, r = 0.1 m for "
            "UniSVM; means (standard deviations) over as many trials as the header of a column says, with the same "
            f"seeds for every system in it; {medians_of_seconds(results)}. The paper prints no numbers for this "
            "figure. Its comparators were solved by Matlab's quadprog, ours by a Newton method for the same programs "
            "([quadratic_programs.md](../quadratic_programs.md)), which is far faster than an interior-point code. So "
            "times are those of the comparators at their best.",
            "Test accuracy, %:",
            table(measured, accuracies),
            "Training seconds:",
            with_remark(table(measured, seconds)),
            answers(findings(measured)),
        ]
    )


def main() -> None:
    sizes = {"type": int, "nargs": "+", "default": SIZES, "help": "numbers of training rows"}
    large = {"type": int, "default": 3, "help": f"most trials for more than {MANY_ROWS} rows"}
    limit = {"type": float, "default": 600.0, "help": "longest fit of a system, in seconds"}
    more = {"sizes": sizes, "large-trials": large, "limit-seconds": limit}
    chosen = options(__doc__.splitlines()[0], trials=10, **more)
    results = Results.of(ITEM, chosen)
    results.run(
        jobs(results, chosen.limit_seconds, chosen.sizes, chosen.seed, chosen.trials, max(chosen.large_trials, 1))
    )
    picture(Measurements(results), chosen.folder / f"{ITEM}.png")
    write_section(ITEM, chosen.folder, section(results))


if __name__ == "__main__":
    main()

"""Fits of cells: machines of one kernel and one C, each of the rows of its cell alone.

Cells have nothing to wait for in each other: each is fitted by one thread, from its landmarks to its coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import NamedTuple

import numpy as np

from unisvm import engine
from unisvm.bases import uses_columns
from unisvm.class_pairs import order_by_class
from unisvm.engine import FitSettings, Fitted
from unisvm.fitted_attributes import fitted_attributes
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Kernel
from unisvm.leave_one_out import CChoice, mean_choice
from unisvm.local.columns import CellColumns, columns_of_cell
from unisvm.local.tree import CellTree, Partitions, grow_tree
from unisvm.nystrom.landmarks import is_rule
from unisvm.parallel import run
from unisvm.progress import CellFitted, StageRunner
from unisvm.rows import MemoryRows
from unisvm.scaling import resolve_kernel
from unisvm.solvers.driver import StopReason
from unisvm.targets import Attributes, TargetUnits

# Rows of a cell with cells="auto". With 1,000, covtype was 0.3 points more accurate, but with 20 % wrong labels
# phoneme, ijcnn1 and a9a were 0.3 to 0.9 points less so (benchmarks/cells.py).
_AUTO_ROWS = 2000
# cells that C is chosen by
_CELLS_FOR_C = 8
# attributes with an entry for each column
_OF_COLUMNS = ("dual_coef_", "intercept_", "objective_", "stationarity_", "n_sweeps_")


class CellFit(NamedTuple):
    """A machine of a cell.

    Attributes
    ----------
    attributes : dict
        Fitted attributes of an estimator of the cell's rows that has the columns of all rows.
    reasons : list of StopReason
        Of the columns that were fitted.
    stationarity : float
        The largest of them.
    """

    attributes: Attributes
    reasons: list[StopReason]
    stationarity: float


@dataclass(frozen=True)
class LocalFit:
    """Machines of all cells.

    Attributes
    ----------
    trees : list of CellTree
        One for each partition; their cells follow each other in the other attributes.
    kernel : Kernel
    choice : CChoice
        The C of all cells.
    sizes : ndarray of int of shape (n_cells,)
        Rows of each cell.
    cells : list of CellFit
    """

    trees: list[CellTree]
    kernel: Kernel
    choice: CChoice
    sizes: np.ndarray
    cells: list[CellFit]

    def of_cells(self, name: str) -> np.ndarray:
        """An attribute of every cell, of shape (n_cells, …)."""
        return np.array([cell.attributes[name] for cell in self.cells])

    @property
    def reasons(self) -> list[StopReason]:
        """Reasons why the columns of all cells ended."""
        return [reason for cell in self.cells for reason in cell.reasons]

    @property
    def stationarity(self) -> float:
        """The largest of all columns of all cells."""
        return max(cell.stationarity for cell in self.cells)

    def attributes(self) -> Attributes:
        """Fitted attributes of an estimator, but for its cells: arrays with an entry for each of them."""
        names = ("rank_", "trace_error_", "objective_", "stationarity_", "n_sweeps_")
        return {name: self.of_cells(name) for name in names} | {
            "partitions_": self.trees,
            "kernel_": self.kernel,
            "C_": self.choice.C,
            "C_scores_": {"C": self.choice.Cs, "error": self.choice.errors},
            "n_iter_": int(self.of_cells("n_iter_").max()),
        }

    @property
    def certificate(self) -> str:
        """How the fits ended, on one line."""
        return (
            f"{len(self.cells)} cells of {self.sizes.min()} to {self.sizes.max()} rows; rank "
            f"{np.mean(self.of_cells('rank_')):.0f}, trace left out {np.mean(self.of_cells('trace_error_')):.2e}; "
            f"stationarity {self.stationarity:.2e} at most"
        )


class _Cell(NamedTuple):
    """A cell with its rows.

    Attributes
    ----------
    number : int
    seed : int
        Of the random numbers of its fit.
    rows : MemoryRows
        With the targets that are fitted.
    columns : CellColumns
    """

    number: int
    seed: int
    rows: MemoryRows
    columns: CellColumns


def rows_of_a_cell(cells: int | str | None, n_rows: int) -> int | None:
    """Most rows of a cell, by the parameter of the estimators; None for one machine."""
    most_rows = _AUTO_ROWS if isinstance(cells, str) else cells
    return None if most_rows is None or n_rows <= most_rows else int(most_rows)


def partitions_of(
    rows: MemoryRows,
    settings: FitSettings,
    most_rows: int,
    n_partitions: int,
    runner: StageRunner,
    given: Sequence[CellTree] = (),
) -> list[CellTree]:
    """Trees whose cells have at most so many different rows; none for one cell.

    The given ones are kept if they were made so, and none of their cells is without rows, or has twice as many.
    """

    def suits(tree: CellTree) -> bool:
        sizes = [len(indices) for indices in _store_indices(tree, rows)]
        return tree.most_rows == most_rows and min(sizes) > 0 and max(sizes) <= 2 * most_rows

    def grow() -> Partitions:
        if len(given) == n_partitions and all(map(suits, given)):
            return Partitions(list(given))
        kernel = resolve_kernel(settings.kernel, rows, settings.scale)
        return Partitions([grow_tree(rows, kernel, most_rows, runner.rng) for _ in range(n_partitions)])

    trees = runner.stage("partition", grow, Partitions.from_state).trees
    return trees if trees[0].n_cells > 1 else []


def check_possible(settings: FitSettings) -> None:
    """Raise when a parameter asks for what cells cannot have."""
    if settings.kernel.points_are_indices:
        raise ValueError(
            "cells are parts of the space of the columns of X, and a precomputed kernel matrix has none: use "
            "cells=None, or a kernel of rows."
        )
    if settings.indefinite == "krein":
        raise ValueError("indefinite='krein' is for one machine of all rows: use 'flip' or 'clip' with cells.")
    if not is_rule(settings.landmarks):
        raise ValueError(
            "Each cell chooses landmarks of its own, by the rule that landmarks names: an array of landmarks is for "
            "cells=None."
        )


def fit_cells(
    rows: MemoryRows,
    units: TargetUnits,
    settings: FitSettings,
    trees: list[CellTree],
    runner: StageRunner,
    starts: Sequence[KernelExpansion] = (),
) -> LocalFit:
    """Machines of all cells.

    Parameters
    ----------
    rows : RowStore
        With the training targets.
    units : TargetUnits
        Of these targets.
    settings : FitSettings
    trees : list of CellTree
        One for each partition.
    runner : StageRunner
    starts : sequence of KernelExpansion
        Functions in the units of y that the cells start from, if there are any.
    """
    n_threads = rows.n_threads
    kernel = resolve_kernel(settings.kernel, rows, settings.scale)
    settings = replace(settings, kernel=kernel, scale=None, memory=settings.memory.share(n_threads))
    of_cells = [indices for tree in trees for indices in _store_indices(tree, rows)]
    sizes = np.array([len(indices) for indices in of_cells])
    seeds = runner.rng.randint(2**31 - 1, size=len(of_cells)).tolist()

    def columns_of(number: int) -> CellColumns:
        return columns_of_cell(rows.targets[of_cells[number]], units, is_margin=settings.is_margin)

    def cell(number: int) -> _Cell:
        columns = columns_of(number)
        return _Cell(number, seeds[number], _rows_of(rows, of_cells[number], columns), columns)

    choice = CChoice(settings.C, np.empty(0), np.empty(0)) if settings.C is not None else None
    if choice is None:
        order = runner.rng.permutation(trees[0].n_cells).tolist()
        # cells of one class tell nothing of C
        drawn = list(islice((number for number in order if len(columns_of(number).fitted)), _CELLS_FOR_C))
        choice = runner.stage("C", lambda: _choose_C(map(cell, drawn), settings, n_threads), CChoice.from_state)
        runner.report.say(f"  C = {choice.C:.3g} by leave-one-out errors of least squares in {len(drawn)} cells")
    settings = replace(settings, C=choice.C)
    done = iter(range(1, len(of_cells) + 1))

    def fit(number: int) -> CellFit:
        started = perf_counter()
        found = _fit_cell(cell(number), settings, starts[number] if starts else None, runner)
        seconds, n_rows = perf_counter() - started, int(sizes[number])
        runner.report.emit(CellFitted, number=next(done), n_cells=len(of_cells), n_rows=n_rows, seconds=seconds)
        return found

    with runner.report.stage("cells"):
        cells = run([partial(fit, number) for number in range(len(of_cells))], n_threads)
    return LocalFit(trees, kernel, choice, sizes, cells)


def _store_indices(tree: CellTree, rows: MemoryRows) -> list[np.ndarray]:
    """Store indices of the rows of each cell, rising."""
    cells = tree.cells_of(rows.X, rows.n_threads)
    ends = np.cumsum(np.bincount(cells, minlength=tree.n_cells))
    return np.split(np.argsort(cells, kind="stable"), ends[:-1])


def _rows_of(rows: MemoryRows, indices: np.ndarray, columns: CellColumns) -> MemoryRows:
    """Rows of a cell, by their store indices, with the targets that are fitted."""
    targets = np.ascontiguousarray(rows.targets[np.ix_(indices, columns.targets)])
    order = order_by_class(targets, columns.units.pairs) if len(columns.fitted) else None
    X, weights, present = rows.take(indices), rows.weights[indices], rows.row_indices(indices)
    return MemoryRows(X, targets, weights, 1, order, rows.scratch_dir, present)


def _choose_C(cells: Iterable[_Cell], settings: FitSettings, n_threads: int) -> CChoice:
    """The mean of the C that suit some cells, by the logarithm."""
    choices = run([partial(_suitable_C, cell, settings) for cell in cells], n_threads)
    # where every cell has one class, nothing is fitted
    return mean_choice(choices) if choices else CChoice(1.0, np.empty(0), np.empty(0))


def _suitable_C(cell: _Cell, settings: FitSettings) -> CChoice:
    rng = np.random.RandomState(cell.seed)
    basis = engine.choose_basis(cell.rows, settings, rng)
    features = engine.build_features(cell.rows, settings, basis)
    (choice,) = engine.suitable_Cs(cell.rows, basis, features, cell.columns.units, settings, [settings.loss], rng)
    return choice


def _fit_cell(cell: _Cell, settings: FitSettings, start: KernelExpansion | None, runner: StageRunner) -> CellFit:
    """The machine of a cell, from a checkpoint if there is one."""
    rows, columns = cell.rows, cell.columns
    if len(columns.fitted) == 0:
        return _constant(cell, settings)
    if start is not None:
        start = start._replace(dual_coef=start.dual_coef[columns.fitted], intercept=start.intercept[columns.fitted])
    fitted = runner.parallel_stage(
        f"cell-{cell.number}",
        lambda: engine.fit(rows, columns.units, settings, runner.apart(cell.seed), start),
        lambda saved: Fitted.from_state(saved, rows, settings),
    )
    attributes = fitted_attributes(fitted)
    n_columns = len(columns.constants)
    for name in _OF_COLUMNS:
        values = np.atleast_1d(attributes[name])
        spread = np.zeros((n_columns, *values.shape[1:]), values.dtype)
        spread[columns.fitted] = values
        attributes[name] = spread[0] if np.ndim(attributes[name]) == 0 and n_columns == 1 else spread
    attributes["intercept_"] += columns.constants.astype(attributes["intercept_"].dtype)
    return CellFit(attributes, fitted.result.reasons, float(fitted.result.stationarity.max()))


def _constant(cell: _Cell, settings: FitSettings) -> CellFit:
    """The machine of a cell whose labels are all the same: constants, and a landmark without a part."""
    rows, constants = cell.rows, cell.columns.constants
    of_columns = uses_columns(settings.kernel, settings.landmarks)
    points = None if of_columns else rows.take(np.arange(1))
    width = rows.n_features if of_columns else 1
    zeros = np.zeros(len(constants))
    attributes: Attributes = {
        "kernel_": settings.kernel,
        "landmarks_": None if of_columns else rows.row_indices(np.arange(1)),
        "landmark_vectors_": points,
        "dual_coef_": np.zeros((len(constants), width), rows.dtype),
        "intercept_": constants.astype(rows.dtype),
        "rank_": width,
        "signature_": (width, 0),
        "trace_error_": 0.0,
        "C_": settings.C,
        "C_scores_": {"C": np.empty(0), "error": np.empty(0)},
        "n_iter_": 0,
        "history_": {name: [] for name in ("objective", "stationarity", "seconds", "n_sweeps")},
    }
    values = zeros[0] if len(zeros) == 1 else zeros
    attributes |= {"objective_": values, "stationarity_": values, "n_sweeps_": values.astype(int)}
    return CellFit(attributes, [], 0.0)

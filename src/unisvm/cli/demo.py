"""`unisvm demo`, robustness to wrong labels: a fifth of the training labels is flipped, and the test labels are clean.

Trains LIBSVM's SVC, UniSVMClassifier with every classification loss and SVC's C and γ, and UniSVMClassifierCV, which
chooses its own parameters. Prints one table, and draws the decision boundaries on the xor problem if it is asked to.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from unisvm import losses
from unisvm._warnings import FitWarning
from unisvm.classifier import UniSVMClassifier
from unisvm.cli.output import check_place
from unisvm.datasets import flip_labels, make_checkerboard, make_xor
from unisvm.model_selection import UniSVMClassifierCV

SHARE_FLIPPED = 0.2
SEED = 0


@dataclass
class Data:
    """Rows with a share of wrong labels, and test rows with right ones."""

    name: str
    C: float
    gamma: float
    X: np.ndarray
    y: np.ndarray

    def __post_init__(self):
        X, self.X_test, y, self.y_test = train_test_split(self.X, self.y, random_state=SEED, test_size=0.4)
        self.X, self.y_clean = X, y
        self.y, self.flipped = flip_labels(y, SHARE_FLIPPED, random_state=SEED)


def data_sets() -> list[Data]:
    """The sets of the table."""
    cancer, cancer_labels = load_breast_cancer(return_X_y=True)
    digits, digit_labels = load_digits(return_X_y=True)
    xor, xor_labels = make_xor(1000, random_state=SEED)
    board, colours = make_checkerboard(90)
    return [
        Data("xor", 10.0, 0.5, xor, xor_labels),
        Data("checkerboard", 100.0, 16.0, board, colours),
        Data("breast cancer", 1.0, 1 / 30, StandardScaler().fit_transform(cancer), cancer_labels),
        Data("digits, ten classes", 10.0, 1 / 64, StandardScaler().fit_transform(digits), digit_labels),
    ]


def models(data: Data) -> dict:
    """The models of the table, by their names."""
    shared: dict[str, Any] = {"C": data.C, "gamma": data.gamma}
    ours = {
        name: UniSVMClassifier(name, rank=500, random_state=SEED, **shared) for name in losses.names("classification")
    }
    search = UniSVMClassifierCV(rank=500, cv=3, random_state=SEED)
    return {"SVC (LIBSVM)": SVC(**shared), **ours, "UniSVMClassifierCV": search}


def empty_table() -> Table:
    """A table that is no wider than 80 characters with the names of all models."""
    table = Table(title=f"Test accuracy after training with {SHARE_FLIPPED:.0%} of the labels flipped")
    table.add_column("model", no_wrap=True)
    for title in ("accuracy %", "seconds", "sweeps", "rank", "trace\nleft out"):
        table.add_column(title, justify="right")
    return table


def row(name: str, model, data: Data) -> list[str]:
    """A row of the table: how a model does, trained on wrong labels."""
    started = perf_counter()
    with catch_warnings():
        # the table says what landmarks leave out
        simplefilter("ignore", FitWarning)
        model.fit(data.X, data.y)
    seconds = perf_counter() - started
    accuracy = f"{100 * model.score(data.X_test, data.y_test):.1f}"
    if isinstance(model, SVC):
        return [name, accuracy, f"{seconds:.2f}", "", str(len(model.support_)), ""]
    if isinstance(model, UniSVMClassifierCV):
        model = model.best_estimator_
    sweeps = np.max(model.n_sweeps_)
    return [name, accuracy, f"{seconds:.2f}", str(sweeps), str(model.rank_), f"{model.trace_error_:.1e}"]


def _pyplot():
    """matplotlib's pyplot, drawing without a screen."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("--picture needs matplotlib: pip install 'unisvm[plot]'.") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_boundaries(fitted: dict, data: Data, picture: str) -> None:
    """Draw the decision boundaries of some models into a file."""
    from sklearn.inspection import DecisionBoundaryDisplay

    plt = _pyplot()
    names = ["SVC (LIBSVM)", "smooth_hinge", "squared_hinge", "truncated_squared_hinge", "quadratic_ramp", "saturating"]
    figure, axes = plt.subplots(2, 3, figsize=(12, 8.4), layout="constrained")
    wrong = np.zeros(len(data.y), dtype=bool)
    wrong[data.flipped] = True
    for ax, name in zip(axes.flat, names, strict=True):
        model = fitted[name]
        DecisionBoundaryDisplay.from_estimator(
            model, data.X, ax=ax, response_method="predict", alpha=0.25, cmap="coolwarm", grid_resolution=200, eps=0.1
        )
        colours = np.where(data.y > 0, "tab:red", "tab:blue")
        ax.scatter(*data.X[~wrong].T, c=colours[~wrong], s=8)
        ax.scatter(*data.X[wrong].T, c=colours[wrong], s=22, marker="x", linewidths=1)
        ax.axhline(0, color="black", linewidth=0.8, linestyle=":")
        ax.axvline(0, color="black", linewidth=0.8, linestyle=":")
        ax.set_title(f"{name}: {100 * model.score(data.X_test, data.y_test):.1f} %")
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    figure.suptitle(
        f"xor with {SHARE_FLIPPED:.0%} of the training labels flipped (crosses); test accuracy on clean labels; "
        "dotted: the true boundary"
    )
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def run(picture: str | None) -> None:
    """Print the table, and draw the boundaries into a file if its name is given."""
    if picture is not None:
        check_place(picture)
        _pyplot()
    console = Console()
    started = perf_counter()
    sets = data_sets()
    table = empty_table()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("training", total=sum(len(models(data)) for data in sets))
        for data in sets:
            table.add_row(f"[bold]{data.name}[/]\n{len(data.y)} training rows")
            fitted = models(data)
            for name, model in fitted.items():
                progress.update(task, description=f"{data.name}: {name}")
                table.add_row(*row(name, model, data))
                progress.advance(task)
            table.add_section()
            if data.name == "xor" and picture is not None:
                draw_boundaries(fitted, data, picture)
    console.print(table)
    console.print("The rank of SVC is the number of its support vectors.")
    if picture is not None:
        console.print(f"Decision boundaries on xor: {picture}.", soft_wrap=True)
    console.print(f"Done in {perf_counter() - started:.0f} seconds.")

"""The paper's two figures of losses: each as a parabola minus a convex function, and the loss that it approximates.

Run: PYTHONPATH=benchmarks python -m paper.figure_losses
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from paper.common import Results, markdown, options, write_section
from unisvm import losses
from unisvm.losses import Loss
from unisvm.plotting import LossDisplay

ITEM = "figure_losses"
#: residuals at which a loss is compared with the one that it approximates
N_POINTS = 6001


def hinge(u):
    return np.maximum(u, 0)


def ramp(u):
    return np.clip(u, 0, 1)


def saturating_bound(a: float, b: float, c: float) -> float:
    """Half of the paper's M(a, b, c)."""
    h = (3 * (c - 1) - np.sqrt(5 * c**2 - 6 * c + 1)) / (2 * c)
    bracket = (c - 1) * h ** (1 - 2 / c) - c * h ** (2 - 2 / c)
    return a * c / b ** (2 / c) * bracket * np.exp(-h) / 2


class Panel(NamedTuple):
    title: str
    loss: Loss
    #: the paper's bound on A
    paper_A: float
    approximates: Callable[[np.ndarray], np.ndarray] | None = None


CLASSIFICATION = [
    Panel("truncated least squares, a = 1", losses.TruncatedLeastSquares(a=1), 1),
    Panel("squared hinge", losses.SquaredHinge(), 1),
    Panel("truncated squared hinge, a = 1", losses.TruncatedSquaredHinge(a=1), 1),
    Panel("smoothed hinge, p = 8", losses.SmoothHinge(p=8), 8 / 8, hinge),
    Panel("smoothed ramp 1, a = 1", losses.QuadraticRamp(a=1), 2, ramp),
    Panel("smoothed ramp 2, a = 1, p = 8", losses.SoftplusRamp(a=1, p=8), 8 / 8, ramp),
    Panel("nonconvex smooth, a = b = 1, c = 2", losses.Saturating(1, 1, 2), saturating_bound(1, 1, 2)),
    Panel("nonconvex smooth, a = 1, b = c = 2", losses.Saturating(1, 2, 2), saturating_bound(1, 2, 2)),
    Panel("nonconvex smooth, a = 1, b = 2, c = 4", losses.Saturating(1, 2, 4), saturating_bound(1, 2, 4)),
]
#: the paper does not give the parameters of these; with ours the curves are well separated
REGRESSION = [
    Panel(
        "smoothed ε-insensitive, ε = 0.5, p = 8",
        losses.SmoothEpsilonInsensitive(epsilon=0.5, p=8),
        8 / 4,
        lambda u: np.maximum(np.abs(u) - 0.5, 0),
    ),
    Panel("Huber, δ = 0.5", losses.Huber(delta=0.5), 1 / (2 * 0.5), np.abs),
    Panel(
        "truncated Huber, δ = 0.5, a = 1",
        losses.TruncatedHuber(delta=0.5, a=1),
        1 / (2 * 0.5),
        lambda u: np.minimum(np.abs(u), 1),
    ),
]
FIGURES = {"classification": (CLASSIFICATION, (-1.5, 2.5)), "regression": (REGRESSION, (-2.0, 2.0))}


def measure(panel: Panel, limits: tuple[float, float]) -> dict[str, float | None]:
    """A, least curvature of A u² − ψ with it and with a per cent less, and distance from the approximated loss."""
    u = np.linspace(*limits, N_POINTS)
    value, step = panel.loss.value(u), u[1] - u[0]

    def least_curvature(A: float) -> float:
        return float(np.diff(A * u**2 - value, n=2).min() / step**2)

    gap = None if panel.approximates is None else float(np.abs(value - panel.approximates(u)).max())
    A = panel.loss.A
    return {"A": A, "curvature": least_curvature(A), "curvature_below": least_curvature(0.99 * A), "gap": gap}


def picture(panels: list[Panel], limits: tuple[float, float], path: Path) -> None:
    n_rows = len(panels) // 3
    figure, axes = plt.subplots(n_rows, 3, figsize=(11, 3.2 * n_rows + 0.6), layout="constrained", squeeze=False)
    for letter, ax, panel in zip("abcdefghi", axes.flat, panels, strict=False):
        LossDisplay.from_loss(panel.loss, approximates=panel.approximates, limits=limits, ax=ax)
        ax.set_title(f"({letter}) {panel.title}", fontsize=10)
        ax.get_legend().remove()
        ax.set_ylim(-0.35, 3 if panel.loss.bound == np.inf else 2)
    # a panel that approximates something has all four curves
    handles, labels = max((ax.get_legend_handles_labels() for ax in axes.flat), key=lambda both: len(both[1]))
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def section(results: Results) -> str:
    text = ["## The losses and their decompositions (the paper's two figures of losses)", ""]
    for task, (panels, _) in FIGURES.items():
        rows = []
        for panel in panels:
            found = results.measured[panel.title]
            gap = "" if found["gap"] is None else f"{found['gap']:.3f}"
            difference = found["A"] - panel.paper_A
            rows.append([panel.title, f"{panel.paper_A:.4g}", f"{found['A']:.4g}", f"{difference:+.4f}", gap])
        header = ["loss", "A, published", "A, ours", "difference", "largest distance from the approximated loss"]
        text += [f"![{task}]({ITEM}_{task}.png)", "", markdown(header, rows), ""]
    every = [(panel, results.measured[panel.title]) for panels, _ in FIGURES.values() for panel in panels]
    # second differences of numbers of order 1 at this spacing are good to about that
    convex = sum(found["curvature"] > -1e-6 for _, found in every)
    tight = sum(found["curvature_below"] < -1e-6 for _, found in every)
    smaller = [panel.title for panel, found in every if found["A"] < panel.paper_A - 1e-9]
    text.append(
        f"Red is ψ(u), green A u², blue their difference, dashed black the loss that ψ approximates. With our A the "
        f"difference is convex for {convex} of {len(every)} losses; with one per cent less it is not convex for "
        f"{tight}."
    )
    if smaller:
        text.append(
            f"Our A is the smallest possible. It is below the paper's bound for {'; '.join(smaller)}. A smaller A "
            "makes longer steps."
        )
    return "\n".join(text)


def main() -> None:
    chosen = options(__doc__.splitlines()[0], trials=1)
    results = Results.of(ITEM, chosen)
    results.run(
        (panel.title, partial(measure, panel, limits)) for panels, limits in FIGURES.values() for panel in panels
    )
    for task, (panels, limits) in FIGURES.items():
        picture(panels, limits, chosen.folder / f"{ITEM}_{task}.png")
    write_section(ITEM, chosen.folder, section(results))


if __name__ == "__main__":
    main()

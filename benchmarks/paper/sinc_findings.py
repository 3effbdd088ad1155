"""The paper's findings on sinc, judged from the measurements of `figure_sinc`."""

from __future__ import annotations

import numpy as np

from paper.common import PUBLISHED, SOLVERS, Results
from paper.figures import SOLVER_NAMES, seconds_of, values
from paper.findings import FAILS, HOLDS, IN_PART, finding, judge
from paper.tables import span

LIBSVM, EARLY, LATE = "LibSVM/", "UniSVM-full/dca/", "UniSVM-full/lbfgs/"
# a difference of mean squared residuals that can be neglected, and a ratio of times that counts as highly efficient
NEGLIGIBLE, EFFICIENT = 1e-4, 2


def findings(results: Results, seeds: list[int], prefixes: list[str], most: float) -> list[str]:
    """The paper's two findings and what its caption says, in their parts; `most` is m/r."""
    return [*_of_quality(results, seeds, prefixes), *_of_time(results, seeds, most)]


def _of_quality(results: Results, seeds: list[int], prefixes: list[str]) -> list[str]:
    residual, error = (
        {prefix: values(results, prefix, seeds, what) for prefix in prefixes}
        for what in ("squared_residual", "squared_error")
    )
    ours = [prefix for prefix in prefixes if prefix.startswith("UniSVM")]
    wins = [int((residual[prefix] < residual[LIBSVM]).sum()) for prefix in ours]
    better = [residual[prefix].mean() < residual[LIBSVM].mean() for prefix in ours]
    means = f"{np.mean([residual[prefix].mean() for prefix in ours]):.5f} against {residual[LIBSVM].mean():.5f}"
    apart = max(np.abs(residual[f"UniSVM-full/{s}/"] - residual[f"UniSVM-app/{s}/"]).max() for s in SOLVERS)
    gain, kept = (error[LIBSVM].mean() / error[prefix].mean() for prefix in (EARLY, LATE))
    iterations = values(results, EARLY, seeds, "iterations").mean()
    return [
        finding(
            "UniSVM can simply achieve better performance than LibSVM",
            judge(better),
            f"a smaller mean MSR in {sum(better)} of {len(better)} cases (kernel and solver), {means} on average, and "
            f"a smaller one in {span(wins)} of {len(seeds)} trials",
        ),
        finding(
            "perhaps because it starts from the least-squares SVM, and the noise is Gaussian",
            FAILS if gain <= kept else (IN_PART if kept > 1 else HOLDS),
            f"the squared distance from the true curve is LibSVM's divided by {gain:.1f} for Algorithm 1, which stops "
            f"after {iterations:.1f} iterations, and by {kept:.1f} for L-BFGS, which solves the same model to the end: "
            "only what lies between them can come from the start",
        ),
        finding(
            "the difference between UniSVM-full and UniSVM-app can be neglected",
            judge([apart < NEGLIGIBLE]),
            f"their MSRs differ by at most {apart:.1e}",
        ),
    ]


def _of_time(results: Results, seeds: list[int], most: float) -> list[str]:
    def seconds(rank: str, solver: str) -> float:
        return seconds_of(results, f"UniSVM-{rank}/{solver}/", seeds)

    rates = {solver: seconds("full", solver) / seconds("app", solver) for solver in SOLVERS}
    texts = ", ".join(f"{rate:.1f} ({SOLVER_NAMES[solver]})" for solver, rate in rates.items())
    iterations = values(results, EARLY, seeds, "iterations").mean()
    _, full, app = PUBLISHED["sinc"]["seconds"]
    return [
        finding(
            "the low rank is highly efficient",
            judge(rate > EFFICIENT for rate in rates.values()),
            f"UniSVM-app is as many times as fast: {texts}; more than {EFFICIENT} counts as highly efficient",
        ),
        finding(
            "its speed-up is less than m/r, since there are only 3 iterations",
            judge([*(rate < most for rate in rates.values()), iterations < 3.5]),
            f"m/r is {most:.0f}, and Algorithm 1 makes {iterations:.1f} iterations by the paper's rule",
        ),
        finding(
            "the training time of UniSVM-app is less than one-fifth of that of UniSVM-full",
            judge(rate > 5 for rate in rates.values()),
            f"UniSVM-full takes as many times as long: {texts}; by the paper's own numbers {full / app:.1f}",
        ),
    ]

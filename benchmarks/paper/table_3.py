"""Table III: RMSE of six losses and LibSVM's SVR on Cadata, 3D-Spatial and Slice.

Run: PYTHONPATH=benchmarks python -m paper.table_3 [--solver dca] [--trials 10] [--sets cadata ...]
Columns and target are scaled to [-1, 1], which gives the published figures of Cadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np
from sklearn.svm import SVR

from paper.common import PUBLISHED, REGRESSION_LOSSES, SOLVERS, Results, markdown, options, write_section
from unisvm import UniSVMRegressor, datasets, losses

ITEM = "table_3"
SETS = ("cadata", "spatial3d", "slice")
#: SVR's time grows with the square of the rows
MOST_ROWS_FOR_LIBSVM = 50_000


def in_units(loss: losses.Loss, penalty: float, unit: float) -> tuple[losses.Loss, float]:
    """Loss and λ for which our model, which divides the target by `unit`, is the paper's, which does not.

    Losses of u² scale with unit², the others with unit; lengths in u shrink by unit and slopes in it grow.
    """
    squared = isinstance(loss, losses.LeastSquares | losses.TruncatedLeastSquares)
    power = {"delta": -1, "epsilon": -1, "p": 1, "a": -2 if squared else -1}
    scaled = {name: value * unit ** power[name] for name, value in loss.get_params().items()}
    return type(loss)(**scaled), penalty * (1 if squared else unit)


def _in_units_too(settings: dict, unit: float) -> dict:
    """Settings of a solver whose rule looks at a change of the working response, which is in units of the target."""
    if "solver" not in settings:
        return settings
    return settings | {"solver": replace(settings["solver"], change=settings["solver"].change / unit)}


def ours(name: str, number: int, seed: int, solver: str) -> dict[str, float]:
    data = datasets.load_paper(name, random_state=seed)
    unit = 1.4826 * np.median(np.abs(data.y_train - np.median(data.y_train)))
    loss, penalty = in_units(REGRESSION_LOSSES[number], data.penalty, unit)
    model = UniSVMRegressor(
        loss,
        C=1 / (2 * penalty * len(data.y_train)),
        gamma=data.gamma,
        rank=data.rank,
        fit_intercept=False,
        random_state=seed,
        **_in_units_too(SOLVERS[solver], unit),
    )
    X = data.X_train.astype(np.float64) if solver == "dca" else data.X_train
    measured = timed(model, X, data)
    return measured | {"iterations": int(model.n_iter_), "rank": int(model.rank_)}


def libsvm(name: str, seed: int) -> dict[str, float]:
    data = datasets.load_paper(name, random_state=seed)
    model = SVR(C=1 / (2 * data.penalty * len(data.y_train)), gamma=data.gamma, epsilon=0.1, cache_size=1000)
    return timed(model, data.X_train, data)


def timed(model, X, data: datasets.PaperSet) -> dict[str, float]:
    started = perf_counter()
    model.fit(X, data.y_train)
    seconds = perf_counter() - started
    return {"rmse": float(np.sqrt(np.mean((model.predict(data.X_test) - data.y_test) ** 2))), "seconds": seconds}


def jobs(sets: list[str], solver: str, seeds: range) -> Iterator[tuple[str, Callable]]:
    for seed in seeds:
        for name in sets:
            if len(datasets.load_paper(name, random_state=seed).y_train) <= MOST_ROWS_FOR_LIBSVM:
                yield f"{name} libsvm {seed}", partial(libsvm, name, seed)
            for number in range(len(REGRESSION_LOSSES)):
                yield f"{name} {solver} {number + 1} {seed}", partial(ours, name, number, seed, solver)


def table(results: Results, name: str, solver: str) -> str:
    rows = []
    for number in range(len(REGRESSION_LOSSES) + 1):
        prefix = f"{name} libsvm " if number == 0 else f"{name} {solver} {number} "
        published = PUBLISHED[ITEM][name]["rmse"][number]
        row = ["LibSVM" if number == 0 else f"{number}. {REGRESSION_LOSSES[number - 1]}"]
        row.append("" if published is None else f"{published:.3f}")
        found = np.array([value["rmse"] for key, value in results.measured.items() if key.startswith(prefix)])
        if len(found):
            row.append(f"{found.mean():.3f} ({found.std():.3f})")
            row.append("" if published is None else f"{found.mean() - published:+.3f}")
            row.append(f"{results.mean(prefix, 'seconds'):.2f}")
        rows.append(row + [""] * (5 - len(row)))
    return markdown(["", "published", "ours", "difference", "seconds"], rows)


def main() -> None:
    chosen = options(__doc__.splitlines()[0], trials=10, sets={"nargs": "*", "choices": SETS, "default": list(SETS)})
    sets, said = [], []
    for name in chosen.sets:
        try:
            datasets.load_paper(name, random_state=chosen.seed)
            sets.append(name)
        except FileNotFoundError as missing:
            said.append(f"{name} is left out. {missing}")
    results = Results(ITEM, chosen.folder, chosen.fresh)
    results.run(jobs(sets, chosen.solver, range(chosen.seed, chosen.seed + chosen.trials)))
    text = [f"## Table III, `--solver {chosen.solver}`", *said]
    text += [f"### {name}: RMSE on the test rows\n\n{table(results, name, chosen.solver)}" for name in sets]
    write_section(f"{ITEM}_{chosen.solver}", chosen.folder, "\n\n".join(text))


if __name__ == "__main__":
    main()

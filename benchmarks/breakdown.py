"""Time of the stages of a fit, next to the time that the machine needs for their work.

The cost model: 2mrd floating-point operations and mr exponentials to build the features, and one read of the mr
features for each sweep, at rates that are measured here, again for every fit. A sweep is compared with a plain read on
the fit's own features, one after the other, several times: memory is not equally fast from one second to the next.

Two things that the model leaves out are shown separately. Fresh memory is the time that the system takes to allocate
the memory of the features, before anything is written there. Fixed work is products on the landmarks and on a sample
of the rows, which grow with the third power of the rank and hardly with the rows: they choose landmarks, compute second
moments of the sample twice, and factorise three matrices. Their floating-point operations are counted at the same rate.

Run: python benchmarks/breakdown.py [--tasks NAME ...] [--loss NAME] [--rank N] [--threads N] [--repeats N]. Needs
UNISVM_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
from collections import defaultdict
from time import perf_counter

import numpy as np

from peers.machine import rates, read_seconds
from peers.systems import SYSTEMS
from peers.tasks import TASKS
from unisvm.nystrom.gram import sample_size
from unisvm.nystrom.landmarks import n_candidates
from unisvm.objective import Objective
from unisvm.rows import MemoryRows
from unisvm.sweep import Sweep


class Clock:
    """Time spent in methods of objectives and row stores over so many rows, by name."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        #: the last objective over all rows, and the arguments of its last call
        self.last: tuple[Objective, tuple] | None = None

    @contextlib.contextmanager
    def on(self, owner: type, *methods: str):
        kept = {name: getattr(owner, name) for name in methods}
        for name, method in kept.items():
            setattr(owner, name, self._timed(name, method))
        try:
            yield self
        finally:
            for name, method in kept.items():
                setattr(owner, name, method)

    def _timed(self, name: str, method):
        def timed(owner, *args, **kwargs):
            if getattr(owner, "rows", owner).n_rows != self.n_rows:
                # the sample that is solved first
                return method(owner, *args, **kwargs)
            if name == "__call__":
                self.last = owner, args
            started = perf_counter()
            try:
                return method(owner, *args, **kwargs)
            finally:
                self.seconds[name] += perf_counter() - started
                self.calls[name] += 1

        return timed


def stages(said: str) -> dict[str, float]:
    """Seconds of each stage, from the output of a fit with verbose=1."""
    return {name: float(seconds) for name, seconds in re.findall(r"\[unisvm\] (\w+) +([\d.]+) s", said)}


def first_touch(shape: tuple[int, int], dtype, threads: int) -> float:
    """Seconds to allocate memory of this shape, touching one number of every small page."""
    rows = MemoryRows(
        np.empty((shape[0], 0), dtype), np.empty((shape[0], 0), dtype), np.empty(shape[0], dtype), threads
    )
    step = max(1, 4096 // np.dtype(dtype).itemsize)

    def touch(X, out):
        out.reshape(-1)[::step] = 0

    started = perf_counter()
    rows.build(touch, shape[1])
    return perf_counter() - started


def compare(clock: Clock, threads: int, repeats: int = 9) -> tuple[float, float]:
    """Median seconds of a plain read of the features and of a sweep over them, one after the other."""
    objective, (W, columns) = clock.last
    block = Sweep(objective.spec.take(columns), *objective.to_dual(W), objective.is_margin)
    read, sweep = [], []
    for _ in range(repeats):
        read.append(read_seconds(objective.features, threads, 1))
        started = perf_counter()
        objective.rows.reduce(block, objective.features, len(columns), read_once=block.is_compiled)
        sweep.append(perf_counter() - started)
    return float(np.median(read)), float(np.median(sweep))


def fixed_work(m: int, r: int) -> dict[str, float]:
    """Least floating-point operations of the stages whose cost does not grow with the rows.

    Factorisations are in double precision, where an operation takes the time of two.
    """
    factorisation, sample = 2 * r**3 / 3, min(sample_size(m, r), m)
    return {
        "landmarks": min(n_candidates(m, r), m) * r**2 + factorisation,
        # the sample's features in an orthonormal basis, and one triangle of their moments
        "majoriser": 2 * sample * r**2 + factorisation,
        "start": sample * r**2 + factorisation,
    }


def show(name: str, seconds: float, total: float, model: float | None = None) -> None:
    beside = "" if model is None else f"{model:10.3f}"
    print(f"  {name:<36}{seconds:9.3f}{100 * seconds / total:7.1f} %{beside}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=["a9a", "ijcnn1", "covtype"], choices=list(TASKS))
    parser.add_argument("--loss")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    for name in [name for name in options.tasks for _ in range(options.repeats)]:
        task = TASKS[name]
        X, y, _, _ = task.prepare()
        chosen = {"verbose": 1, "n_jobs": options.threads}
        chosen |= {"loss": options.loss} if options.loss else {}
        chosen |= {"rank": options.rank} if options.rank else {}
        model = SYSTEMS["unisvm"].make(task, len(y), **chosen)
        with contextlib.redirect_stdout(io.StringIO()):
            SYSTEMS["unisvm"].make(task, 1000, **chosen).fit(X[:1000], y[:1000])
        with (
            contextlib.redirect_stdout(io.StringIO()) as said,
            Clock(len(y)).on(Objective, "__call__") as clock,
            clock.on(MemoryRows, "reduce"),
        ):
            started = perf_counter()
            model.fit(X, y)
            total = perf_counter() - started
        parts = stages(said.getvalue())
        machine = rates(options.threads)
        print("\n" + ", ".join(f"{rate.replace('_', ' ')} {value:.1f}" for rate, value in machine.items()))
        report(name, model, parts, clock, total, X, machine, options.threads)


def report(name, model, parts, clock, total, X, machine, threads) -> None:
    m, d, r, sweeps = X.shape[0], X.shape[1], model.rank_, clock.calls["__call__"]
    width = np.dtype(X.dtype).itemsize
    products = 2 * m * r * d / (machine["gigaflops"] * 1e9)
    exponentials = m * r * machine["exp_nanoseconds"] * 1e-9 / threads
    fresh = first_touch((m, r), X.dtype, threads)
    read, one = compare(clock, threads)
    half_sweeps = clock.calls["reduce"] - sweeps
    fixed = {stage: flops / (machine["gigaflops"] * 1e9) for stage, flops in fixed_work(m, r).items()}
    print(f"{name}: {m:,} rows, {d} columns, rank {r}, {sweeps} sweeps, {half_sweeps} half sweeps, {total:.3f} s")
    print(f"  {'':<36}{'seconds':>9}{'share':>9}{'model':>10}")
    show("landmarks", parts["landmarks"], total, fixed["landmarks"])
    show("features", parts["features"], total, products + exponentials)
    show("majoriser", parts["gram"] + parts["majoriser"], total, fixed["majoriser"])
    outside = parts["start"] + parts["solver"] - clock.seconds["reduce"]
    show("sweeps", clock.seconds["reduce"], total, (sweeps + half_sweeps) * read)
    show("start, and solver between sweeps", outside, total, fixed["start"])
    show("everything else", total - sum(parts.values()), total)
    expected = products + exponentials + (sweeps + half_sweeps) * read
    whole = expected + fresh + sum(fixed.values())
    times = [f"{total / all_of_it:.2f} times" for all_of_it in (expected, expected + fresh, whole)]
    print(
        f"  the whole fit takes {times[0]} the model, {times[1]} the model with the {fresh:.3f} s of fresh memory,\n"
        f"  and {times[2]} the model with fresh memory and fixed work, which is itself\n"
        f"  {whole / expected:.2f} times the model; a sweep runs at {m * r * width / one / 1e9:.1f} GB/s,\n"
        f"  {100 * read / one:.0f} % of a plain read's {m * r * width / read / 1e9:.1f} GB/s; "
        f"stationarity {np.max(model.stationarity_):.1e}"
    )


if __name__ == "__main__":
    main()

"""Cost of a sweep on a cluster: constants measured on this machine, and tables for many workers that follow from them.

python -m scale.throughput                              the constants and the tables
python -m scale.throughput --write docs/scaling.md      the same, put into the page
"""

from __future__ import annotations

import argparse
import heapq
import json
import pickle
from pathlib import Path
from time import perf_counter, process_time, sleep

import numpy as np

from scale.page import write
from unisvm import kernels, losses
from unisvm.column_spec import ColumnSpec
from unisvm.rows import MemoryRows
from unisvm.sweep import Sweep

#: assumed sweeps of a fit; `scale.cluster` prints those of the checkerboard
SWEEPS = 40
RANKS = (300, 1000)
#: bytes a second that a worker's network carries: 10 Gbit/s
NETWORK = 1.25e9
FAN_IN = 8


# ------------------------------------------------------------------ constants


def a_sweep(rank: int):
    """The function that a sweep sends to the blocks, for a classifier with one column."""
    spec = ColumnSpec.shared(losses.get("saturating"), penalty=1e-7, total=1.0, n_columns=1)
    return Sweep(spec, np.full((rank, 1), 1e-3, np.float32), np.zeros(1, np.float32), is_margin=True)


def seconds_a_row(rank: int, n_rows: int = 60_000) -> dict[str, float]:
    """Processor time of one thread to build the features of a row, and to sweep it."""
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(n_rows, 2)).astype(np.float32)
    rows = MemoryRows(X, np.sign(rng.randn(n_rows, 1)).astype(np.float32), np.ones(n_rows, np.float32))
    block, sweep = kernels.RBF(16.0).against(X[:rank]), a_sweep(rank)
    features = rows.build(block, rank)
    return {
        "build": _least(lambda: rows.build(block, rank)) / n_rows,
        "sweep": _least(lambda: rows.reduce(sweep, features)) / n_rows,
    }


def _least(work, repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        started = process_time()
        work()
        seconds.append(process_time() - started)
    return min(seconds)


def seconds_a_task(rank: int, n_blocks: tuple[int, int] = (32, 288), repeats: int = 5) -> dict[str, float]:
    """Cost of a task of a sweep when there is nothing to compute: blocks of one row.

    Processor time of the client and the scheduler, which are one process here, and of the workers. The wall time of
    the smaller sweep is mostly the latency of its messages.
    """
    import dask.array as da
    from distributed import Client, LocalCluster

    from unisvm.distributed.collections import Blocks

    sweep, here, there, clock, sent = a_sweep(rank), [], [], [], []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for n in n_blocks:
            X = da.ones((n, 2), chunks=(1, 2), dtype=np.float32)
            rows = Blocks(X, np.ones((n, 1), np.float32)).store(as_they_are, 1)
            features = rows.build(kernels.RBF(16.0).against(np.zeros((rank, 2), np.float32)), rank)
            rows.reduce(sweep, features)
            measured = []
            for _ in range(repeats):
                sleep(0.5)
                before = process_time(), sum(client.run(process_time).values()), perf_counter(), _loopback()
                rows.reduce(sweep, features)
                after = process_time(), sum(client.run(process_time).values()), perf_counter(), _loopback()
                measured.append(np.subtract(after, before))
            for kept, value in zip((here, there, clock, sent), np.min(measured, axis=0), strict=True):
                kept.append(float(value))
    more = n_tasks(n_blocks[1]) - n_tasks(n_blocks[0])
    return {
        "scheduler": (here[1] - here[0]) / more,
        "worker": (there[1] - there[0]) / more,
        "latency": clock[0] / (2 + depth(n_blocks[0])),
        "bytes": (sent[1] - sent[0]) / more,
    }


def as_they_are(y, weights):
    return y[:, None], weights


def _loopback() -> int:
    """Bytes that went through this machine's own network."""
    import psutil

    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def depth(n_blocks: int) -> int:
    """Number of levels of the tree of sums."""
    levels = 0
    while n_blocks > 1:
        n_blocks, levels = -(-n_blocks // FAN_IN), levels + 1
    return levels


def n_tasks(n_blocks: int) -> int:
    """Number of tasks of a sweep: the blocks, the tree of sums, and one that sends the coefficients."""
    tasks = n_blocks + 1
    while n_blocks > 1:
        n_blocks = -(-n_blocks // FAN_IN)
        tasks += n_blocks
    return tasks


# ------------------------------------------------------------------ the scheduler, simulated


def simulate(n_workers: int, blocks_each: int, compute: float, task: float, latency: float) -> float:
    """Seconds that a sweep takes when one scheduler deals with all events one after the other.

    A task costs the scheduler half of `task` when it is handed out and half when it is done; a worker does its tasks in
    the order in which they arrive. A sum is handed out once all its terms are done.
    """
    n = n_workers * blocks_each
    levels = [n]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // FAN_IN))
    missing = {(k, i): 0 for k in range(1, len(levels)) for i in range(levels[k])}
    for k in range(len(levels) - 1):
        for i in range(levels[k]):
            missing[k + 1, i // FAN_IN] += 1
    events = [(0.0, 0, (0, i)) for i in range(n)]
    free, scheduler = np.zeros(n_workers), 0.0
    while events:
        at, done, (level, i) = heapq.heappop(events)
        scheduler = max(scheduler, at) + task / 2
        if not done:
            worker = (i * FAN_IN**level) % n_workers
            free[worker] = max(free[worker], scheduler + latency) + (compute if level == 0 else 0.0)
            heapq.heappush(events, (free[worker] + latency, 1, (level, i)))
        elif level + 1 < len(levels):
            missing[level + 1, i // FAN_IN] -= 1
            if missing[level + 1, i // FAN_IN] == 0:
                heapq.heappush(events, (scheduler, 0, (level + 1, i // FAN_IN)))
    return scheduler + latency


# ------------------------------------------------------------------ the page


def tables(rows: dict[int, dict[str, float]], tasks: dict[str, float], payload: dict[int, int]) -> str:
    """Tables that follow from the constants, as text."""
    task, latency = tasks["scheduler"], tasks["latency"]
    lines = [
        "Measured on one thread of one machine, float32, one column:",
        "",
        "| | rank 300 | rank 1000 |",
        "|---|---|---|",
        *(
            f"| {name} | " + " | ".join(f"{rows[rank][key] * 1e9:.0f} ns" for rank in RANKS) + " |"
            for name, key in (("features of a row", "build"), ("a row in a sweep", "sweep"))
        ),
        "| sent to the blocks of a sweep | " + " | ".join(f"{payload[rank] / 1e3:.1f} kB" for rank in RANKS) + " |",
        "| sums that a block returns | " + " | ".join(f"{8 * (rank + 2) / 1e3:.1f} kB" for rank in RANKS) + " |",
        "",
        f"A task with nothing to compute costs the client and the scheduler {task * 1e3:.2f} ms of processor time "
        f"({1 / task:,.0f} tasks a second), a worker {tasks['worker'] * 1e3:.2f} ms, and {tasks['bytes'] / 1e3:.1f} kB "
        f"on the network. A message takes {latency * 1e3:.0f} ms from one process to the other, queues included.",
        "",
        f"From these constants, for workers with one thread and 10 Gbit/s, 2 blocks per worker and {SWEEPS} sweeps:",
        "",
        "| rows | rank | workers | memory of each | network per sweep and worker | tasks per sweep | seconds per "
        "sweep, simulated | share of computing | minutes in total |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for m in (10**9, 10**10):
        for rank in RANKS:
            for n in (64, 512):
                each = m / n
                compute = each * rows[rank]["sweep"]
                moved = payload[rank] + 2 * (tasks["bytes"] + 8 * (rank + 2))
                seconds = simulate(n, 2, compute / 2, task, latency) + moved / NETWORK
                total = SWEEPS * seconds + each * rows[rank]["build"]
                lines.append(
                    f"| {m:.0e} | {rank} | {n} | {each * 4 * (rank + 4) / 1e9:,.1f} GB | {moved / 1e3:.0f} kB | "
                    f"{n_tasks(2 * n):,} | {seconds:.2f} | {compute / seconds:.0%} | {total / 60:,.1f} |"
                )
    lines += ["", *_limits(rows[300]["sweep"], task, latency)]
    return "\n".join(lines)


def _limits(sweep: float, task: float, latency: float) -> list[str]:
    """Table and sentence on the number of workers beyond which the scheduler is the limit."""
    lines = [
        "Share of a sweep's time that is computing, for 10⁹ rows of rank 300, simulated:",
        "",
        "| workers | 1 block each | 2 | 8 | 32 | 2 blocks, 16 columns |",
        "|---|---|---|---|---|---|",
    ]
    for n in (16, 64, 256, 512, 1024, 2048):
        compute = 1e9 / n * sweep
        shares = [compute / simulate(n, k, compute / k, task, latency) for k in (1, 2, 8, 32)]
        # columns share the features that are read: sixteen are taken to cost four times as much as one
        many = 4 * compute
        shares.append(many / simulate(n, 2, many / 2, task, latency))
        lines.append(f"| {n} | " + " | ".join(f"{share:.0%}" for share in shares) + " |")
    # blocks and the tree of their sums
    least = 10 * 1.14 * task / sweep
    lines += [
        "",
        f"The scheduler keeps up as long as computing a sweep takes longer than handing out its tasks, which is "
        f"1.14·b·n·{task * 1e3:.2f} ms for b blocks on each of n workers. Blocks of {least * 64:,.0f} rows or more on "
        f"64 workers, and of {least * 512:,.0f} or more on 512, keep this below a tenth of the time (rank 300).",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the figures into this page")
    options = parser.parse_args()
    import cloudpickle
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = {rank: seconds_a_row(rank) for rank in RANKS}
    payload = {rank: len(cloudpickle.dumps(a_sweep(rank), protocol=pickle.HIGHEST_PROTOCOL)) for rank in RANKS}
    tasks = seconds_a_task(RANKS[0])
    print(json.dumps({"rows": rows, "tasks": tasks, "payload": payload}))
    text = tables(rows, tasks, payload)
    print(text)
    if options.write:
        write(options.write, "throughput", text)


if __name__ == "__main__":
    main()

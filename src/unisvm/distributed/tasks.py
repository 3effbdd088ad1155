"""Tasks that Dask runs, in threads of this process or on a cluster: sent once, shared evenly, failing with advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

# results that one task combines
FAN_IN = 8

_UNREACHABLE = (
    "{name} holds results on a Dask cluster that is gone, or to which there is no client here. Connect one by "
    "distributed.Client(address), load the data with it again, and keep it open during the fit."
)
_NOT_INSTALLED = (
    "unisvm is not installed on all workers of the Dask cluster, or not on its scheduler. Install the same version "
    "there as here, for instance by client.register_plugin(distributed.PipInstall(['unisvm'])), and fit again."
)


class Opaque:
    """An object that is sent as it is: Dask does not look for collections inside it."""

    def __init__(self, content: Any):
        self.content = content


def send(content: Any):
    """Task whose result many tasks need: workers get it from each other, and it is part of the graph if they die."""
    from dask import delayed

    return delayed(Opaque(content), pure=False)


def task(function: Callable[..., Any], *args):
    """Task that calls a function of a module."""
    from dask import delayed

    return delayed(function)(*args)


def compute(tasks: Iterable[Any]) -> list[Any]:
    """Results of the tasks, in this process."""
    import dask

    with _advised():
        return list(dask.compute(*tasks))


def persist(tasks: Sequence[Any]) -> list[Any]:
    """The tasks, done or being done; their results stay where they are, as long as this list is held.

    A task that is made from a kept result does not hold it: who makes it must, until it is done.
    """
    import dask

    with _advised():
        return list(dask.persist(*tasks))


def wait(persisted: Sequence[Any]) -> None:
    """Wait until these tasks are done; raises their errors."""
    compute([task(_nothing, result) for result in persisted])


def _nothing(result: Any) -> None:
    return None


def tree_reduce(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    """Result of `combine` over all parts, a few at a time."""
    while len(parts) > 1:
        parts = [task(combine, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return compute(parts)[0]


@contextmanager
def _advised() -> Iterator[None]:
    """Say what to do when a cluster cannot work for us."""
    try:
        yield
    except CancelledError as error:
        raise RuntimeError(
            "The Dask cluster, or the client's connection to it, was lost. Connect a client, load the data with it, "
            "and fit again."
        ) from error
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("Missing dependency"):
            raise ValueError(_UNREACHABLE.format(name="The data")) from error
        if _lacks_package(error):
            raise ModuleNotFoundError(_NOT_INSTALLED, name="unisvm") from error
        raise


def _lacks_package(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "unisvm":
            return True
        error = error.__cause__
    return False


def check_reachable(name: str, collection: Any) -> None:
    """Raise when a collection holds results of a cluster that cannot be asked for them."""
    try:
        from distributed import futures_of
    except ImportError:
        return
    futures = futures_of(collection)
    if futures and (any(future.cancelled() for future in futures) or client() is None):
        raise ValueError(_UNREACHABLE.format(name=name))


def check_installed() -> None:
    """Raise when a worker of the cluster lacks this package: it could not even say so of the tasks it gets."""
    at_work = client()
    if at_work is None:
        return

    def is_there() -> bool:
        # sent by value, since it is not found under its name
        return find_spec("unisvm") is not None

    lacking = [worker for worker, there in at_work.run(is_there).items() if not there]
    if lacking:
        raise ModuleNotFoundError(f"{_NOT_INSTALLED} Workers that lack it: {', '.join(lacking[:5])}.", name="unisvm")


# ------------------------------------------------------------------ a cluster


def client() -> Any:
    """The client of the cluster that does the work; None if this process does."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "who_has") else None


def workers() -> dict[str, int]:
    """The threads of each worker; empty if this process does the work."""
    at_work = client()
    return {} if at_work is None else dict(at_work.nthreads())


def holders(persisted: Sequence[Any]) -> list[str | None]:
    """Worker that each of these results is on; None if it is on none, as after a loss."""
    from distributed import futures_of

    futures = [futures_of(result)[0] for result in persisted]
    where = client().who_has(futures)
    return [next(iter(where.get(future.key, ())), None) for future in futures]


def persist_on(places: Sequence[str], tasks: Sequence[Any]) -> list[Any]:
    """The tasks, done, each on a worker, or on another one if that is lost; results stay where they are."""
    from distributed import futures_of

    at_work = client()
    done: list[Any] = [None] * len(tasks)
    with _advised():
        for place in dict.fromkeys(places):
            here = [i for i, other in enumerate(places) if other == place]
            started = at_work.persist([tasks[i] for i in here], workers=[place], allow_other_workers=True)
            for i, result in zip(here, started, strict=True):
                done[i] = result
        wait(done)
        # From now on they may be done again anywhere. A task that is bound to a worker waits for it for ever if it is
        # lost at a time when there is no other.
        keys = [futures_of(result)[0].key for result in done]
        at_work.sync(at_work.scheduler.set_restrictions, worker=dict.fromkeys(keys))
    return done


def shares(sizes: np.ndarray, present: Sequence[str | None], threads: dict[str, int]) -> list[str]:
    """A worker for each block, so that all have about as many rows a thread; blocks stay where they are if they can.

    Parameters
    ----------
    sizes : ndarray
        How many rows the blocks have.
    present : sequence of str or None
        Where they are now.
    threads : dict
        The workers and their threads.
    """
    quota = sizes.sum() / sum(threads.values())
    load = dict.fromkeys(threads, 0.0)
    places: list[Any] = [None] * len(sizes)
    largest_first = np.argsort(-sizes, kind="stable").tolist()
    for i in largest_first:
        worker = present[i]
        if worker in load and load[worker] + sizes[i] / 2 <= quota * threads[worker]:
            places[i] = worker
            load[worker] += sizes[i]
    for i in largest_first:
        if places[i] is None:
            places[i] = min(load, key=lambda worker: (load[worker] + sizes[i]) / threads[worker])
            load[places[i]] += sizes[i]
    return places

"""Progress on standard error while the program works: a live table on a terminal, plain lines in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Signal
from threading import Lock, Thread
from time import perf_counter

import numpy as np

try:
    import resource
except ImportError:  # pragma: no cover - not on Windows
    resource = None  # type: ignore[assignment]

from unisvm.cli.messages import Messages
from unisvm.memory_budget import readable
from unisvm.progress import Event, FeaturesBuilt, IterationEnds, StageEnds, listen
from unisvm.progress.course import Course
from unisvm.progress.display import duration

# of work that is over by then, nothing is shown
_SECONDS_BEFORE = 0.4
# between lines in a pipe: they become rarer as the work grows long
_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES = 5.0, 0.05


@contextmanager
def shown_progress(messages: Messages, name: str, stage: str = "preparing") -> Iterator[None]:
    """Context whose fits are shown on standard error under this name, unless the program is quiet or speaks JSON.

    `stage` is what is shown while there is none of a fit.
    """
    if not messages.is_talking:
        yield
        return
    board = Board(name, stage)
    shown = _live(board) if sys.stderr.isatty() else _lines(board)
    with listen(board), shown:
        yield


class Board:
    """What is known of the work under way, from the events of its fits.

    Parameters
    ----------
    name : str
        Of the work.
    stage : str
        What is under way when no stage of a fit is.
    """

    def __init__(self, name: str, stage: str):
        self.name, self._stage = name, stage
        self._course, self._lock = Course(), Lock()
        self._began = perf_counter()
        self._last: IterationEnds | None = None
        self._features = 0.0

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._course.follow(event)
            if isinstance(event, IterationEnds):
                self._last = event
            elif isinstance(event, FeaturesBuilt):
                self._features = event.n_bytes
            elif isinstance(event, StageEnds) and event.name == "solver":
                self._last = None

    def rows(self) -> list[tuple[str, str]]:
        """Headings with what to say of each."""
        with self._lock:
            standing, last = self._course.standing(), self._last
        seconds = perf_counter() - self._began
        # what the solver says of itself has lines of its own
        stage = self._stage if standing is None else standing.text.partition(": iteration")[0]
        found = [("", self.name), ("stage", stage)]
        if last is not None:
            found += [
                ("sweeps", f"{last.n_sweeps}"),
                ("objective", f"{np.mean(last.objective):.6g}"),
                ("stationarity", f"{np.max(last.stationarity):.1e}, to fall to {last.tol:g}"),
            ]
        memory = f"{readable(memory_in_use())} in use"
        found.append(("memory", memory + (f", features {readable(self._features)}" if self._features else "")))
        left = None if standing is None else standing.seconds_left
        found.append(("time", duration(seconds) + ("" if left is None else f", about {duration(left)} left")))
        return found

    def line(self) -> str:
        """All of it on one line."""
        return "; ".join(f"{heading} {text}".strip() for heading, text in self.rows())


def memory_in_use() -> float:
    """Bytes that the process holds in memory; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        if resource is None:
            return 0.0
        # the most until now, in kilobytes, or in bytes on a Mac
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


@contextmanager
def _live(board: Board) -> Iterator[None]:
    """Context that draws the board again and again, and leaves nothing behind."""
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    def table() -> Table:
        drawn = Table.grid(padding=(0, 2))
        if perf_counter() - began > _SECONDS_BEFORE:
            for heading, text in board.rows():
                drawn.add_row(Text(heading, style="dim"), Text(text, overflow="ellipsis", no_wrap=True))
        return drawn

    began = perf_counter()
    with Live(get_renderable=table, console=Console(stderr=True), transient=True, refresh_per_second=8):
        yield


@contextmanager
def _lines(board: Board) -> Iterator[None]:
    """Context that prints the board as a line from time to time."""
    ends, began = Signal(), perf_counter()

    def show() -> None:
        while not ends.wait(max(_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES * (perf_counter() - began))):
            print(board.line(), file=sys.stderr, flush=True)

    thread = Thread(target=show, name="unisvm-lines", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join(1.0)

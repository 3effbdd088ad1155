"""What `verbose` shows: lines, and the progress of what takes long: a bar in a terminal or a notebook, else lines."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing import current_process
from threading import Event as Signal
from threading import Lock, RLock, Thread
from time import perf_counter
from typing import Any, Protocol

from unisvm.progress.course import Course, Standing
from unisvm.progress.events import Event
from unisvm.progress.lines import printed_line

# what is over by then is shown by lines at its end alone
_SECONDS_BEFORE = 2.0
# between updates of a bar, and between lines: these become rarer as the fit grows long
_SECONDS_BETWEEN_UPDATES = 0.25
_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES = 5.0, 0.05
# the thread ends within an update, unless the standard output is stuck
_SECONDS_TO_END = 2.0

# held by the fit that has the bar: rich draws one at a time
_has_bar = Lock()


class Progress(Protocol):
    """Where progress is shown."""

    def update(self, standing: Standing | None) -> None:
        """Show how far the fit is."""

    def print(self, line: str) -> None:
        """Print a line that stays."""

    def close(self) -> None:
        """Leave nothing but lines behind."""


class Lines:
    """Progress as lines, without control characters."""

    def __init__(self) -> None:
        self._began = self._updated = perf_counter()
        self._pause = _SECONDS_BEFORE

    def update(self, standing: Standing | None) -> None:
        """Print a line, if the last one of this kind was long enough ago."""
        now = perf_counter()
        if standing is None or standing.seconds < _SECONDS_BEFORE or now - self._updated < self._pause:
            return
        self.print(f"{standing.text}, {_times(standing)}")
        self._updated = now
        self._pause = max(_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES * (now - self._began))

    def print(self, line: str) -> None:
        """Print a line."""
        # in one piece: other threads print lines, too
        print(f"[unisvm] {line}\n", end="", flush=True)

    def close(self) -> None:
        """Do nothing: lines stay."""


class Bar:
    """Progress as a bar of rich's below the lines, which is gone in the end. Its owner holds `_has_bar`."""

    def __init__(self, console: Any):
        from rich import progress
        from rich.table import Column

        self._progress = progress.Progress(
            progress.TextColumn(
                "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
            ),
            progress.BarColumn(bar_width=20),
            progress.TextColumn("{task.fields[times]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
            redirect_stderr=sys.stderr is not None and sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("", total=None, times="")
        self._progress.start()

    def update(self, standing: Standing | None) -> None:
        """Draw the bar."""
        if standing is not None:
            total, share = (None, 0.0) if standing.share is None else (1.0, standing.share)
            self._progress.update(
                self._task, description=standing.text, total=total, completed=share, times=_times(standing)
            )
        self._progress.refresh()

    def print(self, line: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(f"[unisvm] {line}", markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        try:
            self._progress.stop()
        finally:
            _has_bar.release()


class Display:
    """Prints the lines of events, and from a thread of its own what is under way for long.

    The thread is there between `open` and `close`, and sees to it that the terminal is left as it was.

    Parameters
    ----------
    verbose : int
        At least 1.
    """

    def __init__(self, verbose: int):
        self._verbose = verbose
        self._course = Course()
        self._progress: Progress = Lines()
        self._lock = RLock()
        self._ends = Signal()
        self._thread: Thread | None = None

    def __call__(self, event: Event) -> None:
        line = printed_line(event, self._verbose)
        with self._lock:
            self._course.follow(event)
            if line is not None:
                self._progress.print(line)

    def open(self) -> None:
        """Begin to show progress."""
        self._thread = Thread(target=self._show, name="unisvm-progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and take the bar away."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join(_SECONDS_TO_END)

    def _show(self) -> None:
        try:
            if self._ends.wait(_SECONDS_BEFORE):
                return
            bar = _bar_if_possible()
            if bar is not None:
                with self._lock:
                    self._progress = bar
            while not self._ends.wait(_SECONDS_BETWEEN_UPDATES):
                with self._lock:
                    self._progress.update(self._course.standing())
        except (OSError, ValueError):
            # the output is closed, as the fit will learn when it prints its next line
            pass
        finally:
            with self._lock, suppress(OSError, ValueError):
                progress, self._progress = self._progress, Lines()
                progress.close()


def _bar_if_possible() -> Bar | None:
    """A bar where one can be drawn and no other fit has one. Of several processes, only the first draws one."""
    if sys.stdout is None or find_spec("rich") is None or current_process().name != "MainProcess":
        return None
    from rich.console import Console

    console = Console(file=sys.stdout)
    in_terminal = sys.stdout.isatty() and not console.is_dumb_terminal
    in_notebook = console.is_jupyter and find_spec("ipywidgets") is not None
    if not (in_terminal or in_notebook) or not _has_bar.acquire(blocking=False):
        return None
    try:
        return Bar(console)
    except BaseException:
        _has_bar.release()
        raise


def _times(standing: Standing) -> str:
    """How long it takes already and yet."""
    left = standing.seconds_left
    return f"{duration(standing.seconds)} so far" + ("" if left is None else f", about {duration(left)} left")


def duration(seconds: float) -> str:
    """A time for people: "7 s", "3 min 20 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

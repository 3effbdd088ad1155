"""The one place where events are made and handed to those who listen."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from time import perf_counter
from typing import Any

from unisvm.compiled import keep_subnormals
from unisvm.progress.display import Display
from unisvm.progress.events import Event, Note, StageBegins, StageEnds
from unisvm.progress.log import is_logged, log

#: is called with each event; True ends the solver after an iteration, and a search after a kernel
Listener = Callable[[Event], bool | None]

_listening: ContextVar[tuple[Listener, ...]] = ContextVar("unisvm_listeners", default=())


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Context in which a listener is called with the events of all fits that begin in this thread.

    It is called in the thread of the fit, or in those of a search, one call at a time; what it raises ends the fit.

    Parameters
    ----------
    listener : callable
        Is given an `Event`. Where it returns True for an `IterationEnds` the solver ends, with a model as of this
        iteration; for a `CellScored` or `KernelEnds` no further kernel is tried.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier
    >>> from unisvm.progress import StageEnds, listen
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> events = []
    >>> with listen(events.append):
    ...     model = UniSVMClassifier(C=1.0).fit(X, y)
    >>> [event.name for event in events if isinstance(event, StageEnds)]
    ['landmarks', 'features', 'gram', 'majoriser', 'start', 'solver', 'result']
    """
    token = _listening.set((*_listening.get(), listener))
    try:
        yield
    finally:
        _listening.reset(token)


class Report:
    """Hands the events of a fit or a search to those who listen: the log, the display, callbacks, the caller.

    As a context, it keeps the display up to date between events. With nobody who listens it does nothing.

    Parameters
    ----------
    verbose : int, default=0
        With 1 or more there is a display.
    """

    def __init__(self, verbose: int = 0):
        self._display = Display(int(verbose)) if verbose >= 1 else None
        of_display = [] if self._display is None else [self._display]
        self._listeners: list[Listener] = [*[log] * is_logged(), *of_display, *_listening.get()]
        #: names of the tasks whose report it is, outermost first
        self.path: tuple[str, ...] = ()
        self._lock = RLock()

    def __enter__(self) -> Report:
        if self._display is not None:
            self._display.open()
        return self

    def __exit__(self, *error: object) -> None:
        if self._display is not None:
            self._display.close()

    def within(self, *names: str) -> Report:
        """The report of tasks of these names, one in the other."""
        inner = copy.copy(self)
        inner.path = (*self.path, *names)
        inner._display = None  # which the outer one opens and closes
        inner._listeners = list(self._listeners)
        return inner

    def silent(self) -> Report:
        """A report that nobody hears."""
        inner = self.within()
        inner._listeners = []
        return inner

    def add(self, listener: Listener) -> None:
        """Hand events from now on to another listener, too."""
        self._listeners.append(listener)

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def emit(self, kind: type[Event], **fields: Any) -> bool:
        """Tell of an event; whether someone asks to end what is under way. Threads wait for each other."""
        if not self._listeners:
            return False
        event = kind(path=self.path, **fields)
        with self._lock, keep_subnormals():
            answers = [listener(event) for listener in self._listeners]
        return any(answers)

    @contextmanager
    def stage(self, name: str, label: str | None = None) -> Iterator[None]:
        """Context of a stage, whose beginning and end are told of."""
        started, names = perf_counter(), {"name": name, "label": label or name}
        self.emit(StageBegins, **names)
        try:
            yield
        except BaseException:
            self.emit(StageEnds, **names, seconds=perf_counter() - started, failed=True)
            raise
        self.emit(StageEnds, **names, seconds=perf_counter() - started)

    def say(self, line: str) -> None:
        """Tell people a line."""
        self.emit(Note, text=line)

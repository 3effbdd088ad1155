"""Callbacks of scikit-learn, where the installed version has them (from 1.9): events as its tasks.

fit ─→ landmarks, features, gram, …, solver ─→ iterations             of a plain estimator
fit ─→ rounds ─→ kernels ─→ cells; refit ─→ the tasks of a plain fit  of a searching one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn import __version__ as sklearn_version

from unisvm.progress.events import (
    CellScored,
    Event,
    IterationEnds,
    KernelBegins,
    KernelEnds,
    RoundBegins,
    RoundEnds,
    StageBegins,
    StageEnds,
)
from unisvm.progress.lines import described
from unisvm.progress.report import Report

F = TypeVar("F", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for that of scikit-learn, which is older."""

        _skl_callbacks: tuple[()] = ()

        def set_callbacks(self, *callbacks):
            """Refuse callbacks: scikit-learn is too old."""
            raise NotImplementedError(f"Callbacks need scikit-learn 1.9 or newer; {sklearn_version} is installed.")

        def _init_callback_context(self, max_subtasks: int | None) -> Any:
            raise NotImplementedError

    def with_callbacks(method: F) -> F:
        """The method itself: there are no callbacks."""
        return method


@with_callbacks
def _tear_down(estimator: Any) -> None:
    """Do nothing: when this returns, scikit-learn tears the callbacks down.

    A `fit` that was decorated would have a function of scikit-learn's between itself and its caller, whom warnings are
    about.
    """


@contextmanager
def callbacks_of(
    estimator: Any, report: Report, X: Any, y: Any, sample_weight: Any = None, n_tasks: int | None = None
) -> Iterator[CallbackListener | None]:
    """Context of a fit in which the estimator's callbacks listen to a report; None if there are none.

    Parameters
    ----------
    estimator : CallbackSupportMixin
    report : Report
    X, y, sample_weight
        As the user gave them.
    n_tasks : int, optional
        Number of stages or rounds, if that is known.
    """
    if not getattr(estimator, "_skl_callbacks", ()):
        yield None
        return
    try:
        context = estimator._init_callback_context(max_subtasks=n_tasks)
        listener = CallbackListener(estimator, context, report.path, X, y, sample_weight)
        report.add(listener)
        yield listener
        listener.end()
    finally:
        _tear_down(estimator)


class CallbackListener:
    """Calls the callbacks of an estimator with the tasks that its events stand for.

    Parameters
    ----------
    estimator : estimator
    context : sklearn.callback.CallbackContext
        Of the whole fit.
    path : tuple of str
        Of the report that it listens to: other fits inside of this one are left out.
    X, y, sample_weight
        As the user gave them: callbacks are given the same.

    Attributes
    ----------
    attributes_of : callable or None
        Makes the fitted attributes of what `IterationEnds.fitted` returns.
    """

    def __init__(self, estimator: Any, context: Any, path: tuple[str, ...], X: Any, y: Any, sample_weight: Any):
        self.attributes_of: Callable[[Any], dict[str, Any]] | None = None
        self._estimator, self._path = estimator, path
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        #: tasks under way, by the names that lead to them
        self._tasks: dict[tuple[Any, ...], Any] = {(): context}
        context.call_on_fit_task_begin(**self._data)

    def __call__(self, event: Event) -> bool:
        """Whether a callback asks to end what is under way."""
        if isinstance(event, StageBegins | StageEnds):
            return self._stage(event) if event.path == self._path and event.name != "result" else False
        if isinstance(event, IterationEnds):
            return self._iteration(event) if event.path == self._path else False
        if isinstance(event, RoundBegins):
            kernels = {"max_subtasks": event.n_kernels, "sequential_subtasks": False}
            return self._begin((event.name,), event.name, **kernels)
        if isinstance(event, RoundEnds):
            return False if event.failed else self._end((event.name,))
        if isinstance(event, KernelBegins):
            key = (*event.path[-1:], event.index)
            return self._begin(key, event.name, task_id=event.index, max_subtasks=event.n_cells)
        if isinstance(event, KernelEnds):
            return False if event.failed else self._end((*event.path[-1:], event.index))
        if isinstance(event, CellScored):
            key = (*event.path[-1:], event.index, "cell")
            self._begin(key, described(event.params))
            return self._end(key)
        return False

    def end(self) -> None:
        """Call the callbacks at the end of the whole fit, when the estimator has its fitted attributes."""
        self._end((), reconstruction_attributes={})

    @contextmanager
    def refit(self, best: Any) -> Iterator[None]:
        """Context of the refit of a search, which the callbacks are handed on to."""
        self._begin(("refit",), "refit")
        with self._tasks["refit",].propagate_callback_context(best):
            yield
            self._end(("refit",))

    def _stage(self, event: StageBegins | StageEnds) -> bool:
        if isinstance(event, StageEnds):
            return False if event.failed else self._end((event.name,))
        n_iterations = self._estimator.max_iter if event.name == "solver" else 0
        return self._begin((event.name,), event.label, max_subtasks=n_iterations)

    def _iteration(self, event: IterationEnds) -> bool:
        key = "solver", event.number
        attributes_of = self.attributes_of
        self._begin(key, "iteration")
        return self._end(
            key,
            reconstruction_attributes=None if attributes_of is None else lambda: attributes_of(event.fitted()),
        )

    def _begin(self, key: tuple[Any, ...], name: str, **options: Any) -> bool:
        task = self._tasks[key[:-1]].subcontext(task_name=name, **options)
        self._tasks[key] = task
        task.call_on_fit_task_begin(**self._data)
        return False

    def _end(self, key: tuple[Any, ...], **options: Any) -> bool:
        return bool(self._tasks.pop(key).call_on_fit_task_end(**self._data, **options))

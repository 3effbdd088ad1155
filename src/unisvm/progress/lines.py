"""Events as lines of text, for the standard output and the log."""

from __future__ import annotations

import numpy as np

from unisvm.progress.events import (
    CellFitted,
    CellScored,
    Event,
    FeaturesBuilt,
    IterationEnds,
    KernelBegins,
    KernelEnds,
    Note,
    RoundBegins,
    RoundEnds,
    StageBegins,
    StageEnds,
)


def printed_line(event: Event, verbose: int) -> str | None:
    """The line that is printed for an event; None if there is none."""
    if isinstance(event, StageEnds) and not event.failed:
        return f"{event.label:<10} {event.seconds:8.3f} s"
    if isinstance(event, IterationEnds) and verbose >= 2:
        return f"  {event.number:4d}  {standing(event)}  {event.seconds:.2f} s"
    if isinstance(event, FeaturesBuilt):
        return f"  {event.text}"
    if isinstance(event, CellFitted) and verbose >= 2:
        return f"  {_event_text(event)}"
    if isinstance(event, CellScored) and verbose >= 2:
        return f"  {described(event.params)}: {event.score:.6g}"
    if isinstance(event, RoundEnds) and not event.failed:
        return f"{event.name}: {_best(event)}, {event.seconds:.2f} s"
    return event.text if isinstance(event, Note) else None


def logged_line(event: Event) -> str:
    """The line of the log for an event."""
    text = _event_text(event).strip()
    return f"{', '.join(event.path)}: {text}" if event.path else text


def _event_text(event: Event) -> str:
    if isinstance(event, StageBegins):
        return f"{event.label} begins"
    if isinstance(event, StageEnds):
        return f"{event.label} {_took(event)}"
    if isinstance(event, IterationEnds):
        return f"iteration {event.number}: {standing(event)}, {event.n_sweeps} sweeps, {event.seconds:.2f} s"
    if isinstance(event, CellFitted):
        return f"cell {event.number} of {event.n_cells}: {counted(event.n_rows, 'row')}, {event.seconds:.3f} s"
    if isinstance(event, RoundBegins):
        return f"round {event.name} begins: {counted(event.n_kernels, 'kernel')}, {counted(event.n_cells, 'cell')}"
    if isinstance(event, RoundEnds):
        return f"round {event.name} {_took(event)}: {_best(event)}"
    if isinstance(event, KernelBegins):
        return f"{event.name} begins: kernel {event.number} of {event.n_kernels}, {counted(event.n_cells, 'cell')}"
    if isinstance(event, KernelEnds):
        return f"{event.name} {_took(event)}"
    if isinstance(event, CellScored):
        return f"{described(event.params)}: score {event.score:.6g}; {_best(event)}"
    return getattr(event, "text", repr(event))


def _took(event: StageEnds | RoundEnds | KernelEnds) -> str:
    return f"{'failed after' if event.failed else 'took'} {event.seconds:.3f} s"


def _best(event: CellScored | RoundEnds) -> str:
    if not event.best_params:
        return "no score is finite"
    return f"best score {event.best_score:.6g} with {described(event.best_params)}"


def standing(event: IterationEnds) -> str:
    """Mean objective and largest stationarity of an iteration."""
    return f"objective {np.mean(event.objective):.8g}  stationarity {np.max(event.stationarity):.2e}"


def described(params: dict) -> str:
    """Parameters of a cell."""
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in params.items()
    )


def counted(n: int, what: str) -> str:
    """A number of things."""
    return f"{n} {what}{'' if n == 1 else 's'}"

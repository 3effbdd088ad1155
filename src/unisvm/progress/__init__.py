"""What a fit tells of itself while it runs: events for the display, the log, callbacks, and listeners of the caller."""

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
from unisvm.progress.report import Listener, Report, listen
from unisvm.progress.stage_runner import StageRunner

__all__ = [
    "CellFitted",
    "CellScored",
    "Event",
    "FeaturesBuilt",
    "IterationEnds",
    "KernelBegins",
    "KernelEnds",
    "Listener",
    "Note",
    "Report",
    "RoundBegins",
    "RoundEnds",
    "StageBegins",
    "StageEnds",
    "StageRunner",
    "listen",
]

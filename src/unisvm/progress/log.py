"""Events in the log of the name ``unisvm``: stages and cells at INFO, iterations at DEBUG."""

from __future__ import annotations

import logging

from unisvm.progress.events import Event, IterationEnds
from unisvm.progress.lines import logged_line

LOGGER = logging.getLogger("unisvm")
# without a handler of the user's, nothing is written
LOGGER.addHandler(logging.NullHandler())


def is_logged() -> bool:
    """Whether the log takes any event."""
    return LOGGER.isEnabledFor(logging.INFO)


def log(event: Event) -> None:
    """Write an event to the log."""
    level = logging.DEBUG if isinstance(event, IterationEnds) else logging.INFO
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, "%s", logged_line(event))

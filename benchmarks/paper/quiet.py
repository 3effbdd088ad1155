"""Whether the machine was quiet while something was measured: the processor time that went to other processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np

# a measurement is quiet if others took no more processors on average, and so many seconds for the clock's ticks
_MOST_PROCESSORS, _TICKS = 0.1, 0.05
#: mark of seconds that no quiet measurement is behind
MARK = "*"
_REMARK = f"\\{MARK} Other processes were at work in each of these runs."


def busy_seconds() -> float | None:
    """Processor seconds of the whole machine since its start, what was taken from it included; None if not known."""
    try:
        with open("/proc/stat") as lines:
            # user nice system idle iowait irq softirq steal
            ticks = [int(number) for number in lines.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Processor seconds of this process and of those of its children that have ended."""
    return sum(os.times()[:4])


class Watch:
    """A clock that is started when it is made, and tells what other processes took since."""

    def __init__(self) -> None:
        self._started = perf_counter(), busy_seconds(), own_seconds()

    def disturbance(self) -> float | None:
        """Mean number of processors that other processes took, beyond a tick or two; None if not known."""
        started, busy, own = self._started
        now = busy_seconds()
        if busy is None or now is None:
            return None
        others = now - busy - (own_seconds() - own) - _TICKS
        return round(max(others, 0.0) / max(perf_counter() - started, 1e-3), 3)


def is_quiet(measured: dict[str, Any]) -> bool:
    """Whether next to nothing else was running during this measurement."""
    disturbance = measured.get("disturbance")
    return disturbance is not None and disturbance <= _MOST_PROCESSORS


def remark_on(text: str) -> str:
    """What the marks of the seconds in a text mean; empty if it has none."""
    return _REMARK if f"{MARK} |" in text else ""


def quiet_seconds(measurements: Iterable[dict[str, Any]]) -> tuple[float, bool]:
    """Median seconds of the quiet measurements and True, or of all and False where none is quiet."""
    measurements = list(measurements)
    quiet = [measured["seconds"] for measured in measurements if is_quiet(measured)]
    return float(np.median(quiet or [measured["seconds"] for measured in measurements])), bool(quiet)


def written_seconds(measurements: Iterable[dict[str, Any]], digits: int = 2) -> str:
    """Median seconds as a table shows them, marked where no quiet measurement is behind them."""
    seconds, quiet = quiet_seconds(measurements)
    return f"{seconds:.{digits}f}{'' if quiet else MARK}"

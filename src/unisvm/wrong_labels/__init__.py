"""Which labels or targets are wrong: held-out predictions, models of the noise, and the report."""

from unisvm.wrong_labels.report import ClassCount, SuspectReport
from unisvm.wrong_labels.search import suspects

__all__ = ["ClassCount", "SuspectReport", "suspects"]


def __dir__() -> list[str]:
    return sorted(__all__)

"""Pictures, drawn with matplotlib, which the extra ``plot`` installs.

As in scikit-learn, a display holds the numbers and draws them on demand.
"""

from unisvm.plotting.convergence import ConvergenceDisplay
from unisvm.plotting.interval import IntervalDisplay
from unisvm.plotting.loss import LossDisplay
from unisvm.plotting.low_rank import LowRankDisplay
from unisvm.plotting.path import PathDisplay
from unisvm.plotting.relevance import RelevanceDisplay
from unisvm.plotting.trust import TrustDisplay

__all__ = [
    "ConvergenceDisplay",
    "IntervalDisplay",
    "LossDisplay",
    "LowRankDisplay",
    "PathDisplay",
    "RelevanceDisplay",
    "TrustDisplay",
]


def __dir__() -> list[str]:
    return sorted(__all__)

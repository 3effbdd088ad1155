"""Row stores: training rows with their targets and weights, and the features built from them."""

from unisvm.rows.base import RowStore
from unisvm.rows.memory import MemoryRows

__all__ = ["MemoryRows", "RowStore"]

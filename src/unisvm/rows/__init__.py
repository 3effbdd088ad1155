"""Where the training rows live: in memory, with their features there or in a scratch file."""

from unisvm.rows.memory import MemoryRows

__all__ = ["MemoryRows"]

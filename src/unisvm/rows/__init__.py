"""Where the training rows live. One store so far: memory."""

from unisvm.rows.memory import MemoryRows

__all__ = ["MemoryRows"]

"""The command line: `unisvm train`, `predict`, `cv`, `suspects`, `losses`, `info`, `convert` and `demo`."""

from unisvm.cli.entry import main

__all__ = ["main"]

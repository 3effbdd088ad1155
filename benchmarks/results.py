"""How every benchmark keeps what it measured: one file of compressed JSON, from which its page is written again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

#: how the names of these files end
SUFFIX = ".json.gz"


def load(path: Path, default: Any = None) -> Any:
    """What was saved, or the default where nothing was."""
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else default


def save(path: Path, content: Any) -> None:
    """Write the file as a whole, or leave it as it was; equal contents make equal files."""
    partial = path.with_suffix(".partial")
    # keys stay in their order, in which the pages show options and versions
    partial.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
    partial.replace(path)

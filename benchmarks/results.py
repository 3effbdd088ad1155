"""Storage of measurements: one file of compressed JSON for each benchmark, from which its page can be rebuilt."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

#: suffix of these files
SUFFIX = ".json.gz"


def load(path: Path, default: Any = None) -> Any:
    """The saved content, or the default if there is no file."""
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else default


def save(path: Path, content: Any) -> None:
    """Replace the file by this content, all or nothing; equal contents make equal files."""
    partial = path.with_suffix(".partial")
    # keys keep their order, in which the pages show options and versions
    partial.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
    partial.replace(path)

"""Figures in a page: each script writes its own part of it, between two marks."""

from __future__ import annotations

from pathlib import Path


def write(page: Path, part: str, text: str) -> None:
    """Replace a part of the page by this text."""
    begin, end = f"<!-- {part}: written by python -m scale.{part} -->", f"<!-- end of {part} -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{page} has no part between {begin!r} and {end!r}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")

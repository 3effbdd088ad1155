"""The paper's findings, each with a verdict and the numbers that it rests on, as lines of a list in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"


def finding(claim: str, verdict: str, evidence: str) -> str:
    """A list item with the claim in quotation marks, the verdict in bold, and the evidence.

    Parameters
    ----------
    claim : str
        The paper's finding, in few words.
    verdict : {"holds", "holds in part", "does not hold"}
    evidence : str
        The numbers that decide, without a full stop at the end.
    """
    if verdict not in (HOLDS, IN_PART, FAILS):
        raise ValueError(f"verdict must be {HOLDS!r}, {IN_PART!r} or {FAILS!r}, got {verdict!r}.")
    return f'- "{claim}": **{verdict}**: {evidence.rstrip(".")}.'


def judge(checks: Iterable[bool]) -> str:
    """Verdict on a finding in several parts or cases: it holds if all do, and in part if some do."""
    passed = [bool(check) for check in checks]
    if not passed:
        raise ValueError("A verdict needs at least one check.")
    return HOLDS if all(passed) else IN_PART if any(passed) else FAILS


def answers(lines: Sequence[str]) -> str:
    """A passage of the page with these findings."""
    return "\n\n".join(["The paper's findings, checked against the measurements above:", "\n".join(lines)])

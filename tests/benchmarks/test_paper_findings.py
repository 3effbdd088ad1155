"""Lines with the paper's findings and their verdicts."""

import pytest

from paper.findings import FAILS, HOLDS, IN_PART, answers, finding, judge


def test_a_line():
    line = finding("larger is slower", HOLDS, "2.00 s against 1.00 s")
    assert line == '- "larger is slower": **holds**: 2.00 s against 1.00 s.'
    # no second full stop
    assert finding("larger is slower", FAILS, "never.").endswith("**does not hold**: never.")
    with pytest.raises(ValueError, match="verdict must be"):
        finding("larger is slower", "maybe", "who knows")


@pytest.mark.parametrize(
    ("checks", "verdict"), [([True, True], HOLDS), ([True, False], IN_PART), ([False, False], FAILS)]
)
def test_verdict(checks, verdict):
    assert judge(checks) == verdict
    assert judge(iter(checks)) == verdict


def test_no_verdict_without_a_check():
    with pytest.raises(ValueError, match="at least one check"):
        judge([])


def test_passage():
    assert answers(["- a", "- b"]).endswith(":\n\n- a\n- b")

"""Python takes the constants that it shares with C from the extension module."""

import subprocess
import sys

import numpy as np
import pytest

from unisvm import compiled, losses

pytestmark = pytest.mark.skipif(not compiled.is_available(), reason="the compiled part was not built or is turned off")

STALE = """
import sys
import types

sys.modules["unisvm.compiled._sweeps"] = stale = types.ModuleType("stale")
stale.__file__ = "stale.so"
stale.FLUSHED = stale.MIN_FEATURES = 0
import unisvm.compiled
"""


@pytest.mark.parametrize("name", losses.names())
def test_forms_of_losses_have_the_numbers_of_c(name):
    loss = losses.get(name)
    table = compiled.encode_losses([(loss, slice(0, 1))])
    form = getattr(compiled._sweeps, loss.form.name.upper())
    np.testing.assert_array_equal(table.entries, [[form, 1, len(loss.form.parameters)]])
    np.testing.assert_array_equal(table.parameters, loss.form.parameters)


def test_a_form_that_c_does_not_have_is_refused(monkeypatch):
    monkeypatch.delattr(compiled._sweeps, "BIWEIGHT")
    with pytest.raises(AttributeError, match="BIWEIGHT"):
        compiled.encode_losses([(losses.get("tukey"), slice(0, 1))])


def test_rows_shorter_than_c_takes_are_left_to_numpy():
    least = compiled._sweeps.MIN_FEATURES
    table = compiled.encode_losses([(losses.LeastSquares(), slice(0, 1))])

    def arguments(r):
        return np.ones((3, r)), np.ones((3, 1)), None, np.ones((r, 1)), np.ones(1)

    def sums(r):
        return np.zeros((1, r)), np.zeros((2, 1))

    assert compiled.sweep(table, *arguments(least), True, *sums(least), np.arange(1))
    assert not compiled.sweep(table, *arguments(least - 1), True, *sums(least - 1), np.arange(1))
    with pytest.raises(ValueError, match=f"at least {least} wide"):
        compiled._sweeps.sweep(*arguments(least - 1), *table, True, *sums(least - 1), np.zeros((1, 1), np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_are_as_wide_as_c_reads_them(dtype):
    points = np.arange(60, dtype=dtype).reshape(20, 3)
    panels = compiled.panels(points)
    assert panels[0, 0].nbytes == compiled._sweeps.PANEL_BYTES
    width = panels.shape[2]
    np.testing.assert_array_equal(panels[0], points[:width].T)
    np.testing.assert_array_equal(panels.transpose(0, 2, 1).reshape(-1, 3)[20:], 0)


def test_an_extension_of_other_sources_is_refused():
    ran = subprocess.run([sys.executable, "-c", STALE], capture_output=True, text=True)
    assert "ImportError: stale.so was built from other sources than these; install unisvm again." in ran.stderr

"""Comparison of figures with the pictures in tests/plotting/baseline.

Text is taken out, since fonts differ between versions of matplotlib. After a change that is meant,

    UNISVM_BASELINES=new pytest tests/plotting

makes the pictures anew: look at each of them before it is committed.
"""

import os
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.testing.compare import compare_images
from matplotlib.ticker import NullFormatter

BASELINE = Path(__file__).resolve().parent / "baseline"
# root of the mean squared difference of pixels from 0 to 255: a point or thin line that is missing, or of another
# color, makes 4.6 to 13.6 of them
TOLERANCE = 3.0


@contextmanager
def picture(name, folder, n_axes=1):
    """Axes to draw on; what was drawn is then compared with the picture of this name."""
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        figure, axes = plt.subplots(1, n_axes, figsize=(3 * n_axes, 2.2), dpi=80)
        yield axes
        for ax in figure.axes:
            remove_text(ax)
        if os.environ.get("UNISVM_BASELINES") == "new":
            figure.savefig(BASELINE / f"{name}.png", metadata={"Software": None})
        # a copy beside the new one: matplotlib leaves the difference there
        expected, actual = folder / f"{name}-expected.png", folder / f"{name}.png"
        expected.write_bytes((BASELINE / f"{name}.png").read_bytes())
        figure.savefig(actual)
        difference = compare_images(str(expected), str(actual), TOLERANCE)
        assert difference is None, difference


def remove_text(ax):
    """Remove the title, the labels and the legend of some axes."""
    ax.set(title="", xlabel="", ylabel="")
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(NullFormatter())
        axis.set_minor_formatter(NullFormatter())

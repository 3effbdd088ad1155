"""Data for examples, tests and benchmarks."""

from unisvm.datasets.files import load
from unisvm.datasets.generated import flip_labels, make_checkerboard, make_xor
from unisvm.datasets.paper import PAPER_SETS, PaperSet, load_paper

__all__ = ["PAPER_SETS", "PaperSet", "flip_labels", "load", "load_paper", "make_checkerboard", "make_xor"]


def __dir__() -> list[str]:
    return sorted(__all__)

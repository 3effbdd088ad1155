"""Data for examples, tests and benchmarks."""

from unisvm.datasets.files import load
from unisvm.datasets.generated import flip_labels, make_checkerboard, make_xor

__all__ = ["flip_labels", "load", "make_checkerboard", "make_xor"]

"""Figures without a screen, closed after each test."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")

import numpy as np
import pytest


@pytest.fixture
def problem():
    """Rows with two classes that no line tells apart."""
    rng = np.random.RandomState(0)
    X = rng.randn(120, 3)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)

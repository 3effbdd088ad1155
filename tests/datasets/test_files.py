"""Files in the folder that UNISVM_DATA names."""

import numpy as np
import pytest

from unisvm import datasets


def test_load(tmp_path, monkeypatch):
    np.savez(tmp_path / "small.npz", X=np.eye(3), y=np.arange(3))
    monkeypatch.setenv("UNISVM_DATA", str(tmp_path))
    arrays = datasets.load("small")
    np.testing.assert_array_equal(arrays["X"], np.eye(3))
    with pytest.raises(ValueError, match="did you mean 'small'"):
        datasets.load("smal")
    monkeypatch.delenv("UNISVM_DATA")
    with pytest.raises(FileNotFoundError, match="UNISVM_DATA"):
        datasets.load("small")

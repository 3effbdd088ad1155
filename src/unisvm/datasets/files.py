"""Large data sets that lie in the folder named by the environment variable UNISVM_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from unisvm._checks import one_of


def load(name: str) -> dict[str, np.ndarray]:
    """The arrays of ``$UNISVM_DATA/name.npz``.

    Parameters
    ----------
    name : str
        Such as "a9a".

    Returns
    -------
    arrays : dict of ndarray
        X_train, y_train, X_test and y_test where the set has a split of its own, else X and y.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from unisvm.datasets import load
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, UNISVM_DATA=folder):
    ...     np.savez(os.path.join(folder, "tiny.npz"), X=np.eye(2), y=[0, 1])
    ...     sorted(load("tiny"))
    ['X', 'y']
    """
    folder = os.environ.get("UNISVM_DATA")
    if not folder:
        raise FileNotFoundError(f"Set UNISVM_DATA to the folder that holds {name}.npz.")
    one_of("data set", name, sorted(path.stem for path in Path(folder).glob("*.npz")))
    with np.load(Path(folder) / f"{name}.npz") as archive:
        return {key: archive[key] for key in archive.files}

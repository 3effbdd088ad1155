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
    """
    folder = os.environ.get("UNISVM_DATA")
    if not folder:
        raise FileNotFoundError(f"Set UNISVM_DATA to the folder that holds {name}.npz.")
    one_of("data set", name, sorted(path.stem for path in Path(folder).glob("*.npz")))
    with np.load(Path(folder) / f"{name}.npz") as archive:
        return {key: archive[key] for key in archive.files}

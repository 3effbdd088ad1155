"""Training rows from Dask collections: checked, encoded and described where their blocks are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unisvm.checkpoint import fingerprint
from unisvm.distributed.collections import Blocks, check_columns, with_names
from unisvm.distributed.rows import DaskRows
from unisvm.engine import FitSettings
from unisvm.rows import MemoryRows
from unisvm.targets import Attributes, TargetEncoder, TargetUnits


class DaskTargets(NamedTuple):
    """Rows on Dask with their training targets, the units of these, and the attributes that say what they mean."""

    rows: DaskRows
    units: TargetUnits
    attributes: Attributes

    def describe(self) -> dict[str, str]:
        """Descriptions of rows, targets and weights for a checkpoint: hashes of their blocks, made where these are."""
        X, y, weights = zip(*self.rows.map_blocks(_describe_block), strict=True)
        return {
            "X": fingerprint.describe_blocks(X),
            "y": fingerprint.describe_blocks(y),
            "the units of y": fingerprint.describe_together((self.units.offset, self.units.scale)),
            "the weights": fingerprint.describe_blocks(weights),
        }


def load(estimator: Any, X, y, sample_weight, encoder: TargetEncoder, n_threads: int) -> DaskTargets:
    """Rows of collections for a fit; the estimator is told its number of features and their names."""
    blocks = Blocks(X, y, sample_weight)
    check_columns(estimator, blocks.n_features, getattr(X, "columns", None), reset=True)
    encode, attributes = encoder.encode_blocks(blocks)
    rows = blocks.store(encode, n_threads)
    return DaskTargets(rows, encode.units(rows.n_columns), attributes)


def draw(
    X, y, sample_weight, n_rows: int, rng: np.random.RandomState
) -> tuple[np.ndarray, Any, np.ndarray, np.ndarray]:
    """Indices of at most so many rows of collections, drawn evenly, and these rows with targets and weights."""
    indices, rows, targets, weights = Blocks(X, y, sample_weight).draw(n_rows, rng)
    return indices, with_names(rows, getattr(X, "columns", None)), targets, weights


def check_possible(estimator: Any, settings: FitSettings) -> None:
    """Raise when a parameter of the estimator needs all rows in one place."""
    greedy = isinstance(settings.landmarks, str) and settings.landmarks == "pivoted_cholesky"
    needs = {
        "kernel": ("a kernel function instead of a precomputed matrix", settings.kernel.points_are_indices),
        "rank": ("a number", settings.rank is None),
        "landmarks": ("'rpcholesky'", greedy),
        "solver": ("'lbfgs'", settings.copies_of_features > 1),
    }
    for name, (instead, is_needed) in needs.items():
        if is_needed:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} needs all rows in one place, so that X cannot be a Dask "
                f"collection. Use {instead}, or give X as an array."
            )


def _describe_block(store: MemoryRows) -> tuple[str, str, str]:
    """Descriptions of the rows and their indices among those given, of the targets and of the weights."""
    rows = fingerprint.describe_together((store.X, store.row_indices(np.arange(store.n_rows))))
    return rows, fingerprint.describe(store.targets), fingerprint.describe(store.weights)

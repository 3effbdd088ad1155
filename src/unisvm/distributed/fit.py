"""Training rows from Dask collections: checked, encoded and described where their blocks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unisvm._validation import note_index_base
from unisvm.checkpoint import fingerprint
from unisvm.distributed.collections import Blocks, check_columns, with_names
from unisvm.distributed.rows import DaskRows
from unisvm.engine import FitSettings
from unisvm.solvers.base import trait
from unisvm.targets import Attributes, TargetEncoder, TargetUnits


def load(
    estimator: Any, X, y, sample_weight, encoder: Callable[[int], TargetEncoder], n_threads: int
) -> tuple[DaskRows, TargetUnits, Attributes]:
    """Rows of collections with their training targets, the units of these, and the attributes that say what they mean.

    The estimator is told its number of features and their names.
    """
    blocks = Blocks(X, y, sample_weight)
    check_columns(estimator, blocks.n_features, getattr(X, "columns", None), reset=True)
    note_index_base(estimator, None)
    encode, attributes = encoder(blocks.n_features).encode_blocks(blocks)
    rows = blocks.store(encode, n_threads, encode.pairs)
    return rows, encode.units(rows.n_columns), attributes


def describe(rows: DaskRows) -> dict[str, str]:
    """Descriptions of rows, targets and weights for a checkpoint: hashes of their blocks, made where these are."""
    of_blocks = rows.map_blocks(fingerprint.describe_store)
    return {name: fingerprint.describe_blocks([block[name] for block in of_blocks]) for name in of_blocks[0]}


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
        "solver": ("'lbfgs'", trait(settings.solver, "copies_of_features") > 1),
        "cells": ("None", estimator.cells is not None),
    }
    for name, (instead, is_needed) in needs.items():
        if is_needed:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} needs all rows in one place, so that X cannot be a Dask "
                f"collection. Use {instead}, or give X as an array."
            )

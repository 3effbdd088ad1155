"""Weighted medians and robust scales of real targets: of an array, or of blocks of rows that stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

# so many distinct values of all blocks may be looked at in one place
_FEW = 100_000
_BITS = 10
_BINS = 2**_BITS
_MOST = np.iinfo(np.uint64).max
# half the weight is reached up to rounding
_HALF = np.array([0.5 - 1e-9, 0.5 + 1e-9])


def as_columns(y: np.ndarray) -> np.ndarray:
    """Targets in double precision, one column each."""
    y = np.asarray(y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def location_and_scale(targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted median of each column, and 1.4826 times the weighted median distance from it.

    Where more than half of a column is one value, its standard deviation stands in; that of a constant column is 0.
    """
    present = weights > 0
    targets, weights = targets[present], weights[present].astype(np.float64)
    location = weighted_medians(targets, weights)
    distance = weighted_medians(np.abs(targets - location), weights)
    # squares of targets in units of the largest do not overflow
    unit = np.maximum(np.abs(targets).max(axis=0), np.finfo(float).tiny)
    mean = np.average(targets / unit, axis=0, weights=weights)
    deviation = unit * np.sqrt(np.average((targets / unit - mean) ** 2, axis=0, weights=weights))
    return location, _scale(location, distance, deviation)


def location_and_scale_of_blocks(blocks: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same over blocks of rows, which compute functions of their targets and weights by `map_targets`."""
    location = _medians_of_blocks(blocks, None)
    distance = _medians_of_blocks(blocks, location)
    sums = np.sum(blocks.map_targets(_sums, location), axis=0)
    mean, square = sums[1:] / sums[0]
    return location, _scale(location, distance, np.sqrt(np.maximum(square - mean**2, 0.0)))


def _scale(location: np.ndarray, distance: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    # smaller ones are rounding errors of equal values
    rounding = 1e-12 * np.abs(location)
    scale = 1.4826 * distance
    scale = np.where(scale > rounding, scale, deviation)
    return np.where(scale > rounding, scale, 0.0)


def weighted_medians(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Median of each column, its values repeated by their weights: halfway between the lower and the upper one."""
    if weights.min() == weights.max():
        return np.asarray(np.median(columns, axis=0))
    total = weights.sum()
    medians = [[_quantile(share, column, weights, 0.0, total) for column in columns.T] for share in _HALF]
    return np.mean(medians, axis=0)


def _quantile(share: float, values: np.ndarray, weights: np.ndarray, below: float, total: float) -> float:
    """Least value up to which this share of the total weight lies.

    `below` is the weight of values that are not here because they are less.
    """
    order = np.argsort(values, kind="stable")
    reached = below + np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share * total))
    return float(values[order[min(place, len(values) - 1)]])


def _medians_of_blocks(blocks, location: np.ndarray | None) -> np.ndarray:
    """Medians of the targets, or of their distances from `location`.

    For the lower and the upper median of each column, an interval of the numbers' ranks that holds it is narrowed to a
    thousandth until the values in it are few: seven times at most, however far they spread.
    """
    lows, highs, totals = zip(*blocks.map_targets(_range, location), strict=True)
    # the lower medians of all columns, and then the upper ones
    low, high, total = np.tile(np.min(lows, axis=0), 2), np.tile(np.max(highs, axis=0), 2), float(np.sum(totals))
    shares = np.repeat(_HALF, len(low) // 2)
    every = np.arange(len(low))
    while True:
        shifts = np.array([max(int(span).bit_length() - _BITS, 0) for span in high - low], dtype=np.uint64)
        below, inside, numbers = (
            np.sum(part, axis=0)
            for part in zip(*blocks.map_targets(_histogram, location, low, high, shifts), strict=True)
        )
        bins = (below + np.cumsum(inside, axis=0) < shares * total).sum(axis=0).clip(0, _BINS - 1)
        first = bins.astype(np.uint64) << shifts
        last = np.minimum(high - low, first + ((np.uint64(1) << shifts) - np.uint64(1)))
        low, high = low + first, low + last
        # a bin of one rank is one value
        if ((numbers[bins, every] <= _FEW) | (shifts == 0)).all():
            break
    found = blocks.map_targets(_values_within, location, low, high)
    medians = []
    for j in range(len(low)):
        values, weights = (np.concatenate([of_block[j][part] for of_block in found]) for part in (0, 1))
        medians.append(_quantile(shares[j], values, weights, sum(of_block[j][2] for of_block in found), total))
    return np.reshape(medians, (2, -1)).mean(axis=0)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the values, one for each number that there is in double precision."""
    # −0 is 0
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    return np.where(bits & sign, ~bits, bits | sign)


# ------------------------------------------------------------------ of one block


def _columns(y: np.ndarray, weights: np.ndarray, location: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    present = weights > 0
    columns = as_columns(y[present])
    return columns if location is None else np.abs(columns - location), weights[present].astype(np.float64)


def _range(y, weights, location):
    columns, weights = _columns(y, weights, location)
    ranks = _ranks(columns)
    return ranks.min(axis=0, initial=_MOST), ranks.max(axis=0, initial=0), weights.sum()


def _histogram(y, weights, location, low, high, shifts):
    """For each interval of ranks the weight of lower ones, and in each of its bins the weight and number of rows."""
    columns, weights = _columns(y, weights, location)
    ranks = np.tile(_ranks(columns), 2)
    below, inside, numbers = np.zeros(len(low)), np.zeros((_BINS, len(low))), np.zeros((_BINS, len(low)))
    for j, column in enumerate(ranks.T):
        below[j] = weights[column < low[j]].sum()
        held = (column >= low[j]) & (column <= high[j])
        bins = ((column[held] - low[j]) >> shifts[j]).astype(np.intp)
        inside[:, j] = np.bincount(bins, weights[held], minlength=_BINS)
        numbers[:, j] = np.bincount(bins, minlength=_BINS)
    return below, inside, numbers


def _values_within(y, weights, location, low, high):
    """The distinct values in each interval of ranks, their weights, and the weight below."""
    columns, weights = _columns(y, weights, location)
    found = []
    for j, (column, ranks) in enumerate(zip(np.tile(columns, 2).T, np.tile(_ranks(columns), 2).T, strict=True)):
        held = (ranks >= low[j]) & (ranks <= high[j])
        values, which = np.unique(column[held], return_inverse=True)
        found.append((values, np.bincount(which, weights[held], minlength=len(values)), weights[ranks < low[j]].sum()))
    return found


def _sums(y, weights, location):
    """Σs, and Σ s (y − location) and Σ s (y − location)² of each column."""
    present = weights > 0
    columns, weights = as_columns(y[present]) - location, weights[present].astype(np.float64)
    return np.stack([np.full(columns.shape[1], weights.sum()), weights @ columns, weights @ columns**2])

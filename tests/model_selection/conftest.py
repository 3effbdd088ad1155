"""Batches of a grid."""

import pytest

from unisvm.model_selection import held_out, solve


@pytest.fixture
def columns_at_once(monkeypatch):
    """Sets how many columns of a grid are solved together; those of one C and all losses of a kind at least."""

    def limit(n_columns):
        for module in (solve, held_out):
            monkeypatch.setattr(module, "COLUMNS_AT_ONCE", n_columns)

    return limit

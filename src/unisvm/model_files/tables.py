"""Encoders of tables, in model files."""

from __future__ import annotations

from typing import Any

from unisvm.model_files.fields import Fields
from unisvm.model_files.registry import FileType
from unisvm.tables import TableEncoder


def _state_of(encoder: TableEncoder) -> dict[str, Any]:
    return {"state": encoder.to_state()}


def _encoder_of(fields: Fields) -> TableEncoder:
    return TableEncoder.from_state(fields.of_type("state", dict))


FILE_TYPES = (FileType(TableEncoder, "unisvm.TableEncoder", _state_of, _encoder_of),)

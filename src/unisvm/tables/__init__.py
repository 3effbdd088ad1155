"""Tables of numbers and text: read from files (CSV, TSV), and encoded as matrices for fits."""

from unisvm.io.delimited import read_table
from unisvm.io.table import Table
from unisvm.tables.encoder import TableEncoder
from unisvm.tables.targets import guess_task, split_target, target_name, usual_target

__all__ = ["Table", "TableEncoder", "guess_task", "read_table", "split_target", "target_name", "usual_target"]


def __dir__() -> list[str]:
    return sorted(__all__)

"""Models as ONNX graphs, by means of skl2onnx: the extra ``onnx`` installs it.

`to_onnx` writes a model to a file. `register` makes unisvm's estimators known to skl2onnx, so that its own functions
convert whatever they are part of.
"""

from unisvm.onnx_export.converter import register
from unisvm.onnx_export.export import to_onnx

__all__ = ["register", "to_onnx"]


def __dir__() -> list[str]:
    return sorted(__all__)

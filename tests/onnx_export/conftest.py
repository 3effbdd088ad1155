"""Graphs are run by onnxruntime."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture
def run():
    """Runs an ONNX model, or the file of one, on some rows; returns a dict of its outputs."""

    def run_model(onnx_model, X):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        source = onnx_model.SerializeToString() if hasattr(onnx_model, "SerializeToString") else str(onnx_model)
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        (given,) = session.get_inputs()
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, {given.name: np.asarray(X)}), strict=True))

    return run_model

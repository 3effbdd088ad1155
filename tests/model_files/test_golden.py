"""Files of earlier versions are read for ever, by compiled code and without it."""

import json
from pathlib import Path

import numpy as np
import pytest

import unisvm
from unisvm import model_files

FOLDER = Path(__file__).resolve().parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.unisvm"))


def rows_of(expected):
    """Rows to predict: a matrix, or a table by its columns."""
    rows = expected["rows"]
    return rows if isinstance(rows, dict) else np.array(rows)


def test_all_golden_files_are_there():
    assert NAMES == ["classifier", "pipeline", "regressor", "search", "table"]


@pytest.mark.parametrize("name", NAMES)
def test_golden_file(name, compiled_or_not):
    model = unisvm.load(FOLDER / f"{name}.unisvm")
    expected = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    rows = rows_of(expected)
    assert set(expected["answers"]) >= {"predict"}
    for method, answer in expected["answers"].items():
        said = getattr(model, method)(rows)
        if said.dtype.kind == "f":
            # other processors round otherwise
            np.testing.assert_allclose(said, answer, rtol=1e-4 if name == "regressor" else 1e-9, atol=1e-9)
        else:
            assert said.tolist() == answer


@pytest.mark.parametrize("name", NAMES)
def test_golden_file_is_saved_and_fitted_again(name, tmp_path):
    model = unisvm.load(FOLDER / f"{name}.unisvm")
    rows = rows_of(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))
    unisvm.save(model, tmp_path / "again.unisvm")
    np.testing.assert_array_equal(unisvm.load(tmp_path / "again.unisvm").predict(rows), model.predict(rows))
    assert model_files.read_summary(FOLDER / f"{name}.unisvm")["extra"] == {"made by": "make.py"}
    assert not [value for value in model.get_params(deep=False).values() if isinstance(value, model_files.NotSaved)]

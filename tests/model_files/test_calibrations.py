"""Probabilities of loaded searches, and calibrations that a model file cannot have."""

import numpy as np
import pytest

import unisvm
from model_files.forging import joined, places, split
from model_files.saved_models import cases
from unisvm.model_selection.calibration import METHODS


@pytest.fixture(scope="module")
def searches(tmp_path_factory):
    """Files of searches by their calibration, with what is needed to compare their probabilities."""
    folder = tmp_path_factory.mktemp("searches")
    model, rows, y = cases()["temperature"]
    found = {}
    for method in METHODS:
        model.set_params(calibration=method).fit(rows, y)
        unisvm.save(model, folder / method)
        found[method] = folder / method, rows, model.predict_proba(rows)
    return found


def forged(path, change):
    """A file beside the other with the calibration that `change` makes of its JSON."""
    header, rest = split(path.read_bytes())
    for container, key in places(header):
        if key == "calibration_":
            change(container[key])
    other = path.with_suffix(".forged")
    other.write_bytes(joined(header, rest))
    return other


@pytest.mark.parametrize("method", METHODS)
def test_loaded_probabilities_are_the_same(searches, method):
    path, rows, probabilities = searches[method]
    np.testing.assert_array_equal(unisvm.load(path).predict_proba(rows), probabilities)


@pytest.mark.parametrize("value", [0.0, -1.0, True, "1", None, [1.0], {"is": "float", "value": "nan"}])
def test_forged_temperatures(searches, value):
    path, rows, _ = searches["temperature"]
    with pytest.raises(ValueError, match="temperature must be a finite number above 0"):
        unisvm.load(forged(path, lambda node: node["fields"].update(temperature=value)))
    finite = unisvm.load(forged(path, lambda node: node["fields"].update(temperature=5e-324)))
    np.testing.assert_allclose(finite.predict_proba(rows).sum(axis=1), 1)


def test_forged_kinds_of_calibration(searches):
    path, _, _ = searches["temperature"]
    with pytest.raises(ValueError, match="temperature is missing"):
        unisvm.load(forged(path, lambda node: node["fields"].clear()))
    with pytest.raises(ValueError, match="there is no field slope"):
        unisvm.load(forged(path, lambda node: node["fields"].update(slope=1.0)))
    with pytest.raises(ValueError, match="a is missing"):
        unisvm.load(forged(path, lambda node: node.update(type="Calibration.sigmoid")))
    # a curve of one column is no calibration
    fields = {"a": 1.0, "b": 0.0}
    with pytest.raises(ValueError, match="calibration_ must be Calibration or Temperature"):
        unisvm.load(forged(path, lambda node: node.update(type="Calibration.sigmoid", fields=fields)))

"""The package as it is imported: quickly, without optional packages, and with its public names alone in `dir`."""

import importlib
import subprocess
import sys

import pytest

import unisvm

PUBLIC_PACKAGES = (
    "baselines",
    "datasets",
    "feature_selection",
    "kernels",
    "losses",
    "model_files",
    "model_selection",
    "nystrom",
    "onnx_export",
    "plotting",
    "solvers",
    "tables",
)
OPTIONAL = ("dask", "distributed", "matplotlib", "onnx", "piqp", "polars", "pyarrow", "rich", "skl2onnx", "typer")
ON_DEMAND = (
    "unisvm.baselines",
    "unisvm.datasets",
    "unisvm.feature_selection",
    "unisvm.onnx_export",
    "unisvm.plotting",
    "unisvm.tables",
    "sklearn.datasets",
    "sklearn.impute",
)


def modules_after(code):
    """Names of the modules that a fresh process has imported after it ran the code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def imported():
    return modules_after("import unisvm")


def test_no_optional_package_is_imported(imported):
    # scikit-learn itself may import some
    assert not (imported - modules_after("import sklearn.svm")).intersection(OPTIONAL)


def test_what_no_fit_needs_is_not_imported(imported):
    assert "unisvm.classifier" in imported
    assert not imported.intersection(ON_DEMAND)


def test_packages_are_attributes_that_are_imported_when_they_are_asked_for():
    code = "import unisvm\n" + "\n".join(f"unisvm.{name}.__all__" for name in PUBLIC_PACKAGES)
    assert {f"unisvm.{name}" for name in PUBLIC_PACKAGES} <= modules_after(code)


def test_completion_offers_the_public_names_alone():
    assert dir(unisvm) == sorted(unisvm.__all__)
    assert {"UniSVMClassifier", "losses", "plotting"} <= set(dir(unisvm))
    assert "engine" not in dir(unisvm)
    assert all(hasattr(unisvm, name) for name in dir(unisvm))


@pytest.mark.parametrize("name", PUBLIC_PACKAGES)
def test_completion_in_a_package(name):
    package = importlib.import_module(f"unisvm.{name}")
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, public) for public in dir(package))


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'unisvm' has no attribute 'UniSVC'"):
        _ = unisvm.UniSVC
    with pytest.raises(ImportError, match="cannot import name 'UniSVC'"):
        from unisvm import UniSVC  # noqa: F401

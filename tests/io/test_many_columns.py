"""Text whose indices make more columns than there is memory for is refused before that memory is taken."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor

# its peak is that of the process, which other tests have raised already
FIT = """
import resource, sys
from unisvm import UniSVMClassifier

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    UniSVMClassifier(memory_limit="100MB", random_state=0).fit(sys.argv[1])
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.fixture
def text(tmp_path):
    def of(index, n_lines=1):
        path = tmp_path / "rows.svm"
        lines = [f"{i % 2} 1:{i} 3:1\n" for i in range(n_lines)]
        path.write_text("# comment\n" + "".join(lines) + f"1 1:1 {index}:1\n0 2:1\n")
        return path

    return of


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak is that of Linux")
@pytest.mark.parametrize("index", [500_000_000, 2_147_483_646])
def test_an_index_beyond_memory_takes_none(text, index):
    path = text(index)
    said, peak = subprocess.run(
        [sys.executable, "-c", FIT, path], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert said.startswith(f"{path}, line 3: it has the index {index}, and {index} columns need ")
    assert "more than memory_limit's 100 MB" in said
    assert "hash columns" in said
    assert int(peak) < 50_000


@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor, UniSVMClassifierCV])
def test_every_estimator_refuses(text, estimator):
    path = text(10_000_000, n_lines=30)
    with pytest.raises(ValueError, match=r"rows.svm, line 32: it has the index 10000000, and .* 10 MB\. Leave out"):
        estimator(memory_limit="10MB").fit(path)


def test_a_matrix_with_as_many_columns_is_refused():
    X = sparse.csr_matrix(([1.0, 2.0], ([0, 3], [0, 499_999_999])), shape=(40, 500_000_000))
    for estimator in (UniSVMClassifier, UniSVMClassifierCV):
        with pytest.raises(MemoryError, match=r"500000000 columns need .* more than memory_limit's 100 MB"):
            estimator(memory_limit="100MB").fit(X, np.arange(40) % 2)


def test_columns_that_fit_are_as_good_as_few(text):
    path = text(100_000, n_lines=30)
    model = UniSVMClassifier(memory_limit="100MB", random_state=0, gamma=1.0).fit(path)
    dense = np.array([[i, 1.0, 0.0, 0.0] for i in range(30)] + [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    few = UniSVMClassifier(random_state=0, gamma=1.0).fit(dense, [*np.arange(30) % 2, 1, 0])
    np.testing.assert_allclose(model.decision_function(path), few.decision_function(dense), atol=1e-6)

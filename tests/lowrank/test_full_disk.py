"""A scratch folder on a file system that is really full."""

import shutil
import subprocess
import sys

import pytest

FIT = """
import os
import numpy as np
from sklearn.datasets import make_classification
from unisvm import UniSVMClassifier

folder = {folder!r}
X, y = make_classification(20_000, 6, random_state=0)
if {filled}:
    # room that is promised but not there: another process fills the disk once it has been looked at
    reserve = os.posix_fallocate
    def others_first(*args):
        with open(os.path.join(folder, "others"), "wb") as file:
            reserve(file.fileno(), 0, 30 * 2**20)
        reserve(*args)
    os.posix_fallocate = others_first
try:
    UniSVMClassifier(rank=100, rank_tol=0.0, memory_limit="6MB", scratch_dir=folder, random_state=0).fit(X, y)
except OSError as error:
    print(error)
print(sorted(set(os.listdir(folder)) - {{"others"}}), os.statvfs(folder).f_bfree * os.statvfs(folder).f_bsize)
"""


def small_disk(folder, megabytes, script):
    """Run a script in a namespace where the folder is a file system of its own."""
    mount = f"mount -t tmpfs -o size={megabytes}m tmpfs '{folder}'"
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", f'{mount} || exit 77; exec "$0" -c "$1"']
    return subprocess.run([*inside, sys.executable, script], capture_output=True, text=True, check=False)


def can_mount(folder):
    return shutil.which("unshare") is not None and small_disk(folder, 1, "print(1)").returncode == 0


@pytest.mark.parametrize(("megabytes", "filled"), [(10, False), (40, True)])
def test_names_the_folder_and_the_bytes_and_leaves_nothing(tmp_path, megabytes, filled):
    if not can_mount(tmp_path):
        pytest.skip("needs the right to mount a file system in a namespace")
    done = small_disk(tmp_path, megabytes, FIT.format(folder=str(tmp_path), filled=filled))
    assert done.returncode == 0, done.stderr
    message, left = done.stdout.splitlines()
    assert f"The features need 16 MB in the scratch folder {tmp_path}" in message
    assert "scratch_dir" in message
    # no file, and no bytes but those of the others
    assert left == f"[] {(megabytes - (30 if filled else 0)) * 2**20}"

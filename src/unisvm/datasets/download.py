"""Public files, fetched once and kept. A file is there as a whole or not at all."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from sklearn.datasets import get_data_home

#: seconds without a byte until a server counts as out of reach
TIMEOUT = 30.0

logger = logging.getLogger(__name__)


def folders() -> Iterator[Path]:
    """Where files are looked for: the folder named by UNISVM_DATA, then one in scikit-learn's data home."""
    if given := os.environ.get("UNISVM_DATA"):
        yield Path(given)
    yield Path(get_data_home()) / "unisvm"


def find(file: str) -> Path | None:
    """The file of that name, if a folder holds it."""
    return next((path for folder in folders() if (path := folder / file).is_file()), None)


def cache_folder() -> Path:
    """The folder that takes new files: the first that can be written."""
    *given, home = folders()
    return next((folder for folder in given if os.access(folder, os.W_OK)), home)


def file_name(url: str) -> str:
    """Name of the copy of a public file."""
    return url.rsplit("/", 1)[-1]


def fetch(url: str, *, download: bool) -> Path:
    """The kept copy of a public file; fetched first if it is missing and `download` is true."""
    file = file_name(url)
    if path := find(file):
        return path
    if not download:
        raise missing(file, url, "download=False")
    path = cache_folder() / file
    try:
        _save(url, path)
    except (OSError, HTTPException) as error:
        raise missing(file, url, f"the download failed: {error}") from error
    return path


def missing(file: str, url: str, reason: str) -> FileNotFoundError:
    """The error that says what is missing, where it is published and where it belongs."""
    return FileNotFoundError(
        f"{file} is missing ({reason}). The public copy is at {url} - put {file} into {cache_folder()}."
    )


def _save(url: str, path: Path) -> None:
    logger.info("Downloading %s", url)
    path.parent.mkdir(parents=True, exist_ok=True)
    # in the same folder, so that the last step is a rename, which is all or nothing
    with TemporaryDirectory(dir=path.parent) as scratch, urlopen(url, timeout=TIMEOUT) as response:
        part = Path(scratch) / path.name
        with part.open("wb") as file:
            shutil.copyfileobj(response, file)
        promised = response.headers.get("Content-Length")
        arrived = part.stat().st_size
        # a connection that breaks off looks like the end of the file
        if promised is not None and arrived != int(promised):
            raise OSError(f"{arrived:,} of {int(promised):,} bytes arrived")
        part.replace(path)

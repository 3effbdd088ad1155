"""Stages of a fit in files, from which it goes on after it was killed.

A file is a line with the checksum of the rest, which is an npz archive of arrays and a JSON text that says which fit
they are of. It is written under a temporary name and renamed when all of it is on the disk, so that it is whole or not
there. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unisvm.fingerprint import difference

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where two fits at once are not noticed
    fcntl = None  # type: ignore[assignment]

Arrays = dict[str, np.ndarray]

_MAGIC = b"unisvm checkpoint 1 "
_HEAD_BYTES = len(_MAGIC) + 64 + 1
_LOCK = "unisvm-lock"
_BEGUN = "begun"
# the stages of a fit, in their order, and of a search
_STAGES = (_BEGUN, "landmarks", "start", "solver", "result")
_OF_SEARCH = re.compile(r"(\d+-rows-)?gamma-\d+")
_MEANING = "meaning"
# States of the solver are kept no more often than this, and at most a fiftieth of the time is spent on them.
_SECONDS_BETWEEN = 1.0
_SHARE = 50


class Stages:
    """The stages of a fit that keeps none of them.

    Parameters
    ----------
    rng : RandomState
        Where the fit takes its random numbers from.
    """

    def __init__(self, rng: np.random.RandomState):
        self.rng = rng
        #: the stages that an earlier run has finished
        self.known: tuple[str, ...] = ()

    def load(self, stage: str) -> Arrays | None:
        """The arrays of a stage that an earlier run has finished, or None; random numbers go on from there."""
        return None

    def save(self, stage: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep the arrays of a stage."""

    def save_at_times(self, stage: str, arrays: Callable[[], Arrays]) -> None:
        """Keep the arrays of a stage if it was not done a moment ago."""

    def drop(self, *stages: str) -> None:
        """Remove stages that are not needed any more."""


class Checkpoint(Stages):
    """The stages of a fit in a folder. Use `opened`, which sees to it that the folder is one's own.

    Parameters
    ----------
    folder : Path
    identity : dict of str
        What makes this fit another than others, by name.
    rng : RandomState
    """

    def __init__(self, folder: Path, identity: dict[str, str], rng: np.random.RandomState):
        super().__init__(rng)
        self._folder = folder
        self._identity = identity
        self._run = uuid.uuid4().hex
        self._saved_at, self._cost = perf_counter(), 0.0

    def go_on(self) -> None:
        """Take on what the folder holds, or begin. Raises when a file is damaged or of another fit."""
        names = [path.name.removeprefix("unisvm-").split(".")[0] for path in self._folder.glob("unisvm-*.ckpt*")]
        present = {}
        for stage in [*_STAGES, *sorted({name for name in names if _OF_SEARCH.fullmatch(name)})]:
            _temporary(self._path(stage)).unlink(missing_ok=True)
            if self._path(stage).exists():
                with _checked(self._path(stage)) as archive:
                    present[stage] = _meaning(archive[_MEANING])
        for meaning in present.values():
            self._check_identity(meaning["identity"])
        if not present:
            self.save(_BEGUN, {})
            return
        runs = {meaning["run"] for meaning in present.values()}
        if len(runs) > 1 or _BEGUN not in present:
            raise ValueError(f"The files in the checkpoint {self._shown} are not of one run. {self._advice}")
        (self._run,) = runs
        self.known = tuple(present)
        self.load(_BEGUN)

    def load(self, stage):
        path = self._path(stage)
        if not path.exists():
            return None
        with _checked(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        self.rng.set_state(_meaning(arrays.pop(_MEANING))["random"])
        return arrays

    def save(self, stage, arrays):
        meaning = {"identity": self._identity, "run": self._run, "random": self.rng.get_state(legacy=False)}
        text = json.dumps(meaning, default=lambda value: value.tolist())
        contents: dict[str, Any] = {_MEANING: np.frombuffer(text.encode(), np.uint8), **arrays}
        _write_whole(self._path(stage), contents)
        self._saved_at = perf_counter()

    def save_at_times(self, stage, arrays):
        started = perf_counter()
        if started - self._saved_at >= max(_SECONDS_BETWEEN, _SHARE * self._cost):
            self.save(stage, arrays())
            self._cost = self._saved_at - started

    def drop(self, *stages):
        for stage in stages:
            self._path(stage).unlink(missing_ok=True)
        _flush_folder(self._folder)

    def _path(self, stage: str) -> Path:
        return self._folder / f"unisvm-{stage}.ckpt"

    def _check_identity(self, other: dict[str, str]) -> None:
        if other == self._identity:
            return
        mine = self._identity
        names = [name for name in {**mine, **other} if mine.get(name) != other.get(name)]
        what = "; ".join(difference(name, other.get(name, "not there"), mine.get(name, "not there")) for name in names)
        raise ValueError(f"The checkpoint {self._shown} is of another fit: {what}. {self._advice}")

    @property
    def _shown(self) -> str:
        return repr(str(self._folder))

    @property
    def _advice(self) -> str:
        return "Give another folder, or delete the files unisvm-*.ckpt in it to start anew."


@contextmanager
def opened(folder: Any, identity: Callable[[], dict[str, str]], random_state: Any) -> Iterator[Stages]:
    """The stages in a folder, which no other fit can use meanwhile; stages that are not kept when it is None.

    Random numbers are those of `random_state`; where it does not say which, those of the run that began.
    """
    rng = check_random_state(random_state)
    if folder is None:
        yield Stages(rng)
        return
    folder = Path(folder)
    unspecified = random_state is None or random_state is np.random
    with _locked(folder):
        resumed = (folder / f"unisvm-{_BEGUN}.ckpt").exists()
        # the global generator is not set back to what it was in another process
        checkpoint = Checkpoint(folder, identity(), np.random.RandomState() if unspecified and resumed else rng)
        checkpoint.go_on()
        yield checkpoint


def check_folder(folder: Any) -> None:
    """Raise when a checkpoint cannot be kept there. Nothing is written yet."""
    if folder is None:
        return
    if not isinstance(folder, str | os.PathLike):
        raise ValueError(f"checkpoint must be a folder or None, got {folder!r}.")
    place = Path(folder).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise ValueError(f"checkpoint must be a folder, but {str(place)!r} is a file.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(f"The checkpoint {str(folder)!r} cannot be kept: {str(place)!r} is not writable.")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Have the folder, made if it is not there, to oneself. The system takes the lock back however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / _LOCK, "ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(
                    f"Another fit is using the checkpoint {str(folder)!r}. Give each fit a folder of its own."
                ) from None
        yield


@contextmanager
def _checked(path: Path) -> Iterator[Any]:
    """The archive in a file, read as it is asked for. Raises when a bit of the file is not as it was written."""
    with open(path, "rb") as file:
        if file.read(_HEAD_BYTES) != _head(file):
            raise ValueError(
                f"The checkpoint file {str(path)!r} is damaged: its checksum is not that of its contents. Delete it, "
                "and the fit goes on from the stage before; if that is refused too, give another folder."
            )
        file.seek(_HEAD_BYTES)
        with np.load(file, allow_pickle=False) as archive:
            yield archive


def _meaning(text: np.ndarray) -> dict[str, Any]:
    return json.loads(text.tobytes())


def _head(file: io.BufferedIOBase) -> bytes:
    """The first line of a file whose other lines come next in `file`."""
    return _MAGIC + hashlib.file_digest(file, "sha256").hexdigest().encode() + b"\n"


def _write_whole(path: Path, contents: dict[str, Any]) -> None:
    """Write a file that is there as a whole or not at all, even if the power fails."""
    temporary = _temporary(path)
    try:
        with open(temporary, "w+b") as file:
            # the checksum is filled in at last, so that no copy of the arrays is needed for it
            file.write(bytes(_HEAD_BYTES))
            np.savez(file, **contents)
            file.seek(_HEAD_BYTES)
            head = _head(file)
            file.seek(0)
            file.write(head)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _temporary(path: Path) -> Path:
    return path.with_name(path.name + ".tmp")


def _flush_folder(folder: Path) -> None:
    """Have the system write down the names in a folder, where it lets one ask for it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

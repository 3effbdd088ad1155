"""Stages of a fit or a search in a folder, from which it resumes after it was killed.

Of a fit: "begun" (its identity and random state), "landmarks" (their indices and the factor L), "gram" (moments of the
features), "C" (if it is chosen by the rows), "start" (weights and preconditioner), "solver" (the iteration, from time
to time) and "result" (the model). Of a search: "promising" (the cells to try), and the scores of each kernel, "gamma-3"
or "2000-rows-gamma-3". Of a fit with cells: "partition" (their tree), "C" and the model of each, "cell-12". Of one that
learns scales of the columns, before the others: "relevance".
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unisvm.checkpoint.file_format import locked, read_file, refused, temporary_path, write_file
from unisvm.checkpoint.fingerprint import difference
from unisvm.whole_files import flush_folder

Arrays = dict[str, np.ndarray]

_BEGUN, _RESULT = "begun", "result"
# in their order
_INTERMEDIATE_STAGES = ("landmarks", "gram", "C", "start", "solver")
_STAGES = (_BEGUN, *_INTERMEDIATE_STAGES, _RESULT)
_OF_PARTS = re.compile(r"(part-\d+-)?(\d+-rows-|losses-|Cs-)?gamma-\d+|suited|partition|relevance|cell-\d+")
# name of the JSON header in a file
_HEADER = "meaning"
_HEADER_TYPES = {"identity": dict, "run": str, "random": dict, "arrays": dict}
# of the Mersenne twister in its block of numbers, which NumPy takes as it is
_LAST_POSITION = 624
# States of the solver are kept no more often than this, and at most a fiftieth of the time is spent on them.
_SECONDS_BETWEEN = 1.0
_SHARE = 50


class Stages:
    """The stages of a fit that keeps none of them.

    Parameters
    ----------
    rng : RandomState
        Source of all random numbers of the fit.
    """

    def __init__(self, rng: np.random.RandomState):
        self.rng = rng
        #: stages that an earlier run has finished
        self.finished: tuple[str, ...] = ()

    def load(self, stage: str) -> Arrays | None:
        """Arrays of a stage that an earlier run has finished, or None; the random state is restored with them."""
        return None

    def restoring(self, stage: str) -> AbstractContextManager[None]:
        """Have errors that its arrays lead to say that they are damaged."""
        return nullcontext()

    def save(self, stage: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep the arrays of a stage; with the result, those of the intermediate stages are removed."""

    def save_at_times(self, stage: str, arrays: Callable[[], Arrays]) -> None:
        """Keep the arrays of a stage if that was not done a moment ago."""


class Checkpoint(Stages):
    """The stages of a fit in a folder. Use `open_stages`, which sees to it that the folder is one's own.

    Parameters
    ----------
    folder : Path
    identity : dict of str
        Descriptions of the data and parameters of this fit, by name.
    rng : RandomState
    """

    def __init__(self, folder: Path, identity: dict[str, str], rng: np.random.RandomState):
        super().__init__(rng)
        self._folder = folder
        self._identity = identity
        self._run = uuid.uuid4().hex
        self._saved_at, self._cost = perf_counter(), 0.0

    def resume(self) -> None:
        """Take on the stages in the folder, or begin. Raises when a file is damaged or of another fit."""
        names = [path.name.removeprefix("unisvm-").split(".")[0] for path in self._folder.glob("unisvm-*.ckpt*")]
        present = {}
        for stage in [*_STAGES, *sorted({name for name in names if _OF_PARTS.fullmatch(name)})]:
            temporary_path(self._path(stage)).unlink(missing_ok=True)
            if self._path(stage).exists():
                with read_file(self._path(stage)) as archive:
                    present[stage] = _decode(archive)
        for header in present.values():
            self._check_identity(header["identity"])
        if not present:
            self.save(_BEGUN, {})
            return
        runs = {header["run"] for header in present.values()}
        if len(runs) > 1 or _BEGUN not in present:
            raise ValueError(f"The files in the checkpoint {self._shown} are not of one run. {self._advice}")
        (self._run,) = runs
        self.finished = tuple(present)
        self.load(_BEGUN)

    def load(self, stage):
        path = self._path(stage)
        if not path.exists():
            return None
        with read_file(path) as archive:
            header = _decode(archive)
            arrays = {name: archive[name] for name in archive.files if name != _HEADER}
            if _kinds(arrays) != header["arrays"]:
                raise ValueError("its arrays have not the names, shapes and types of those that were written")
            # only the default generator has a position
            if not 0 <= header["random"]["state"].get("pos", 0) <= _LAST_POSITION:
                raise ValueError("its random numbers have no such state")
            self.rng.set_state(header["random"])
        if stage == _RESULT:
            self._remove_intermediate()
        return arrays

    def restoring(self, stage):
        return refused(self._path(stage))

    def save(self, stage, arrays):
        arrays = {name: np.asanyarray(array) for name, array in arrays.items()}
        random = self.rng.get_state(legacy=False)
        header = {"identity": self._identity, "run": self._run, "random": random, "arrays": _kinds(arrays)}
        text = json.dumps(header, default=lambda value: value.tolist())
        write_file(self._path(stage), {_HEADER: np.frombuffer(text.encode(), np.uint8), **arrays})
        self._saved_at = perf_counter()
        if stage == _RESULT:
            self._remove_intermediate()

    def _remove_intermediate(self) -> None:
        for name in _INTERMEDIATE_STAGES:
            self._path(name).unlink(missing_ok=True)
        flush_folder(self._folder)

    def save_at_times(self, stage, arrays):
        started = perf_counter()
        if started - self._saved_at >= max(_SECONDS_BETWEEN, _SHARE * self._cost):
            self.save(stage, arrays())
            self._cost = self._saved_at - started

    def _path(self, stage: str) -> Path:
        return self._folder / f"unisvm-{stage}.ckpt"

    def _check_identity(self, other: dict[str, str]) -> None:
        if other == self._identity:
            return
        this = self._identity
        names = [name for name in {**this, **other} if this.get(name) != other.get(name)]
        what = "; ".join(difference(name, other.get(name, "not there"), this.get(name, "not there")) for name in names)
        raise ValueError(f"The checkpoint {self._shown} is of another fit: {what}. {self._advice}")

    @property
    def _shown(self) -> str:
        return repr(str(self._folder))

    @property
    def _advice(self) -> str:
        return "Give another folder, or delete the files unisvm-*.ckpt in it to start anew."


@contextmanager
def open_stages(folder: Any, identity: Callable[[], dict[str, str]], random_state: Any) -> Iterator[Stages]:
    """Stages in a folder, which no other fit can use meanwhile; stages that are not kept when it is None.

    Random numbers are those of `random_state`; where that is not fixed, those of the run that began.
    """
    rng = check_random_state(random_state)
    if folder is None:
        yield Stages(rng)
        return
    folder = Path(folder)
    unspecified = random_state is None or random_state is np.random
    with locked(folder):
        resumed = (folder / f"unisvm-{_BEGUN}.ckpt").exists()
        # the global generator is not set back to what it was in another process
        checkpoint = Checkpoint(folder, identity(), np.random.RandomState() if unspecified and resumed else rng)
        checkpoint.resume()
        yield checkpoint


def check_folder(folder: Any) -> None:
    """Raise when a checkpoint cannot be kept there. Nothing is written yet."""
    if folder is None:
        return
    # an empty path would be the current folder, which is what nobody means by it
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise ValueError(f"checkpoint must be a folder or None, got {folder!r}.")
    place = Path(folder).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise ValueError(f"checkpoint must be a folder, but {str(place)!r} is a file.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(f"The checkpoint {str(folder)!r} cannot be kept: {str(place)!r} is not writable.")


def _kinds(arrays: Mapping[str, np.ndarray]) -> dict[str, list]:
    """Type and shape of each array, as JSON has them."""
    return {name: [array.dtype.str, *array.shape] for name, array in arrays.items()}


def _decode(archive: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The header of a file, with entries of the types that are written."""
    header = json.loads(archive[_HEADER].tobytes())
    if not all(isinstance(header[name], kind) for name, kind in _HEADER_TYPES.items()):
        raise ValueError("its header is none that is written")
    if not all(isinstance(text, str) for text in header["identity"].values()):
        raise ValueError("its identity is none that is written")
    return header

"""Give readers of files bytes that nobody wrote, and see that they read or refuse them.

    python tools/fuzz.py models --seconds 60
    python tools/fuzz.py models --seed 3 --first 17 --cases 1
    python tools/fuzz.py models --again finding.bin

Each case has random numbers of its own, from the seed and its number. A reader may raise the exceptions of its target,
with a message that names the file; anything else is a finding: another exception, more memory than a limit, a process
that ends or hangs. The exit status is 1 if there is one, and its bytes are in the folder of --keep.

A new target is an entry of TARGETS: what makes the bytes of a case, and what reads them.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import unisvm  # noqa: E402
from hard.damage import any_of, damaged  # noqa: E402
from model_files.forging import joined, mutated_array, mutated_json, split, with_checksum  # noqa: E402
from model_files.saved_models import X, small_models  # noqa: E402
from unisvm import model_files  # noqa: E402

#: address space beside that of the process, beyond which an allocation fails
MOST_MEMORY = 2**30
#: cases before the limit on memory: libraries load what they need
WARM_UP = 20
#: file with the number of the case that is tried
NUMBER = "number"
#: beyond this a case is taken to hang
MOST_SECONDS = 30


class Target(NamedTuple):
    """A reader of files.

    Attributes
    ----------
    prepare : callable
        Makes what `case` and `attempt` share, given a folder.
    case : callable
        Bytes to be read, and how they came about, given what is shared and random numbers.
    attempt : callable
        Reads a file and uses what it has, given what is shared and a path. It returns a word for the statistics.
    refusals : tuple of exceptions
        What `attempt` may raise, with a message that names the file.
    suffix : str
        Of the files.
    """

    prepare: Callable[[Path], Any]
    case: Callable[[Any, np.random.Generator], tuple[bytes, list[str]]]
    attempt: Callable[[Any, Path], str]
    refusals: tuple[type[Exception], ...]
    suffix: str


# ------------------------------------------------------------------ models


def saved_models(folder: Path) -> dict[str, bytes]:
    """Files of all kinds of models, by their names."""
    files = {}
    for name, (model, _, _) in small_models().items():
        unisvm.save(model, folder / "good.unisvm", extra={"name": name})
        files[name] = (folder / "good.unisvm").read_bytes()
    return files


def forged_model(files: dict[str, bytes], rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """A model file that is damaged, most often with the checksum of its contents."""
    name = any_of(rng, list(files))
    good = files[name]

    def choose(options: Any) -> Any:
        return any_of(rng, list(options))

    header, rest = split(good)
    match choose(["bytes", "forged bytes", "json", "json", "json", "array", "array"]):
        case "bytes":
            bad, how = damaged(good, rng, [])
        case "forged bytes":
            bad, how = damaged(good[good.index(b"\n") + 1 :], rng, [])
            bad = with_checksum(bad)
        case "json":
            n_changes = choose([1, 1, 1, 2, 5])
            for _ in range(n_changes):
                header = mutated_json(header, choose)
                if not isinstance(header.get("model"), dict | list):
                    break
            bad, how = joined(header, rest), [f"{n_changes} changes of the JSON"]
        case _:
            bad, how = mutated_array(header, rest, choose), ["an array"]
    return bad, [name, *how]


def load_and_predict(files: dict[str, bytes], path: Path) -> str:
    """Load a model, and if it is one of our rows, have it predict and save it again."""
    model_files.read_summary(path)
    model = unisvm.load(path)
    repr(model)
    if model.n_features_in_ != X.shape[1]:
        return "loaded"
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        try:
            getattr(model, method, str)(X)
        except ValueError as error:
            # scalers of a pipeline can make numbers of rows that no estimator takes
            if not str(error).startswith(("Input X contains", "X has the value")):
                raise
    unisvm.save(model, path)
    return "predicted"


TARGETS = {"models": Target(saved_models, forged_model, load_and_predict, (ValueError,), ".unisvm")}


# ------------------------------------------------------------------ the loop


def limit_memory() -> None:
    """Have allocations fail before they take the memory of others."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, resource.RLIM_INFINITY))


def outcome(target: Target, shared: Any, path: Path) -> tuple[str, str]:
    """A word for the statistics, and what is wrong, nothing if all is well."""
    try:
        return target.attempt(shared, path), ""
    except target.refusals as error:
        if path.name in str(error):
            return "refused", ""
        return "finding", traceback.format_exc()
    except Exception:
        return "finding", traceback.format_exc()


def run_cases(target: Target, options: argparse.Namespace, folder: Path) -> int:
    """Number of findings. The bytes of the case that is tried are in the folder."""
    shared, counts, n_findings = target.prepare(folder), Counter[str](), 0
    path, started = folder / f"case{target.suffix}", perf_counter()
    for case in range(options.first, options.first + options.cases):
        if perf_counter() - started > options.seconds:
            break
        if case == options.first + WARM_UP:
            limit_memory()
        data, how = target.case(shared, np.random.default_rng([options.seed, case]))
        path.write_bytes(data)
        (folder / NUMBER).write_text(str(case))
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        word, wrong = outcome(target, shared, path)
        faulthandler.cancel_dump_traceback_later()
        counts[word] += 1
        if wrong:
            n_findings += 1
            # an attempt may have written to the file
            path.write_bytes(data)
            keep(target, options, folder)
            print(f"case {case}: {', '.join(how)}\n{wrong}", flush=True)
    print(f"seed {options.seed}: {sum(counts.values())} cases in {perf_counter() - started:.0f} s, {dict(counts)}")
    return n_findings


def keep(target: Target, options: argparse.Namespace, folder: Path) -> None:
    """Copy the bytes of the case that was tried to where they stay."""
    case = (folder / NUMBER).read_text()
    kept = options.keep / f"{options.target}-{options.seed}-{case}{target.suffix}"
    shutil.copyfile(folder / f"case{target.suffix}", kept)
    print(f"finding in case {case} of seed {options.seed}: its bytes are in {kept}")


def watch(target: Target, options: argparse.Namespace) -> int:
    """The exit status of a process of its own, which bytes can end, in which the cases are tried."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = subprocess.run([sys.executable, *sys.argv, "--inside", name], check=False).returncode
        if code not in (0, 1) and (folder / NUMBER).exists():
            print(f"the process ended with status {code}")
            keep(target, options, folder)
        return min(abs(code), 1)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--cases", type=int, default=10**9, help="stop after so many")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--keep", type=Path, default=Path(), metavar="FOLDER", help="for the bytes of findings")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try the bytes of a finding")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seconds == float("inf") and options.cases == 10**9:
        options.seconds = 60.0
    target = TARGETS[options.target]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if options.again is not None:
        with tempfile.TemporaryDirectory() as name:
            copy = shutil.copyfile(options.again, Path(name) / f"case{target.suffix}")
            word, wrong = outcome(target, target.prepare(Path(name)), copy)
            print(wrong or word)
        return 1 if wrong else 0
    if options.inside is None:
        return watch(target, options)
    return min(run_cases(target, options, options.inside), 1)


if __name__ == "__main__":
    sys.exit(main())

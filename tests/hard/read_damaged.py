"""Read damaged files in a process with little memory; the last line of the output is a JSON summary.

python -m hard.read_damaged READER FOLDER SEED --cases 300
python -m hard.read_damaged READER FOLDER SEED --seconds 60
python -m hard.read_damaged READER FOLDER SEED --first 17 --cases 1
"""

import argparse
import faulthandler
import json
import resource
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

from hard.damaged_files import READERS

#: Address space and files that a damaged file may take beside what the process has. The header of a page of Parquet may
#: say that it unpacks to 2 GB, which are set aside and not used.
MOST_MEMORY, MOST_ON_DISK = 5 * 2**30, 2**28
#: beyond this, a file is taken to hang
MOST_SECONDS = 30
# memory that a reader finds it does not have, beside that of memory_limit
NO_MEMORY = ("Unable to allocate", "failed to allocate", "malloc", "realloc")


def limit():
    """Have the process end, or an allocation fail, before it takes the memory or the disk of others."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_ON_DISK, resource.RLIM_INFINITY))


class Watch:
    """Names that are unpickled."""

    def __init__(self):
        self.names = []
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        if event == "pickle.find_class":
            self.names.append(arguments)


def outcome(reader, path, rng):
    """ "read", "refused" or "used", or what is wrong."""
    try:
        reader.read(path, rng)
        read = "read"
    except (ValueError, OSError) as error:
        if not reader.names(path, str(error)):
            return f"{error!r} does not name the file"
        if any(text in str(error) for text in NO_MEMORY):
            return f"{error!r} for memory that it should not ask for"
        read = "refused"
    except Exception as error:
        return f"{error!r} when it was read"
    if rng.integers(4):
        return read
    try:
        reader.use(path, rng)
    except (ValueError, OSError) as error:
        if read == "refused" and not reader.names(path, str(error)):
            return f"{error!r} of a fit does not name the file"
    except MemoryError as error:
        # numpy's own do not speak of the limit
        if "memory_limit" not in str(error):
            return f"{error!r} in a fit"
    except Exception as error:
        return f"{error!r} in a fit"
    else:
        # predictions pass over labels, which a fit refuses
        return "used"
    return read


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    # of NumPy, of Python's parser, which reads the header of a .npy file, and of fits to so few rows
    warnings.simplefilter("ignore")
    reader = READERS[given.reader](given.folder, np.random.default_rng(given.seed))
    watch, started, counts, failures, peak = Watch(), perf_counter(), {}, [], 0
    for case in range(given.first, given.first + given.cases):
        if perf_counter() - started > given.seconds:
            break
        if case == given.first + 30:
            # libraries have been loaded
            limit()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rng = np.random.default_rng([given.seed, case])
        path, how = reader.case(rng)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        print(case, *how, file=sys.stderr, flush=True)
        said = outcome(reader, path, rng)
        faulthandler.cancel_dump_traceback_later()
        if said in ("read", "refused", "used"):
            counts[said] = counts.get(said, 0) + 1
        else:
            failures.append([case, how, said])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024
    print(
        json.dumps({"counts": counts, "failures": failures[:50], "unpickled": watch.names, "MB": grown if peak else 0})
    )


if __name__ == "__main__":
    main()

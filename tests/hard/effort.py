"""How much of the hard suite runs."""

import os

#: whether all of it runs, and not the short part that is in `make test`
HARD = os.environ.get("UNISVM_HARD") == "1"
#: of all random cases; another one has to be asked for
SEED = int(os.environ.get("UNISVM_SEED", "0"))


def effort(short, hard):
    """The number for the short part, or for all of the suite."""
    return hard if HARD else short

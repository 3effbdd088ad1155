"""How much of the hard suite runs."""

import os

#: whether all of it runs, and not the short part that is in `make test`
HARD = os.environ.get("UNISVM_HARD") == "1"


def effort(short, hard):
    """The number for the short part, or for all of the suite."""
    return hard if HARD else short

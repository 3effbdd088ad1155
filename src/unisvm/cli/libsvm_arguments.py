"""LIBSVM's own command lines, as options of this program.

`svm-train` and `svm-predict` have options without a counterpart here, and forms that no parser of options knows.
"""

from __future__ import annotations

import re

_WITHOUT_EFFECT = {
    "-m": "-m is the size of LIBSVM's cache, of which there is none here: see --memory-limit.",
    "-e": "-e is LIBSVM's tolerance, in other units than --tol, which is in force.",
    "-n": "-n is for LIBSVM's ν-machines, which are not here.",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CLASS_WEIGHT = re.compile(r"-w([+-]?[^\s-].*)")


def translate(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments with LIBSVM's peculiar ones in the form of ours, and notes on those without an effect.

    Examples
    --------
    >>> from unisvm.cli.libsvm_arguments import translate
    >>> translate(["train", "-c", "10", "-w-1", "2", "-b", "1", "a9a", "a9a.model"])[0]
    ['train', '-c', '10', '--class-weight', '-1=2', '--probabilities', 'a9a', 'a9a.model']
    """
    if not arguments or arguments[0] not in ("train", "predict", "cv"):
        return arguments, []
    notes: list[str] = []
    found, rest = arguments[:1], list(arguments[1:])
    while rest:
        option, value = rest.pop(0), rest[0] if rest else ""
        if option == "--":
            return [*found, option, *rest], notes
        weighted = _CLASS_WEIGHT.fullmatch(option)
        if option == "-b" and value in ("0", "1"):
            found += ["--probabilities"] if rest.pop(0) == "1" else []
        elif option == "-h" and value in ("0", "1"):
            rest.pop(0)
            notes.append("-h is LIBSVM's shrinking, of which there is none here.")
        elif option in _WITHOUT_EFFECT and _NUMBER.fullmatch(value):
            rest.pop(0)
            notes.append(_WITHOUT_EFFECT[option])
        elif weighted and _NUMBER.fullmatch(value):
            found += ["--class-weight", f"{weighted[1]}={rest.pop(0)}"]
        else:
            found.append(option)
    return found, notes

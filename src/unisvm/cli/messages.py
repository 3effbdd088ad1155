"""What the program says to people, and to other programs by --json."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# columns are brought into the order of the model's by their names before their numbers are predicted
_NAMELESS = "X does not have valid feature names"


class Messages:
    """Lines to people, unless the program is quiet or speaks JSON.

    Parameters
    ----------
    quiet : bool
        Nothing is said but errors.
    as_json : bool
        The facts of a command are printed as one JSON object on standard output, and nothing else.
    on_stderr : bool
        Standard output is for the data.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False, on_stderr: bool = False):
        self.quiet, self.as_json = quiet, as_json
        self._stream = sys.stderr if on_stderr else sys.stdout

    @property
    def is_talking(self) -> bool:
        """Whether lines to people are printed."""
        return not (self.quiet or self.as_json)

    def say(self, line: str = "") -> None:
        """Print a line."""
        if self.is_talking:
            print(line, file=self._stream, flush=True)

    def answer(self, line: str) -> None:
        """Print a line that the command is there for, also when it is quiet."""
        if not self.as_json:
            print(line, file=self._stream, flush=True)

    def say_pairs(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print lines with a heading each, which is not repeated."""
        pairs, last = list(pairs), None
        width = max((len(heading) for heading, _ in pairs), default=0)
        for heading, line in pairs:
            self.say(f"{'' if heading == last else heading:<{width}}  {line}")
            last = heading

    def warn(self, line: str) -> None:
        """Print a line on standard error."""
        if self.is_talking:
            print(f"warning: {line}", file=sys.stderr, flush=True)

    def note(self, line: str) -> None:
        """Print a line on standard error, which is no result."""
        if self.is_talking:
            print(f"note: {line}", file=sys.stderr, flush=True)

    def result(self, facts: dict[str, Any]) -> None:
        """Print the facts for programs, with --json."""
        if self.as_json:
            print(json.dumps(facts, ensure_ascii=False, default=_plain), file=self._stream, flush=True)

    @contextmanager
    def collected_warnings(self) -> Iterator[list[Warning]]:
        """Context that collects the warnings of what is done in it, and then says each of them once."""
        found: list[Warning] = []
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            try:
                yield found
            finally:
                texts: dict[str, Warning] = {}
                for record in records:
                    if issubclass(record.category, UserWarning) and not str(record.message).startswith(_NAMELESS):
                        texts.setdefault(str(record.message), record.category(str(record.message)))
                found += texts.values()
        for text in texts:
            self.warn(text)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON has them."""
    return value.tolist()

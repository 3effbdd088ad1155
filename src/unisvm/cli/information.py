"""`unisvm losses` and `unisvm info`: what can be had, and what is in a model file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unisvm import losses
from unisvm._checks import one_of
from unisvm.cli.messages import Messages
from unisvm.losses.base import TASKS
from unisvm.losses.registry import ALIASES
from unisvm.model_files import read_summary


def describe_losses(task: str | None, messages: Messages) -> None:
    """Print a table of the losses."""
    if task is not None:
        one_of("task", task, TASKS)
    facts = [_loss_facts(name) for name in losses.names(task)]
    width = max(len(entry["name"]) for entry in facts)
    messages.say(f"{'loss':<{width}}  {'for':<16}{'bounded':<9}{'convex':<8}parameters")
    for entry in facts:
        tasks = "both" if len(entry["tasks"]) == 2 else entry["tasks"][0]
        flags = ["yes" if entry[flag] else "no" for flag in ("bounded", "convex")]
        parameters = ", ".join(f"{name}={value:g}" for name, value in entry["parameters"].items())
        names = f" (also {', '.join(entry['aliases'])})" if entry["aliases"] else ""
        messages.say(f"{entry['name']:<{width}}  {tasks:<16}{flags[0]:<9}{flags[1]:<8}{parameters}{names}".rstrip())
    messages.say("\nA bounded loss gives up rows that are far on the wrong side, such as those with wrong labels.")
    messages.result({"losses": facts})


def _loss_facts(name: str) -> dict[str, Any]:
    loss = losses.get(name)
    return {
        "name": name,
        "aliases": sorted(alias for alias, of in ALIASES.items() if of == name),
        "tasks": sorted(loss.tasks),
        "bounded": bool(np.isfinite(loss.bound)),
        "convex": bool(loss.is_convex),
        "A": float(loss.A),
        "parameters": {key: float(value) for key, value in loss.get_params(deep=False).items()},
    }


def describe_model(path: str, messages: Messages) -> None:
    """Print the summary of a model file."""
    summary = read_summary(path)
    messages.say_pairs(_lines(summary))
    messages.result(summary)


def _lines(facts: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _lines(value, f"{prefix}{name}.")
        elif value is not None:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"{prefix}{name}".replace("_", " "), text

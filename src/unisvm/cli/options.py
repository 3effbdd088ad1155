"""The options of the commands, each written once."""

from __future__ import annotations

from typing import Annotated

import typer

from unisvm import losses
from unisvm.cli.sources import FORMATS
from unisvm.losses.base import TASKS
from unisvm.losses.registry import ALIASES
from unisvm.scaling import SCALES

SCALINGS = (*SCALES, "none")
DATA, MACHINE, LIBSVM, RESOURCES, SAYS = "Data", "Machine", "LIBSVM's options", "Resources", "Output"


def _scale(name: str | None) -> str | None:
    """The name of a scaling; raises for another."""
    if name is not None and name not in SCALINGS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(SCALINGS)}.")
    return name


def _scalings(incomplete: str) -> list[str]:
    return [name for name in SCALINGS if name.startswith(incomplete)]


def _losses(incomplete: str) -> list[str]:
    return [name for name in (*losses.names(), *ALIASES) if name.startswith(incomplete)]


def _kernels(incomplete: str) -> list[str]:
    return [name for name in ("rbf", "laplacian", "linear", "poly", "sigmoid") if name.startswith(incomplete)]


def _formats(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


def _tasks(incomplete: str) -> list[str]:
    return [name for name in TASKS if name.startswith(incomplete)]


def _option(*names: str, panel: str, help: str, **others):
    return typer.Option(
        *names, help=help, rich_help_panel=panel, show_default=others.pop("show_default", False), **others
    )


# ------------------------------------------------------------------ data

Target = Annotated[
    str | None,
    _option("--target", panel=DATA, metavar="NAME", help="Column of the labels or real targets; a .npy file of them."),
]
Weights = Annotated[
    str | None, _option("--weights", panel=DATA, metavar="NAME", help="Column of the weights of the rows.")
]
Format = Annotated[
    str | None,
    _option(
        "--format",
        panel=DATA,
        metavar="KIND",
        autocompletion=_formats,
        help=f"Kind of the data, if its name and beginning do not tell: {', '.join(FORMATS)}.",
    ),
]
Header = Annotated[
    bool | None,
    _option(
        "--header/--no-header", panel=DATA, help="Whether the first line of CSV has the names; else it is found out."
    ),
]
Delimiter = Annotated[
    str | None, _option("--delimiter", panel=DATA, metavar="CHARACTER", help="Between fields of CSV.")
]
Text = Annotated[
    list[str] | None,
    _option("--text", panel=DATA, metavar="NAME", help="Column that is text whatever it holds; may be repeated."),
]
Ignore = Annotated[
    list[str] | None,
    _option("--ignore", panel=DATA, metavar="NAME", help="Column of a table that is left out; may be repeated."),
]
DropUnlabelled = Annotated[
    bool, _option("--drop-unlabelled", panel=DATA, help="Leave out rows of a table whose target is missing.")
]
Task = Annotated[
    str | None,
    _option(
        "--task",
        panel=DATA,
        metavar="TASK",
        autocompletion=_tasks,
        help="classification or regression, if the targets do not tell.",
    ),
]
ScaleOption = Annotated[
    str | None,
    _option(
        "--scale",
        panel=DATA,
        metavar="standard|minmax|none",
        callback=_scale,
        autocompletion=_scalings,
        help="Scale the columns of numbers; part of the model. By default standard, and minmax for sparse rows.",
    ),
]

# ------------------------------------------------------------------ machine

Loss = Annotated[
    str | None,
    _option(
        "--loss",
        panel=MACHINE,
        metavar="NAME",
        autocompletion=_losses,
        help="See `unisvm losses`; by default feng or huber.",
    ),
]
LossParam = Annotated[
    list[str] | None,
    _option("--loss-param", panel=MACHINE, metavar="NAME=NUMBER", help="Parameter of the loss; may be repeated."),
]
Kernel = Annotated[
    str | None,
    _option(
        "--kernel",
        "-t",
        autocompletion=_kernels,
        panel=MACHINE,
        metavar="NAME",
        help="rbf, laplacian, linear, poly or sigmoid; or LIBSVM's 0 to 3.",
    ),
]
C = Annotated[
    str,
    _option("--C", "-c", panel=MACHINE, metavar="NUMBER", help="As in LIBSVM; by default it follows from the data."),
]
Gamma = Annotated[
    str,
    _option(
        "--gamma",
        "-g",
        panel=MACHINE,
        metavar="NUMBER",
        help="Of the kernel: a number, scale or auto.",
        show_default="scale",
    ),
]
Coef0 = Annotated[
    float, _option("--coef0", "-r", panel=MACHINE, metavar="NUMBER", help="Of poly and sigmoid.", show_default=True)
]
Degree = Annotated[int, _option("--degree", "-d", panel=MACHINE, metavar="NUMBER", help="Of poly.", show_default=True)]
ClassWeight = Annotated[
    list[str] | None,
    _option(
        "--class-weight", panel=MACHINE, metavar="LABEL=NUMBER", help="Weight of a class, as LIBSVM's -wLABEL NUMBER."
    ),
]
Balanced = Annotated[
    bool, _option("--balanced", panel=MACHINE, help="Weight classes by the inverse of their frequency.")
]
Rank = Annotated[
    int,
    _option(
        "--rank", panel=MACHINE, metavar="NUMBER", help="Most landmarks: more are slower and closer.", show_default=True
    ),
]
Search = Annotated[
    bool,
    _option("--search", panel=MACHINE, help="Choose loss, C, kernel and gamma that are not given by cross-validation."),
]
Probabilities = Annotated[
    bool,
    _option("--probabilities", panel=MACHINE, help="Probabilities of classes, by cross-validation: LIBSVM's -b 1."),
]
Tol = Annotated[
    float, _option("--tol", panel=MACHINE, metavar="NUMBER", help="Stationarity to stop at.", show_default=True)
]
MaxIter = Annotated[
    int, _option("--max-iter", panel=MACHINE, metavar="NUMBER", help="Most iterations.", show_default=True)
]
Seed = Annotated[
    int,
    _option(
        "--seed",
        panel=MACHINE,
        metavar="NUMBER",
        help="Of landmarks and folds: equal seeds, equal models.",
        show_default=True,
    ),
]
SvmType = Annotated[
    int | None,
    _option(
        "--svm-type", "-s", panel=LIBSVM, metavar="0|3", help="0: classes, hinge loss; 3: real targets, ε-insensitive."
    ),
]
Epsilon = Annotated[
    float | None,
    _option(
        "--epsilon",
        "-p",
        panel=LIBSVM,
        metavar="NUMBER",
        help="Width of the ε-insensitive loss, in units of the targets.",
    ),
]
Folds = Annotated[
    int | None,
    _option("--folds", "-v", panel=LIBSVM, metavar="N", help="Cross-validate with N folds, and write no model."),
]

# ------------------------------------------------------------------ resources and output

MemoryLimit = Annotated[
    str | None,
    _option(
        "--memory-limit", panel=RESOURCES, metavar="SIZE", help="Such as 4GB: larger features go to a scratch file."
    ),
]
ScratchDir = Annotated[
    str | None, _option("--scratch-dir", panel=RESOURCES, metavar="FOLDER", help="For scratch files.")
]
Checkpoint = Annotated[
    str | None,
    _option(
        "--checkpoint",
        panel=RESOURCES,
        metavar="FOLDER",
        help="The same command resumes from here after it was killed.",
    ),
]
Jobs = Annotated[
    int | None, _option("--jobs", panel=RESOURCES, metavar="NUMBER", help="Threads; by default all processors.")
]
Quiet = Annotated[bool, _option("--quiet", "-q", panel=SAYS, help="Say nothing but errors.")]
Json = Annotated[bool, _option("--json", panel=SAYS, help="Print the facts as one JSON object, and nothing else.")]

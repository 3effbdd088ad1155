"""The commands and their options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from unisvm._version import __version__
from unisvm.cli import options, training
from unisvm.cli.conversion import convert as convert_file
from unisvm.cli.data import TableOptions
from unisvm.cli.demo import run as run_demo
from unisvm.cli.estimators import MachineOptions
from unisvm.cli.information import describe_losses, describe_model
from unisvm.cli.messages import Messages
from unisvm.cli.output import STDOUT
from unisvm.cli.prediction import Prediction
from unisvm.cli.prediction import predict as predict_file
from unisvm.cli.suspects import Search
from unisvm.cli.suspects import find as find_suspects

_INTERRUPTED = 130

app = typer.Typer(
    name="unisvm",
    help="Kernel machines that are fast, large, and honest about dirty labels.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="LIBSVM, CSV, TSV, Parquet, .npz, .npy; - for standard input.")
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `unisvm train` or `unisvm.save` wrote.")]


def run(arguments: Sequence[str], notes: Sequence[str]) -> int:
    """Exit code of a command; the notes are said first."""
    command = typer.main.get_command(app)
    try:
        result = command.main(list(arguments), prog_name="unisvm", standalone_mode=False, obj=list(notes))
        if result == _INTERRUPTED:
            # so newer versions of typer tell of Ctrl-C, and older ones by Abort
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        # a wrong command line; where its class is found depends on the version of typer
        if not hasattr(error, "show") or not hasattr(error, "exit_code"):
            raise
        error.show()
        return int(error.exit_code)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"unisvm {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _messages(context: typer.Context, quiet: bool, as_json: bool, *, on_stderr: bool = False) -> Messages:
    messages = Messages(quiet=quiet, as_json=as_json, on_stderr=on_stderr)
    for note in context.obj or []:
        messages.note(note)
    return messages


@app.command()
def train(
    context: typer.Context,
    data: DataFile,
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="File to write; DATA.model by default.")
    ] = None,
    target: options.Target = None,
    weights: options.Weights = None,
    format: options.Format = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    text: options.Text = None,
    drop_unlabelled: options.DropUnlabelled = False,
    ignore: options.Ignore = None,
    task: options.Task = None,
    scale: options.ScaleOption = None,
    loss: options.Loss = None,
    loss_param: options.LossParam = None,
    kernel: options.Kernel = None,
    C: options.C = "auto",
    gamma: options.Gamma = "scale",
    coef0: options.Coef0 = 0.0,
    degree: options.Degree = 3,
    class_weight: options.ClassWeight = None,
    balanced: options.Balanced = False,
    rank: options.Rank = 1000,
    search: options.Search = False,
    probabilities: options.Probabilities = False,
    tol: options.Tol = 1e-4,
    max_iter: options.MaxIter = 1000,
    seed: options.Seed = 0,
    svm_type: options.SvmType = None,
    epsilon: options.Epsilon = None,
    folds: options.Folds = None,
    memory_limit: options.MemoryLimit = None,
    scratch_dir: options.ScratchDir = None,
    checkpoint: options.Checkpoint = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Fit a model to data, and write it to a file.

    Example: unisvm train --target income adult.csv adult.model
    """
    messages = _messages(context, quiet, json)
    asked = _training(context.params)
    if folds is not None:
        training.cross_validate(asked, folds, messages)
    else:
        training.train(asked, model or training.default_model(data), messages)


@app.command()
def cv(
    context: typer.Context,
    data: DataFile,
    losses: Annotated[
        str | None, typer.Option("--losses", metavar="NAMES", help="Losses to compare, with commas.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", "-v", metavar="N", help="Number of folds.", show_default=True)] = 5,
    target: options.Target = None,
    weights: options.Weights = None,
    format: options.Format = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    text: options.Text = None,
    drop_unlabelled: options.DropUnlabelled = False,
    ignore: options.Ignore = None,
    task: options.Task = None,
    scale: options.ScaleOption = None,
    kernel: options.Kernel = None,
    C: options.C = "auto",
    gamma: options.Gamma = "scale",
    coef0: options.Coef0 = 0.0,
    degree: options.Degree = 3,
    class_weight: options.ClassWeight = None,
    balanced: options.Balanced = False,
    rank: options.Rank = 1000,
    tol: options.Tol = 1e-4,
    max_iter: options.MaxIter = 1000,
    seed: options.Seed = 0,
    memory_limit: options.MemoryLimit = None,
    scratch_dir: options.ScratchDir = None,
    checkpoint: options.Checkpoint = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Compare losses by cross-validation, each with the C, kernel and gamma that suit it.

    Example: unisvm cv --target income --losses hinge,feng,saturating adult.csv
    """
    names = None if losses is None else [name.strip() for name in losses.split(",")]
    training.compare(_training(context.params), names, folds, _messages(context, quiet, json))


def _table_options(given: dict) -> TableOptions:
    """What the options of a table ask for."""
    return TableOptions(
        given["target"],
        given["weights"],
        given["header"],
        given["delimiter"],
        tuple(given["text"] or ()),
        given["drop_unlabelled"],
        tuple(given["ignore"] or ()),
    )


def _training(given: dict) -> training.Training:
    """What the options of a training ask for."""
    same = [name for name in MachineOptions.__dataclass_fields__ if name in given]
    machine = MachineOptions(
        **{name: given[name] for name in same if name not in ("scale", "class_weight")},
        loss_params=tuple(given.get("loss_param") or ()),
        class_weight=tuple(given["class_weight"] or ()),
        scale=given["scale"],
        n_jobs=given["jobs"],
    )
    return training.Training(given["data"], given["format"], _table_options(given), machine, given["task"])


@app.command()
def predict(
    context: typer.Context,
    data: DataFile,
    model: ModelFile,
    out: Annotated[str, typer.Argument(metavar="[OUT]", help="File to write; - is standard output.")] = STDOUT,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="KIND", help="libsvm, csv, json or npy; by default the kind of the data."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Those of each class too; LIBSVM's -b 1.")
    ] = False,
    decisions: Annotated[bool, typer.Option("--decisions", help="The decision function too.")] = False,
    target: options.Target = None,
    format: options.Format = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Predict the rows of data by a model.

    Example: unisvm predict --probabilities new.csv adult.model predictions.csv
    """
    table = TableOptions(target=target, header=header, delimiter=delimiter)
    asked = Prediction(data, format, table, model, out, to, probabilities, decisions)
    predict_file(asked, _messages(context, quiet, json, on_stderr=out == STDOUT))


@app.command()
def suspects(
    context: typer.Context,
    data: DataFile,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Write all rows, sorted: .csv or .json.")
    ] = None,
    repaired: Annotated[
        str | None, typer.Option("--repair", metavar="FILE", help="Write the data, repaired; its ending says the form.")
    ] = None,
    how: Annotated[
        str, typer.Option("--how", metavar="relabel|drop", help="Repair by other labels, or leave rows out.")
    ] = "relabel",
    top: Annotated[int, typer.Option("--top", metavar="N", min=0, help="Suspects to list.", show_default=True)] = 20,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="NUMBER", help="Of the interval.", show_default=True)
    ] = 0.95,
    target: options.Target = None,
    weights: options.Weights = None,
    groups: Annotated[
        str | None,
        typer.Option("--groups", metavar="NAME", help="Column of a table: rows of a group are left out together."),
    ] = None,
    format: options.Format = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    text: options.Text = None,
    drop_unlabelled: options.DropUnlabelled = False,
    ignore: options.Ignore = None,
    task: options.Task = None,
    scale: options.ScaleOption = None,
    kernel: options.Kernel = None,
    rank: options.Rank = 1000,
    seed: options.Seed = 0,
    memory_limit: options.MemoryLimit = None,
    scratch_dir: options.ScratchDir = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """List the rows whose label or target looks wrong, and repair the data.

    Example: unisvm suspects --target income adult.csv --repair clean.csv
    """
    find_suspects(Search.of(context.params, _table_options(context.params)), _messages(context, quiet, json))


@app.command()
def losses(context: typer.Context, task: options.Task = None, json: options.Json = False) -> None:
    """List the losses with their parameters.

    Example: unisvm losses --task regression
    """
    describe_losses(task, _messages(context, False, json))


@app.command()
def info(context: typer.Context, model: ModelFile, json: options.Json = False) -> None:
    """Say what is in a model file.

    Example: unisvm info adult.model
    """
    describe_model(model, _messages(context, False, json))


@app.command()
def convert(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="Data, or a model.")],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Its ending says what to write: .svm, .csv, .tsv, .parquet, .npz; .onnx for a model."
        ),
    ],
    target: options.Target = None,
    format: options.Format = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    text: options.Text = None,
    quiet: options.Quiet = False,
) -> None:
    """Write data in another form, or a model as ONNX.

    Example: unisvm convert a9a a9a.parquet
    """
    table = TableOptions(target=target, header=header, delimiter=delimiter, text=tuple(text or ()))
    convert_file(source, format, table, out, _messages(context, quiet, False))


@app.command()
def demo(
    picture: Annotated[
        str | None, typer.Option("--picture", metavar="FILE", help="Draw decision boundaries into it.")
    ] = None,
) -> None:
    """Train with a fifth of the labels flipped, beside SVC.

    Example: unisvm demo --picture demo.png
    """
    run_demo(picture)

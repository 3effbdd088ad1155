"""The axes of a grid, as the searching estimators take them: losses, values of C, kernels and values of gamma."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unisvm import kernels, losses
from unisvm._base import ParameterEstimator
from unisvm._checks import check_number, is_integer, is_number, one_of
from unisvm.losses.base import Loss

# number of values of gamma by default, and the factor between two of them
_N_GAMMAS, _GAMMA_FACTOR = 5, 4.0
# Smooth functions and ones that change along single columns, as trees do: which kind suits the rows is seldom known.
_AUTO_KERNELS = ("rbf", "laplacian")


@dataclass(eq=False, repr=False, kw_only=True)
class GridParameters(ParameterEstimator):
    """Parameters of the searching estimators that plain ones do not have; `UniSVMClassifierCV` describes them."""

    losses: Any = None
    Cs: Any = 10
    gammas: Any = None
    cv: Any = None
    scoring: Any = None
    refit: bool = True
    search: str = "auto"
    kernel: Any = "auto"
    degree: float = 3
    coef0: float = 0.0
    kernel_params: dict[str, Any] | None = None


class KernelChoice(NamedTuple):
    """A kernel and its gamma, as the plain estimators take them: landmarks and features depend on nothing else."""

    kernel: Any
    gamma: Any

    def resolve(self, n_features: int, variance: float) -> KernelChoice:
        """The same with gamma as a number, if the kernel has one that stands for it."""
        if not isinstance(self.gamma, str) or not isinstance(self.kernel, str):
            return self
        kernel = kernels.get(self.kernel)
        if "gamma" not in kernel.get_params():
            return self
        resolved = kernels.get(self.kernel, gamma=self.gamma).resolve(n_features, lambda: variance)
        return self._replace(gamma=resolved.get_params()["gamma"])

    @property
    def name(self) -> str:
        """The kernel and its gamma, for people."""
        return f"{self.kernel}, gamma={self.gamma:.4g}" if is_number(self.gamma) else f"{self.kernel}"


class Axes(NamedTuple):
    """The axes of a grid, read once: each may be given by a generator.

    Attributes
    ----------
    given_losses : list
        As they were given.
    losses : list of Loss
    Cs : ndarray of shape (n_C,)
    kernels : list
        As they were given.
    gammas : list or int
        The values, or how many in the range of each kernel.
    """

    given_losses: list[Any]
    losses: list[Loss]
    Cs: np.ndarray
    kernels: list[Any]
    gammas: list[Any] | int

    def kernel_choices(self, n_features: int, variance: float, steps_up: int = 0) -> list[KernelChoice]:
        """Every kernel with each of its values of gamma, for rows with this variance of their entries.

        The default values are shifted up by so many steps of their grid.
        """
        choices = []
        for given in self.kernels:
            kernel = kernels.get(given) if isinstance(given, str) else None
            gammas = self.gammas
            if kernel is None or "gamma" not in kernel.get_params():
                # it has none, or brings its own
                gammas = ["scale"]
            elif isinstance(gammas, int):
                powers = np.arange(gammas) - (gammas - 1) / 2 + steps_up
                gammas = (kernel.gamma_of_scale(n_features, variance) * _GAMMA_FACTOR**powers).tolist()
            choices += [KernelChoice(given, gamma) for gamma in gammas]
        return choices


def read_losses(given: Any, default: Sequence[str], task: str) -> tuple[list[Any], list[Loss]]:
    """The losses as they were given, and as objects."""
    given = default if given is None else given
    if isinstance(given, str | Loss):
        given = [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"losses must be a loss or a sequence of losses, by name or as instances; got {given!r}.")
    given = list(given)
    if not given:
        raise ValueError("losses is empty: give at least one loss.")
    found = []
    for i, entry in enumerate(given):
        try:
            loss = losses.get(entry)
        except (TypeError, ValueError) as error:
            raise type(error)(f"losses[{i}]: {error}") from None
        if task not in loss.tasks:
            usable = ", ".join(map(repr, losses.names(task)))
            raise ValueError(f"losses[{i}]: {entry!r} is not for {task}. Use one of {usable}.")
        found.append(loss)
    return given, found


def read_Cs(Cs: Any, low: float, high: float) -> np.ndarray:
    """The values of C: so many from `low` to `high`, or those that are given."""
    if is_integer(Cs) and Cs >= 1:
        return np.geomspace(low, high, Cs)
    entries = _entries("Cs", Cs)
    for i, C in enumerate(entries):
        check_number(f"Cs[{i}]", C, 0, np.inf)
    return np.asarray(entries, dtype=np.float64)


def read_kernels(kernel: Any, gammas: Any) -> list[Any]:
    """The kernels, as they were given."""
    if isinstance(kernel, str) and kernel == "auto":
        # values of gamma that somebody has in mind are those of the kernel that the plain estimators have
        return list(_AUTO_KERNELS) if gammas is None else ["rbf"]
    if isinstance(kernel, str) or callable(kernel) or not isinstance(kernel, Iterable):
        return [kernel]
    entries = _entries("kernel", kernel)
    for i, entry in enumerate(entries):
        try:
            found = kernels.get(entry)
        except ValueError as error:
            raise ValueError(f"kernel[{i}]: {error}") from None
        if len(entries) > 1 and found.points_are_indices:
            raise ValueError(f"kernel[{i}]: a precomputed matrix has no other kernels beside it.")
    return entries


def read_gammas(gammas: Any) -> list[Any] | int:
    """The values of gamma, or how many in the range of each kernel."""
    if gammas is None:
        return _N_GAMMAS
    if is_integer(gammas) and gammas >= 1:
        return int(gammas)
    entries = [gammas] if isinstance(gammas, str) else _entries("gammas", gammas)
    for i, gamma in enumerate(entries):
        if isinstance(gamma, str):
            one_of(f"gammas[{i}]", gamma, ("scale", "auto"))
        else:
            check_number(f"gammas[{i}]", gamma, 0, np.inf)
    return entries


def search_method(search: GridParameters) -> str:
    """How the grid is searched: cells whose values the user gave are all tried, unless asked otherwise."""
    if search.search != "auto":
        return search.search
    of_ours = is_integer(search.Cs) and (search.gammas is None or is_integer(search.gammas))
    return "adaptive" if of_ours else "full"


def _entries(name: str, given: Any) -> list[Any]:
    try:
        entries = list(given)
    except TypeError:
        raise ValueError(
            f"{name} must be a number of values of at least 1, or an array of them; got {given!r}."
        ) from None
    if not entries:
        raise ValueError(f"{name} is empty: give at least one value.")
    return [entry.item() if isinstance(entry, np.generic) else entry for entry in entries]

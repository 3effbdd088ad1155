"""The scorer of a search, and the metadata that it and the splitter are given."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import process_routing


def make_scorer(scoring: Any, plain: BaseEstimator, usable: Sequence[str]) -> Any:
    """The scorer for a plain estimator; raises, naming usable ones, when it asks for a method that this lacks."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError("scoring must be a single scorer: its name, a callable, or None.")
    routing = get_config()["enable_metadata_routing"]
    if scoring is None and routing:
        plain.set_score_request(sample_weight=True)
    scorer = check_scoring(plain, scoring=scoring)
    methods = getattr(scorer, "_response_method", "predict")
    methods = [methods] if isinstance(methods, str) else methods
    if not any(hasattr(plain, method) for method in methods):
        has = [name for name in ("predict", "decision_function") if hasattr(plain, name)]
        raise ValueError(
            f"scoring={scoring!r} is about {' or '.join(methods)}, which the fits of a search do not have. "
            f"Use a scorer of {' or '.join(has)}, such as {', '.join(map(repr, usable))}."
        )
    if isinstance(scoring, str) and routing and _takes_weights(scorer):
        # whoever gives a name has no scorer to say it to
        scorer.set_score_request(sample_weight=True)
    return scorer


def route(search: BaseEstimator, scorer: Any, sample_weight: Any, params: dict[str, Any]) -> Bunch:
    """Arguments of the splitter, in ``splitter.split``, and of the scorer, in ``scorer.score``."""
    if get_config()["enable_metadata_routing"]:
        return process_routing(search, "fit", sample_weight=sample_weight, **params)
    unknown = sorted(set(params) - {"groups"})
    if unknown:
        raise TypeError(f"fit got unexpected arguments: {', '.join(unknown)}. Beside sample_weight it takes groups.")
    weighted = sample_weight is not None and (search.scoring is None or _takes_weights(scorer))
    score = {"sample_weight": sample_weight} if weighted else {}
    return Bunch(splitter=Bunch(split={"groups": params.get("groups")}), scorer=Bunch(score=score))


def _takes_weights(scorer: Any) -> bool:
    """Whether a scorer is a function of weights as well."""
    try:
        return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
    except ValueError:
        # a compiled function has no signature
        return False

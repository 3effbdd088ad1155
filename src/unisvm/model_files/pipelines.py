"""Pipelines of scikit-learn's scalers and imputer with an estimator, in model files.

Of the transformers, the documented attributes are kept, which are the same in all versions of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from unisvm._checks import is_number
from unisvm.fitted_attributes import set_attributes
from unisvm.model_files.encoding import CannotSave
from unisvm.model_files.fields import Fields
from unisvm.model_files.parts import make
from unisvm.model_files.registry import PARAMETERS, WHAT_CAN_BE_SAVED, FileType, type_of
from unisvm.tables import TableEncoder

#: attributes of the scalers with a number for each column, and the parameters without which they may be None
_OF_COLUMNS: dict[type, dict[str, str | None]] = {
    StandardScaler: {"mean_": "with_mean", "var_": "with_std", "scale_": "with_std"},
    MinMaxScaler: dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_")),
    MaxAbsScaler: dict.fromkeys(("scale_", "max_abs_")),
    RobustScaler: {"center_": "with_centering", "scale_": "with_scaling"},
}
_CONTAINERS = ("default", "pandas", "polars")
#: scikit-learn's attribute for what `set_output` was told
_OUTPUT = "_sklearn_output_config"


# ------------------------------------------------------------------ transformers


def _common_state(transformer: TransformerMixin, names: Iterable[str]) -> dict[str, Any]:
    """The parameters of a transformer, these of its attributes and those that all have."""
    check_is_fitted(transformer)
    state = dict(vars(transformer))
    names = (*names, "n_features_in_", "feature_names_in_", "n_samples_seen_")
    output = state.get(_OUTPUT, {}).get("transform", "default")
    return (
        {PARAMETERS: transformer.get_params(deep=False)}
        | {name: state[name] for name in names if name in state}
        | {"output": output}
    )


def _transformer_of(cls: type, fields: Fields) -> tuple[Any, int]:
    """A transformer that is not fitted but for what all have, and its number of features."""
    transformer = make(cls, fields.of_type(PARAMETERS, dict))
    n_features = fields.integer("n_features_in_", 1)
    set_attributes(transformer, {"n_features_in_": n_features})
    if "feature_names_in_" in fields:
        set_attributes(transformer, {"feature_names_in_": fields.texts("feature_names_in_", n_features)})
    container = fields.text("output")
    if container not in _CONTAINERS:
        raise fields.refuse("output", f"one of {', '.join(_CONTAINERS)}")
    if container != "default":
        transformer.set_output(transform=container)
    return transformer, n_features


def _scaler_of(cls: type, fields: Fields) -> Any:
    scaler, n_features = _transformer_of(cls, fields)
    parameters = scaler.get_params(deep=False)
    attributes: dict[str, Any] = {}
    for name, switch in _OF_COLUMNS[cls].items():
        attributes[name] = fields.take(name)
        if attributes[name] is not None or switch is None or parameters[switch]:
            fields.array(name, (n_features,), finite=False)
    if "n_samples_seen_" in fields:
        attributes["n_samples_seen_"] = seen = fields.take("n_samples_seen_")
        if not is_number(seen):
            fields.array("n_samples_seen_", (n_features,), "fi")
    limits = parameters.get("feature_range", (0, 1))
    if not isinstance(limits, tuple) or len(limits) != 2 or not all(map(is_number, limits)):
        raise fields.refuse(PARAMETERS, "a feature_range of two numbers")
    set_attributes(scaler, attributes)
    return scaler


def _state_of_imputer(imputer: SimpleImputer) -> dict[str, Any]:
    if imputer.add_indicator:
        raise CannotSave("a SimpleImputer with add_indicator=True has no form in model files")
    filled = _common_state(imputer, ("statistics_",))
    # as it was fitted, so that rows of other types are refused alike
    return filled | {"dtype": np.empty(0, vars(imputer)["_fit_dtype"])}


def _imputer_of(fields: Fields) -> SimpleImputer:
    imputer, n_features = _transformer_of(SimpleImputer, fields)
    statistics = fields.array("statistics_", (n_features,), "fiuO", finite=False)
    dtype = fields.array("dtype", (0,), "fiuO", finite=False).dtype
    if imputer.add_indicator:
        raise fields.refuse(PARAMETERS, "without add_indicator")
    names = {"feature_names_in_": imputer.feature_names_in_} if "feature_names_in_" in fields else {}
    # the statistics of a row are the row: so scikit-learn sets those of its attributes that it does not document
    with np.errstate(invalid="ignore"):
        imputer.fit(statistics[None].astype(dtype))
    set_attributes(imputer, names | {"statistics_": statistics})
    return imputer


# ------------------------------------------------------------------ pipelines


def _state_of_pipeline(pipeline: Pipeline) -> dict[str, Any]:
    for name, step in pipeline.steps:
        if step is not None and not isinstance(step, str) and type_of(step) is None:
            raise CannotSave(f"its step {name!r} is a {type(step).__name__}. {WHAT_CAN_BE_SAVED}")
    return {"steps": pipeline.steps, "verbose": pipeline.verbose}


def _pipeline_of(fields: Fields) -> Pipeline:
    steps, verbose = fields.of_type("steps", list), fields.flag("verbose")
    expected = "a list of transformers with a model at its end, each with a name of its own"
    if not steps or not all(isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) for step in steps):
        raise fields.refuse("steps", expected)
    *transformers, model = (step for _, step in steps)
    names = {name for name, _ in steps}
    is_right = all(step is None or step == "passthrough" or _is_transformer(step) for step in transformers)
    kind = type_of(model)
    if not is_right or kind is None or not kind.is_model or len(names) < len(steps) or any("__" in n for n in names):
        raise fields.refuse("steps", expected)
    n_features = None
    for step in (*transformers, model):
        if _is_transformer(step) or step is model:
            expects = getattr(step, "n_features_in_", None)
            if n_features is not None and expects != n_features:
                raise fields.refuse("steps", f"of the same number of features, {n_features} and {expects}")
            n_features = _n_outputs(step)
    return Pipeline(steps, verbose=verbose)


def _n_outputs(step: Any) -> int | None:
    """Number of columns that a transformer returns, None if that is not known here."""
    if isinstance(step, SimpleImputer):
        # a column without any value in training is left out, but of "constant" in some versions of scikit-learn
        n_empty = np.count_nonzero(step.statistics_ != step.statistics_)
        if n_empty and step.strategy == "constant":
            return None
        return int(step.n_features_in_ - (0 if step.keep_empty_features else n_empty))
    if isinstance(step, TableEncoder):
        return len(step.get_feature_names_out())
    return step.n_features_in_ if type(step) in _OF_COLUMNS else None


def _is_transformer(step: Any) -> bool:
    return type_of(step) is not None and hasattr(step, "transform")


FILE_TYPES = (
    *(
        FileType(cls, f"sklearn.{cls.__name__}", partial(_common_state, names=names), partial(_scaler_of, cls))
        for cls, names in _OF_COLUMNS.items()
    ),
    FileType(SimpleImputer, "sklearn.SimpleImputer", _state_of_imputer, _imputer_of),
    FileType(Pipeline, "sklearn.Pipeline", _state_of_pipeline, _pipeline_of, is_model=True),
)

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from .encode import NotJson, to_plain
from .messages import EvalResult

_marks = ("score", "label", "explanation", "metadata", "error")


class ReturnError(ValueError):
    """A returned value that means nothing here."""


def read_mark(value: object) -> EvalResult:
    """What an evaluator or aggregate returned, as an EvalResult; raises `ReturnError` for what is no mark."""
    if type(value) is float or value is None or isinstance(value, (bool, int)):
        return _with_number(EvalResult(), value)
    if isinstance(value, EvalResult):
        return _with_number(dataclasses.replace(value), value.score)
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if hasattr(value, "__float__"):
        return _with_number(EvalResult(), value)
    try:
        plain = None if isinstance(value, (str, bytes, list, tuple, set)) else to_plain(value)
    except NotJson:
        plain = None
    if isinstance(plain, Mapping):
        return _from_mapping(plain)
    raise ReturnError(
        f"it returned a {type(value).__name__}; a mark is a number, a bool, None, an EvalResult or a dict with a score"
    )


def _from_mapping(value: Mapping[str, Any]) -> EvalResult:
    if "score" not in value:
        raise ReturnError("it returned a dict without a score")
    known = {name: value[name] for name in _marks if name in value}
    more = {str(name): inner for name, inner in value.items() if name not in _marks}
    score = known.pop("score")
    metadata = known.pop("metadata", None)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ReturnError(f"its metadata is a {type(metadata).__name__}, not a dict")
    mark = EvalResult(metadata={**more, **metadata} if metadata else more or None, **known)
    return _with_number(mark, score)


def _with_number(mark: EvalResult, score: Any) -> EvalResult:
    if score is None:
        mark.score = None
        return mark
    try:
        number = float(score) if not isinstance(score, (str, bytes)) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number):
        mark.score = number
        return mark
    mark.score = None
    mark.error = mark.error or f"the score is {score!r:.100}, which is no finite number"
    return mark

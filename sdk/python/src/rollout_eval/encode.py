from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import os
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any


class NotJson(ValueError):
    """A value that has no form in JSON; the message says which and where."""


def encode(value: object) -> str:
    """One line of strict JSON; raises `NotJson` for what has no such form."""
    try:
        return _encode(value)
    except RecursionError:
        raise NotJson("it is nested too deeply, or holds itself") from None
    except (TypeError, ValueError) as error:
        raise NotJson(_locate(value) or str(error)) from None


def encode_metadata(metadata: object) -> tuple[str, bool]:
    """Metadata as JSON, and whether it held NaN or infinities: they become text."""
    try:
        return encode(metadata), False
    except NotJson:
        try:
            return encode(_with_text(metadata)), True
        except RecursionError:
            raise NotJson("it is nested too deeply, or holds itself") from None


def _with_text(value: object) -> Any:
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else json.dumps(value)
    if isinstance(value, dict):
        return {_key_with_text(key): _with_text(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_text(inner) for inner in value]
    return _with_text(to_plain(value))


def _key_with_text(key: object) -> object:
    return json.dumps(key) if isinstance(key, float) and not math.isfinite(key) else key


def to_plain(value: object) -> Any:
    """What stands for an object that JSON has no form for; raises `NotJson` when nothing does."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for kind, convert in _conversions:
        if isinstance(value, kind):
            return convert(value)
    return _by_duck(value)


def _by_duck(value: object) -> Any:
    # Models of pydantic, arrays and scalars of numpy; their packages need not be here.
    for method, options in (("model_dump", {"mode": "json"}), ("model_dump", {}), ("tolist", {})):
        found = getattr(type(value), method, None)
        if callable(found):
            try:
                return found(value, **options)
            except TypeError:
                continue
    raise NotJson(f"{_kind(value)} has no form in JSON")


def _from_set(value: Any) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def _from_bytes(value: Any) -> str:
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise NotJson("bytes that are not UTF-8 have no form in JSON") from None


def _from_decimal(value: decimal.Decimal) -> int | float:
    return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)


_conversions: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((datetime.datetime, datetime.date, datetime.time), lambda value: value.isoformat()),
    (datetime.timedelta, lambda value: value.total_seconds()),
    ((set, frozenset), _from_set),
    (enum.Enum, lambda value: value.value),
    (uuid.UUID, str),
    (os.PathLike, os.fspath),
    (decimal.Decimal, _from_decimal),
    ((bytes, bytearray), _from_bytes),
    (deque, list),
    (Mapping, dict),
)


def _prepared(encoder: json.JSONEncoder) -> Callable[[object], str] | None:
    """The encoder's own function, which `encode` makes anew for each value; None where this Python has none like it."""
    try:
        make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
        quote = json.encoder.encode_basestring_ascii
        # Without the dict that finds cycles, which would hold on to values; a cycle then is a RecursionError.
        parts = make(None, encoder.default, quote, None, ":", ",", False, False, False)

        def prepared(value: object) -> str:
            return "".join(parts(value, 0))

        sample = {"a": [1, 2.5, None, True, "\u00e9"], "b": {}}
        return prepared if prepared(sample) == encoder.encode(sample) else None
    except Exception:
        return None


# ASCII throughout, so that no half of a surrogate pair can break the line.
_encoder = json.JSONEncoder(allow_nan=False, default=to_plain, separators=(",", ":"))
_encode = _prepared(_encoder) or _encoder.encode
_scan = json.JSONDecoder().raw_decode


def decode(line: bytes) -> Any:
    """The value of a line; raises ValueError."""
    text = line.decode().strip()
    value, end = _scan(text)
    if end != len(text):
        raise ValueError(f"there is more behind the value, from character {end + 1}")
    return value


def _locate(value: object, path: str = "", depth: int = 0) -> str | None:
    """Why and where a value has no form in JSON."""
    where = f" at {path}" if path else ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value}{where} is no number of JSON"
    if depth > 100 or value is None or isinstance(value, (str, int, float)):
        return None
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, (str, int, float, type(None))):
                return f"a key of {_kind(key)}{where} has no form in JSON"
            if (found := _locate(inner, f"{path}.{key}" if path else str(key), depth + 1)) is not None:
                return found
        return None
    if isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            if (found := _locate(inner, f"{path}[{index}]", depth + 1)) is not None:
                return found
        return None
    try:
        return _locate(to_plain(value), path, depth + 1)
    except NotJson as error:
        return f"{error}{where}"


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"

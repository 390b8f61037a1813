from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Mapping
from typing import Any

from .encode import NotJson, encode


class ParamError(ValueError):
    """A param that does not fit what the experiment declares."""


class Params:
    """The params an experiment declares: a dict of defaults, or a dataclass whose fields all have one."""

    def __init__(self, declared: object = None) -> None:
        self.kind: type | None = None
        self.is_declared = declared is not None
        if declared is None:
            self.defaults: dict[str, Any] = {}
        elif isinstance(declared, Mapping):
            self.defaults = dict(declared)
        else:
            self._take_dataclass(declared)
        try:
            encode(self.defaults)
        except NotJson as error:
            raise ParamError(f"the defaults of params: {error}") from None

    def _take_dataclass(self, declared: object) -> None:
        kind = declared if isinstance(declared, type) else type(declared)
        if not dataclasses.is_dataclass(kind):
            raise ParamError(f"params is a dict of defaults or a dataclass, not {kind.__name__}")
        try:
            defaults = kind() if declared is kind else declared
        except TypeError as error:
            raise ParamError(f"each field of {kind.__name__} needs a default: {error}") from None
        self.kind = kind
        self._types = typing.get_type_hints(kind)
        self.defaults = {item.name: getattr(defaults, item.name) for item in dataclasses.fields(kind) if item.init}

    def check(self, given: Mapping[str, Any]) -> None:
        """Raises `ParamError` for a name that is not declared and a value of another type; if none is, all fit."""
        for name, value in given.items():
            if name not in self.defaults:
                if self.is_declared:
                    raise ParamError(f'unknown param "{name}"{suggest(name, self.defaults)}')
            elif not self._fits(name, value):
                default = encode(self.defaults[name])
                raise ParamError(f'param "{name}" is {self._wanted(name)} (default {default}), not {value!r}')

    def build(self, given: Mapping[str, Any]) -> Any:
        """The params that a function gets: defaults under what is given, in the declared form."""
        values = {**self.defaults, **given}
        if self.kind is None:
            return values
        self.check(given)
        try:
            return self.kind(**values)
        except Exception as error:
            raise ParamError(f"{type(error).__name__}: {error}") from error

    def _fits(self, name: str, value: object) -> bool:
        if self.kind is not None:
            return _has_type(value, self._types[name])
        default = self.defaults[name]
        return default is None or value is None or _family(default) == _family(value)

    def _wanted(self, name: str) -> str:
        if self.kind is None:
            return f"a {_family(self.defaults[name])}"
        wanted = self._types[name]
        return wanted.__name__ if isinstance(wanted, type) else str(wanted)


def suggest(name: str, known: typing.Iterable[str]) -> str:
    """What to put behind the message about an unknown name."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f'; did you mean "{close[0]}"?'
    return f"; known: {', '.join(names)}" if names else ""


def _family(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    for kind, word in ((int | float, "number"), (str, "text"), (Mapping, "object"), (list | tuple, "list")):
        if isinstance(value, kind):
            return word
    return type(value).__name__


def _has_type(value: object, wanted: Any) -> bool:
    """Whether a value of JSON fits an annotation; what cannot be checked here fits."""
    if wanted is Any:
        return True
    if wanted is None or wanted is type(None):
        return value is None
    origin = typing.get_origin(wanted)
    if origin is typing.Literal:
        return value in typing.get_args(wanted)
    if origin is not None and str(origin) in ("typing.Union", "<class 'types.UnionType'>"):
        return any(_has_type(value, option) for option in typing.get_args(wanted))
    kind = origin or wanted
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not (kind in (str, bool, list, dict) and not isinstance(value, kind))

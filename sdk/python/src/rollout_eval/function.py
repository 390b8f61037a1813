from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .params import suggest


class SignatureError(TypeError):
    """A function whose parameters cannot be filled in."""


known_parameters: dict[str, tuple[str, ...]] = {
    "task": ("input", "metadata", "example", "params", "context"),
    "evaluator": ("output", "expected", "input", "metadata", "task_metadata", "example", "params", "context"),
    "aggregate": ("results", "params", "context"),
}

# What people call the same things elsewhere.
_other_words = {
    "actual": "output",
    "actual_output": "output",
    "answer": "output",
    "ctx": "context",
    "expected_output": "expected",
    "inputs": "input",
    "outputs": "output",
    "prediction": "output",
    "prompt": "input",
    "question": "input",
    "reference": "expected",
    "runs": "results",
    "target": "expected",
}


class Function:
    """A registered function and how its parameters are filled in, by their names."""

    def __init__(self, kind: str, call: Callable[..., Any], name: str | None = None) -> None:
        if not callable(call) or isinstance(call, type):
            raise SignatureError(f"@{kind} goes on a function, not on {call!r}")
        self.kind = kind
        self.call = call
        self.name = name or str(getattr(call, "__name__", kind))
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise SignatureError(f'the {kind} "{self.name}" yields; it has to return its result')
        made = getattr(call, "__call__", None)  # noqa: B004
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(made)
        self._by_position: list[str] = []
        self._by_name: list[str] = []
        self._read_signature()

    @property
    def place(self) -> str:
        """The function and where it is defined."""
        name = str(getattr(self.call, "__qualname__", self.name))
        code = getattr(inspect.unwrap(self.call), "__code__", None)
        return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"

    def arguments(self, source: object) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of one call, each the attribute of `source` with its parameter's name."""
        positional = [getattr(source, name) for name in self._by_position] if self._by_position else []
        return positional, {name: getattr(source, name) for name in self._by_name}

    def _read_signature(self) -> None:
        known = known_parameters[self.kind]
        for name, parameter in inspect.signature(self.call).parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                given = {*self._by_name, *self._by_position}
                self._by_name += [word for word in known if word not in given]
            elif parameter.kind is parameter.VAR_POSITIONAL:
                continue
            elif name in known:
                (self._by_position if parameter.kind is parameter.POSITIONAL_ONLY else self._by_name).append(name)
            else:
                self._refuse_unknown(name, parameter, known)

    def _refuse_unknown(self, name: str, parameter: inspect.Parameter, known: tuple[str, ...]) -> None:
        other = _other_words.get(name)
        hint = f'; did you mean "{other}"?' if other in known else suggest(name, known)
        # A default is the function's own affair, unless the name looks like a slip: it would never be filled in.
        if parameter.default is not parameter.empty and "did you mean" not in hint:
            return
        names = ", ".join(known)
        rest = "" if "known:" in hint else f" (a parameter of {_article(self.kind)} is one of {names})"
        raise SignatureError(f'the {self.kind} "{self.name}" has an unknown parameter "{name}"{hint}{rest}')


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ae" else f"a {kind}"

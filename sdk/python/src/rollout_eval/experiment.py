from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from .function import Function
from .params import Params

F = TypeVar("F", bound=Callable[..., Any])


class ExperimentError(Exception):
    """An experiment file that cannot be used as it is."""


class Experiment:
    """A task, its evaluators and aggregates, and the params they share."""

    def __init__(self, name: str | None = None, description: str | None = None, params: object = None) -> None:
        self.name = name
        self.description = description
        self.params = Params(params)
        self.tasks: dict[str, Function] = {}
        self.evaluators: dict[str, Function] = {}
        self.aggregates: dict[str, Function] = {}

    @property
    def task(self) -> Function | None:
        return next(iter(self.tasks.values()), None)

    @property
    def has_async(self) -> bool:
        """Whether any of its functions is to run on a loop."""
        return any(
            function.is_async for kind in (self.tasks, self.evaluators, self.aggregates) for function in kind.values()
        )

    def check(self) -> None:
        """Raises `ExperimentError` when this is no experiment."""
        if len(self.tasks) > 1:
            raise ExperimentError(f"an experiment has one task, and this one has {' and '.join(self.tasks)}")
        if not (self.tasks or self.evaluators or self.aggregates):
            raise ExperimentError("there is no function with @task, @evaluator or @aggregate")


current = Experiment()


def swap_current(new: Experiment) -> Experiment:
    """Makes `new` what the decorators register in, and returns what was."""
    global current
    old, current = current, new
    return old


def experiment(
    *, name: str | None = None, description: str | None = None, params: Mapping[str, Any] | type | object = None
) -> None:
    """Names the experiment of this file and declares its params: a dict of defaults, or a dataclass."""
    current.name = name if name is not None else current.name
    current.description = description if description is not None else current.description
    if params is not None:
        current.params = Params(params)


@overload
def task(function: F, /) -> F: ...
@overload
def task(*, name: str | None = None) -> Callable[[F], F]: ...
def task(function: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Makes a function the task of this file: it turns the input of an example into an output."""
    return _register("task", current.tasks, function, name)


@overload
def evaluator(function: F, /) -> F: ...
@overload
def evaluator(*, name: str | None = None) -> Callable[[F], F]: ...
def evaluator(function: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Makes a function an evaluator: it marks an output."""
    return _register("evaluator", current.evaluators, function, name)


@overload
def aggregate(function: F, /) -> F: ...
@overload
def aggregate(*, name: str | None = None) -> Callable[[F], F]: ...
def aggregate(function: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Makes a function an evaluator of the whole run."""
    return _register("aggregate", current.aggregates, function, name)


def add_function(registered: dict[str, Function], entry: Function) -> None:
    """Adds a function under its name; raises `ExperimentError` if another one has it."""
    before = registered.get(entry.name)
    # In a notebook or a shell a function is defined again to replace it.
    if before is not None and "__file__" in getattr(entry.call, "__globals__", {"__file__": ""}):
        raise ExperimentError(
            f'two {entry.kind}s are named "{entry.name}": {before.place} and {entry.place};'
            f' give one of them another name, for example with @{entry.kind}(name="...")'
        )
    registered[entry.name] = entry


def _register(kind: str, registered: dict[str, Function], function: F | None, name: str | None) -> F | Callable[[F], F]:
    def register(found: F) -> F:
        add_function(registered, Function(kind, found, name))
        return found

    return register if function is None else register(function)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

Json = Any
Message = TypeVar("Message")

PROTOCOL_VERSION = "1.0"


def from_wire(kind: type[Message], message: Mapping[str, Any]) -> Message:
    """The message as a value of its class; fields that the class does not have are left out."""
    names = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in message.items() if name in names})


def to_wire(message: object) -> dict[str, Any]:
    """The message as it stands on a line; optional fields that are None are left out."""
    return {
        item.name: value
        for item in fields(message)  # type: ignore[arg-type]
        if (value := getattr(message, item.name)) is not None or not item.metadata.get("optional")
    }


def _optional() -> Any:
    return field(default=None, metadata={"optional": True})


@dataclass
class DiscoverResult:
    """What an experiment has."""

    protocol_version: str = PROTOCOL_VERSION
    name: str | None = None
    description: str | None = None
    task: str | None = None
    evaluators: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    aggregates: list[str] | None = _optional()
    capabilities: list[str] | None = _optional()


@dataclass
class InitRequest:
    """Sets an executor up."""

    max_workers: int = 1
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class InitResult:
    ok: bool = True
    error: str | None = _optional()


@dataclass
class TaskInput:
    """One example, once."""

    id: str
    input: Json = None
    #: What is expected.
    output: Json = None
    metadata: dict[str, Any] | None = None
    #: `<id>#<repetition_number>`
    run_id: str | None = _optional()
    #: From 1.
    repetition_number: int | None = _optional()
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class TaskResult:
    run_id: str
    output: Json = None
    #: `started_at`, `completed_at`, `execution_time_ms` and what the task added.
    metadata: dict[str, Any] | None = None
    error: str | None = None
    cancelled: bool | None = _optional()


@dataclass
class EvalInput:
    """One output that evaluators are to mark."""

    #: `id`, `input`, `output`, `metadata` and, where known, `run_id`.
    example: dict[str, Any]
    actual_output: Json = None
    expected_output: Json = None
    task_metadata: dict[str, Any] | None = _optional()
    params: dict[str, Any] = field(default_factory=dict)
    run_id: str | None = _optional()


@dataclass
class EvalResult:
    """What an evaluator says: returned by evaluators, where only the first five fields count, and by executors."""

    score: float | None = None
    label: str | None = None
    explanation: str | None = _optional()
    metadata: dict[str, Any] | None = None
    error: str | None = None
    run_id: str = ""
    evaluator: str = ""
    cancelled: bool | None = _optional()


@dataclass
class AggregateResult:
    """What an aggregate says of the whole run."""

    aggregate: str
    score: float | None = None
    label: str | None = None
    explanation: str | None = _optional()
    metadata: dict[str, Any] | None = None
    error: str | None = None
    cancelled: bool | None = _optional()


@dataclass
class ShutdownResult:
    ok: bool = True


@dataclass(frozen=True)
class TaskOutput:
    """What a task returns when it has more to say than its output."""

    output: Json = None
    metadata: Mapping[str, Any] | None = None
    error: str | None = None


@dataclass(frozen=True)
class Example:
    """The example of a run, as the parameter `example`."""

    id: str
    input: Json
    #: What is expected.
    output: Json
    metadata: dict[str, Any]
    run_id: str
    repetition_number: int

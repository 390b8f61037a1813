from __future__ import annotations

from typing import Protocol, runtime_checkable

from .messages import (
    DiscoverResult,
    EvalInput,
    EvalResult,
    InitRequest,
    InitResult,
    ShutdownResult,
    TaskInput,
    TaskResult,
)


@runtime_checkable
class Executor(Protocol):
    """What runs tasks and evaluators for an orchestrator, which decides how many are in flight."""

    async def discover(self) -> DiscoverResult:
        """What the experiment has."""
        ...

    async def init(self, request: InitRequest) -> InitResult:
        """Sets it up."""
        ...

    async def run_task(self, input: TaskInput) -> TaskResult:
        """Runs the task once; what goes wrong is in the result."""
        ...

    async def run_eval(self, input: EvalInput, evaluators: list[str] | None = None) -> list[EvalResult]:
        """Runs the named evaluators, all when there are no names, on one output."""
        ...

    async def shutdown(self) -> ShutdownResult:
        """Ends it once all that runs has ended."""
        ...

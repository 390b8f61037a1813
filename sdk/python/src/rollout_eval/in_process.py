from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

from . import experiment as registry
from .calls import Call, run_in
from .experiment import Experiment, add_function
from .function import Function
from .load_experiment import load_experiment
from .messages import (
    AggregateResult,
    DiscoverResult,
    EvalInput,
    EvalResult,
    InitRequest,
    InitResult,
    ShutdownResult,
    TaskInput,
    TaskResult,
    from_wire,
    to_wire,
)
from .runner import CommandError, Runner
from .thread_pool import ThreadPool


class InProcessExecutor:
    """Runs an experiment in this process, with the results that the executor process gives.

    Without arguments it is the experiment that this process registered with the decorators.
    """

    def __init__(
        self,
        experiment: Experiment | None = None,
        *,
        task: Callable[..., Any] | None = None,
        evaluators: Sequence[Callable[..., Any]] = (),
        params: object = None,
    ) -> None:
        if task is not None or evaluators:
            experiment = _experiment_of(task, evaluators, params)
        self._runner = Runner(experiment or registry.current)
        self._pool = ThreadPool()
        self._running: set[asyncio.Future[Any]] = set()
        self._is_closed = False

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> InProcessExecutor:
        """The experiment of a Python file."""
        return cls(load_experiment(path))

    async def discover(self) -> DiscoverResult:
        return self._runner.discover()

    async def init(self, request: InitRequest) -> InitResult:
        try:
            self._runner.init(request.max_workers, request.params)
        except CommandError as error:
            return InitResult(ok=False, error=str(error))
        self._is_closed = False
        self._pool.resize(request.max_workers)
        return InitResult()

    async def run_task(self, input: TaskInput) -> TaskResult:
        try:
            call = self._runner.task_call(to_wire(input))
        except CommandError as error:
            return TaskResult(run_id=input.run_id or input.id, error=str(error))
        return from_wire(TaskResult, await self._answer(call))

    async def run_eval(self, input: EvalInput, evaluators: list[str] | None = None) -> list[EvalResult]:
        calls = self._runner.eval_calls(to_wire(input), evaluators)
        answers = [self._answer(call) if isinstance(call, Call) else _given(call) for call in calls]
        return [from_wire(EvalResult, answer) for answer in await asyncio.gather(*answers)]

    async def run_aggregate(
        self, name: str, results_path: str, params: dict[str, Any] | None = None
    ) -> AggregateResult:
        """Runs an evaluator of the whole run on a file of its results."""
        call = self._runner.aggregate_call(name, {"results_path": results_path, "params": params or {}})
        return from_wire(AggregateResult, await self._answer(call))

    async def shutdown(self) -> ShutdownResult:
        await asyncio.gather(*self._running, return_exceptions=True)
        self._is_closed = True
        self._pool.resize(0)
        return ShutdownResult()

    async def _answer(self, call: Call) -> dict[str, Any]:
        if self._is_closed:
            raise CommandError("this executor was shut down")
        future = self._start_async(call) if call.function.is_async else self._start_thread(call)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            answer = await asyncio.shield(future)
        except asyncio.CancelledError:
            call.context.cancel()
            raise
        # Through JSON, as in the executor process: no result can hold what could not have been sent.
        decoded: dict[str, Any] = json.loads(answer)
        return decoded

    def _start_async(self, call: Call) -> asyncio.Future[Any]:
        running = copy_context().run(asyncio.get_running_loop().create_task, call.run_async(lambda _, answer: answer))
        call.context.on_cancel(running.cancel)
        return running

    def _start_thread(self, call: Call) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        variables = copy_context()

        def work() -> None:
            answer = call.dropped() if call.context.is_cancelled else run_in(variables, call)
            loop.call_soon_threadsafe(future.set_result, answer)

        self._pool.submit(work)
        return future


async def _given(answer: dict[str, Any]) -> dict[str, Any]:
    return answer


def _experiment_of(
    task: Callable[..., Any] | None, evaluators: Sequence[Callable[..., Any]], params: object
) -> Experiment:
    made = Experiment(params=params)
    if task is not None:
        add_function(made.tasks, Function("task", task))
    for entry in evaluators:
        add_function(made.evaluators, Function("evaluator", entry))
    return made

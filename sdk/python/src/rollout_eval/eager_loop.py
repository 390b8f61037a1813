from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context as Variables
from typing import Any

Task = asyncio.Task[Any]


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of the kind that this process has chosen; where that is the usual one, an `EagerLoop`."""
    made = asyncio.new_event_loop()
    if type(made) is not asyncio.SelectorEventLoop:
        return made
    made.close()
    return EagerLoop()


def start_task(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], variables: Variables) -> Task:
    """Makes a task with a copy of context variables; it has begun where the loop can do that."""
    if isinstance(loop, EagerLoop):
        return loop.start_task(coroutine, variables)
    return variables.run(loop.create_task, coroutine)


class EagerLoop(asyncio.SelectorEventLoop):
    """A loop on which a task can take its first step at once, and not only in the next turn.

    A task asks its loop for its first step with `call_soon` while it is made. That step is a task's like any other: it
    has a current task, can be cancelled and can wait.
    """

    _first: tuple[Callable[..., object], tuple[object, ...], Variables | None] | None = None

    def start_task(self, coroutine: Coroutine[Any, Any, Any], variables: Variables) -> Task:
        """To be called from a callback, where no task is running."""
        # What a factory of user code does while it makes a task is not known.
        if self.get_task_factory() is not None:
            return variables.run(self.create_task, coroutine)
        self.call_soon = self._keep  # type: ignore[method-assign, assignment]
        try:
            task = variables.run(self._make_task, coroutine)
        finally:
            del self.call_soon
        first, self._first = self._first, None
        if first is not None:
            step, args, own = first
            # No `or`: variables without a value are false.
            (variables if own is None else own).run(step, *args)
        return task

    def _make_task(self, coroutine: Coroutine[Any, Any, Any]) -> Task:
        return asyncio.Task(coroutine, loop=self)

    def _keep(self, callback: Callable[..., object], *args: object, context: Variables | None = None) -> None:
        self._first = (callback, args, context)

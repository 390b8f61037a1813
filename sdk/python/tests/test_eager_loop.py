from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from conftest import Start
from drive import run_task

from rollout_eval.eager_loop import EagerLoop, new_loop, start_task

number: ContextVar[int] = ContextVar("number", default=0)


def on_a_loop(begin: Callable[[EagerLoop], object]) -> EagerLoop:
    """Calls `begin` from a callback, and waits for all tasks."""
    loop = new_loop()
    assert isinstance(loop, EagerLoop)
    loop.call_soon(begin, loop)
    loop.call_soon(loop.stop)
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.close()
    return loop


def start_one(loop: EagerLoop, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return start_task(loop, coroutine, copy_context())


def test_a_task_begins_at_once_and_goes_on_like_any_other() -> None:
    seen: list[Any] = []

    async def work(n: int) -> None:
        task = asyncio.current_task()
        number.set(n)
        seen.append(n)
        await asyncio.sleep(0)
        seen.append((n, number.get(), asyncio.current_task() is task is not None))

    def begin(loop: EagerLoop) -> None:
        start_one(loop, work(1))
        start_one(loop, work(2))
        seen.append((asyncio.current_task(loop), number.get()))

    on_a_loop(begin)
    assert seen == [1, 2, (None, 0), (1, 1, True), (2, 2, True)]


def test_what_a_first_step_schedules_is_scheduled() -> None:
    seen: list[str] = []

    async def inner() -> None:
        seen.append("inner")

    async def work() -> None:
        asyncio.get_running_loop().call_soon(seen.append, "soon")
        made = asyncio.ensure_future(inner())
        assert not seen
        await made

    on_a_loop(lambda loop: start_one(loop, work()))
    assert seen == ["soon", "inner"]


def test_a_limit_in_a_first_step_is_kept() -> None:
    async def work() -> str:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        except asyncio.TimeoutError:
            return "late"
        return "never"

    started: list[asyncio.Task[str]] = []
    on_a_loop(lambda loop: started.append(start_one(loop, work())))
    assert started[0].result() == "late"


def test_what_a_first_step_raises_is_the_task_s() -> None:
    async def work() -> None:
        raise ValueError("no")

    started: list[asyncio.Task[None]] = []
    on_a_loop(lambda loop: started.append(start_one(loop, work())))
    assert isinstance(started[0].exception(), ValueError)


def test_a_factory_of_user_code_makes_the_tasks() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
        made.append("task")
        return asyncio.Task(coroutine, loop=loop, **more)

    async def work() -> int:
        return 1

    started: list[asyncio.Task[int]] = []

    def begin(loop: EagerLoop) -> None:
        loop.set_task_factory(factory)
        started.append(start_one(loop, work()))

    on_a_loop(begin)
    assert (made[0], started[0].result()) == ("task", 1)


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_many_async_tasks_wait_at_once(start: Start, seconds: float) -> None:
    driver = start(f"""
        import asyncio
        running = most = 0
        @task
        async def wait(input):
            global running, most
            assert asyncio.current_task() in asyncio.all_tasks()
            running += 1
            most = max(most, running)
            await asyncio.sleep({seconds})
            running -= 1
            return most
    """)
    driver.set_up()
    driver.send(*(run_task(f"e{n}") for n in range(10)))
    assert max(answer["output"] for answer in driver.take(10)) == 10


def test_async_tasks_that_exit_at_once_fail_alone(start: Start) -> None:
    driver = start("""
        import sys
        @task
        async def leave(input):
            if input:
                sys.exit(input)
            return "stayed"
    """)
    driver.set_up()
    driver.send(run_task("a", 3), run_task("b"), run_task("c", 4))
    answers = {answer["run_id"]: answer["error"] or answer["output"] for answer in driver.take(3)}
    assert answers == {"a#1": "SystemExit: 3", "b#1": "stayed", "c#1": "SystemExit: 4"}

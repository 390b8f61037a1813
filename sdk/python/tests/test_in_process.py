from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Start
from drive import run_task

import rollout_eval
from rollout_eval import (
    EvalInput,
    EvalResult,
    Executor,
    InitRequest,
    InProcessExecutor,
    SignatureError,
    TaskInput,
    TaskOutput,
)

text = """
    @task
    def answer(input):
        if input == "fail":
            raise ValueError("no")
        if input == "more":
            return TaskOutput([1], {"tokens": 3}, "half done")
        if input == "nan":
            return float("nan")
        return {"said": input, "odd": {2, 1}}
    @evaluator
    async def same(output, expected, input, metadata, task_metadata, example, params, context):
        seen = [input, metadata, task_metadata, example.id, params, context.run_id]
        return EvalResult(0.5, "half", "why", {"seen": seen})
    @evaluator
    def broken(output):
        return "text"
"""


def timeless(value: dict[str, Any]) -> dict[str, Any]:
    times = ("started_at", "completed_at", "execution_time_ms")
    kept = {key: inner for key, inner in (value.get("metadata") or {}).items() if key not in times}
    return {**{key: inner for key, inner in value.items() if inner is not None}, "metadata": kept}


def test_both_executors_give_the_same(start: Start, write: Callable[[str], Path]) -> None:
    driver = start(text)
    driver.set_up()
    body: dict[str, Any] = {
        "example": {"id": "a", "run_id": "a#2", "input": 1, "output": 2, "metadata": {"m": 1}},
        "actual_output": 3,
        "task_metadata": {"t": 1},
        "params": {"p": 1},
    }

    async def compare() -> None:
        executor = InProcessExecutor.from_file(write(text))
        assert isinstance(executor, Executor)
        assert (await executor.init(InitRequest(max_workers=2))).ok
        for value in ("fine", "fail", "more", "nan"):
            theirs = driver.ask(run_task("a", value))
            ours = await executor.run_task(TaskInput("a", value, run_id="a#1", repetition_number=1))
            del theirs["__cat__"]
            assert timeless(asdict(ours)) == timeless(theirs)
        driver.send({"cmd": "run_eval", "input": body})
        answers = {answer["evaluator"]: answer for answer in driver.take(2)}
        for mark in await executor.run_eval(EvalInput(**body)):
            assert timeless({"__cat__": 1, **asdict(mark)}) == timeless(answers[mark.evaluator])
        assert "a mark is a number" in answers["broken"]["error"]
        assert answers["same"]["metadata"]["seen"] == [1, {"m": 1}, {"t": 1}, "a", {"p": 1}, "a#2"]
        assert (await executor.shutdown()).ok

    asyncio.run(compare())


@dataclass
class Verdict:
    score: float
    label: str


@pytest.mark.parametrize(
    ("value", "score", "error"),
    [
        (1, 1.0, None),
        (0.25, 0.25, None),
        (True, 1.0, None),
        (None, None, None),
        (math.nan, None, "the score is nan, which is no finite number"),
        (math.inf, None, "the score is inf, which is no finite number"),
        ({"score": -math.inf, "label": "x"}, None, "the score is -inf, which is no finite number"),
        ({"score": "1"}, None, "the score is '1', which is no finite number"),
        (10**400, None, None),
        ({"label": "x"}, None, "it returned a dict without a score"),
        (EvalResult(score=2, error="told"), 2.0, "told"),
        (Verdict(0.5, "y"), 0.5, None),
        ("good", None, None),
        ([1], None, None),
    ],
)
def test_what_an_evaluator_returns_is_a_mark_or_an_error(value: object, score: float | None, error: str | None) -> None:
    def mark() -> object:
        return value

    async def run() -> EvalResult:
        executor = InProcessExecutor(evaluators=[mark])
        [result] = await executor.run_eval(EvalInput({"id": "a"}))
        return result

    result = asyncio.run(run())
    assert result.score == score
    if error is not None or score is not None:
        assert result.error == error
    elif value is not None:
        assert result.error
    assert result.run_id == "a"


def test_other_keys_of_a_mark_become_metadata() -> None:
    def judge() -> object:
        return {"score": 1, "label": 5, "reason": "r", "metadata": {"m": 1}}

    [result] = asyncio.run(InProcessExecutor(evaluators=[judge]).run_eval(EvalInput({"id": "a"})))
    assert result.label == "5"
    assert result.metadata is not None
    assert (result.metadata["reason"], result.metadata["m"]) == ("r", 1)


def test_parameters_are_filled_in_by_name_in_every_form() -> None:
    def positional(input: object, /, *rest: object, params: object, extra: int = 3, **more: object) -> object:
        return [input, params, extra, sorted(more)]

    async def run() -> object:
        executor = InProcessExecutor(task=positional, params={"a": 1})
        return (await executor.run_task(TaskInput("x", "in"))).output

    assert asyncio.run(run()) == ["in", {"a": 1}, 3, ["context", "example", "metadata"]]


def test_an_unknown_parameter_is_refused_with_a_suggestion() -> None:
    for name, hint in (("prediction", "output"), ("expectd", "expected"), ("ctx", "context")):
        scope: dict[str, Any] = {}
        exec(f"def mark({name}): ...", scope)
        with pytest.raises(SignatureError, match=f'did you mean "{hint}"'):
            rollout_eval.evaluator(scope["mark"])


def test_cancelling_the_caller_stops_the_run() -> None:
    stopped: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("stopped")

    async def run() -> None:
        executor = InProcessExecutor(task=wait)
        running = asyncio.ensure_future(executor.run_task(TaskInput("a")))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await executor.shutdown()

    asyncio.run(run())
    assert stopped == ["stopped"]


def test_a_task_can_be_unit_tested_as_the_function_it_is() -> None:
    @rollout_eval.task(name="other")
    def double(input: int) -> TaskOutput:
        return TaskOutput(input * 2)

    assert double(2).output == 4

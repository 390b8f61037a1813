from __future__ import annotations

import asyncio
import math
from typing import Any

from conftest import Start

from rollout_eval import EvalInput, InProcessExecutor, TaskInput, TaskOutput
from rollout_eval.encode import encode_metadata


def odd(input: Any) -> Any:
    if input == "output":
        return [1, math.nan]
    return TaskOutput(output=1, metadata={"loss": math.nan, "best": (-math.inf, {"a": math.inf})})


def scored(output: object) -> Any:
    return {"score": 0.5, "metadata": {"loss": math.nan}}


def test_in_this_process() -> None:
    async def run() -> None:
        executor = InProcessExecutor(task=odd, evaluators=[scored])
        failed = await executor.run_task(TaskInput(id="a", input="output", run_id="a#1"))
        assert failed.output is None
        assert failed.error == "what it returned has no form in JSON: nan at output[1] is no number of JSON"
        fine = await executor.run_task(TaskInput(id="b", input="metadata", run_id="b#1"))
        assert (fine.output, fine.error) == (1, None)
        assert fine.metadata is not None
        assert fine.metadata["loss"] == "NaN"
        assert fine.metadata["best"] == ["-Infinity", {"a": "Infinity"}]
        request = EvalInput(example={"id": "b", "input": 1}, actual_output=1, run_id="b#1")
        [mark] = await executor.run_eval(request)
        assert (mark.score, mark.error) == (0.5, None)
        assert mark.metadata is not None
        assert mark.metadata["loss"] == "NaN"

    asyncio.run(run())


def test_a_key_of_metadata_that_is_nan_is_text_too() -> None:
    assert encode_metadata({math.nan: 1, "a": [{-math.inf: 2}]}) == ('{"NaN":1,"a":[{"-Infinity":2}]}', True)


def test_the_warning_is_output_of_the_run(start: Start) -> None:
    driver = start("""
        @task
        def odd(input): return TaskOutput(output=1, metadata={"loss": float("nan")})
    """)
    driver.set_up(["ids", "log"])
    driver.send({"cmd": "run_task", "id": 1, "input": {"id": "a", "run_id": "a#1", "input": 1}})
    log = driver.next()["log"]
    assert log["run_id"] == "a#1"
    assert "the metadata of a#1 holds NaN or Infinity" in log["text"]
    assert driver.next()["output"] == 1

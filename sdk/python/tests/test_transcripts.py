from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

import pytest
from conftest import Start
from drive import run_task, source, without_times

sums = """
    __doc__ = "Adds numbers.\\n\\nMore words."
    experiment(params={"bias": 0})

    @task
    def add(input, params):
        return {"sum": sum(input["numbers"]) + params["bias"]}

    @evaluator
    def right(output, expected):
        return 1.0 if output == expected else 0.0

    @evaluator
    async def small(output):
        return {"score": 0.5, "label": "middling", "explanation": "so so", "metadata": {"why": "x"}}

    @aggregate
    def mean(results, params):
        return sum(results.scores("right")) / len(results)
"""


def test_a_seed_only_orchestrator_is_served(start: Start) -> None:
    driver = start(sums)
    found = driver.ask({"cmd": "discover"})
    del found["__cat__"]
    assert found == {
        "protocol_version": "1.0",
        "name": "sums",
        "description": "Adds numbers.",
        "task": "add",
        "evaluators": ["right", "small"],
        "params": {"bias": 0},
    }
    ready = driver.ask({"cmd": "init", "max_workers": 2, "params": {"bias": 1}})
    assert ready == {"__cat__": 1, "ok": True}
    answer = driver.ask(run_task("a", {"numbers": [1, 2]}, output={"sum": 4}, metadata={}))
    assert without_times(answer) == {
        "__cat__": 1,
        "run_id": "a#1",
        "output": {"sum": 4},
        "metadata": {},
        "error": None,
    }
    body = {
        "example": {"id": "a", "input": {"numbers": [1, 2]}, "output": {"sum": 4}},
        "actual_output": {"sum": 4},
        "expected_output": {"sum": 4},
        "params": {},
    }
    # The request has no run_id: it is that of the example's only run.
    only = driver.ask({"cmd": "run_eval", "input": body, "evaluators": ["right"]})
    assert without_times(only) == {
        "__cat__": 1,
        "run_id": "a#1",
        "evaluator": "right",
        "score": 1.0,
        "label": None,
        "metadata": {},
        "error": None,
    }
    driver.send({"cmd": "run_eval", "input": body})
    both = {item["evaluator"]: without_times(item) for item in driver.take(2)}
    assert both["small"] == {
        "__cat__": 1,
        "run_id": "a#1",
        "evaluator": "small",
        "score": 0.5,
        "label": "middling",
        "explanation": "so so",
        "metadata": {"why": "x"},
        "error": None,
    }
    assert both["right"]["score"] == 1.0
    assert driver.ask({"cmd": "shutdown"}) == {"__cat__": 1, "ok": True}
    assert driver.end() == (0, [], "")


def test_times_stand_beside_the_metadata_of_a_task_and_over_it(start: Start) -> None:
    driver = start("""
        @task
        def tell(input):
            return TaskOutput(1, metadata=input)
    """)
    driver.set_up()

    def tell(metadata: Any) -> Any:
        return driver.ask(run_task("a", metadata))

    for metadata in (None, {}, {"started_at": "never"}):
        assert without_times(tell(metadata))["metadata"] == {}
    told = tell({"a": {"b": [1]}, "execution_time_ms": -1, "c": "}"})
    assert without_times(told)["metadata"] == {"a": {"b": [1]}, "c": "}"}
    assert tell([1])["error"] is not None
    odd = driver.ask(b'{"cmd":"run_task","input":{"id":"a","input":{"deep":NaN}}}\n')
    assert (odd["error"], without_times(odd)["metadata"]) == (None, {"deep": "NaN"})


def test_the_run_id_of_an_evaluation_comes_from_where_it_is_known(start: Start) -> None:
    driver = start(sums)
    driver.set_up()

    def run_id(example: dict[str, Any], **more: Any) -> str:
        body = {"example": example, "actual_output": None, **more}
        answer: dict[str, str] = driver.ask({"cmd": "run_eval", "input": body, "evaluators": ["right"]})
        return answer["run_id"]

    driver.ask(run_task("once", {"numbers": []}))
    driver.ask(run_task("twice", {"numbers": []}))
    driver.ask(run_task("twice", {"numbers": []}, run_id="twice#2", repetition_number=2))
    assert run_id({"id": "once", "run_id": "x#2"}, run_id="y#3") == "y#3"
    assert run_id({"id": "once", "run_id": "x#2"}) == "x#2"
    assert run_id({"id": "once"}) == "once#1"
    assert run_id({"id": "twice"}) == "twice"
    assert run_id({"id": "never"}) == "never"


def test_an_orchestrator_that_names_one_evaluator_gets_one_marked_answer(start: Start) -> None:
    driver = start(sums)
    driver.set_up()
    body = {"example": {"id": "a", "run_id": "a#1", "output": 3}, "actual_output": 3, "params": {}}
    answer = driver.ask({"cmd": "run_eval", "input": body, "evaluator": "right"})
    assert (answer["__cat__"], answer["evaluator"], answer["run_id"], answer["score"]) == (1, "right", "a#1", 1.0)
    unknown = driver.ask({"cmd": "run_eval", "input": body, "evaluator": "rigth"})
    assert unknown["score"] is None
    assert unknown["error"] == 'unknown evaluator "rigth"; did you mean "right"?'
    driver.send({"cmd": "shutdown"})
    assert driver.end() == (0, [{"__cat__": 1, "ok": True}], "")


def test_an_orchestrator_with_capabilities_gets_ids_and_aggregates(start: Start, tmp_path: Any) -> None:
    driver = start(sums)
    wanted = ["ids", "cancel", "log", "heartbeat", "aggregate", "unheard-of"]
    found = driver.ask({"cmd": "discover", "capabilities": wanted})
    assert found["capabilities"] == wanted[:-1]
    assert found["aggregates"] == ["mean"]
    assert "__cat__" not in found
    assert driver.ask({"cmd": "init", "max_workers": 2, "params": {}, "capabilities": wanted[:-1]}) == {"ok": True}
    assert driver.ask(run_task("a", {"numbers": [4]}, 7))["id"] == 7
    body = {"example": {"id": "a", "run_id": "a#1", "output": 3}, "actual_output": 3, "run_id": "a#1", "params": {}}
    driver.send({"cmd": "run_eval", "id": 8, "input": body})
    answers = driver.take(2)
    assert [(answer["id"], answer["run_id"]) for answer in answers] == [(8, "a#1"), (8, "a#1")]
    lines = [
        {"run_id": "a#1", "example": {"id": "a"}, "evaluations": [{"evaluator": "right", "score": 1}]},
        {"run_id": "b#1", "example": {"id": "b"}, "evaluations": {"right": {"score": 0.5}}},
        {"run_id": "c#1", "example": {"id": "c"}, "error": "no", "evaluations": []},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    request = {"results_path": str(path), "params": {}}
    mean = driver.ask({"cmd": "run_aggregate", "id": 9, "aggregate": "mean", "input": request})
    assert without_times(mean) == {
        "id": 9,
        "aggregate": "mean",
        "score": 0.5,
        "label": None,
        "metadata": {},
        "error": None,
    }
    unknown = driver.ask({"cmd": "run_aggregate", "id": 10, "aggregate": "maen", "input": request})
    assert unknown == {"id": 10, "aggregate": "maen", "error": 'unknown aggregate "maen"; did you mean "mean"?'}


def test_what_is_no_command_is_answered_and_costs_nothing(start: Start) -> None:
    driver = start(sums)
    driver.set_up(["ids"])
    nested = b"[" * 100_000 + b"\n"
    driver.send(
        b"nonsense\n", b"[1]\n", b'{"cmd":"fly","id":3}\n', b"\xff\xfe\n", b'{"cmd":"run_task","id":4}\n', nested
    )
    answers = driver.take(6)
    assert all(answer["error"] for answer in answers)
    assert [answer.get("id") for answer in answers] == [None, None, 3, None, 4, None]
    driver.send(b"\n \n", run_task("a", {"numbers": [1]}, 5))
    assert driver.next()["output"] == {"sum": 1}


def test_commands_in_pieces_and_many_at_once_are_all_answered(start: Start) -> None:
    driver = start(sums)
    driver.set_up(["ids"], workers=8)
    line = json.dumps(run_task("a", {"numbers": [1]}, 0)).encode() + b"\n"
    for byte in (line[:5], line[5:40], line[40:]):
        driver.send(byte)
    assert driver.next()["id"] == 0
    # All before one answer is read, as no orchestrator should.
    driver.send(*(run_task(f"e{n}", {"numbers": [n], "text": "x" * 200}, n) for n in range(5000)))
    assert sorted(answer["id"] for answer in driver.take(5000)) == list(range(5000))


def test_the_end_of_input_waits_for_what_runs(start: Start) -> None:
    driver = start("""
        import asyncio, time
        @task
        async def slow(input):
            await asyncio.sleep(0.3)
            return input
        @evaluator
        def slower(output):
            time.sleep(0.4)
            return 1
    """)
    driver.set_up(["ids"])
    driver.send(run_task("a", 1, 1), {"cmd": "run_eval", "id": 2, "input": {"example": {"id": "a"}}})
    status, left, _ = driver.end()
    assert (status, sorted(answer["id"] for answer in left)) == (0, [1, 2])


def test_shutdown_is_answered_last(start: Start) -> None:
    driver = start("""
        import time
        @task
        def slow(input):
            time.sleep(0.3)
    """)
    driver.set_up()
    driver.send(run_task("a"), run_task("b"), {"cmd": "shutdown"}, run_task("late"))
    messages = driver.take(4)
    assert "shutting down" in messages[0]["error"]
    assert {messages[1]["run_id"], messages[2]["run_id"]} == {"a#1", "b#1"}
    assert messages[3] == {"__cat__": 1, "ok": True}
    assert driver.process.wait(60) == 0


def test_a_file_as_input_is_read_to_its_end(write: Any, tmp_path: Any) -> None:
    from drive import Driver

    commands = tmp_path / "commands.jsonl"
    commands.write_text('{"cmd":"discover"}\n' + json.dumps(run_task("a", {"numbers": [2]})))
    with commands.open() as stdin:
        driver = Driver(write(sums), stdin=stdin)
    found, answer = driver.take(2)
    assert (found["name"], answer["output"]) == ("sums", {"sum": 2})
    assert driver.end() == (0, [], "")


@pytest.mark.parametrize("kind", ["pipe", "socket"])
@pytest.mark.parametrize("word", ["def", "async def"])
def test_an_orchestrator_that_reads_late_gets_everything(write: Any, kind: str, word: str) -> None:
    file = write(f"""
        @task
        {word} fill(input):
            return "x" * 2000
    """)
    if kind == "pipe":
        reading, writing = os.pipe()
    else:
        ours, theirs = socket.socketpair()
        reading, writing = ours.detach(), theirs.detach()
    process = subprocess.Popen(
        [sys.executable, "-m", "rollout_eval", str(file)],
        stdin=subprocess.PIPE,
        stdout=writing,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    os.close(writing)
    assert process.stdin
    # More than all buffers between us hold; nothing is read before all is written.
    for n in range(3000):
        process.stdin.write(json.dumps(run_task(f"e{n}", "y" * 500)).encode() + b"\n")
    process.stdin.flush()
    time.sleep(1)
    with open(reading, "rb") as answers:
        seen = {json.loads(answers.readline())["run_id"] for _ in range(3000)}
        process.stdin.close()
    assert seen == {f"e{n}#1" for n in range(3000)}
    assert process.wait(60) == 0

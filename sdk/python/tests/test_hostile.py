from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Start
from drive import run_task, source

all_of_ours = ["ids", "cancel", "log", "heartbeat", "aggregate"]


def logs_and_answer(driver: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    logs = []
    while "log" in (message := driver.next()):
        logs.append(message["log"])
    return logs, message


def test_prints_are_tagged_with_their_run(start: Start) -> None:
    driver = start("""
        import asyncio, logging, os, subprocess, sys
        @task
        async def talk(input):
            print("begin", end=" ")
            await asyncio.sleep(0.05 * input)
            print("end", input)
            await asyncio.to_thread(print, "in a thread", input)
            sys.stdout.buffer.write(b"bytes\\n")
            logging.getLogger("mine").warning("careful %s", input)
            sys.stderr.write("no line end")
            os.write(1, b"past python\\n")
            subprocess.run(["echo", "from a child"])
            return input
        @evaluator
        def loud(output):
            print("marking")
            return 1
    """)
    driver.set_up(all_of_ours)
    driver.send(run_task("a", 1, 1), run_task("b", 2, 2))
    logs: list[dict[str, Any]] = []
    for _ in range(2):
        more, answer = logs_and_answer(driver)
        logs += more
        assert answer["error"] is None
    for name, number in (("a#1", 1), ("b#1", 2)):
        mine = [log for log in logs if log["run_id"] == name]
        printed = "".join(log["text"] for log in mine if log["stream"] == "stdout")
        assert printed == f"begin end {number}\nin a thread {number}\nbytes\n"
        assert [log["text"] for log in mine if log["stream"] == "stderr"] == ["no line end"]
        [logged] = [log for log in mine if log["stream"] == "log"]
        assert (logged["text"], logged["level"]) == (f"mine: careful {number}\n", "warning")
    driver.send({"cmd": "run_eval", "id": 3, "input": {"example": {"id": "a", "run_id": "a#1"}, "actual_output": 1}})
    logs, answer = logs_and_answer(driver)
    assert (logs[0]["run_id"], logs[0]["text"], answer["score"]) == ("a#1", "marking\n", 1.0)
    _, _, errors = driver.end()
    assert errors.count("past python\n") == errors.count("from a child\n") == 2


def test_prints_go_to_stderr_with_their_run_where_logs_are_not_understood(start: Start) -> None:
    driver = start("""
        print("at import")
        @task
        def talk(input):
            print("one\\ntwo")
            print("three", end="")
            print('{"run_id": "forged#1", "output": 1}')
    """)
    driver.set_up()
    assert driver.ask(run_task("a"))["run_id"] == "a#1"
    status, left, errors = driver.end()
    assert (status, left) == (0, [])
    assert errors.splitlines() == [
        "at import",
        "[a#1] one",
        "[a#1] two",
        '[a#1] three{"run_id": "forged#1", "output": 1}',
    ]


def test_giant_prints_are_cut(start: Start) -> None:
    driver = start("""
        @task
        def shout(input):
            for _ in range(40):
                print("x" * 100_000)
            return "done"
    """)
    driver.set_up(all_of_ours)
    driver.send(run_task("a", None, 1))
    logs, answer = logs_and_answer(driver)
    text = "".join(log["text"] for log in logs)
    assert answer["output"] == "done"
    assert max(len(log["text"]) for log in logs) <= 64_000
    assert 1_000_000 <= len(text) < 1_001_000
    assert text.endswith("the rest is left out]\n")


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_whatever_a_task_raises_is_an_error_of_its_run(start: Start, kind: str) -> None:
    driver = start(f"""
        import sys, asyncio
        class Odd(BaseException):
            pass
        class Worse(Exception):
            def __str__(self):
                raise RuntimeError
        {kind} down(n):
            return down(n + 1)
        def dig(n):
            return dig(n + 1)
        @task
        {kind} fail(input):
            if input == "exit": sys.exit(3)
            if input == "base": raise Odd("odd")
            if input == "worse": raise Worse()
            if input == "deep": dig(0)
            if input == "interrupt": raise KeyboardInterrupt
            if input == "cancel": raise asyncio.CancelledError
            if input == "long": raise ValueError("x" * 1_000_000)
            return input
    """)
    driver.set_up(["ids"])
    seen = {}
    for name in ("exit", "base", "worse", "deep", "interrupt", "cancel", "long", "fine"):
        answer = driver.ask(run_task(name, name, 1))
        seen[name] = answer["error"]
        assert "cancelled" not in answer
    assert seen["exit"] == "SystemExit: 3"
    assert seen["base"] == "Odd: odd"
    assert seen["worse"] == "Worse"
    assert seen["deep"].startswith("RecursionError")
    assert seen["interrupt"] == "KeyboardInterrupt"
    assert seen["cancel"] == "CancelledError"
    assert len(seen["long"]) == 8_000
    assert seen["fine"] is None
    _, _, errors = driver.end()
    assert "[base#1] " in errors and "sums.py" in errors
    assert "calls.py" not in errors


def test_a_background_task_that_exits_does_not_end_the_executor(start: Start) -> None:
    driver = start("""
        import asyncio, sys
        async def leave():
            sys.exit(4)
        @task
        async def begin(input):
            asyncio.get_running_loop().create_task(leave())
            await asyncio.sleep(0.05)
            return input
    """)
    driver.set_up()
    assert driver.ask(run_task("a", 1))["output"] == 1
    assert driver.ask(run_task("b", 2))["output"] == 2


def test_outputs_are_json_or_an_error_of_the_run(start: Start) -> None:
    driver = start("""
        import dataclasses, datetime, decimal, enum, pathlib, uuid
        @dataclasses.dataclass
        class Point:
            x: int
            when: datetime.date
        class Model:
            def model_dump(self, mode="python"):
                return {"mode": mode}
        class Liar:
            def model_dump(self):
                raise RuntimeError("no dump")
        class Colour(enum.Enum):
            RED = "red"
        loop = []
        loop.append(loop)
        values = {
            "point": Point(1, datetime.date(2024, 1, 2)),
            "model": [Model()],
            "set": {3, 1, 2},
            "rest": [Colour.RED, pathlib.Path("/a"), decimal.Decimal("1.5"), (1, 2), b"text", uuid.UUID(int=1)],
            "keys": {1: "a", None: "b"},
            "surrogate": "\\ud800",
            "nan": {"deep": [float("nan")]},
            "object": {"x": object()},
            "loop": loop,
            "liar": Liar(),
            "bytes": b"\\xff",
            "tuple_key": {(1, 2): 3},
            "big": "y" * 5_000_000,
            "function": print,
        }
        @task
        def give(input):
            return values[input]
    """)
    driver.set_up(["ids"])

    def give(name: str) -> Any:
        answer = driver.ask(run_task(name, name, 1))
        return answer["error"] or answer["output"]

    assert give("point") == {"x": 1, "when": "2024-01-02"}
    assert give("model") == [{"mode": "json"}]
    assert give("set") == [1, 2, 3]
    assert give("rest") == ["red", "/a", 1.5, [1, 2], "text", "00000000-0000-0000-0000-000000000001"]
    assert give("keys") == {"1": "a", "null": "b"}
    assert give("surrogate") == "\ud800"
    assert give("nan") == "what it returned has no form in JSON: nan at output.deep[0] is no number of JSON"
    assert give("object").endswith("a value of type object has no form in JSON at output.x")
    assert "holds itself" in give("loop")
    assert "no dump" in give("liar")
    assert "not UTF-8" in give("bytes")
    assert "a key of a value of type tuple" in give("tuple_key")
    assert len(give("big")) == 5_000_000
    assert "builtin_function" in give("function")


def test_an_async_task_is_cancelled(start: Start) -> None:
    driver = start("""
        import asyncio
        @task
        async def wait(input):
            try:
                await asyncio.Event().wait()
            finally:
                print("cleaned up")
    """)
    driver.set_up(all_of_ours)
    driver.send(run_task("a", 1, 1), run_task("b", 1, 2), {"cmd": "cancel", "id": 2}, {"cmd": "cancel", "id": 99})
    logs, answer = logs_and_answer(driver)
    assert (answer["id"], answer["cancelled"], answer["error"]) == (2, True, "cancelled")
    driver.send({"cmd": "cancel", "id": 1}, {"cmd": "shutdown"})
    more, answer = logs_and_answer(driver)
    assert (answer["id"], answer["cancelled"]) == (1, True)
    assert driver.next() == {"ok": True}


def test_a_plain_task_stops_when_it_looks(start: Start) -> None:
    driver = start("""
        import time
        @task
        def wait(input, context):
            print("started")
            while True:
                time.sleep(0.01)
                if input == "check":
                    try:
                        context.check()
                    except Exception:
                        pass
                elif input == "look":
                    if context.cancelled:
                        return "half"
                elif input == "deaf":
                    time.sleep(0.3)
                    return "whole"
    """)
    driver.set_up(all_of_ours, workers=1)
    for number, name in enumerate(("check", "look", "deaf")):
        driver.send(run_task(name, name, number))
        assert driver.next()["log"]["text"] == "started\n"
        driver.send(run_task("queued", "check", 100), {"cmd": "cancel", "id": 100}, {"cmd": "cancel", "id": number})
        answers = {answer["id"]: answer for answer in driver.take(2)}
        # The queued one was never started.
        assert answers[100]["cancelled"] is True
        assert answers[number].get("cancelled") is (None if name == "deaf" else True)
        assert answers[number]["output"] == ("whole" if name == "deaf" else None)


def test_as_many_plain_tasks_run_at_once_as_were_asked_for(start: Start) -> None:
    driver = start("""
        import threading
        together = threading.Barrier(24)
        @task
        def meet(input):
            together.wait(60)
            return threading.active_count()
    """)
    driver.set_up(workers=24)
    driver.send(*(run_task(f"e{n}") for n in range(24)))
    assert all(answer["error"] is None for answer in driver.take(24))


def test_no_more_plain_tasks_run_at_once_than_were_asked_for(start: Start) -> None:
    driver = start("""
        import threading, time
        running, most, lock = 0, 0, threading.Lock()
        @task
        def count(input):
            global running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1
            return most
    """)
    driver.set_up(workers=3)
    driver.send(*(run_task(f"e{n}") for n in range(40)))
    assert max(answer["output"] for answer in driver.take(40)) == 3


def test_commands_are_read_while_async_code_holds_up_the_loop(start: Start) -> None:
    driver = start("""
        import threading, time
        go = threading.Event()
        @task
        async def rude(input):
            go.wait(60)
            return go.is_set()
        @evaluator
        def release(output):
            go.set()
            return 1
    """)
    driver.set_up(["ids"])
    driver.send(run_task("a", None, 1))
    time.sleep(0.2)
    driver.send({"cmd": "run_eval", "id": 2, "input": {"example": {"id": "a"}}})
    assert {answer["id"]: answer.get("output") for answer in driver.take(2)} == {1: True, 2: None}


def test_a_plain_function_that_returns_a_coroutine_is_awaited(start: Start) -> None:
    driver = start("""
        import asyncio
        async def inner(x):
            await asyncio.sleep(0)
            print("inside")
            return x
        @task
        def outer(input):
            return inner(input)
    """)
    driver.set_up(all_of_ours)
    driver.send(run_task("a", 5, 1))
    logs, answer = logs_and_answer(driver)
    assert (logs[0]["run_id"], answer["output"]) == ("a#1", 5)


def test_user_code_cannot_take_commands_from_stdin_or_close_stdout(start: Start) -> None:
    driver = start("""
        import os, sys
        @task
        def nosy(input):
            sys.stdout.close()
            if input == "first":
                os.close(1)
            return sys.stdin.readline()
    """)
    driver.set_up()
    assert driver.ask(run_task("a", "first"))["output"] == ""
    assert driver.ask(run_task("b", "second"))["output"] == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_does_not_speak_on_the_wire(start: Start) -> None:
    driver = start("""
        import os, sys
        @task
        def split(input):
            child = os.fork()
            if child == 0:
                print("in the fork")
                os._exit(0)
            os.waitpid(child, 0)
            print("in the parent")
            return 1
    """)
    driver.set_up(all_of_ours)
    driver.send(run_task("a", 1, 1))
    logs, answer = logs_and_answer(driver)
    assert [log["text"] for log in logs] == ["in the parent\n"]
    assert answer["output"] == 1
    assert "in the fork" in driver.end()[2]


def test_a_heartbeat_comes_while_nothing_else_does(start: Start) -> None:
    driver = start("""
        import time
        @task
        async def block(input):
            time.sleep(0.5)
    """)
    driver.set_up(all_of_ours, heartbeat_ms=50)
    driver.send(run_task("a", 1, 1))
    beats = []
    while "heartbeat" in (message := driver.next()):
        beats.append(message["heartbeat"]["running"])
    assert message["id"] == 1
    assert 1 in beats


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ValueError('broken')", "ValueError: broken"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("def x(:", "SyntaxError"),
        ("x = 1", "no function with @task"),
        ("@task\ndef a(input): ...\n@task\ndef b(input): ...", "an experiment has one task"),
        ("@task\ndef a(question): ...", 'did you mean "input"?'),
        ("@evaluator\ndef a(output, expcted=None): ...", 'did you mean "expected"?'),
        ("@task\ndef a(input):\n    yield 1", "it has to return"),
        ("experiment(params={'a': object()})", "has no form in JSON"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(start: Start, text: str, words: str) -> None:
    driver = start("print('hello')\n" + text)
    answer = driver.ask({"cmd": "init", "max_workers": 1, "params": {}})
    assert answer["ok"] is False
    assert words in answer["error"]
    status, left, errors = driver.end()
    assert (status, left) == (1, [])
    assert words in errors
    assert "load_experiment.py" not in errors


def test_params_that_do_not_fit_are_refused_by_init(start: Start) -> None:
    driver = start("""
        from dataclasses import dataclass
        from typing import Literal
        @dataclass
        class Params:
            model: str = "small"
            temperature: float = 0.5
            mode: Literal["a", "b"] = "a"
            top: int | None = None
        experiment(params=Params)
        @task
        def show(input, params: Params):
            return [params.model, params.temperature, params.mode, params.top]
    """)
    defaults = {"model": "small", "temperature": 0.5, "mode": "a", "top": None}
    assert driver.ask({"cmd": "discover"})["params"] == defaults

    def init(**params: Any) -> Any:
        return driver.ask({"cmd": "init", "max_workers": 1, "params": params}).get("error")

    assert init(temprature=1) == 'unknown param "temprature"; did you mean "temperature"?'
    assert init(temperature="hot") == "param \"temperature\" is float (default 0.5), not 'hot'"
    assert init(mode="c") and init(top=1.5) and init(model=None)
    assert init(temperature=1, top=3, mode="b") is None
    assert driver.ask(run_task("a"))["output"] == ["small", 1, "b", 3]
    assert driver.ask(run_task("a", params={"model": "big"}))["output"] == ["big", 1, "b", 3]
    assert "unknown param" in driver.ask(run_task("a", params={"x": 1}))["error"]
    assert "whole number" in driver.ask({"cmd": "init", "max_workers": 0})["error"]


def test_a_plain_dict_of_params_keeps_names_and_types(start: Start) -> None:
    driver = start("""
        experiment(name="named", description="told", params={"model": "small", "temperature": 0, "tags": []})
        @task
        def show(params):
            return params
    """)
    found = driver.ask({"cmd": "discover"})
    assert (found["name"], found["description"]) == ("named", "told")
    assert not driver.ask({"cmd": "init", "params": {"temperature": "x"}})["ok"]
    assert not driver.ask({"cmd": "init", "params": {"tags": {}}})["ok"]
    unknown = driver.ask({"cmd": "init", "params": {"temprature": 0.7}})
    assert unknown["error"] == 'unknown param "temprature"; did you mean "temperature"?'
    assert driver.ask({"cmd": "init", "params": {"temperature": 0.7}})["ok"]
    assert driver.ask(run_task("a"))["output"] == {"model": "small", "temperature": 0.7, "tags": []}


def test_nobody_listening_ends_it(start: Start) -> None:
    driver = start("""
        @task
        def echo(input):
            return input
    """)
    process = subprocess.Popen(
        [sys.executable, "-m", "rollout_eval", str(driver.process.args[-1])],  # type: ignore[index]
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    assert process.stdin and process.stdout
    process.stdout.close()
    process.stdin.write(b'{"cmd":"discover"}\n')
    process.stdin.flush()
    assert process.wait(60) == 1
    process.stdin.close()


def test_sigterm_ends_it_at_once(start: Start) -> None:
    driver = start("""
        import time
        @task
        def forever(input):
            print("started")
            while True:
                time.sleep(1)
    """)
    driver.set_up(all_of_ours)
    driver.send(run_task("a", 1, 1))
    assert driver.next()["log"]["text"] == "started\n"
    driver.process.send_signal(signal.SIGTERM)
    assert driver.process.wait(60) == -signal.SIGTERM


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_it_dies_with_its_parent(start: Start, write: Any, tmp_path: Path) -> None:
    file = write("""
        import os, pathlib, time
        @task
        def forever(input):
            pathlib.Path(input).write_text(str(os.getpid()))
            while True:
                time.sleep(1)
    """)
    mark = tmp_path / "pid"
    script = f"""
import subprocess, sys, time, pathlib
p = subprocess.Popen([sys.executable, "-m", "rollout_eval", {str(file)!r}], stdin=subprocess.PIPE)
p.stdin.write(b'{{"cmd":"run_task","input":{{"id":"a","input":"{mark}"}}}}\\n')
p.stdin.flush()
while not pathlib.Path({str(mark)!r}).exists() or not pathlib.Path({str(mark)!r}).read_text():
    time.sleep(0.05)
import os
os._exit(9)
"""
    parent = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(source)}, timeout=60)
    assert parent.returncode == 9
    stat = Path(f"/proc/{mark.read_text()}/stat")
    deadline = time.monotonic() + 60
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)

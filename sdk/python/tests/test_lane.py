from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Start
from drive import Driver, run_task

waiting = """
    import os, threading, time
    together = threading.Barrier(4)
    go = threading.Event()
    running, most, lock = 0, 0, threading.Lock()

    @task
    def work(input, context):
        global running, most
        if input == "meet":
            together.wait(60)
        elif input == "wait":
            go.wait(60)
        elif input == "go":
            go.set()
        elif input == "look":
            while not context.cancelled:
                time.sleep(0.001)
        elif input == "count":
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1
            return most
        elif input == "fork":
            child = os.fork()
            if child == 0:
                return "in the fork"
            return child
        elif input and input.startswith("/"):
            with open(input, "a") as file:
                file.write("once")
        elif input == "talk":
            print("said")
        return threading.current_thread().name
"""


def warm_up(driver: Driver) -> None:
    """Runs short tasks until the thread that reads the commands runs them itself."""
    deadline = time.monotonic() + 60
    while driver.ask(run_task("short"))["output"] != "rollout-commands":
        assert time.monotonic() < deadline


def outputs(driver: Driver, count: int) -> dict[str, Any]:
    return {answer["run_id"]: answer["output"] for answer in driver.take(count)}


def test_tasks_that_wait_for_each_other_after_short_ones_run_at_once(start: Start) -> None:
    driver = start(waiting)
    driver.set_up()
    for _ in range(5):
        warm_up(driver)
        driver.send(*(run_task(f"m{n}", "meet") for n in range(4)))
        assert set(outputs(driver, 4)) == {f"m{n}#1" for n in range(4)}


def test_a_task_that_waits_among_short_ones_holds_up_none_of_them(start: Start) -> None:
    driver = start(waiting)
    driver.set_up()
    warm_up(driver)
    driver.send(run_task("a"), run_task("waits", "wait"), *(run_task(f"b{n}") for n in range(20)))
    assert set(outputs(driver, 21)) == {"a#1", *(f"b{n}#1" for n in range(20))}
    # Commands that come later are read, too.
    assert driver.ask(run_task("c"))["run_id"] == "c#1"
    driver.send(run_task("d", "go"))
    assert set(outputs(driver, 2)) == {"d#1", "waits#1"}
    warm_up(driver)
    assert driver.end()[:2] == (0, [])


@pytest.mark.parametrize("workers", [1, 3])
def test_no_more_run_at_once_when_a_reader_has_become_one_of_them(start: Start, workers: int) -> None:
    driver = start(waiting)
    driver.set_up(workers=workers)
    for _ in range(3):
        warm_up(driver)
        driver.send(*(run_task(f"e{n}", "count") for n in range(20)))
        assert max(outputs(driver, 20).values()) == workers


def test_a_reader_at_a_long_task_can_be_cancelled_and_its_queue_dropped(start: Start) -> None:
    driver = start(waiting)
    driver.set_up(["ids", "cancel"], workers=1)
    warm_up(driver)
    driver.send(run_task("a", "look", 1), run_task("b", "look", 2))
    time.sleep(0.1)
    driver.send({"cmd": "cancel", "id": 2}, {"cmd": "cancel", "id": 1})
    assert [(answer["id"], answer["cancelled"]) for answer in driver.take(2)] == [(1, True), (2, True)]


def test_prints_of_short_tasks_are_tagged_with_their_run(start: Start) -> None:
    driver = start(waiting)
    driver.set_up(["ids", "log"])
    warm_up(driver)
    driver.send(run_task("a", "talk", 1), run_task("b", "talk", 2))
    said = [message["log"]["run_id"] for message in driver.take(4) if "log" in message]
    assert said == ["a#1", "b#1"]


def test_the_end_of_input_waits_for_a_reader_at_a_long_task(start: Start) -> None:
    driver = start(waiting)
    driver.set_up()
    warm_up(driver)
    driver.send(run_task("a", "count"), run_task("b", "wait"), run_task("c", "go"))
    status, left, _ = driver.end()
    assert (status, {answer["run_id"] for answer in left}) == (0, {"a#1", "b#1", "c#1"})


def test_shutdown_behind_short_tasks_is_answered_last(start: Start) -> None:
    driver = start(waiting)
    driver.set_up()
    warm_up(driver)
    driver.send(run_task("a"), run_task("b"), {"cmd": "shutdown"})
    assert [answer.get("run_id") for answer in driver.take(3)] == ["a#1", "b#1", None]
    assert driver.process.wait(60) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_that_returns_takes_no_commands(start: Start, tmp_path: Path) -> None:
    driver = start(waiting)
    driver.set_up()
    for attempt in range(3):
        warm_up(driver)
        mark = tmp_path / f"mark{attempt}"
        driver.send(run_task("a", "fork"), run_task("b", str(mark)))
        assert outputs(driver, 2)["a#1"] != "in the fork"
        assert all(driver.ask(run_task(f"e{n}"))["run_id"] == f"e{n}#1" for n in range(50))
    # Nothing keeps the pipe open: the forks are gone.
    assert driver.end()[:2] == (0, [])
    assert [file.read_text() for file in tmp_path.glob("mark*")] == ["once"] * 3

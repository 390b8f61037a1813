from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Start

from rollout_eval import ExperimentError, InProcessExecutor, load_experiment

twice = """
    @task
    def echo(input): return input
    @{kind}
    def right({parameter}): return 1
    @{kind}(name="right")
    def other({parameter}): return 0
"""


@pytest.mark.parametrize(("kind", "parameter"), [("evaluator", "output"), ("aggregate", "results")])
def test_two_functions_with_one_name_are_refused(write: Callable[[str], Path], kind: str, parameter: str) -> None:
    file = write(twice.format(kind=kind, parameter=parameter))
    with pytest.raises(ExperimentError) as refused:
        load_experiment(file)
    text = str(refused.value)
    assert f'two {kind}s are named "right"' in text
    assert f"right ({file}:5) and other ({file}:7)" in text
    assert f'@{kind}(name="...")' in text


def test_two_tasks_with_one_name_are_refused(write: Callable[[str], Path]) -> None:
    file = write("@task\ndef echo(input): return 1\n@task\ndef echo(input): return 2\n")
    with pytest.raises(ExperimentError, match='two tasks are named "echo"'):
        load_experiment(file)


def test_the_refusal_is_the_answer_to_discover(start: Start) -> None:
    driver = start(twice.format(kind="evaluator", parameter="output"))
    driver.send({"cmd": "discover"})
    assert 'two evaluators are named "right"' in driver.next()["error"]


def test_an_executor_of_functions_refuses_them_too() -> None:
    def make() -> Callable[[object], int]:
        def right(output: object) -> int:
            return 1

        return right

    with pytest.raises(ExperimentError, match='two evaluators are named "right"'):
        InProcessExecutor(task=lambda input: input, evaluators=[make(), make()])


def test_a_function_that_is_defined_again_in_a_notebook_replaces_the_first() -> None:
    from rollout_eval import evaluator, task
    from rollout_eval.experiment import Experiment, swap_current

    before = swap_current(Experiment())
    try:
        cell = "@task\ndef echo(input): return {n}\n@evaluator\ndef right(output): return {n}\n"
        for n in (1, 2):
            exec(cell.format(n=n), {"task": task, "evaluator": evaluator, "__name__": "__main__"})
        found = swap_current(before)
    finally:
        swap_current(before)
    assert found.evaluators["right"].call(0) == 2

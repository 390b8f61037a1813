from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from drive import Driver

Start = Callable[[str], Driver]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Writes an experiment file."""

    def write_file(text: str) -> Path:
        file = tmp_path / "sums.py"
        file.write_text("from rollout_eval import *\n" + dedent(text))
        return file

    return write_file


@pytest.fixture
def start(write: Callable[[str], Path]) -> Iterator[Start]:
    """Starts an executor process on the text of an experiment file."""
    started: list[Driver] = []

    def start_driver(text: str) -> Driver:
        started.append(Driver(write(text)))
        return started[-1]

    yield start_driver
    for driver in started:
        driver.process.kill()
        driver.process.wait()

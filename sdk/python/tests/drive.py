from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

source = Path(__file__).parent.parent / "src"
limit = 60.0


class Driver:
    """An executor process on a file, driven line by line as an orchestrator would."""

    def __init__(self, file: Path, *, stdin: Any = subprocess.PIPE) -> None:
        path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rollout_eval", str(file)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.raw: list[bytes] = []
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read_out, self._read_err)]
        for thread in self._threads:
            thread.start()

    def _read_out(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _read_err(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self._errors.append(line)

    def send(self, *messages: Any) -> None:
        """Each a message, or bytes that go out as they are."""
        lines = [m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages]
        assert self.process.stdin
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def next(self) -> Any:
        """The next message of the executor; None at its end."""
        line = self._answers.get(timeout=limit)
        if line is None:
            return None
        self.raw.append(line)
        assert line.endswith(b"\n")
        return json.loads(line, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))

    def take(self, count: int) -> list[Any]:
        return [self.next() for _ in range(count)]

    def ask(self, message: Any) -> Any:
        self.send(message)
        return self.next()

    def set_up(self, capabilities: list[str] | None = None, workers: int = 4, **more: Any) -> None:
        words: dict[str, Any] = {} if capabilities is None else {"capabilities": capabilities}
        self.ask({"cmd": "discover", **words})
        answer = self.ask({"cmd": "init", "max_workers": workers, "params": {}, **words, **more})
        assert answer["ok"] is True, answer

    def end(self) -> tuple[int, list[Any], str]:
        """Closes the input; the exit code, what was still answered, and stderr."""
        if self.process.stdin:
            self.process.stdin.close()
        left = []
        while (message := self.next()) is not None:
            left.append(message)
        status = self.process.wait(limit)
        for thread in self._threads:
            thread.join(limit)
        return status, left, b"".join(self._errors).decode()


def run_task(name: str, value: Any = None, number: int | None = None, **more: Any) -> dict[str, Any]:
    """The command that runs the task on an example."""
    body = {"id": name, "input": value, "run_id": f"{name}#1", "repetition_number": 1, "params": {}, **more}
    return {"cmd": "run_task", **({} if number is None else {"id": number}), "input": body}


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what differs from run to run."""
    metadata = dict(answer["metadata"])
    assert metadata.pop("started_at") <= metadata.pop("completed_at")
    assert metadata.pop("execution_time_ms") >= 0
    return {**answer, "metadata": metadata}

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar


class Cancelled(BaseException):
    """Raised by `Context.check` in a run that was told to stop.

    No `Exception`, as in asyncio: code that retries on every exception must not retry on this one.
    """


class Context:
    """What a running task or evaluator knows about its run, as its parameter `context`."""

    __slots__ = ("_cancelled", "_output", "_stop", "example_id", "run_id", "saw_cancel")

    def __init__(self, run_id: str | None, example_id: str | None = None) -> None:
        self.run_id = run_id
        self.example_id = example_id
        #: Whether the function found out that it was told to stop.
        self.saw_cancel = False
        self._cancelled = False
        self._stop: Callable[[], object] | None = None
        self._output: RunOutput | None = None

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more; who read True and returns counts as stopped."""
        if self._cancelled:
            self.saw_cancel = True
        return self._cancelled

    def check(self) -> None:
        """Raises `Cancelled` when the run was told to stop."""
        if self.cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Tells the run to stop: at once when it awaits something, at its next look when it does not."""
        self._cancelled = True
        if self._stop is not None:
            self._stop()

    @property
    def is_cancelled(self) -> bool:
        """As `cancelled`, without counting as a look of the function."""
        return self._cancelled

    def on_cancel(self, stop: Callable[[], object] | None) -> None:
        """Has `stop` called on `cancel`, also when that came before."""
        self._stop = stop
        if self._cancelled and stop is not None:
            stop()

    def output(self, send: Callable[[str, str], None]) -> RunOutput:
        """What collects the prints of this run; one for all its threads."""
        with _making:
            if self._output is None:
                self._output = RunOutput(send)
            return self._output

    def flush_output(self) -> None:
        """Sends what was printed without a line end."""
        if self._output is not None:
            self._output.flush()


_making = threading.Lock()


class RunOutput:
    """The prints of one run: sent in whole lines and up to a limit."""

    limit = 1_000_000
    piece = 64_000

    def __init__(self, send: Callable[[str, str], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._left = self.limit

    def write(self, stream: str, text: str) -> None:
        with self._lock:
            parts = self._parts[stream]
            if self._left <= 0:
                return
            cut = text[: self._left]
            self._left -= len(text)
            if self._left <= 0:
                cut += f"\n[more than {self.limit} characters were printed; the rest is left out]\n"
            whole, end, rest = cut.rpartition("\n")
            if end:
                parts.append(whole + end)
                self._emit(stream)
            if rest:
                parts.append(rest)
                if sum(map(len, parts)) > self.piece:
                    self._emit(stream)

    def flush(self) -> None:
        with self._lock:
            for stream in self._parts:
                self._emit(stream)

    def _emit(self, stream: str) -> None:
        text = "".join(self._parts[stream])
        self._parts[stream].clear()
        for start in range(0, len(text), self.piece):
            self._send(stream, text[start : start + self.piece])


current_run: ContextVar[Context | None] = ContextVar("rollout_eval_run", default=None)

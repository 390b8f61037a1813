from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from .context import Context, current_run

#: run, stream, text, level
Sink = Callable[["Context | None", str, str, "str | None"], None]


class RunStream(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr: what is written goes to the sink with the run that wrote it."""

    def __init__(self, name: str, fd: int, sink: Sink) -> None:
        self._name = name
        self._fd = fd
        self._sink = sink
        self.buffer = _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        run = current_run.get()
        if run is None:
            self._sink(None, self._name, text, None)
        else:
            run.output(lambda stream, piece: self._sink(run, stream, piece, None)).write(self._name, text)
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def flush(self) -> None:
        pass

    def close(self) -> None:
        # Closing it would silence every other run.
        pass

    def reconfigure(self, **_options: Any) -> None:
        pass


class _Bytes(io.RawIOBase):
    """The bytes behind a RunStream."""

    def __init__(self, stream: RunStream) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def close(self) -> None:
        pass


class RunLogHandler(logging.Handler):
    """Sends log records with their level and their run."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            self._sink(current_run.get(), "log", text[:64_000] + "\n", record.levelname.lower())
        except Exception:
            self.handleError(record)


def take_standard_streams() -> tuple[int, int]:
    """Moves stdin and stdout to descriptors of our own, and returns them; 0 and 1 then lead to nothing and to stderr.

    So no print, extension or child of user code can speak on the wire or take a command from it.
    """
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, answers


def capture_prints(sink: Sink) -> None:
    """Sends what Python code prints to the sink from now on."""
    sys.stdout = RunStream("stdout", 1, sink)
    sys.stderr = RunStream("stderr", 2, sink)


def capture_logging(sink: Sink) -> None:
    """Puts our handler on the root logger: where it has none, and in place of those that print."""
    root = logging.getLogger()
    ours = RunLogHandler(sink)
    replaced = [
        handler
        for handler in root.handlers
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.stream, RunStream)
    ]
    for handler in replaced:
        root.removeHandler(handler)
        ours.setLevel(handler.level)
        written = getattr(handler.formatter, "_fmt", None)
        if handler.formatter is not None and written != logging.BASIC_FORMAT:
            ours.setFormatter(handler.formatter)
    if replaced or not root.handlers:
        root.addHandler(ours)

from __future__ import annotations

import os
import threading
from collections import deque


class Channel:
    """Lines to whoever drives this process, whole and in order, from any thread.

    Whoever finds nobody writing writes what everybody has left; so lines gather while one is being written.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: deque[str] = deque()
        self._writing = threading.Lock()

    def put(self, line: str) -> None:
        """Leaves a line that the next `flush` writes."""
        self._lines.append(line)

    def send(self, line: str) -> None:
        self._lines.append(line)
        self.flush()

    def flush(self) -> None:
        while self._lines and self._writing.acquire(blocking=False):
            try:
                self._write_all()
            finally:
                self._writing.release()

    def close(self) -> None:
        """Returns when all that was left has been written."""
        with self._writing:
            self._write_all()

    def _write_all(self) -> None:
        lines = []
        while self._lines:
            lines.append(self._lines.popleft())
        if not lines or self._fd < 0:
            return
        lines.append("")
        rest = memoryview("\n".join(lines).encode("ascii"))
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            # Nobody listens any more, so that nothing is left to be done.
            os._exit(1)

    def forget(self) -> None:
        """Leaves the pipe to the process this one was forked from."""
        self._fd = -1
        self._lines.clear()
        self._writing = threading.Lock()

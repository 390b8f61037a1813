from __future__ import annotations

import os
import select
import socket
import stat
import threading
from collections import deque
from collections.abc import Callable

# What a pipe that is ready takes for sure without blocking.
_piece = getattr(select, "PIPE_BUF", 512)


class Channel:
    """Lines to whoever drives this process, whole and in order, from any thread.

    Whoever finds nobody writing writes what everybody has left, so that lines gather while one is being written. Nobody
    waits for a reader that is slow: a thread does, once the pipe is full.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: deque[str] = deque()
        self._rest = memoryview(b"")
        self._writing = threading.Lock()
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(fd, select.POLLOUT)
        self._write_at_once = _writer_that_never_waits(fd)

    def put(self, line: str) -> None:
        """Leaves a line that the next `flush` writes."""
        self._lines.append(line)

    def send(self, line: str) -> None:
        self._lines.append(line)
        self.flush()

    def flush(self) -> None:
        """Writes what is left as far as the pipe takes it at once."""
        while self._lines and self._writing.acquire(blocking=False):
            is_full = False
            try:
                while self._take() and not is_full:
                    is_full = not self._write_ready()
            finally:
                self._writing.release()
            if is_full:
                threading.Thread(target=self.close, name="rollout-answers", daemon=True).start()
                return

    def close(self) -> None:
        """Returns when all that was left has been written."""
        with self._writing:
            while self._take():
                self._write(len(self._rest))
        self.flush()

    def forget(self) -> None:
        """Leaves the pipe to the process this one was forked from."""
        self._fd = -1
        self._lines.clear()
        self._rest = memoryview(b"")
        self._writing = threading.Lock()

    def _take(self) -> bool:
        if not self._rest and self._lines:
            lines = []
            while self._lines:
                lines.append(self._lines.popleft())
            lines.append("")
            self._rest = memoryview("\n".join(lines).encode("ascii"))
        return bool(self._rest)

    def _write_ready(self) -> bool:
        """Writes a part that the pipe has room for; False when it has none."""
        if self._write_at_once is not None and self._fd >= 0:
            try:
                self._rest = self._rest[self._write_at_once(self._rest) :]
            except BlockingIOError:
                return False
            except OSError:
                os._exit(1)
            return True
        if self._poll is not None and self._fd >= 0 and not self._poll.poll(0):
            return False
        self._write(_piece)
        return True

    def _write(self, size: int) -> None:
        if self._fd < 0:
            self._rest = memoryview(b"")
            return
        try:
            self._rest = self._rest[os.write(self._fd, self._rest[:size]) :]
        except BlockingIOError:
            if self._poll is not None:
                self._poll.poll()
        except OSError:
            # Nobody listens any more, so that nothing is left to be done.
            os._exit(1)


def _writer_that_never_waits(fd: int) -> Callable[[memoryview], int] | None:
    """What writes to a pipe or a socket as much as it takes at once; None where there is no such thing.

    The descriptor itself stays as it is: others may write to the same pipe, and wait.
    """
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISSOCK(mode):
            peer = socket.socket(fileno=os.dup(fd))
            return lambda data: peer.send(data, socket.MSG_DONTWAIT)
        if stat.S_ISFIFO(mode):
            own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
            return lambda data: os.write(own, data)
    except (OSError, AttributeError):
        pass
    return None

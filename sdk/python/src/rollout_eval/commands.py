from __future__ import annotations

import asyncio
import os
import select
import stat
import threading
import time
from collections.abc import Callable


class Commands:
    """Reads lines from a descriptor on the loop, and in a thread while the loop is held up or where it cannot."""

    look_seconds = 0.05

    def __init__(self, fd: int, take: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._fd = fd
        self._take = take
        self._end = end
        self._begun: list[bytes] = []
        self._lock = threading.Lock()
        self._turns = 0
        self._has_ended = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        can_poll = hasattr(select, "poll") and not stat.S_ISREG(os.fstat(self._fd).st_mode)
        try:
            if can_poll:
                loop.add_reader(self._fd, self._turn, loop)
        except (OSError, NotImplementedError):
            can_poll = False
        work = self._stand_in if can_poll else self._read_all
        threading.Thread(target=work, name="rollout-commands", daemon=True).start()

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._turns += 1
        # Held by the stand-in, which then reads for us.
        if self._lock.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._lock.release()
        if self._has_ended:
            loop.remove_reader(self._fd)

    def _stand_in(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        turns = -1
        while not self._has_ended:
            time.sleep(self.look_seconds)
            if turns == self._turns and poll.poll(0):
                with self._lock:
                    # The loop may have come back and read it meanwhile.
                    while turns == self._turns and not self._has_ended and poll.poll(0):
                        self._read()
            turns = self._turns

    def _read_all(self) -> None:
        while not self._has_ended:
            self._read()

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, 1 << 18)
        except OSError:
            chunk = b""
        *lines, rest = chunk.split(b"\n")
        if lines:
            self._begun.append(lines[0])
            lines[0] = b"".join(self._begun)
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        for line in lines:
            self._take(line)
        if not chunk:
            self._has_ended = True
            self._take(b"".join(self._begun))
            self._end()

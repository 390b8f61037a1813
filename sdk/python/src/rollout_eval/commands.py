from __future__ import annotations

import asyncio
import os
import select
import stat
import threading
import time
from collections.abc import Callable

from .lines import Lines


class Commands:
    """Reads lines from a descriptor on the loop, and in a thread while the loop is held up or where it cannot."""

    look_seconds = 0.05

    def __init__(
        self, fd: int, take: Callable[[bytes], None], end: Callable[[], None], start_all: Callable[[], None]
    ) -> None:
        self._fd = fd
        self._lines = Lines(fd)
        self._take = take
        self._end = end
        #: Begins, on the loop, what the lines that it read have asked for.
        self._start_all = start_all
        self._lock = threading.Lock()
        self._turns = 0

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
        if self._lines.has_ended:
            loop.remove_reader(self._fd)
        # Without the lock: what is begun here may hold up the loop.
        self._start_all()

    def _stand_in(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        turns = -1
        while not self._lines.has_ended:
            time.sleep(self.look_seconds)
            if turns == self._turns and poll.poll(0):
                with self._lock:
                    # The loop may have come back and read it meanwhile.
                    while turns == self._turns and not self._lines.has_ended and poll.poll(0):
                        self._read()
            turns = self._turns

    def _read_all(self) -> None:
        while not self._lines.has_ended:
            self._read()

    def _read(self) -> None:
        for line in self._lines.read():
            self._take(line)
        if self._lines.has_ended:
            self._end()

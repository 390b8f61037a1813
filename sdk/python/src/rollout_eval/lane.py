from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sized
from functools import partial

from .calls import Call
from .lines import Lines
from .thread_pool import ThreadPool


class Lane:
    """Reads lines in a thread that also carries out the calls they ask for, as long as these are short.

    To hand a call to another thread costs more than a short call. So once calls have been short for a while, and while
    nothing else runs, the reader runs what it has read and then writes all answers at once. Another thread looks after
    it meanwhile: when a call takes long after all, the pool gets what is left, and another reader goes on.
    """

    look_seconds = 0.002
    #: With no call for so many looks it is not known any more how long they are.
    most_quiet_looks = 100
    short_seconds = 0.0001
    #: As many short calls in a row make a reader run the next ones.
    enough = 16

    def __init__(self, fd: int, pool: ThreadPool, run: Callable[[Call], None], flush: Callable[[], None]) -> None:
        self._lines = Lines(fd)
        self._pool = pool
        self._run = run
        self._flush = flush
        self._lock = threading.Lock()
        self._size = 1
        #: Readers that are at a long call, each in place of a thread of the pool.
        self._lent = 0
        #: What the lines have asked for; the reader whose list this is not any more reads no more.
        self._left: deque[Call] = deque()
        self._short = 0
        self._done = 0
        self._is_at_work = False
        self._is_watched = False
        self._alarm = threading.Semaphore(0)

    def start(self, take: Callable[[bytes], None], end: Callable[[], None], running: Sized) -> None:
        """Begins to read; `running` holds all calls that are not answered, also those that have not begun."""
        self._take = take
        self._end = end
        self._running = running
        threading.Thread(target=self._watch, name="rollout-watch", daemon=True).start()
        self._start_reader()

    def submit(self, call: Call) -> None:
        """Has a call carried out when the lines that were read with its own have been taken."""
        self._left.append(call)

    def resize(self, size: int) -> None:
        """As many calls run at once."""
        with self._lock:
            self._size = size
            self._pool.resize(size - self._lent)

    def leave(self) -> None:
        """Reads no more, and runs none of what was read: in a fork."""
        self._left.clear()
        self._left = deque()

    def _start_reader(self) -> None:
        threading.Thread(target=self._read_all, name="rollout-commands", daemon=True).start()

    def _read_all(self) -> None:
        mine = self._left
        while not self._lines.has_ended:
            for line in self._lines.read():
                self._take(line)
            if self._lines.has_ended:
                self._end()
            if self._short < self.enough or len(self._running) > len(mine):
                self._hand_over(mine)
            elif mine and not self._run_all(mine):
                return

    def _run_all(self, mine: deque[Call]) -> bool:
        """Runs what was read; False when another reads by now."""
        with self._lock:
            self._is_at_work = True
            if not self._is_watched:
                self._is_watched = True
                self._alarm.release()
        from_ = time.perf_counter()
        while mine:
            try:
                call = mine.popleft()
            except IndexError:
                break
            self._run(call)
            self._done += 1
            now = time.perf_counter()
            if now - from_ > self.short_seconds:
                self._short = 0
                self._hand_over(mine)
            from_ = now
        self._flush()
        with self._lock:
            if self._left is mine:
                self._is_at_work = False
                return True
            self._lent -= 1
            self._pool.resize(self._size - self._lent)
            return False

    def _hand_over(self, calls: deque[Call]) -> None:
        while calls:
            try:
                self._pool.submit(partial(self._run_in_pool, calls.popleft()))
            except IndexError:
                return

    def _run_in_pool(self, call: Call) -> None:
        from_ = time.perf_counter()
        self._run(call)
        self._short = self._short + 1 if time.perf_counter() - from_ < self.short_seconds else 0
        self._flush()

    def _watch(self) -> None:
        while self._alarm.acquire():
            done, looks, was_at_work = -1, 0, False
            while self._is_watched:
                time.sleep(self.look_seconds)
                if done != self._done:
                    done, looks = self._done, 0
                elif was_at_work and self._is_at_work:
                    self._replace_reader(done)
                else:
                    looks += 1
                    if looks > self.most_quiet_looks:
                        self._stop_watching()
                was_at_work = self._is_at_work

    def _stop_watching(self) -> None:
        with self._lock:
            if not self._is_at_work:
                self._is_watched = False
                self._short = 0

    def _replace_reader(self, done: int) -> None:
        with self._lock:
            if done != self._done or not self._is_at_work:
                return
            left, self._left = self._left, deque()
            self._is_at_work = False
            self._is_watched = False
            self._short = 0
            self._lent += 1
            self._pool.resize(self._size - self._lent)
        self._start_reader()
        self._hand_over(left)
        # What it had answered before.
        self._flush()

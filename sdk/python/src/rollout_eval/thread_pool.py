from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Work = Callable[[], object]


class ThreadPool:
    """Runs work in at most `size` threads, which are started when they are needed and never keep the process alive.

    One thread at a time is woken, and wakes the next when there is more to do: short work is done by one or two
    threads, work that waits soon has all of them.
    """

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._work: deque[Work] = deque()
        self._lock = threading.Lock()
        self._threads = 0
        #: What each thread that has nothing to do sleeps on.
        self._sleeping: list[threading.Lock] = []
        self._is_waking = False

    def submit(self, work: Work) -> None:
        self._work.append(work)
        if not self._is_waking:
            self._wake()

    def resize(self, size: int) -> None:
        """Starts or ends threads; those that are at work end after it."""
        with self._lock:
            self._size = size
            surplus = [self._sleeping.pop() for _ in range(min(len(self._sleeping), self._threads - size))]
        for bed in surplus:
            bed.release()
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            if self._is_waking or not self._work:
                return
            if self._sleeping:
                self._is_waking = True
                self._sleeping.pop().release()
            elif self._threads < self._size:
                self._is_waking = True
                self._threads += 1
                threading.Thread(target=self._live, name=f"rollout-{self._threads}", daemon=True).start()

    def _live(self) -> None:
        bed = threading.Lock()
        bed.acquire()
        while True:
            # Before looking: what is left from now on finds nobody on the way.
            self._is_waking = False
            self._do_all()
            with self._lock:
                if self._threads > self._size:
                    self._threads -= 1
                    break
                if self._work:
                    continue
                self._sleeping.append(bed)
            bed.acquire()
        self._wake()

    def _do_all(self) -> None:
        while self._threads <= self._size:
            try:
                work = self._work.popleft()
            except IndexError:
                return
            if self._work and not self._is_waking:
                self._wake()
            work()
            del work

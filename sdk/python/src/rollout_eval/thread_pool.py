from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], object]


class ThreadPool:
    """Runs work in at most `size` threads, which are started when they are needed and never keep the process alive."""

    def __init__(self, size: int = 1) -> None:
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._size = size
        self._threads = 0
        #: How many threads wait for work; below zero it is how much work waits for a thread.
        self._idle = 0

    def resize(self, size: int) -> None:
        with self._lock:
            surplus = self._threads - size
            self._size = size
            while self._idle < 0 and self._threads < size:
                self._start_thread()
        for _ in range(surplus):
            self._queue.put(None)

    def submit(self, work: Work) -> None:
        with self._lock:
            self._idle -= 1
            if self._idle < 0 and self._threads < self._size:
                self._start_thread()
        self._queue.put(work)

    def close(self) -> None:
        """Ends the threads once they are done with what they have."""
        self.resize(0)

    def _start_thread(self) -> None:
        self._threads += 1
        self._idle += 1
        threading.Thread(target=self._work, name=f"rollout-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work
            with self._lock:
                self._idle += 1
        with self._lock:
            self._threads -= 1
            self._idle -= 1
            if self._idle < 0 and self._threads < self._size:
                self._start_thread()

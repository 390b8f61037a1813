from __future__ import annotations

import threading

from rollout_eval.thread_pool import ThreadPool


def test_a_woken_thread_wakes_the_next_when_there_is_more_to_do() -> None:
    pool = ThreadPool(4)
    together = threading.Barrier(5)
    # As if one were on its way all the time that work is handed in, so that one is woken for all of it.
    pool._is_waking = True
    for _ in range(4):
        pool.submit(lambda: together.wait(60))
    pool._is_waking = False
    pool._wake()
    together.wait(60)


def test_a_pool_can_grow_and_shrink_while_it_works() -> None:
    pool = ThreadPool(1)
    done = threading.Semaphore(0)
    for size in (1, 8, 2, 5, 1, 3):
        pool.resize(size)
        for _ in range(200):
            pool.submit(done.release)
    for _ in range(6 * 200):
        assert done.acquire(timeout=60)

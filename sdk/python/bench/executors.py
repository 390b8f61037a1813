"""Tasks per second of executor processes on trivial tasks, in turns: this SDK against another command.

    python bench/executors.py PYTHON_WITH_CAT_EXPERIMENTS [count]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ours = """
from rollout_eval import task
@task
{kind} t(input): return {{"a": input["q"]}}
"""
peers = """
from cat.experiments import TaskOutput, task
@task
{kind} t(input): return TaskOutput(output={{"a": input.input["q"]}})
"""


def measure(command: list[str], count: int, window: int) -> tuple[float, float]:
    """Tasks per second, and CPU microseconds per task, with at most `window` in flight."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin and process.stdout
    to, answers = process.stdin, process.stdout
    for message in ({"cmd": "discover"}, {"cmd": "init", "max_workers": window, "params": {}}):
        to.write(json.dumps(message).encode() + b"\n")
        to.flush()
        answers.readline()
    slots = threading.Semaphore(window)
    lines = [
        b'{"cmd":"run_task","input":{"id":"e%d","input":{"q":"what is it?"},"output":{},"metadata":{},'
        b'"run_id":"e%d#1","repetition_number":1,"params":{}}}\n' % (n, n)
        for n in range(count)
    ]

    def send() -> None:
        for line in lines:
            # All that the window lets through goes out in one write.
            slots.acquire()
            to.write(line)
            if slots._value == 0:
                to.flush()
        to.flush()

    before = os.times()
    started = time.perf_counter()
    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(count):
        answers.readline()
        slots.release()
    seconds = time.perf_counter() - started
    sender.join()
    to.write(b'{"cmd":"shutdown"}\n')
    to.close()
    process.wait()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return count / seconds, cpu / count * 1e6


def main() -> None:
    peer, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    with tempfile.TemporaryDirectory() as directory:
        for kind, word in (("def", "sync"), ("async def", "async")):
            for name, text in (("ours", ours), ("peer", peers)):
                Path(directory, f"{name}.py").write_text(text.format(kind=kind))
            commands = {
                "ours": [sys.executable, "-m", "rollout_eval", f"{directory}/ours.py"],
                "peer": [peer, "-m", "cat.experiments.executor.executor_main", f"{directory}/peer.py"],
            }
            for window in (1, 4, 64):
                seen: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
                for _ in range(3):
                    for name, command in commands.items():
                        seen[name].append(measure(command, count, window))
                rate = {name: statistics.median(value[0] for value in values) for name, values in seen.items()}
                cpu = {name: statistics.median(value[1] for value in values) for name, values in seen.items()}
                print(
                    f"{word:5} window {window:2}: {rate['ours']:7.0f} tasks/s, peer {rate['peer']:6.0f},"
                    f" ratio {rate['ours'] / rate['peer']:.1f};"
                    f" CPU {cpu['ours']:.0f} us, peer {cpu['peer']:.0f}, ratio {cpu['peer'] / cpu['ours']:.1f}"
                )


if __name__ == "__main__":
    main()

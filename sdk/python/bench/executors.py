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
    lines = [
        b'{"cmd":"run_task","input":{"id":"e%d","input":{"q":"what is it?"},"output":{},"metadata":{},'
        b'"run_id":"e%d#1","repetition_number":1,"params":{}}}\n' % (n, n)
        for n in range(count)
    ]
    used = cpu_of(process.pid)
    started = time.perf_counter()
    to.write(b"".join(lines[:window]))
    to.flush()
    sent, received = window, 0
    while received < count:
        # As many new ones as came back, in one write.
        came = os.read(answers.fileno(), 1 << 16).count(b"\n")
        received += came
        if more := lines[sent : sent + came]:
            to.write(b"".join(more))
            to.flush()
            sent += came
    seconds = time.perf_counter() - started
    used = cpu_of(process.pid) - used
    to.write(b'{"cmd":"shutdown"}\n')
    to.close()
    process.wait()
    return count / seconds, used / count * 1e6


def cpu_of(pid: int) -> float:
    """The CPU seconds a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

from .calls import Call, describe, run_in
from .channel import Channel
from .commands import Commands
from .context import Context
from .eager_loop import new_loop, start_task
from .encode import NotJson, decode, encode
from .experiment import Experiment
from .lane import Lane
from .messages import to_wire
from .runner import CommandError, Runner
from .thread_pool import ThreadPool

capabilities = ("ids", "cancel", "log", "heartbeat", "aggregate")

# What some orchestrators tell answers from prints by; those that name capabilities do not need it.
_mark = {"__cat__": 1}


class Server:
    """Carries out the commands of an orchestrator on an experiment, many at once.

    Plain functions run in the pool and answer from there, async ones on the loop of the main thread.
    """

    def __init__(self, experiment: Experiment, channel: Channel, write_stderr: Callable[[str], None]) -> None:
        self._runner = Runner(experiment)
        self._channel = channel
        self._write_stderr = write_stderr
        self._used: frozenset[str] = frozenset()
        self._is_plain = True
        self._pool = ThreadPool()
        self._variables = copy_context()
        self._loop = new_loop()
        self._lane: Lane | None = None
        self._starts: deque[Call] = deque()
        self._is_starting = False
        self._is_flushing = False
        self._main = threading.get_ident()
        self._lock = threading.Lock()
        self._running: set[Call] = set()
        self._parent = os.getppid()
        self._is_closing = False
        self._has_ended = False
        self._last: dict[str, Any] | None = None
        self._heart: threading.Thread | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        self._commands: dict[str, Callable[[dict[str, Any]], None]] = {
            "discover": self._discover,
            "init": self._init,
            "run_task": self._run_task,
            "run_eval": self._run_eval,
            "run_aggregate": self._run_aggregate,
            "cancel": self._cancel,
            "shutdown": self._shutdown,
        }

    def serve(self, commands: int) -> None:
        """Returns when all has been answered after `shutdown` or the end of input."""
        asyncio.set_event_loop(self._loop)
        if self._runner.experiment.has_async:
            Commands(commands, self._take, self._end_of_input, self._start_async).start(self._loop)
        else:
            self._lane = Lane(commands, self._pool, self._carry_out, self._channel.flush)
            self._lane.start(self._take, self._end_of_input, self._running)
        while True:
            try:
                self._loop.run_forever()
                break
            except BaseException as error:
                # A task that user code started by itself can raise SystemExit through the loop.
                self._write_stderr(f"a background task ended with {describe(error)}\n")
        self._channel.close()
        self._end_loop()

    def log(self, run: Context | None, stream: str, text: str, level: str | None) -> None:
        """Passes on what user code printed or logged: as a message where that is understood, else on stderr."""
        if "log" in self._used:
            body: dict[str, Any] = {"run_id": run.run_id if run else None, "stream": stream, "text": text}
            if level is not None:
                body["level"] = level
            self._channel.send(encode({"log": body}))
            return
        words = f"{level.upper()} {text}" if level else text
        if run is None or run.run_id is None:
            self._write_stderr(words)
        else:
            lines = words.split("\n")
            ended = lines[:-1] if lines[-1] == "" else lines
            self._write_stderr("".join(f"[{run.run_id}] {line}\n" for line in ended))

    def _end_of_input(self) -> None:
        self._close(None)
        if self._running:
            threading.Thread(target=self._leave_with_parent, daemon=True).start()

    def _take(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        message: dict[str, Any] = {}
        try:
            found = decode(line)
            if not isinstance(found, dict):
                raise CommandError("a command is an object")
            message = found
            handle = self._commands.get(str(message.get("cmd")))
            if handle is None:
                raise CommandError(f"unknown command {message.get('cmd')!r}")
            handle(message)
        except CommandError as error:
            self._refuse(str(error), message)
        except (ValueError, RecursionError) as error:
            self._refuse(f"this is no command: {describe(error)}", message)
        except Exception as error:
            self._refuse(describe(error), message)

    def _refuse(self, why: str, message: dict[str, Any]) -> None:
        """Answers what cannot be carried out, with all that tells whose answer it is."""
        told = message.get("input")
        whose = {"id": message.get("id"), "run_id": told.get("run_id") if isinstance(told, dict) else None}
        whose |= {name: message.get(name) for name in ("evaluator", "aggregate")}
        self._send({**{name: value for name, value in whose.items() if value is not None}, "error": why})

    def _send(self, answer: dict[str, Any]) -> None:
        try:
            self._channel.send(encode(_mark | answer if self._is_plain else answer))
        except NotJson as error:
            self._channel.send(encode({"error": f"the answer has no form in JSON: {error}"}))

    def _discover(self, message: dict[str, Any]) -> None:
        self._is_plain = "capabilities" not in message
        found = self._runner.discover()
        if self._is_plain:
            found.aggregates = None
        else:
            found.capabilities = list(capabilities)
        self._send(to_wire(found))

    def _init(self, message: dict[str, Any]) -> None:
        named = message.get("capabilities")
        self._is_plain = self._is_plain and named is None
        workers = message.get("max_workers", 1)
        try:
            self._runner.init(workers, message.get("params"))
        except CommandError as error:
            self._send({"ok": False, "error": str(error)})
            return
        self._used = frozenset(capabilities).intersection(named or ())
        self._runner.remembers_runs = "ids" not in self._used
        (self._lane or self._pool).resize(workers)
        self._send({"ok": True})
        interval = message.get("heartbeat_ms")
        if "heartbeat" in self._used and isinstance(interval, (int, float)) and interval > 0 and self._heart is None:
            self._heart = threading.Thread(
                target=self._beat, args=(interval / 1000,), name="rollout-heart", daemon=True
            )
            self._heart.start()

    def _beat(self, seconds: float) -> None:
        while True:
            time.sleep(seconds)
            self._channel.send(encode({"heartbeat": {"running": len(self._running)}}))

    def _run_task(self, message: dict[str, Any]) -> None:
        self._start(self._runner.task_call(message.get("input"), message.get("id")))

    def _run_eval(self, message: dict[str, Any]) -> None:
        names = message.get("evaluators")
        if names is None and message.get("evaluator") is not None:
            names = [message["evaluator"]]
        if names is not None and not isinstance(names, list):
            raise CommandError("evaluators is no list")
        for call in self._runner.eval_calls(message.get("input"), names, message.get("id")):
            if isinstance(call, Call):
                self._start(call)
            else:
                self._send(call)

    def _run_aggregate(self, message: dict[str, Any]) -> None:
        self._start(self._runner.aggregate_call(message.get("aggregate"), message.get("input"), message.get("id")))

    def _cancel(self, message: dict[str, Any]) -> None:
        wanted = message.get("id")
        # One that has been answered by now needs no cancelling.
        for call in list(self._running):
            if call.head.get("id") == wanted:
                call.context.cancel()

    def _shutdown(self, message: dict[str, Any]) -> None:
        answer = {"ok": True} if message.get("id") is None else {"id": message["id"], "ok": True}
        self._close(answer)

    def _start(self, call: Call) -> None:
        if self._is_closing:
            raise CommandError("this executor is shutting down")
        if self._is_plain:
            call.head = _mark | call.head
        self._running.add(call)
        if call.function.is_async:
            self._starts.append(call)
            # On the loop they are begun once all lines of a read have been taken.
            if not self._is_starting and threading.get_ident() != self._main:
                self._is_starting = True
                self._loop.call_soon_threadsafe(self._start_async)
            return
        call.loop = self._loop
        if self._lane is not None:
            self._lane.submit(call)
        else:
            self._pool.submit(lambda: self._work(call))

    def _work(self, call: Call) -> None:
        self._carry_out(call)
        self._channel.flush()

    def _carry_out(self, call: Call) -> None:
        answer = call.dropped() if call.context.is_cancelled else run_in(self._variables.copy(), call)
        self._finish(call, answer)
        self._forget(call)

    def _start_async(self) -> None:
        self._is_starting = False
        if not self._starts:
            return
        # One write for all that end in this turn of the loop.
        self._is_flushing = True
        try:
            while self._starts:
                self._start_one(self._starts.popleft())
        finally:
            self._flush()

    def _start_one(self, call: Call) -> None:
        if call.context.is_cancelled:
            self._end_async(call, call.dropped())
            return
        running = start_task(self._loop, call.run_async(self._end_async), self._variables)
        if not running.done():
            call.context.on_cancel(partial(self._loop.call_soon_threadsafe, running.cancel))

    def _end_async(self, call: Call, answer: str) -> None:
        self._finish(call, answer)
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)
        self._forget(call)

    def _flush(self) -> None:
        self._is_flushing = False
        self._channel.flush()

    def _finish(self, call: Call, answer: str) -> None:
        call.context.flush_output()
        self._channel.put(answer)

    def _forget(self, call: Call) -> None:
        self._running.discard(call)
        if self._is_closing:
            self._end_when_idle()

    def _close(self, answer: dict[str, Any] | None) -> None:
        if not self._is_closing:
            self._last = answer
            self._is_closing = True
            self._end_when_idle()

    def _end_when_idle(self) -> None:
        with self._lock:
            if self._running or self._has_ended:
                return
            self._has_ended = True
        if self._last is not None:
            self._send(self._last)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _end_loop(self) -> None:
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        try:
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=2))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        except BaseException as error:
            self._write_stderr(f"a background task ended with {describe(error)}\n")

    def _leave_with_parent(self) -> None:
        """After the end of input: what still runs runs for nobody once the parent is gone."""
        while self._parent == 1 or os.getppid() == self._parent:
            time.sleep(0.2)
        os._exit(1)

    def _after_fork(self) -> None:
        # A fork of user code has the same pipe and must not speak on it.
        self._channel.forget()
        if self._lane is not None:
            self._lane.leave()
        self._used = frozenset()

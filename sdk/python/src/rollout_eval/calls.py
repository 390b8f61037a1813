from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import Context as Variables
from typing import Any

from .context import Cancelled, Context, current_run
from .encode import NotJson, encode, encode_metadata
from .function import Function
from .messages import Example, TaskOutput
from .params import Params
from .results import Results
from .returned import read_mark

max_error = 8_000

_times = ("started_at", "completed_at", "execution_time_ms")

_cancelled_errors = (asyncio.CancelledError, concurrent.futures.CancelledError)


class TaskSource:
    """Where the parameters of a task come from."""

    __slots__ = ("context", "params", "raw")

    def __init__(self, raw: Mapping[str, Any], context: Context) -> None:
        self.raw = raw
        self.context = context
        self.params: Any = None

    @property
    def input(self) -> Any:
        return self.raw.get("input")

    @property
    def metadata(self) -> dict[str, Any]:
        return self.raw.get("metadata") or {}

    @property
    def example(self) -> Example:
        run_id = self.context.run_id or ""
        given = self.raw.get("repetition_number")
        number = given if isinstance(given, int) else _repetition(run_id)
        return Example(str(self.raw.get("id", "")), self.input, self.raw.get("output"), self.metadata, run_id, number)


class EvalSource(TaskSource):
    """Where the parameters of an evaluator come from; `raw` is the example."""

    __slots__ = ("request",)

    def __init__(self, request: Mapping[str, Any], context: Context) -> None:
        super().__init__(request["example"], context)
        self.request = request

    @property
    def output(self) -> Any:
        return self.request.get("actual_output")

    @property
    def expected(self) -> Any:
        return self.request["expected_output"] if "expected_output" in self.request else self.raw.get("output")

    @property
    def task_metadata(self) -> dict[str, Any]:
        return self.request.get("task_metadata") or {}


class AggregateSource:
    """Where the parameters of an aggregate come from."""

    __slots__ = ("context", "params", "results")

    def __init__(self, request: Mapping[str, Any], context: Context) -> None:
        self.results = Results(str(request["results_path"]))
        self.context = context
        self.params: Any = None


class Call:
    """One call of a user's function: what it is called with, and how its end becomes an answer."""

    __slots__ = ("_clock", "_started", "context", "function", "given", "head", "loop", "params", "source")

    def __init__(
        self,
        function: Function,
        source: Any,
        head: dict[str, Any],
        params: Params,
        given: Mapping[str, Any],
    ) -> None:
        self.function = function
        self.source = source
        self.context: Context = source.context
        #: The fields that tell whose answer it is.
        self.head = head
        self.params = params
        self.given = given
        #: Where a plain function's coroutine is awaited.
        self.loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> str:
        """Calls a plain function and returns the answer as a line; never raises."""
        current_run.set(self.context)
        try:
            value = self._start()
            if hasattr(value, "__await__") and self.loop is not None:
                value = self._wait_for(value, self.loop)
        except BaseException as error:
            return self._failed(error)
        return self._returned(value)

    def _wait_for(self, awaitable: Any, loop: asyncio.AbstractEventLoop) -> Any:
        async def wait() -> Any:
            return await awaitable

        future = asyncio.run_coroutine_threadsafe(wait(), loop)
        self.context.on_cancel(future.cancel)
        return future.result()

    async def run_async(self, then: Callable[[Call, str], Any]) -> Any:
        """Calls a function, awaits it and returns what `then` makes of the answer; never raises."""
        current_run.set(self.context)
        try:
            value = await self._start()
        except BaseException as error:
            return then(self, self._failed(error))
        return then(self, self._returned(value))

    def dropped(self) -> str:
        """The answer when the function was not called at all."""
        self._clock = time.perf_counter()
        self._started = timestamp()
        return self._failed(Cancelled())

    def _start(self) -> Any:
        self._started = timestamp()
        self._clock = time.perf_counter()
        self.source.params = self.params.build(self.given)
        positional, named = self.function.arguments(self.source)
        return self.function.call(*positional, **named)

    def _returned(self, value: object) -> str:
        if self.context.saw_cancel:
            return self._failed(Cancelled())
        try:
            if self.function.kind == "task":
                if not isinstance(value, TaskOutput):
                    return self._answer(value, None, None, {})
                error = None if value.error is None else str(value.error)[:max_error]
                return self._answer(value.output, value.metadata, error, {})
            mark = read_mark(value)
            more = {} if mark.explanation is None else {"explanation": str(mark.explanation)}
            error = None if mark.error is None else str(mark.error)[:max_error]
            label = None if mark.label is None else str(mark.label)
            return self._answer((mark.score, label), mark.metadata, error, more)
        except Exception as error:
            return self._failed(error, is_ours=True)

    def _failed(self, error: BaseException, is_ours: bool = False) -> str:
        if isinstance(error, Cancelled) or (isinstance(error, _cancelled_errors) and self.context.is_cancelled):
            return self._answer(None, None, "cancelled", {"cancelled": True})
        if not is_ours:
            report_trace(error)
        return self._answer(None, None, str(error) if is_ours else describe(error), {})

    def _answer(self, value: Any, metadata: Any, error: str | None, more: dict[str, Any]) -> str:
        """The answer as a line, or the error in its place when it has no form in JSON."""
        milliseconds = (time.perf_counter() - self._clock) * 1000
        # As text at once: there are three in every answer.
        times = f'"started_at":"{self._started}","completed_at":"{timestamp()}","execution_time_ms":{milliseconds:.3f}'
        own = {name: inner for name, inner in {**metadata}.items() if name not in _times} if metadata else {}
        try:
            return self._line(value, own, times, error, more)
        except NotJson as problem:
            why = f"what it returned has no form in JSON: {problem}"
        except BaseException as problem:
            why = f"what it returned could not be made JSON: {describe(problem)}"
        return self._line(None, {}, times, why[:max_error], {})

    def _line(self, value: Any, metadata: dict[str, Any], times: str, error: str | None, more: dict[str, Any]) -> str:
        if self.function.kind == "task":
            result = encode({**self.head, "output": value})
        else:
            score, label = value if value is not None else (None, None)
            result = encode({**self.head, "score": score, "label": label})
        own = f'"metadata":{self._metadata(metadata)[:-1]},' if metadata else '"metadata":{'
        end = '"error":null' if error is None and not more else encode({"error": error, **more})[1:-1]
        return f"{result[:-1]},{own}{times}}},{end}}}"

    def _metadata(self, metadata: dict[str, Any]) -> str:
        text, had_non_finite = encode_metadata(metadata)
        if had_non_finite:
            whose = self.context.run_id or self.function.name
            words = "holds NaN or Infinity, which are not JSON numbers; stored as text"
            sys.stderr.write(f"the metadata of {whose} {words}\n")
        return text


def run_in(variables: Variables, call: Call) -> str:
    """Calls a plain function with context variables of its own."""
    return variables.run(call.run)


def describe(error: BaseException) -> str:
    """An error in one text of bounded length."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:max_error]


def report_trace(error: BaseException) -> None:
    """Prints where an error came from, without our own frames, where the run's prints go."""
    import traceback

    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        frames = frames.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
    except BaseException:
        return
    sys.stderr.write(text if len(text) <= 20_000 else f"{text[:10_000]}\n[...]\n{text[-10_000:]}")


_last = (0, "")


def timestamp() -> str:
    """Now, in UTC to the millisecond."""
    global _last
    now = int(time.time() * 1000)
    known, text = _last
    if known != now:
        seconds, rest = divmod(now, 1000)
        text = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"
        _last = (now, text)
    return text


def _repetition(run_id: str) -> int:
    number = run_id.rpartition("#")[2]
    return int(number) if number.isdecimal() else 1

from __future__ import annotations

import gc
import os
import signal
import sys
from types import TracebackType

from .streams import capture_logging, capture_prints, take_standard_streams


def main(arguments: list[str] | None = None) -> int:
    """Runs the executor of an experiment file until its orchestrator is done with it."""
    words = sys.argv[1:] if arguments is None else arguments
    if len(words) != 1 or words[0].startswith("-"):
        asked = words in (["-h"], ["--help"])
        print("usage: rollout-executor FILE.py\n\nSpeaks the executor protocol on stdin and stdout.")
        return 0 if asked else 2
    try:
        commands, answers = take_standard_streams()
    except OSError as error:
        sys.stderr.write(f"rollout-executor: stdin, stdout and stderr have to be open: {error}\n")
        return 2
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _run(words[0], commands, answers)


def _run(file: str, commands: int, answers: int) -> int:
    from .channel import Channel
    from .context import Context
    from .load_experiment import load_experiment
    from .serve import Server

    channel = Channel(answers)
    server: Server | None = None

    def sink(run: Context | None, stream: str, text: str, level: str | None) -> None:
        if server is None:
            _write_stderr(text)
        else:
            server.log(run, stream, text, level)

    capture_prints(sink)
    sys.argv = [file]
    try:
        server = Server(load_experiment(file), channel, _write_stderr)
    except BaseException as error:
        return _refuse_all(error, channel, commands)
    capture_logging(sink)
    # What was imported stays; looking through it again and again would cost every run.
    gc.collect()
    gc.freeze()
    server.serve(commands)
    return 0


def _write_stderr(text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        # Nobody reads it, which is no reason to lose a run.
        pass


def _skip_loading(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the experiment file: how it came to be loaded helps nobody."""
    here = os.path.dirname(os.path.abspath(__file__))
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((here, "<frozen importlib")):
        trace = trace.tb_next
    return trace


def _refuse_all(error: BaseException, channel: object, commands: int) -> int:
    """Answers the first command with why the file could not be loaded."""
    import json
    import traceback

    from .calls import describe
    from .channel import Channel
    from .encode import encode

    assert isinstance(channel, Channel)
    _write_stderr("".join(traceback.format_exception(type(error), error, _skip_loading(error.__traceback__))))
    line = b""
    while b"\n" not in line and (chunk := os.read(commands, 1 << 16)):
        line += chunk
    if not line.strip():
        return 1
    answer: dict[str, object] = {"error": f"the experiment could not be loaded: {describe(error)}"}
    try:
        message = json.loads(line.split(b"\n")[0])
        if message.get("cmd") in ("init", "shutdown"):
            answer = {"ok": False, **answer}
        if message.get("id") is not None:
            answer = {"id": message["id"], **answer}
        is_plain = "capabilities" not in message
    except Exception:
        is_plain = True
    channel.send(encode({"__cat__": 1, **answer} if is_plain else answer))
    channel.close()
    return 1


if __name__ == "__main__":
    sys.exit(main())

from __future__ import annotations

import os


class Lines:
    """The lines that come from a descriptor, as many as one read finds."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._begun: list[bytes] = []
        self.has_ended = False

    def read(self) -> list[bytes]:
        """Waits for more; at the end, what stands behind the last line end."""
        try:
            # As much as a pipe holds; for more, every read would map memory of its own.
            chunk = os.read(self._fd, 1 << 16)
        except OSError:
            chunk = b""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._begun:
            self._begun.append(lines[0])
            lines[0] = b"".join(self._begun)
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        if not chunk:
            self.has_ended = True
            lines.append(b"".join(self._begun))
        return lines

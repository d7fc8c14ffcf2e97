"""The daemon's log: `daemon.log`, 0600, 10 MiB, five old ones; standard output and error end in it, too.

Lines carry the connection or the session they belong to. Contents of messages, environments and keys are never logged.
"""

import logging
import os
from contextlib import suppress

from sould.agents.base.log_context import WHERE

SIZE, KEEP = 10 * 1024 * 1024, 5


class _Rotating(logging.FileHandler):
    """With `standard`, descriptors 1 and 2 go along, so that a crash's last words are in the newest file.

    The standard library has one behind `logging.handlers`, which loads pickle and queues: 3 ms and 0.5 MB of each start.
    """

    def __init__(self, path: str, *, standard: bool) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self._standard = standard
        self._take_standard_descriptors()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size >= SIZE:
                self._rotate()
        except OSError:
            self.handleError(record)
        super().emit(record)

    def _rotate(self) -> None:
        if self.stream is not None:
            self.stream.close()
        try:
            for number in range(KEEP - 1, 0, -1):
                with suppress(FileNotFoundError):
                    os.replace(f"{self.baseFilename}.{number}", f"{self.baseFilename}.{number + 1}")
            os.replace(self.baseFilename, f"{self.baseFilename}.1")
        finally:
            self.stream = self._open()
        self._take_standard_descriptors()

    def _take_standard_descriptors(self) -> None:
        if self._standard and self.stream is not None:
            for descriptor in (1, 2):
                os.dup2(self.stream.fileno(), descriptor)


class _Where(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.where = WHERE.get()
        return True


def start_logging(path: str, *, foreground: bool, level: str = "INFO") -> None:
    """Log to `path`; in the foreground to standard error as well. The umask makes new files private."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handler = _Rotating(path, standard=not foreground)
    handlers: list[logging.Handler] = [handler]
    if foreground:
        handlers.append(logging.StreamHandler())
    form = logging.Formatter(
        "%(asctime)s.%(msecs)03d %(levelname)s %(name)s [%(where)s] %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    for each in handlers:
        each.setFormatter(form)
        each.addFilter(_Where())
    logging.basicConfig(level=level if level in ("DEBUG", "INFO", "WARNING", "ERROR") else "INFO", handlers=handlers)
    # libraries that log requests at INFO would put addresses and headers there
    for name in ("httpx2", "httpcore2", "openai", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)

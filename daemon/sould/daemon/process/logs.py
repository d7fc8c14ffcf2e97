"""The daemon's log: `daemon.log`, 0600, 10 MiB, five old ones; standard output and error end in it, too.

Lines carry the connection or the session they belong to. Contents of messages, environments and keys are never logged.
"""

import logging
import logging.handlers
import os

from sould.agents.logwhere import WHERE

SIZE, KEEP = 10 * 1024 * 1024, 5


class _Rotating(logging.handlers.RotatingFileHandler):
    """Takes descriptors 1 and 2 along, so that a crash's last words are in the newest file."""

    def doRollover(self) -> None:  # noqa: N802 -- logging's name
        super().doRollover()
        self.take_standard_descriptors()

    def take_standard_descriptors(self) -> None:
        """From now on what is printed goes to the current file."""
        if self.stream is not None:
            for descriptor in (1, 2):
                os.dup2(self.stream.fileno(), descriptor)


class _Where(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.where = WHERE.get()
        return True


def start_logging(path: str, *, foreground: bool, level: str = "INFO") -> None:
    """Log to `path`; in the foreground to standard error as well. The umask makes new files private."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handler = _Rotating(path, maxBytes=SIZE, backupCount=KEEP, encoding="utf-8", errors="backslashreplace")
    handlers: list[logging.Handler] = [handler]
    if foreground:
        handlers.append(logging.StreamHandler())
    else:
        handler.take_standard_descriptors()
    form = logging.Formatter(
        "%(asctime)s.%(msecs)03d %(levelname)s %(name)s [%(where)s] %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    for each in handlers:
        each.setFormatter(form)
        each.addFilter(_Where())
    logging.basicConfig(level=level if level in ("DEBUG", "INFO", "WARNING", "ERROR") else "INFO", handlers=handlers)
    # libraries that log requests at INFO would put addresses and headers there
    for name in ("aiohttp", "httpx", "httpx2", "httpcore", "openai", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)

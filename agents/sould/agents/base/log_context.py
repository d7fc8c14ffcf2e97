"""What a log line is about: a connection or a session. Set by whoever owns the task; the log's format reads it."""

from contextvars import ContextVar

WHERE: ContextVar[str] = ContextVar("where", default="-")
"""Inherited by every task that is begun from there."""

"""What went wrong with a model server, as one of our errors: a sentence for people, without keys.

Every text that came from a server or a library passes `Redactor` before it enters a message.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from msgspec import Struct
from pydantic import SecretStr

from sould.agents.llm.provider import ProviderError, ProviderProtocolError, ProviderStatusError

_BODY_CHARS = 500
_SAMPLE_BYTES = 200
_KEY_SHAPES = re.compile(r"\b(?:sk|rk|pk|key)-[A-Za-z0-9_\-*.]{8,}|(?i:bearer)\s+[^\s\"']{6,}|(?<=://)[^/\s@]+(?=@)")
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (?:length|window|size)|model token limit"
    r"|prompt is too long|input (?:token count|length)[^.]*exceed|too many (?:input )?tokens|tokens to keep from the initial prompt"
    r"|reduce the length of the (?:messages|prompt)",
    re.IGNORECASE,
)
_CODE = re.compile(r"^(?:error(?: code)?[: ]+)?(?:http[ /]?)?[45]\d\d\b[\s:,-]*", re.IGNORECASE)
"""A status that the sentence before it has said."""
_RETRYABLE = frozenset({408, 409, 425, 429})
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient (?:balance|credits)|billing|exceeded_current_quota", re.IGNORECASE
)


class Redactor(Struct, frozen=True):
    """Replaces the given secrets, and whatever looks like a key, by `***`; makes control characters harmless."""

    secrets: tuple[SecretStr, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[SecretStr]) -> "Redactor":
        """For these secrets; empty and very short ones are no secrets."""
        return cls(tuple(secret for secret in secrets if len(secret.get_secret_value()) >= 4))

    def line(self, text: str) -> str:
        """`text` as one line, redacted, at most 500 characters."""
        for secret in self.secrets:
            text = text.replace(secret.get_secret_value(), "***")
        text = _KEY_SHAPES.sub("***", text[: 4 * _BODY_CHARS])
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= _BODY_CHARS else line[:_BODY_CHARS] + "…"


def status_error(
    status: int, headers: Mapping[str, str], body: bytes, redact: Redactor, remedy: str = ""
) -> ProviderStatusError:
    """An answer that is not 200. `remedy` is what to do when it refused the key."""
    said, detail = _said(body)
    return _failure(status, detail, redact, said, retry_after=retry_after_of(headers), remedy=remedy)


def event_error(error: Any, redact: Redactor) -> ProviderError:
    """An error object inside the stream: `{message, code, type}`, or a plain string."""
    fields: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    code = fields.get("code", fields.get("status"))
    status = int(code) if isinstance(code, (int, str)) and str(code).isdigit() and 400 <= int(code) <= 599 else None
    text = " ".join(str(fields[key]) for key in ("message", "detail", "type", "code") if fields.get(key))
    if status is None and re.search(r"server_error|overloaded|internal|timeout|unavailable", text, re.IGNORECASE):
        status = 500
    detail = text or orjson.dumps(fields, default=str).decode()
    return _failure(
        status, detail, redact, str(fields.get("message") or fields.get("detail") or detail), retry_after=None
    )


def _failure(
    status: int | None, detail: str, redact: Redactor, said: str, *, retry_after: float | None, remedy: str = ""
) -> ProviderStatusError:
    """`detail`, all that the server said, decides what it is; `said`, the part that is meant for people, is shown."""
    kind, sentence, retryable = _judge(status, detail)
    shown = _CODE.sub("", redact.line(said))
    if re.match(r"\s*<(?:!doctype|html)", detail, re.IGNORECASE):
        shown = "it answers with a web page; check the base_url, it usually ends in /v1"
    elif kind == "context_too_long":
        shown = f"{shown} (/compact shortens it)".lstrip()
    number = f" (HTTP {status})" if status is not None else ""
    message = f"{sentence}{number}: {shown}" if shown else f"{sentence}{number}."
    return ProviderStatusError(
        f"{message.rstrip('.')}. {remedy}" if kind == "auth" and remedy else message,
        retryable=retryable,
        kind=kind,
        status=status,
        retry_after=retry_after,
    )


def _judge(status: int | None, detail: str) -> tuple[str, str, bool]:
    if status in (401, 403):
        return "auth", "The model server refused the key", False
    if status not in (429, 529) and _TOO_LONG.search(detail):
        return "context_too_long", "The conversation is longer than the model's context", False
    if status == 429 or status == 402:
        retryable = status == 429 and not _NO_CREDIT.search(detail)
        if not retryable:
            return "no_credit", "The account has no credit left", False
        return "rate_limited", "The model server limits the rate of requests", True
    if status is not None and (status >= 500 or status in _RETRYABLE):
        return "provider", "The model server failed", True
    if status is not None and 300 <= status < 400:
        return "provider", "The model server redirects elsewhere; set its base_url to the new address", False
    if status == 404:
        return "provider", "The model server knows no such model or address", False
    return "provider", "The model server refused the request", False


def malformed(sentence: str, sample: bytes, redact: Redactor) -> ProviderProtocolError:
    """Bytes that are not the API: the first 200, escaped."""
    escaped = sample[:_SAMPLE_BYTES].decode("utf-8", "backslashreplace")
    shown = redact.line(escaped.encode("unicode_escape").decode("ascii") if not escaped.isprintable() else escaped)
    return ProviderProtocolError(f"{sentence}: {shown}", kind="malformed")


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: a number or an HTTP date. None for anything else, and for times past."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000 if milliseconds >= 0 else None
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is None:
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 -- 0.5 MB, and hardly any server names a date

        try:
            when = parsedate_to_datetime(value)
        except (TypeError, ValueError):
            return None
        seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return seconds if 0 <= seconds < float("inf") else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _said(body: bytes) -> tuple[str, str]:
    """What an error body says to people, and all it says; the body itself where it has no message."""
    whole = body.decode("utf-8", "replace")
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return whole, whole
    if isinstance(parsed, list) and parsed:
        parsed = cast("list[Any]", parsed)[0]
    if not isinstance(parsed, dict):
        return whole, whole
    fields = cast("dict[str, Any]", parsed)
    inner = fields.get("error", fields)
    if not isinstance(inner, dict):
        return str(inner), str(inner)
    values = cast("dict[str, Any]", inner)
    parts = [str(values[key]) for key in ("message", "detail", "type", "code") if values.get(key)]
    return (parts[0], " ".join(parts)) if parts else (whole, whole)


def status_error_plain(status: int, text: str) -> ProviderStatusError:
    """A status without headers, as a script asks for."""
    return _failure(status, text, Redactor(), text, retry_after=None)

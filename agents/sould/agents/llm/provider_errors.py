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
    r"|reduce the length of the (?:messages|prompt)|maximum (?:model|prompt) length|range of input length|max_prompt_tokens"
    r"|prompt token count[^.]*exceed|input is too long|request (?:entity )?too large",
    re.IGNORECASE,
)
_CODE = re.compile(r"^(?:error(?: code)?[: ]+)?(?:http[ /]?)?[45]\d\d\b[\s:,-]*", re.IGNORECASE)
"""A status that the sentence before it has said."""
_PAGE = re.compile(r"\s*<(?:!doctype|html)(?:.*?<title>(?P<title>[^<]*))?", re.IGNORECASE | re.DOTALL)
COMPACT_SHORTENS = " (/compact shortens it)"
"""Said of a conversation that is too long."""
_NO_MODEL = re.compile(
    r"model_not_found|(?:invalid|unknown|no such) model|\bmodel\b[^.]{0,120}(?:not found|(?:does|do) not exist|not exist)",
    re.IGNORECASE,
)
_UNKNOWN_KEY = re.compile(r"no connected db", re.IGNORECASE)
"""What LiteLLM says, without a database of keys, of any key but its own, and of none."""
_BEHIND = re.compile(
    r"litellm\.AuthenticationError|missing \w+ api key|no key is set|api_key client option must be set"
    r"|provider returned error",
    re.IGNORECASE,
)
"""A gateway's words where its own key for the model behind it is missing or refused."""
_NO_ENDPOINT = re.compile(
    r"unexpected endpoint|unknown (?:endpoint|route|path|url)|no route|cannot post", re.IGNORECASE
)
_NOT_FOUND = re.compile(r"not found\.?", re.IGNORECASE)
"""What web servers say of an address; a model that is not found is named."""
_ELSEWHERE = frozenset({None, 400, 404, 405})
"""Statuses with which a web server answers that is no model server."""
_MOST_WORDS = 8 * 1024
"""Characters of an error that are looked at."""
_NESTED = 12
"""How deep words may be wrapped."""
_UNKNOWN, _FAILED = 404, 500
_RETRYABLE = frozenset({408, 409, 425, 429})
_RETRY_IN = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"|retry in (\d+(?:\.\d+)?) ?s\b', re.IGNORECASE)
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

    def hidden(self, text: str) -> str:
        """`text` without secrets."""
        for secret in self.secrets:
            text = text.replace(secret.get_secret_value(), "***")
        return _KEY_SHAPES.sub("***", text)

    def line(self, text: str) -> str:
        """`text` as one line, redacted, at most 500 characters."""
        text = self.hidden(text)[: 4 * _BODY_CHARS]
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= _BODY_CHARS else line[:_BODY_CHARS] + "…"


class Asked(Struct, frozen=True):
    """What a server was asked, as far as its refusal is told by it."""

    address: str = ""
    keyless: bool = False
    """No key was sent."""
    remedy: str = ""
    """What to do about the key: a sentence."""
    setting: str = "the base_url"
    """What says the address."""

    @property
    def elsewhere(self) -> str:
        """What to do where the address is wrong."""
        check = f"check {self.setting}, it usually ends in /v1"
        return f"{self.address} was asked; {check}" if self.address else check


_NOTHING_KNOWN = Asked()


def status_error(
    status: int, headers: Mapping[str, str], body: bytes, redact: Redactor, asked: Asked = _NOTHING_KNOWN
) -> ProviderStatusError:
    """An answer that is not 200."""
    text = body.decode("utf-8", "replace")
    wait = retry_after_of(headers)
    wait = _wait_told(text) if wait is None else wait
    return _failure(status, _words(text), redact, retry_after=wait, asked=asked)


def is_unknown_model(said: str) -> bool:
    """Whether a server's words are about a model that it does not have."""
    return _NO_MODEL.search(said) is not None


def event_error(error: Any, redact: Redactor) -> ProviderError:
    """An error object inside the stream: `{message, code, type}`, or a plain string."""
    fields: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    code = fields.get("code", fields.get("status"))
    status = int(code) if isinstance(code, (int, str)) and str(code).isdigit() and 400 <= int(code) <= 599 else None
    words = _words(fields)
    if status is None and re.search(
        r"server_error|overloaded|internal|timeout|unavailable", words.whole, re.IGNORECASE
    ):
        status = 500
    return _failure(status, words, redact, retry_after=None)


def _failure(
    status: int | None,
    words: "_Words",
    redact: Redactor,
    *,
    retry_after: float | None,
    asked: Asked = _NOTHING_KNOWN,
) -> ProviderStatusError:
    """All that the server said decides what it is; the part that is meant for people is shown."""
    kind, sentence, retryable = _judge(status, words.whole, waits=retry_after is not None)
    if kind == "auth" and asked.keyless:
        sentence = "The model server wants a key"
    shown = _shown(status, words, redact, asked)
    if kind == "context_too_long":
        shown = f"{shown}{COMPACT_SHORTENS}".lstrip()
    number = f" (HTTP {status})" if status is not None else ""
    message = f"{sentence}{number}: {shown}" if shown else f"{sentence}{number}."
    remedy = asked.remedy if kind == "auth" else ""
    if status == _FAILED and asked.keyless and asked.remedy:  # some servers fail where they miss a key
        remedy = f"It may want a key. {asked.remedy}"
    return ProviderStatusError(
        f"{message.rstrip('.')}. {remedy}" if remedy else message,
        retryable=retryable,
        kind=kind,
        status=status,
        retry_after=retry_after,
        said=redact.hidden(words.whole),
    )


def _shown(status: int | None, words: "_Words", redact: Redactor, asked: Asked) -> str:
    """The words for people, and where the address seems to be wrong, what was asked."""
    shown = _CODE.sub("", redact.line(words.shown))
    if page := _PAGE.match(words.whole):
        title = redact.line(page["title"] or "")
        return f"it answers with a web page; {asked.elsewhere}" if status in _ELSEWHERE else title
    unknown = status == _UNKNOWN and not is_unknown_model(words.whole)
    if unknown or _NO_ENDPOINT.search(words.whole) or _NOT_FOUND.fullmatch(shown):
        return "; ".join(filter(None, (shown.rstrip("."), asked.elsewhere)))
    return shown


def _judge(status: int | None, detail: str, *, waits: bool) -> tuple[str, str, bool]:
    if status in (401, 403) and _BEHIND.search(detail):
        return (
            "provider",
            "The gateway's own key for the model behind it is missing or refused",
            False,
        )
    if status in (401, 403) or (status == 400 and _UNKNOWN_KEY.search(detail)):
        return "auth", "The model server refused the key", False
    if status == 413 or (status not in (429, 529) and _TOO_LONG.search(detail)):
        return "context_too_long", "The conversation is longer than the model's context", False
    if status == 429 or status == 402:
        # who says how long to wait means no empty account, though its words speak of billing
        retryable = status == 429 and (waits or not _NO_CREDIT.search(detail))
        if not retryable:
            return "no_credit", "The account has no credit left", False
        return "rate_limited", "The model server limits the rate of requests", True
    if status is not None and (status >= 500 or status in _RETRYABLE):
        return "provider", "The model server failed", True
    if status is not None and 300 <= status < 400:
        return "provider", "The model server redirects elsewhere; set its base_url to the new address", False
    if status == _UNKNOWN:
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


def _wait_told(body: str) -> float | None:
    """Seconds that Gemini tells in the body."""
    found = _RETRY_IN.search(body)
    return float(found[1] or found[2]) if found else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class _Words(Struct):
    """What an error says: to people, and all of it, whoever wrapped whose words in what."""

    shown: str = ""
    whole: str = ""

    def add(self, text: str) -> None:
        """A message; the innermost one is shown to people."""
        if text.strip():
            self.shown = text
            self.note(text)

    def said_by(self, provider: str) -> None:
        """Whose words a router handed on."""
        self.shown = f"{provider}: {self.shown}"

    def note(self, text: str) -> None:
        """A code or a type."""
        if len(self.whole) < _MOST_WORDS:
            self.whole = f"{self.whole} {text[:_MOST_WORDS]}".strip()


def _words(error: Any) -> _Words:
    """Of a body or an event."""
    words = _Words()
    _collect(error, words, _NESTED)
    if not words.shown:
        text = error if isinstance(error, str) else orjson.dumps(error, default=str).decode()
        words.add(text)
    return words


def _collect(error: Any, words: _Words, depth: int) -> None:
    """Routers wrap what a provider said: as JSON, as text that is JSON, in `metadata.raw`, in lists."""
    inner = _json_in(error) if isinstance(error, str) else error
    if isinstance(inner, str):
        words.add(inner)
    elif isinstance(inner, list) and inner and depth:
        _collect(cast("list[Any]", inner)[0], words, depth - 1)
    elif isinstance(inner, dict) and depth:
        _collect_fields(cast("dict[str, Any]", inner), words, depth - 1)


def _collect_fields(fields: dict[str, Any], words: _Words, depth: int) -> None:
    for key in ("type", "code", "status"):
        if isinstance(fields.get(key), str | int):
            words.note(str(fields[key]))
    if isinstance(fields.get("msg"), str) and isinstance(fields.get("loc"), list):
        # of a server that checks its input with pydantic
        words.add(f"{fields['msg']} ({'.'.join(map(str, fields['loc']))})")
    for key in ("message", "detail", "error"):
        _collect(fields.get(key), words, depth)
    metadata = fields.get("metadata")
    if isinstance(metadata, dict):
        wrapped = cast("dict[str, Any]", metadata)
        _collect(wrapped.get("raw"), words, depth)
        if isinstance(provider := wrapped.get("provider_name"), str):
            words.said_by(provider)


def _json_in(text: str) -> Any:
    """The JSON object or list that a text is, or the text."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def status_error_plain(status: int, text: str) -> ProviderStatusError:
    """A status without headers, as a script asks for."""
    return _failure(status, _words(text), Redactor(), retry_after=None)

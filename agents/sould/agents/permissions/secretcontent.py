"""Whether a text holds a secret: a provider's key, a private key, or a value assigned to a name that means one.

The rules for providers' keys are those of gitleaks (`secretrules.json`, made by `scripts/secretrules.py`); theirs that
rest on entropy are not used. RE2 runs them in linear time, because a text may be made to be slow. Loaded when a text is
first judged: no start-up pays for it, nor a session without a likely name. Never says what it found, only of which kind.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

import orjson
from pydantic import BaseModel, ConfigDict

from sould.agents.base.linearpattern import Pattern, compiled
from sould.agents.base.textencoding import certainly_decoded
from sould.agents.permissions.secretnames import LARGEST

RULES = Path(__file__).with_name("secretrules.json")
LARGEST_PATTERN: Final = 8 * 1024 * 1024
"""Bytes that a rule may take, compiled and looking."""

_KEY_HEADER = r"-----BEGIN[ A-Z0-9]{0,100}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"

_NAMED = (
    r"""(?i)([\w.@:/-]*(?:passw(?:or)?d|passwd|passphrase|\bpwd|_pwd|_pass\b|\bpass\b|secret|token|api[_.-]?key|access[_.-]?key"""
    r"""|private[_.-]?key|account[_.-]?key|auth[_.-]?key|client[_.-]?key(?:-data)?|credentials?\b|\b_auth\b|_auth\b)[\w.-]*)"""
)
_KEYED = r"(?i)([\w.-]*(?:[_.-]key|[a-z0-9]key|\bkey|\bauth|access[_.-]?id))"
_EQUALS = r"""["'\]]{0,2}[ \t]*(?::=|=>|=|:)[ \t]*(?:\{\s*"value"\s*:\s*|[|>][+-]?[ \t]*\r?\n[ \t]+)?"""
_VALUE = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s"',;#}{\[\]][^\s"',;]*)"""
_FORMS: Final = (
    ("a password in a URL", r"(?i)[a-z][a-z0-9+.-]*://[^/\s:@'\"]*:([^/\s@'\"]+)@", 1),
    ("a token in a URL", r"(?i)https?://([\w-]{20,})@", 1),
    (
        "a password hash",
        r"(?m)^[^:#\s]+:((?:\$(?:apr1|2[abxy]|1|5|6|7|argon2\w*)\$|\{S?SHA\d*\})\S+|[./0-9A-Za-z]{13})\r?$",
        0,
    ),
    ("an authorisation header", r"(?i)authorization[\"']?\s*[:=]\s*[\"']?(?:basic|bearer|token)\s+([\w=~+./-]{6,})", 1),
    ("a value marked as sensitive", r'"sensitive"\s*:\s*(true)', 0),
)
_BARE_KEY = re.compile(rb"\s*[A-Za-z0-9+/=_-]{16,}\s*")
"""A file that is nothing but one token."""
_TOKEN_NAMES = re.compile(r"(?i)(?:\.key|\.secrets?|token|^secrets?)$")

_CODE = re.compile(
    r"(?i)[^.]\.(?!(?:y?a?ml|json5?|toml|ini|conf|cfg|cnf|properties|env|txt|csv|xml|local|key|pem|tf\w*|secrets?)$)\w+$"
)
"""Programs and prose, in which a word behind `=` is a value only in quotes: any ending but those of settings."""

_NOT_SECRET_NAMES = re.compile(
    r"""(?i)(?:^|[_.-])(?:public|primary|foreign|sort|partition|cache|hash|csrf_header)[_.-]?key|publishable
    |(?:key|token|secret|password|passwd|credentials?|auth)[_.-]?(?:s?[_.-])?(?:id|ids|name|names|file|path|dir|length|size|ttl|age|
    type|types|uri|url|endpoint|expir\w*|lifetime|policy|count|limit|version|provider|alias|format|header|field|enabled|required|
    store|ring|vault|hint|label|ref|prefix|suffix|algorithm|timeout|rotation\w*|reset\w*)$|max[_.-]?\w*tokens?$""",
    re.VERBOSE,
)
_PLACEHOLDER_WORDS = re.compile(
    r"""(?i)change[_ -]?(?:me|it|this)|example|sample|placeholder|replace[_ -]?(?:me|this|with)|dummy|redacted|masked|fixme
    |\btodo\b|\binsert[_ -]|\b(?:your|my)[_ -]|^your|^<|>$|\.\.\.|…|\*{3}|x{4,}|^x{3}|[_-]x{3}|\bfake[_ -]?|^\(
    |not[_ -]?(?:a|real|set)[_ -]|sensitive[_ ]value""",
    re.VERBOSE,
)
_REFERENCE = re.compile(
    r"""(?i)\$\{|\$\(|^\$[a-z_]|\{\{|<%|%\(|\#\{|^%\w+%$|^@\w+@$|^ENC\[|^!|^(?:vault|op|ssm|sm|awssm|gcpsm|env|file|secretref|secret|ref\+\w+)
    :|^arn:|process\.env|environ|getenv|\benv[.(\[]|^(?:var|local|data|module|secrets|config|settings|self|this)\.|^\w+\(|^\.{0,2}/[\w.-]+/|^~/|^\.{1,2}/
    |^https?://[^@]*$|^[a-z_]+(?:\.[a-z_]+)+$""",
    re.VERBOSE,
)
_DEFAULTS: Final = frozenset(
    re.findall(
        r"\w+",
        """true false null nil none undefined yes no on off empty string text value test tests testing test123 testpass
        testpassword password passwd pass pwd secret secrets token key apikey api_key postgres postgresql root admin guest user
        username mysql mariadb mongo redis rabbitmq minio minioadmin default unset optional required disabled enabled foo bar
        baz foobar password123 passw0rd basic bearer inherit write read""",
    )
)
_PLAIN = re.compile(r"(?s)(.)\1*|[\W_]*|\d{1,6}")


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: str
    regex: str
    keywords: tuple[str, ...]
    group: int = 0
    allowed: tuple[str, ...] = ()
    own_format: bool = True
    """A provider's own kind of key; else a form that tests use, too."""


class _RuleFile(BaseModel):
    source: str
    version: str
    allowed: tuple[str, ...]
    rules: tuple[_Rule, ...]


def secret_in(data: bytes, name: str, *, fixture: bool = False) -> str:
    """The kind of secret a file of this name holds, or "". `fixture`: only providers' own kinds of keys count.

    Slow for large texts: call it in a thread. What is larger than `LARGEST` is said to be one.
    """
    if len(data) > LARGEST:
        return "" if fixture else "too large to be checked"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data:
        read = certainly_decoded(data)
        if read is None:
            return ""
        data = read.text.encode()
    if found := _provider_key(data, fixture=fixture):
        return found
    if fixture:
        return ""
    if _compiled(_KEY_HEADER).search(data) is not None:
        return "a private key"
    if _TOKEN_NAMES.search(name) and _BARE_KEY.fullmatch(data) and not is_placeholder(data.decode().strip()):
        return "a key"
    return _form(data) or _assignment(data, quoted=_CODE.search(name) is not None)


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret will: `changeme`, `${TOKEN}`, `<key>`, `xxxx`."""
    value = value.strip().strip("\"'`").strip()
    if len(value) < 4 or value.casefold() in _DEFAULTS or _PLAIN.fullmatch(value):
        return True
    if _PLACEHOLDER_WORDS.search(value) or _REFERENCE.search(value):
        return True
    return any(pattern.search(value.encode()) is not None for pattern in _allowed())


def _provider_key(data: bytes, *, fixture: bool) -> str:
    lower = data.lower()
    for rule in _rules().rules:
        if fixture and not rule.own_format:
            continue
        if not any(keyword.encode() in lower for keyword in rule.keywords):
            continue
        for match in _compiled(rule.regex).finditer(data):
            secret = match.group(rule.group) if rule.group else next(filter(None, match.groups()), match.group())
            text = (secret or b"").decode(errors="replace")
            if not is_placeholder(text) and not any(_compiled(each).search(text.encode()) for each in rule.allowed):
                return f"a key ({rule.id})"
    return ""


def _form(data: bytes) -> str:
    for kind, pattern, group in _FORMS:
        for match in _compiled(pattern).finditer(data):
            if not group or not is_placeholder((match.group(group) or b"").decode(errors="replace")):
                return kind
    return ""


def _assignment(data: bytes, *, quoted: bool) -> str:
    for pattern, strict in ((_NAMED, False), (_KEYED, True)):
        for match in _compiled(pattern + _EQUALS + _VALUE).finditer(data):
            name, value = ((match.group(at) or b"").decode(errors="replace") for at in (1, 2))
            if quoted and not (value[:1] in "\"'" and " " not in value):
                continue
            if _NOT_SECRET_NAMES.search(name) or is_placeholder(value) or (strict and not _key_like(value)):
                continue
            return f"a value for `{name[-40:]}`"
    return ""


def _key_like(value: str) -> bool:
    value = value.strip("\"'")
    return (
        len(value) >= 8
        and not any(char.isspace() for char in value)
        and any(char.isdigit() for char in value)
        and any(char.isalpha() for char in value)
    )


@cache
def _rules() -> _RuleFile:
    return _RuleFile.model_validate(orjson.loads(RULES.read_bytes()))


@cache
def _allowed() -> tuple[Pattern, ...]:
    return tuple(_compiled(pattern) for pattern in _rules().allowed)


@cache
def _compiled(pattern: str) -> Pattern:
    return compiled(pattern, LARGEST_PATTERN)

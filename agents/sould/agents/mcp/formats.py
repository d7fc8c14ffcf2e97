"""The formats that a text in the form of an MCP server can have, as the RFCs say them that JSON Schema names."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

_ATOM: Final = r"[\w!#$%&'*+/=?^`{|}~-]++"
_LOCAL: Final = re.compile(rf'{_ATOM}(?:\.{_ATOM})*+|"(?:[ !#-\[\]-~]|\\[ -~])*+"', re.ASCII)
_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+")
_LONGEST_LOCAL, _LONGEST_DOMAIN = 64, 255

_DATE: Final = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:Z|([+-][0-9]{2}):([0-9]{2}))", re.IGNORECASE
)
_HOUR, _DAY = 60, 24 * 60
"""In minutes."""


def _part(more: str) -> str:
    """What a part of an address may hold: what is never escaped, what separates nothing there, and escapes."""
    return rf"(?:[\w.~!$&'()*+,;={more}-]|%[0-9A-Fa-f]{{2}})*+"


_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*+:"
    rf"(?://(?:{_part(':')}@)?(?:\[(?P<ipv6>[^]v][^]]*)\]|\[v[0-9A-F]+\.[\w.~!$&'()*+,;=:-]+\]|{_part('')})(?::[0-9]*+)?"
    rf"(?![^/?#])|(?!//)){_part(':@/')}(?:\?{_part(':@/?')})?(?:\#{_part(':@/?')})?",
    re.ASCII,
)


def _is_email(text: str) -> bool:
    """RFC 5321."""
    local, _, domain = text.rpartition("@")
    if len(local) > _LONGEST_LOCAL or len(domain) > _LONGEST_DOMAIN or not _LOCAL.fullmatch(local):
        return False
    if domain.startswith("[IPv6:") and domain.endswith("]"):
        return _is_ipv6(domain[6:-1])
    if domain.startswith("[") and domain.endswith("]"):
        return _is_ip(ipaddress.IPv4Address, domain[1:-1])
    return _DOMAIN.fullmatch(domain) is not None


def _is_uri(text: str) -> bool:
    """RFC 3986."""
    found = _URI.fullmatch(text)
    return found is not None and (found["ipv6"] is None or _is_ipv6(found["ipv6"]))


def _is_ipv6(text: str) -> bool:
    return "%" not in text and _is_ip(ipaddress.IPv6Address, text)


def _is_ip(kind: Callable[[str], object], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    """RFC 3339. `date.fromisoformat` takes more: 20261122, 2026-W47-7."""
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    try:
        date(year or 2000, month, day)  # the year 0, which Python lacks, has the same days
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    """RFC 3339; a leap second is the last one of a day of UTC."""
    found = _TIME.fullmatch(text[11:])
    if found is None or text[10] not in "Tt" or not _is_date(text[:10]):
        return False
    hour, minute, second, ahead, minutes = (int(part or 0) for part in found.groups())
    if hour > 23 or minute > 59 or second > 60 or abs(ahead) > 23 or minutes > 59:
        return False
    offset = ahead * _HOUR + (-minutes if (found[4] or "").startswith("-") else minutes)
    return second < 60 or (hour * _HOUR + minute - offset) % _DAY == _DAY - 1


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_date_time,
}
"""By the name of a format, whether a text has it. None takes longer than in proportion to the text."""

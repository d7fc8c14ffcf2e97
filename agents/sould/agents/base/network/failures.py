"""Why a server could not be reached, in words for people.

It knows no library: errors of libraries wrap those of the system in many ways, so it looks at what the system said,
wherever in the chain of causes that is.
"""

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import cast

_WORDS = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "the connection was reset",
    errno.ENETUNREACH: "no network",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ETIMEDOUT: "no answer",
}

_PLAIN = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""What OpenSSL says where a plain server answers, by its releases."""
_SAID = (
    ("Name or service not known", "host not found"),
    ("nodename nor servname", "host not found"),
    ("name resolution", "host not found"),
    ("All connection attempts failed", "nothing answers there"),
)
"""What is left of an error whose cause a library dropped."""


def is_unknown_host(error: BaseException) -> bool:
    """Whether its name could not be found."""
    return any(isinstance(cause, socket.gaierror) for cause in causes(error))


def is_refused(error: BaseException) -> bool:
    """Whether nobody listens there."""
    return any(isinstance(cause, ConnectionRefusedError) for cause in causes(error))


def is_untrusted(error: BaseException) -> bool:
    """Whether its certificate was not accepted, which asking again does not change."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))


def why_unreachable(error: BaseException) -> str:
    """A few words, "" when the system said nothing of a connection that could not be made."""
    if is_unknown_host(error):
        return "host not found"
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            if refusal := getattr(cause, "verify_message", ""):  # what libraries derive from it has none
                return f"its certificate is not accepted ({refusal})"
            continue
        if isinstance(cause, ssl.SSLError) and any(mark in str(cause) for mark in _PLAIN):
            return "it does not speak https there; the address may have to begin with http://"
        if isinstance(cause, ssl.SSLError):
            return "the encrypted connection could not be made"
        if isinstance(cause, OSError) and cause.errno in _WORDS:
            return _WORDS[cause.errno]
    said = " ".join(map(str, causes(error)))
    return next((words for text, words in _SAID if text in said), "")


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it came from, outermost first."""
    waiting: list[BaseException] = [error]
    seen = set[int]()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(cast("BaseExceptionGroup[BaseException]", current).exceptions)
        # what a library wrapped and no longer calls the cause
        waiting.extend(argument for argument in current.args if isinstance(argument, BaseException))
        waiting.extend(cause for cause in (current.__cause__, current.__context__) if cause is not None)

"""Checks of the way out: proxies and certificates, as the model client will read them from the environment."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn

PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


def network(setup: SetUp) -> Iterator[Finding]:
    """Every proxy and certificate variable that is set."""
    found = False
    for name in PROXIES:
        value = setup.environment.get(name, "")
        if value:
            found = True
            yield _proxy(setup, name, value)
    for name in CERTIFICATES:
        value = setup.environment.get(name, "")
        if value:
            found = True
            yield _certificates(name, value)
    if not found:
        yield ok("network", "No proxy and no certificates of your own are set.")


def _proxy(setup: SetUp, name: str, value: str) -> Finding:
    try:
        parts = urlsplit(value)
        host, port = parts.hostname, parts.port or {"https": 443, "socks5": 1080}.get(parts.scheme, 80)
    except ValueError:
        host, port, parts = None, 0, urlsplit("")
    if not host or parts.scheme not in ("http", "https", "socks5", "socks5h"):
        return fail("network", f"{name} is not a URL.", f"Write it as {name}=http://host:port, or unset {name}.")
    shown = f"{parts.scheme}://{host}:{port}"  # without user and password
    try:
        socket.create_connection((host, port), timeout=setup.timeout).close()
    except OSError as error:
        why = error.strerror or "it did not answer in time"
        return fail(
            "network",
            f"The proxy {name}={shown} cannot be reached ({why}).",
            f"Unset {name} or correct it, where editors are started from; local servers belong in NO_PROXY.",
        )
    local = setup.environment.get("NO_PROXY", setup.environment.get("no_proxy", ""))
    if not any(word in local for word in ("localhost", "127.0.0.1", "*")):
        return warn(
            "network",
            f"The proxy {name}={shown} answers, but NO_PROXY does not name localhost.",
            "Set NO_PROXY=localhost,127.0.0.1,::1 if you use a model server on this machine.",
        )
    return ok("network", f"The proxy {name}={shown} answers.")


def _certificates(name: str, value: str) -> Finding:
    path = Path(value)
    fix = f"Unset {name} or correct it, where editors are started from."
    if not path.exists():
        return fail("network", f"{name}={value} does not exist, so no certificate can be checked.", fix)
    if not os.access(path, os.R_OK):
        return fail("network", f"{name}={value} cannot be read.", fix)
    if path.is_file() and b"BEGIN CERTIFICATE" not in path.read_bytes():
        return fail("network", f"{name}={value} holds no certificate in PEM form.", fix)
    return ok("network", f"{name}={value} is used to check servers.")

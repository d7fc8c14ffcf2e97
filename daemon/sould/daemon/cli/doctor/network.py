"""Checks of the way out: proxies and certificates, as every client will read them from the environment."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from sould.agents.base.network.certificates import trusted
from sould.agents.base.network.settings import NetworkSettings, NetworkSettingsError, NetworkVariable, proxy_address
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn

_PORTS = {"https": 443, "socks5": 1080, "socks5h": 1080}


def network(setup: SetUp) -> Iterator[Finding]:
    """Every proxy and certificate variable that is set."""
    settings = NetworkSettings.of(setup.environment)
    for variable in settings.proxies:
        yield _proxy(setup, settings, variable)
    if settings.certificates:
        yield _certificates(settings)
    if not settings.proxies and not settings.certificates:
        yield ok("network", "No proxy and no certificates of your own are set.")


def _proxy(setup: SetUp, settings: NetworkSettings, variable: NetworkVariable) -> Finding:
    name = variable.name
    fix = f"Unset {name} or correct it, where editors are started from"
    try:
        parts = urlsplit(proxy_address(variable))
    except NetworkSettingsError as error:
        return fail("network", f"{error}.", f"{fix}.")
    port = parts.port or _PORTS.get(parts.scheme, 80)
    shown = f"{parts.scheme}://{parts.hostname}:{port}"  # without user and password
    try:
        socket.create_connection((parts.hostname or "", port), timeout=setup.timeout).close()
    except OSError as error:
        why = error.strerror or "it did not answer in time"
        sentence = f"The proxy {name}={shown} cannot be reached ({why})."
        return fail("network", sentence, f"{fix}; local servers belong in NO_PROXY.")
    if not any(word in settings.no_proxy for word in ("localhost", "127.0.0.", "*")):
        return warn(
            "network",
            f"The proxy {name}={shown} answers, but NO_PROXY does not name localhost.",
            "Set NO_PROXY=localhost,127.0.0.1,::1 if you use a model server on this machine.",
        )
    return ok("network", f"The proxy {name}={shown} answers.")


def _certificates(settings: NetworkSettings) -> Finding:
    names = " and ".join(variable.name for variable in settings.certificates)
    try:
        trusted(settings)
    except NetworkSettingsError as error:
        return fail("network", f"{error}.", f"Unset or correct {names}, where editors are started from.")
    return ok("network", f"Servers are checked with the certificates of {names}.")

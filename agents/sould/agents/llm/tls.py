"""Which certificates a connection trusts: those of the session's environment, else the system's.

The daemon's own environment is never asked (D14). It loads no HTTP library.
"""

import os
import ssl
import sys
from functools import cache

from sould.agents.llm.network import NetworkSettings

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems have them when Python was built for another one."""


def verification(url: str, network: NetworkSettings) -> ssl.SSLContext | bool:
    """What a client for this server and this proxy takes as `verify`. Raises OSError for certificates that cannot be read."""
    if network.ca_file or network.ca_directory:
        return ssl.create_default_context(cafile=network.ca_file or None, capath=network.ca_directory or None)
    if url.startswith("https:") or network.proxy.startswith("https:"):
        return _systems()
    return False  # plain HTTP to the one server this client talks to: loading certificates costs 20 ms


@cache
def _systems() -> ssl.SSLContext:
    """Read once. Python's own default would take what SSL_CERT_FILE says in the daemon's environment."""
    if sys.platform == "darwin":
        import truststore  # noqa: PLC0415 -- asks the keychain; elsewhere there is nothing it knows better

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    built_in = ssl.get_default_verify_paths()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file = next(filter(os.path.isfile, (built_in.openssl_cafile, *_BUNDLES)), None)
    directory = built_in.openssl_capath if os.path.isdir(built_in.openssl_capath) else None
    if file or directory:
        context.load_verify_locations(file, directory)
    return context

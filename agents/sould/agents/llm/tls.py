"""Which certificates a connection trusts: those of the session's environment, else the usual ones.

It loads the HTTP library: import it when a server is about to be asked (D9).
"""

import ssl

import httpx2

from sould.agents.llm.network import NetworkSettings


def verification(url: str, network: NetworkSettings) -> ssl.SSLContext | bool:
    """What a client for this server and this proxy takes as `verify`. Raises OSError for certificates that cannot be read."""
    if network.ca_file or network.ca_directory:
        return ssl.create_default_context(cafile=network.ca_file or None, capath=network.ca_directory or None)
    if url.startswith("https:") or network.proxy.startswith("https:"):
        return httpx2.create_ssl_context(trust_env=False)
    return False  # plain HTTP to the one server this client talks to: loading certificates costs 20 ms

"""Which certificates a connection trusts: those that the session's environment names, else the system's.

The daemon's own environment is never asked (D14). No HTTP library is loaded.
"""

import os
import ssl
import sys
from functools import cache

from sould.agents.base.network.settings import NetworkSettings, NetworkSettingsError, NetworkVariable

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems have them when Python was built for another one."""


def trusted(network: NetworkSettings) -> ssl.SSLContext:
    """What connections behind TLS trust.

    Raises:
        NetworkSettingsError: certificates that the environment names cannot be read.
    """
    named = network.ca_file.value or network.ca_directory.value
    if not named and not network.extra_ca_file.value:
        return _systems()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if named else _new_systems()
    if network.ca_file.value:
        _add_file(context, network.ca_file)
    if network.ca_directory.value:
        _add_directory(context, network.ca_directory)
    if network.extra_ca_file.value:
        _add_file(context, network.extra_ca_file)
    return context


def advice(network: NetworkSettings) -> str:
    """What to do about a certificate that is not trusted: a sentence."""
    if not network.certificates:
        return (
            "If it is your organisation's, name the file of its certificates in SSL_CERT_FILE or NODE_EXTRA_CA_CERTS."
        )
    where = " and ".join(f"{each.name} ({each.value})" for each in network.certificates)
    others = "" if network.ca_file.value or network.ca_directory.value else " and of the system"
    return f"Trusted are the certificates of {where}{others}: add its authority there."


def _add_file(context: ssl.SSLContext, variable: NetworkVariable) -> None:
    try:
        context.load_verify_locations(cafile=os.path.expanduser(variable.value))
    except ssl.SSLError:
        raise NetworkSettingsError(f"{variable.name} names {variable.value}, which holds no certificates") from None
    except OSError as error:
        said = f"{variable.name} names {variable.value}, which cannot be read: {error.strerror}"
        raise NetworkSettingsError(said) from None


def _add_directory(context: ssl.SSLContext, variable: NetworkVariable) -> None:
    for directory in map(os.path.expanduser, filter(None, variable.value.split(os.pathsep))):
        if not os.path.isdir(directory):
            raise NetworkSettingsError(f"{variable.name} names {directory}, which is not a directory")
        context.load_verify_locations(capath=directory)


@cache
def _systems() -> ssl.SSLContext:
    """Read once: it takes 20 ms."""
    return _new_systems()


def _new_systems() -> ssl.SSLContext:
    """Python's own default would take what SSL_CERT_FILE says in the daemon's environment."""
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

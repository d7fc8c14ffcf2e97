"""Certificates that the environment names are trusted; what cannot be read is named with its variable."""

import shutil
import ssl
from pathlib import Path

import pytest

from sould.agents.base.network.certificates import advice, trusted
from sould.agents.base.network.settings import NetworkSettings, NetworkSettingsError

PEM = Path(__file__).parents[2] / "llm" / "loopback.pem"
SUBJECT = "4107bf9a.0"
"""Under which OpenSSL looks for the certificate in a directory."""


def subjects(environment: dict[str, str]) -> set[str]:
    """The names of the certificates that are loaded, as far as OpenSSL tells."""
    certificates = trusted(NetworkSettings.of(environment)).get_ca_certs()
    return {str(part) for each in certificates for part in each["subject"]}


def test_files_that_are_named_take_the_place_of_the_systems_and_extra_ones_join_them() -> None:
    systems, own = subjects({}), subjects({"SSL_CERT_FILE": str(PEM)})
    assert len(own) == 1
    assert subjects({"REQUESTS_CA_BUNDLE": str(PEM)}) == own
    assert subjects({"NODE_EXTRA_CA_CERTS": str(PEM)}) == systems | own
    assert subjects({}) == systems, "those of one environment do not stay for others"


def test_of_a_directory_each_is_loaded_when_it_is_needed(tmp_path: Path) -> None:
    shutil.copy(PEM, tmp_path / SUBJECT)
    environment = {"SSL_CERT_DIR": f"{tmp_path.parent}:{tmp_path}"}
    handshake(trusted(NetworkSettings.of(environment)))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(trusted(NetworkSettings.of({"SSL_CERT_DIR": str(tmp_path.parent)})))


def handshake(client: ssl.SSLContext) -> None:
    """Between this client and a server with the certificate, in memory."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(PEM)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in tuple(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                pass


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
def test_a_file_that_cannot_be_used_is_named_with_its_variable(variable: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing\n")
    for path, why in (
        (tmp_path / "absent.pem", "cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a dir"),
        (empty, "holds no certificates"),
    ):
        with pytest.raises(NetworkSettingsError, match=f"^{variable} names {path}, which {why}"):
            trusted(NetworkSettings.of({variable: str(path)}))


def test_a_directory_that_is_none_is_named_with_its_variable() -> None:
    with pytest.raises(NetworkSettingsError, match=r"^SSL_CERT_DIR names /nowhere, which is not a directory"):
        trusted(NetworkSettings.of({"SSL_CERT_DIR": "/nowhere"}))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "name the file of its certificates in SSL_CERT_FILE or NODE_EXTRA_CA_CERTS."),
        ({"SSL_CERT_FILE": "/a.pem"}, "certificates of SSL_CERT_FILE (/a.pem): add its authority there."),
        (
            {"NODE_EXTRA_CA_CERTS": "/b.pem"},
            "certificates of NODE_EXTRA_CA_CERTS (/b.pem) and of the system: add its authority there.",
        ),
    ],
)
def test_the_advice_names_what_is_set(environment: dict[str, str], said: str) -> None:
    assert advice(NetworkSettings.of(environment)).endswith(said)

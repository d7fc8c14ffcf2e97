"""Proxy and certificate settings come from the session's environment."""

import pytest

from sould.agents.base.network.settings import NetworkSettings, NetworkSettingsError

URL = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        (URL, {}, ""),
        (URL, {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        (URL, {"https_proxy": "p:1", "HTTPS_PROXY": "http://other:2"}, "http://p:1"),
        (URL, {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://api.example.com/v1", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        (URL, {"ALL_PROXY": "socks5://p:1"}, "socks5://p:1"),
        (URL, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
        (URL, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "localhost, .example.com"}, ""),
        (URL, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, ""),
        (URL, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.com"}, "http://p:1"),
        (URL, {"HTTPS_PROXY": "http://p:1", "no_proxy": "api.example.com:8443"}, "http://p:1"),
        ("https://api.example.com:8443", {"HTTPS_PROXY": "http://p:1", "no_proxy": "api.example.com:8443"}, ""),
        ("https://10.1.2.3/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://[::1]/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "::1"}, ""),
        (URL, {"HTTPS_PROXY": "http://p:1", "ALL_PROXY": "socks://other:2"}, "http://p:1"),
        (URL, {"ALL_PROXY": "socks://p:1", "NO_PROXY": "example.com"}, ""),
    ],
)
def test_the_proxy_is_the_one_of_the_environment(url: str, environment: dict[str, str], proxy: str) -> None:
    assert NetworkSettings.of(environment).proxy_for(url) == proxy


@pytest.mark.parametrize(
    ("variable", "proxy", "said"),
    [
        (
            "https_proxy",
            "quic://p:1",
            "https_proxy names a proxy of the kind 'quic'; it must be http, https, socks5 or",
        ),
        ("ALL_PROXY", "socks://p:1", "ALL_PROXY names a proxy of the kind 'socks'"),
        ("ALL_PROXY", "socks4://p:1", "ALL_PROXY names a proxy of the kind 'socks4'"),
        ("HTTPS_PROXY", "http://me:canary@", "HTTPS_PROXY is not the address of a proxy, such as http://proxy:3128"),
        ("HTTPS_PROXY", "http://me:canary@[::1", "HTTPS_PROXY is not the address of a proxy"),
        ("HTTPS_PROXY", "http://me:canary@p:port", "HTTPS_PROXY is not the address of a proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(variable: str, proxy: str, said: str) -> None:
    with pytest.raises(NetworkSettingsError) as raised:
        NetworkSettings.of({variable: proxy}).proxy_for(URL)
    assert str(raised.value).startswith(said)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("environment", "file"),
    [
        ({"SSL_CERT_FILE": "/a.pem", "REQUESTS_CA_BUNDLE": "/b.pem"}, "/a.pem"),
        ({"REQUESTS_CA_BUNDLE": "/b.pem"}, "/b.pem"),
        ({}, ""),
    ],
)
def test_the_certificates_are_those_of_the_environment(environment: dict[str, str], file: str) -> None:
    assert NetworkSettings.of(environment).ca_file.value == file


def test_a_proxy_password_is_not_in_the_representation() -> None:
    assert "canary" not in repr(NetworkSettings.of({"HTTPS_PROXY": "http://me:canary@p:1"}))

"""Proxy and certificate settings come from the session's environment."""

import pytest

from sould.agents.llm.network import NetworkSettings

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
    ],
)
def test_the_proxy_is_the_one_of_the_environment(url: str, environment: dict[str, str], proxy: str) -> None:
    assert NetworkSettings.of(url, environment).proxy == proxy


@pytest.mark.parametrize(
    ("environment", "file"),
    [
        ({"SSL_CERT_FILE": "/a.pem", "REQUESTS_CA_BUNDLE": "/b.pem"}, "/a.pem"),
        ({"REQUESTS_CA_BUNDLE": "/b.pem"}, "/b.pem"),
        ({}, ""),
    ],
)
def test_the_certificates_are_those_of_the_environment(environment: dict[str, str], file: str) -> None:
    assert NetworkSettings.of(URL, environment).ca_file == file


def test_a_proxy_password_is_not_in_the_representation() -> None:
    assert "canary" not in repr(NetworkSettings(proxy="http://me:canary@p:1"))

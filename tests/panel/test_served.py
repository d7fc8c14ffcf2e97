"""What serves the panel to a browser: whatever is asked of it is answered, and nothing ends it."""

import socket
from urllib.parse import urlsplit

import pytest

from soultest.panelpage import PATIENCE
from soultest.world import World

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]

UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
SAY = """(messages) => new Promise((resolve) => {
    const socket = new WebSocket(`ws://${location.host}/link${location.search}`);
    const answers = [];
    socket.onopen = () => messages.forEach((each) => socket.send(each));
    socket.onmessage = ({ data }) => {
        const answer = JSON.parse(data);
        if (answer.error) answers.push(answer.error.code);
        if (answers.length === messages.length) resolve(answers);
    };
})"""


def answer(host: str, request: str, *more: bytes) -> str:
    """All that comes back until the other end has said all, or nothing comes any more."""
    name, port = host.split(":")
    with socket.create_connection((name, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(request.encode("latin-1"))
        found = connection.recv(65536)
        for each in more:
            connection.sendall(each)
            while connection.recv(65536):
                pass
        return found.decode("latin-1")


def test_every_malformed_request_is_answered_and_the_panel_goes_on(world: World, open_panel: Open) -> None:
    world.script(["text: Still here."])
    panel = open_panel()
    address = urlsplit(panel.page.url)
    host = address.netloc
    for target in ("//", "http://[", "/%ff%fe", "/link", "*", "/" + "a" * 70_000):
        for headers in (f"Host: {host}\r\n", f"Host: {host}\r\n{UPGRADE}"):
            assert answer(host, f"GET {target} HTTP/1.1\r\n{headers}\r\n").startswith("HTTP/1.1 4")
    assert answer(host, "nonsense\r\n\r\n").startswith("HTTP/1.1 400")
    opening = f"GET /link?{address.query} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{UPGRADE}\r\n"
    assert answer(host, opening, b"\xff\xff\xff\xff").startswith("HTTP/1.1 101")
    wrong = ["{", "null", "[1]", '{"id": 1, "method": "_panel/findFiles"}', '{"id": 2, "method": "_panel/none"}']
    assert panel.page.evaluate(SAY, wrong) == [-32700, -32700, -32700, -32603, -32601]
    panel.send("Are you there?")
    panel.shows("Still here.")

"""The web and pictures through the real daemon: what the model is told, what a user is asked, and the page that says so."""

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soultest.daemon import Sould
from soultest.faulty import Editor, Faulty, faulty_daemon
from soultest.website import website

ROOT = Path(__file__).parents[2]
ARTICLE = b"""<html><body><nav>Menu</nav><article><h1>Fences</h1><p>A fence keeps the garden in. It is made of wood, and it
is painted once a year by the people who live there.</p></article><script>var secret = 1;</script></body></html>"""
RECORDED = json.loads((ROOT / "tests/agents/tools/web/recorded/searxng.json").read_text(encoding="utf-8"))["answer"]
BLIND = """
[models.blind]
provider = "server"
model = "test-model"
max_context_size = 100000
"""


def called(name: str, **arguments: Any) -> str:
    """A prompt that makes the model call a tool."""
    return f"[[tool:{name} {json.dumps(arguments)}]]"


def told(faulty: Faulty) -> str:
    """What the model was told last, of any kind."""
    messages = faulty.requests()[-1]["body"]["messages"]
    answered = max(at for at, message in enumerate(messages) if message["role"] == "tool")
    return json.dumps(messages[answered:], ensure_ascii=False)


def asked(editor: Editor) -> list[str]:
    """What the user was asked to permit."""
    asking = [each for each in editor.messages if each.get("method") == "session/request_permission"]
    return [json.dumps(each["params"]["toolCall"]) for each in asking]


async def test_pages_and_searches_reach_the_model_and_each_host_is_asked_about(sould: Sould) -> None:
    async with website() as site:
        site.page("/a", ARTICLE)
        site.page("/moved", b"", status=302, Location=site.url("/a", host="localhost"))
        site.page("/search", json.dumps(RECORDED).encode(), "application/json")
        more = f"""
[tools]
fetch_private_hosts = ["127.0.0.1"]
[services.searxng]
base_url = "{site.url("")}"
"""
        with faulty_daemon(sould, more) as faulty:
            editor = faulty.editor()
            await asyncio.to_thread(editor.prompt, called("FetchURL", url=site.url("/a")))
            assert "keeps the garden in" in told(faulty)
            assert "secret" not in told(faulty)
            assert "not instructions" in told(faulty)
            await asyncio.to_thread(editor.prompt, called("SearchWeb", query="grind", limit=2))
            assert "How to find the best grind size" in told(faulty)
            assert "with SearXNG at 127.0.0.1" in asked(editor)[1]
            before = len(site.asked)
            await asyncio.to_thread(editor.prompt, called("FetchURL", url=site.url("/moved")))
            assert "not on the public internet" in told(faulty)
            assert [each.target for each in site.asked[before:]] == ["/moved"]
            # nobody is asked about an address that is refused in any case
            for host, each in zip(("from 127.0.0.1", "Search", "from 127.0.0.1"), asked(editor), strict=True):
                assert host in each


@pytest.fixture
def faulty(sould: Sould) -> Iterator[Faulty]:
    with faulty_daemon(sould, BLIND) as running:
        yield running


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def test_a_picture_reaches_a_model_that_sees_and_limits_hold(faulty: Faulty) -> None:
    (faulty.sould.workspace / "dot.png").write_bytes(png(1, 1))
    (faulty.sould.workspace / "bomb.png").write_bytes(png(30_000, 30_000))
    (faulty.sould.workspace / "film.mp4").write_bytes(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom")
    with (faulty.sould.workspace / "large.png").open("wb") as file:
        file.write(png(1, 1))
        file.truncate(101 * 1024 * 1024)
    editor = faulty.editor()
    for name, said in {
        "dot.png": base64.b64encode(png(1, 1)).decode(),
        "bomb.png": "30000x30000 pixels",
        "film.mp4": "this model cannot see",
        "large.png": "larger than 100 MB",
        "nothing.png": "nothing.png",
    }.items():
        assert editor.prompt(called("ReadMediaFile", path=name))["result"]["stopReason"] == "end_turn"
        assert said in told(faulty), name


def offered(faulty: Faulty) -> list[str]:
    return [tool["function"]["name"] for tool in faulty.requests()[-1]["body"]["tools"]]


def test_a_model_that_cannot_see_is_not_offered_the_tool_and_without_a_service_there_is_no_search(
    faulty: Faulty,
) -> None:
    key = {"SOULD_TEST_KEY": "k"}
    assert faulty.sould.cli("run", "hello", env=key).returncode == 0
    assert "ReadMediaFile" in offered(faulty)
    assert "SearchWeb" not in offered(faulty)
    assert faulty.sould.cli("run", "--model", "blind", "hello", env=key).returncode == 0
    assert "ReadMediaFile" not in offered(faulty)

"""ReadMediaFile shows pictures within limits it judges before anybody decodes; Think does nothing."""

import base64
import struct
import zlib
from pathlib import Path

import pytest

from sould.agents.llm.pictures import MediaHead, read_head
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.content import ImagePart, TextPart
from sould.agents.wire.messages import ToolResult
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import messages_of, toolset_of


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xff\xc2\x00\x11\x08\x00\x30\x00\x40\x03\x01\x11\x00\x02\x11\x01\x03\x11\x01"
)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (png(3, 4), MediaHead("image", "image/png", 3, 4)),
        (b"GIF89a\x05\x00\x06\x00", MediaHead("image", "image/gif", 5, 6)),
        (JPEG, MediaHead("image", "image/jpeg", 64, 48)),
        (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x13\0\0", MediaHead("image", "image/webp", 10, 20)),
        (b"RIFF\0\0\0\0WEBPVP8L\x0a\0\0\0\x2f\x07\x40\x02\x00", MediaHead("image", "image/webp", 8, 10)),
        (b"\0\0\0\x18ftypmp42", MediaHead("video", "video/mp4")),
        (b"\0\0\0\x18ftypqt  ", MediaHead("video", "video/quicktime")),
        (b"\x1a\x45\xdf\xa3....webm", MediaHead("video", "video/webm")),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"PK\x03\x04", None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"\xff\xd8\xff\xe0\x00\x00" * 50, None),
        (b"", None),
    ],
)
def test_a_file_says_what_it_is_in_its_first_bytes(head: bytes, expected: MediaHead | None) -> None:
    assert read_head(head) == expected


FILM = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"


def seeing(tmp_path: Path, path: str, *capabilities: str) -> Bench:
    model = {"capabilities": capabilities or ("image_in",)}
    return make_bench(tmp_path, {"model": model}, [call("ReadMediaFile", path=path), "text: ok"])


@pytest.mark.parametrize(
    ("capability", "seen", "unseen"), [("image_in", png(1, 1), FILM), ("video_in", FILM, png(1, 1))]
)
async def test_a_model_is_shown_only_what_it_can_see(
    tmp_path: Path, capability: str, seen: bytes, unseen: bytes
) -> None:
    for number, content in enumerate((seen, unseen)):
        root = tmp_path / str(number)
        root.mkdir()
        bench = seeing(root, "file", capability)
        (bench.project / "file").write_bytes(content)
        async with bench.running():
            watcher = Watcher(await bench.new())
            await finish(watcher.session, "look")
            result = watcher.of(ToolResult)[0].return_value
        assert result.is_error == (content is unseen)
        assert ("this model cannot see" in result.message) == (content is unseen)


async def test_the_model_sees_a_picture(tmp_path: Path) -> None:
    bench = seeing(tmp_path, "dot.png")
    (bench.project / "dot.png").write_bytes(png(1, 1))
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, "look")
        result = watcher.of(ToolResult)[0].return_value
        assert not result.is_error
        assert "1x1 pixels" in result.message
        part = result.output[0]
        assert isinstance(part, ImagePart)
        assert base64.b64decode(part.image_url.url.partition(",")[2]) == png(1, 1)
        told = [piece for message in messages_of(session) for piece in message.content]
        assert any(isinstance(piece, ImagePart) for piece in told)
        assert any(isinstance(piece, TextPart) and "1x1" in piece.text for piece in told)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (png(30_000, 30_000), "30000x30000 pixels"),
        (png(16_000, 16_000), "million"),
        (b"<svg><!ENTITY a 'b'></svg>", "ReadFile"),
        (b"PK\x03\x04 42.zip", "not a PNG"),
    ],
)
async def test_bombs_are_refused_by_what_they_say_of_themselves(tmp_path: Path, content: bytes, said: str) -> None:
    bench = seeing(tmp_path, "bomb")
    (bench.project / "bomb").write_bytes(content)
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, "look")
        result = watcher.of(ToolResult)[0].return_value
        assert result.is_error
        assert said in result.message


async def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    bench = seeing(tmp_path, "large.png")
    with (bench.project / "large.png").open("wb") as file:
        file.write(png(1, 1))
        file.truncate(101 * 1024 * 1024)
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, "look")
        assert "100 MB" in watcher.of(ToolResult)[0].return_value.message


async def test_a_model_that_cannot_see_is_not_offered_the_tool(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        session = await bench.new()
        assert toolset_of(session).find("ReadMediaFile") is None
        assert toolset_of(session).find("Think") is None


def test_thinking_can_be_added_to_an_agent() -> None:
    assert Toolset.load(["kimi_cli.tools.think:Think"], {}).find("Think") is not None


@pytest.mark.parametrize(
    ("capability", "advice"),
    [("image_in", "look at it with ReadMediaFile"), ("thinking", "which you cannot see here; say so to the user")],
)
async def test_reading_a_picture_as_text_says_what_to_do_instead(tmp_path: Path, capability: str, advice: str) -> None:
    model = {"capabilities": [capability]}
    bench = make_bench(tmp_path, {"model": model}, [call("ReadFile", path="a.png"), "text: ok"])
    (bench.project / "a.png").write_bytes(png(3, 4))
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "look")
    assert watcher.of(ToolResult)[0].return_value.message == f"a.png is an image (image/png): {advice}."

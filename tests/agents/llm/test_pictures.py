"""Pictures as model servers take them: judged by their bytes, small enough, and never a reason for a request to fail."""

import struct
import zlib
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sould.agents.llm.pictures import LONGEST_SIDE, MOST_BYTES, PictureError, fitted, with_fitting_pictures
from sould.agents.wire.content import ImagePart, MediaUrl, TextPart
from soultest.pictures import encoded, png


def written(kind: str, width: int, height: int, *, noise: bool = False) -> bytes:
    picture = Image.effect_noise((width, height), 100).convert("RGB") if noise else Image.new("RGB", (width, height))
    out = BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def claiming(side: int) -> bytes:
    """A PNG whose head says that it is as large, with hardly any bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(10))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("kind", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif")])
def test_a_picture_is_what_its_bytes_say(kind: str, media_type: str) -> None:
    data = written(kind, 8, 8)
    made = fitted(data)
    assert (made.kind, made.data) == (media_type, data), "it is sent as it is"


@pytest.mark.parametrize("kind", ["BMP", "TIFF"])
def test_kinds_that_servers_do_not_take_become_others(kind: str) -> None:
    made = fitted(written(kind, 8, 8))
    assert made.kind == "image/png"


@pytest.mark.parametrize("size", [(200, 9000), (9000, 50)])
def test_a_long_picture_is_made_smaller(size: tuple[int, int]) -> None:
    made = fitted(written("PNG", *size))
    with Image.open(BytesIO(made.data)) as picture:
        assert max(picture.size) == LONGEST_SIDE


@pytest.mark.long
def test_a_heavy_picture_is_made_smaller() -> None:
    heavy = written("PNG", 1600, 1600, noise=True)
    assert len(heavy) > MOST_BYTES
    made = fitted(heavy)
    assert len(made.data) <= MOST_BYTES


def test_one_that_would_fill_the_memory_is_not_decoded() -> None:
    with pytest.raises(PictureError, match="more than 40 million pixels"):
        fitted(claiming(60_000))


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"BM", b"RIFF"]),
)
def test_no_bytes_are_an_error(data: bytes, head: bytes) -> None:
    with suppress(PictureError):
        assert fitted(head + data).data


def test_a_photo_keeps_its_side_up_and_its_kind() -> None:
    out, turned = BytesIO(), Image.Exif()
    turned[0x0112] = 6  # the camera was held upright (EXIF, orientation)
    Image.effect_noise((3600, 1800), 90).convert("CMYK").save(out, "JPEG", quality=100, exif=turned)
    assert len(out.getvalue()) > MOST_BYTES
    made = fitted(out.getvalue())
    assert made.kind == "image/jpeg"
    with Image.open(BytesIO(made.data)) as picture:
        assert picture.height > picture.width


def test_no_program_is_started_for_a_picture() -> None:
    with pytest.raises(PictureError, match="not a picture that can be read"):
        fitted(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(a) run\n%%EOF\n")


async def test_in_a_prompt_words_stand_for_what_is_no_picture() -> None:
    links = ImagePart(image_url=MediaUrl(url="https://example.com/a.png"))
    page = ImagePart(image_url=MediaUrl(url=f"data:image/png;base64,{encoded(b'<!doctype html>')}"))
    broken = ImagePart(image_url=MediaUrl(url="data:image/png;base64,é"))
    misnamed = ImagePart(image_url=MediaUrl(url=f"data:image/jpeg;base64,{encoded(png())}", id="7"))
    kept = await with_fitting_pictures((TextPart(text="look"), links, page, misnamed, broken))
    assert kept[:2] == (TextPart(text="look"), links)
    assert kept[2] == TextPart(text="(Something called image/png was here; it is not a picture that can be read.)")
    assert kept[4] == kept[2]
    assert kept[3] == ImagePart(image_url=MediaUrl(url=f"data:image/png;base64,{encoded(png())}", id="7"))

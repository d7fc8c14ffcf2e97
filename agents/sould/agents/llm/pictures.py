"""Pictures as model servers take them: what they are is told by their bytes, and large ones are made smaller.

A picture that a server refuses stays in the conversation, and every later request fails. Claude's servers take 8000 pixels a side
and 5 MB as base64; all take PNG, JPEG, GIF and WebP. A picture within that is judged by its first bytes and never decoded: only a
larger one, or one of another kind, meets the library, and none that says it has more than `MOST_PIXELS`.
"""

import asyncio
import base64
import struct
import threading
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from sould.agents.base.importing import load_here
from sould.agents.wire.content import ContentPart, ImagePart, MediaUrl, TextPart, UserInput

if TYPE_CHECKING:
    from PIL.Image import Image

HEAD = 1024 * 1024
"""Bytes within which an image says its size."""
LONGEST_SIDE = 8000
MOST_BYTES = 3_700_000
MOST_PIXELS = 40_000_000
"""Of a picture that is decoded: 160 MB."""
_MOST_WRITTEN = 16_000_000
"""Pixels of what a larger picture becomes."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""What is decoded. The library knows further ones, for some of which it starts programs."""
_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})
"""What PNG can hold."""
_WRITTEN = {"PNG": "image/png", "JPEG": "image/jpeg"}
_QUALITY = 85
_SMALLEST = 64
_UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    RuntimeError,
    ArithmeticError,
    LookupError,
    TypeError,
    EOFError,
    struct.error,
    zlib.error,
)
"""What decoders raise for bytes that are not as they should be."""
_NONE = "it is not a picture that can be read"
_TOO_MANY = f"it has more than {MOST_PIXELS // 1_000_000} million pixels"
_one_decoder = threading.Lock()


class PictureError(Exception):
    """A picture cannot be sent; says why, as the end of a sentence."""


class Picture(Struct, frozen=True):
    """A picture that servers take."""

    kind: str
    data: bytes

    @property
    def url(self) -> str:
        """As a `data:` URL."""
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode()}"


async def with_fitting_pictures(given: UserInput) -> UserInput:
    """The same with pictures that servers take; words stand where one cannot be sent. Pictures elsewhere stay links."""
    if isinstance(given, str) or not any(isinstance(part, ImagePart) for part in given):
        return given
    return tuple(await asyncio.to_thread(_fitting, given))


def _fitting(parts: Sequence[ContentPart]) -> list[ContentPart]:
    return [_fitted(part) if isinstance(part, ImagePart) else part for part in parts]


def _fitted(part: ImagePart) -> ContentPart:
    head, comma, data = part.image_url.url.partition(";base64,")
    if not comma or not head.startswith("data:"):
        return part
    try:
        picture = fitted(_decoded(data))
    except PictureError as error:
        return TextPart(text=f"(Something called {head.removeprefix('data:')} was here; {error}.)")
    return part.model_copy(update={"image_url": MediaUrl(url=picture.url, id=part.image_url.id)})


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError:
        raise PictureError(_NONE) from None


def fitted(data: bytes) -> Picture:
    """A picture from its bytes, whatever it is called. Blocks. Raises PictureError."""
    head = read_head(data[:HEAD])
    fits = len(data) <= MOST_BYTES
    if fits and head is not None and head.kind == "image" and 0 < max(head.width, head.height) <= LONGEST_SIDE:
        return Picture(head.mime, data)
    load_here("PIL.Image")
    from PIL import Image, ImageOps  # noqa: PLC0415 -- 5 MB, and few sessions see such a picture

    try:
        with _one_decoder, Image.open(BytesIO(data), formats=_FORMATS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise PictureError(_TOO_MANY)
            is_photo = picture.format == "JPEG"
            ImageOps.exif_transpose(picture, in_place=True)
            return _smaller(picture, is_photo=is_photo)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(_TOO_MANY) from None
    except _UNREADABLE:
        raise PictureError(_NONE) from None


def _smaller(picture: "Image", *, is_photo: bool) -> Picture:
    area = (_MOST_WRITTEN / (picture.width * picture.height)) ** 0.5
    side = int(min(LONGEST_SIDE, max(picture.size) * min(1.0, area)))
    while True:
        picture.thumbnail((side, side))
        for kind, media_type in _WRITTEN.items():
            if kind == "JPEG" or not is_photo:
                data = _written(picture, kind)
                if len(data) <= MOST_BYTES:
                    return Picture(media_type, data)
        side = max(picture.size) // 2
        if side < _SMALLEST:
            raise PictureError("it cannot be made small enough")


def _written(picture: "Image", kind: str) -> bytes:
    out = BytesIO()
    if kind == "JPEG":
        picture.convert("RGB").save(out, kind, quality=_QUALITY)
    else:
        (picture if picture.mode in _MODES else picture.convert("RGBA")).save(out, kind)
    return out.getvalue()


class MediaHead(Struct, frozen=True):
    """`width` and `height` are 0 where the file does not say them."""

    kind: Literal["image", "video"]
    mime: str
    width: int = 0
    height: int = 0


def read_head(head: bytes) -> MediaHead | None:
    """What a file says that it is: nothing is decoded, so that no decoder ever meets a bomb.

    None for what models cannot take or what is damaged at its very beginning.
    """
    try:
        return _image(head) or _video(head)
    except (struct.error, IndexError):
        return None


def _image(head: bytes) -> MediaHead | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return MediaHead("image", "image/png", *struct.unpack(">II", head[16:24]))
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return MediaHead("image", "image/gif", *struct.unpack("<HH", head[6:10]))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    if head.startswith(b"\xff\xd8\xff"):
        return _jpeg(head)
    return None


def _webp(head: bytes) -> MediaHead | None:
    match head[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        case b"VP8 ":
            width, height = (size & 0x3FFF for size in struct.unpack("<HH", head[26:30]))
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return None
    return MediaHead("image", "image/webp", width, height)


def _jpeg(head: bytes) -> MediaHead | None:
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return None
        marker = head[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return MediaHead("image", "image/jpeg", width, height)
        elif marker == 0x01 or 0xD0 <= marker <= 0xD9:
            at += 2
        else:
            at += 2 + struct.unpack(">H", head[at + 2 : at + 4])[0]
    return None


def _video(head: bytes) -> MediaHead | None:
    if head[4:8] == b"ftyp":
        return MediaHead("video", "video/quicktime" if head[8:12] == b"qt  " else "video/mp4")
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return MediaHead("video", "video/webm" if b"webm" in head[:64] else "video/x-matroska")
    return None

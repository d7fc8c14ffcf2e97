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
from typing import TYPE_CHECKING

from msgspec import Struct

from sould.agents.base.importing import load_here
from sould.agents.llm.mediahead import HEAD, read_head
from sould.agents.wire.content import ContentPart, ImagePart, MediaUrl, TextPart, UserInput

if TYPE_CHECKING:
    from PIL.Image import Image

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

"""What kind of image or video some bytes are, and how large it would be when decoded, from its first bytes.

Nothing is decoded here: a file is judged by what it says of itself, so that no decoder ever meets a bomb.
"""

import struct
from typing import Literal

from msgspec import Struct

HEAD = 1024 * 1024
"""Bytes within which an image says its size."""


class MediaHead(Struct, frozen=True):
    """`width` and `height` are 0 where the file does not say them."""

    kind: Literal["image", "video"]
    mime: str
    width: int = 0
    height: int = 0


def read_head(head: bytes) -> MediaHead | None:
    """What the file is; None for what models cannot take or what is damaged at its very beginning."""
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

"""MessagePack, as far as Neovim's RPC speaks it: values to bytes, and bytes to values as they come."""

import struct
from collections.abc import Callable
from typing import Any, cast

_FIXED: dict[int, str] = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_SIZED: dict[int, str] = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_EXTENSIONS: dict[int, int] = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


def packed(value: Any) -> bytes:
    """The bytes of a value: nothing, truth values, integers, text, lists and mappings."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return b"\xd3" + struct.pack(">q", value)
        case str():
            text = value.encode()
            return b"\xdb" + struct.pack(">I", len(text)) + text
        case dict():
            pairs = [packed(key) + packed(each) for key, each in cast("dict[Any, Any]", value).items()]
            return b"\xdf" + struct.pack(">I", len(pairs)) + b"".join(pairs)
        case list():
            values = cast("list[Any]", value)
            return b"\xdd" + struct.pack(">I", len(values)) + b"".join(map(packed, values))
        case _:
            raise TypeError(f"cannot be packed: {value!r}")


class Unpacker:
    """Values from a source of bytes; `read(n)` gives exactly n of them, or raises."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def _number(self, kind: str) -> int:
        return struct.unpack(kind, self._read(struct.calcsize(kind)))[0]

    def _list(self, count: int) -> list[Any]:
        return [self.value() for _ in range(count)]

    def _mapping(self, count: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(count)}

    def value(self) -> Any:
        """The next value. Neovim's handles (buffers, windows) are their numbers' bytes."""
        kind = self._read(1)[0]
        if kind < 0x80:
            return kind
        if kind >= 0xE0:
            return kind - 0x100
        if kind < 0xC0:
            few = kind & 0x0F
            return self._mapping(few) if kind < 0x90 else self._list(few) if kind < 0xA0 else self._text(kind & 0x1F)
        return self._marked(kind)

    def _marked(self, kind: int) -> Any:
        if kind in (0xC0, 0xC2, 0xC3):
            return None if kind == 0xC0 else kind == 0xC3
        if kind in _FIXED:
            return self._number(_FIXED[kind])
        if kind in _SIZED:
            return self._text(self._number(_SIZED[kind]))
        if kind in _EXTENSIONS:
            return self._read(1 + _EXTENSIONS[kind])
        if kind in (0xC7, 0xC8, 0xC9):
            return self._read(self._number(_SIZED[kind - 3]) + 1)
        count = self._number(">H" if kind in (0xDC, 0xDE) else ">I")
        return self._list(count) if kind in (0xDC, 0xDD) else self._mapping(count)

    def _text(self, size: int) -> str:
        return self._read(size).decode(errors="replace")

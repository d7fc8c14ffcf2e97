"""Bytes made of a sequence that mostly grows: what its beginning became is made once.

A conversation is sent with every step, and all but its end was sent before. `GrowingBytes` keeps what that became, in
blocks, and makes what is new. It compares items by identity, so they must be immutable. A sequence that was cut or changed
costs what is behind the change, and the part of a block before it. It knows no message and no format, and keeps at most `MOST`.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import is_
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, field

ItemT = TypeVar("ItemT")

MOST = 16 * 1024 * 1024
"""Bytes kept for one sequence: as text, four million tokens. What is beyond is made anew each time."""
BLOCK = 128 * 1024
"""Blocks grow to this: short enough to be copied for each new item, long enough to be a write of its own."""
RUN = 32
"""Items made into bytes together, and as many more as belong to them."""

Begins: TypeAlias = Callable[[ItemT], bool]
"""Whether what an item and those behind it become does not depend on those before it."""
Make: TypeAlias = Callable[[Sequence[ItemT]], bytes]
"""The bytes of some items in a row, the first of which begins."""


class _Block(Struct):
    data: bytes
    stop: int
    """How many items are in it and in those before it."""

    def take(self, data: bytes, stop: int) -> None:
        """What follows, too."""
        self.data += data
        self.stop = stop


class GrowingBytes(Struct, Generic[ItemT]):
    """What was made of one sequence. Whoever has the sequence has this, so that both go together."""

    most: int = MOST
    block: int = BLOCK
    run: int = RUN
    _items: tuple[ItemT, ...] = ()
    """Those in the blocks."""
    _form: object = None
    _blocks: list[_Block] = field(default_factory=list[_Block])
    _size: int = 0

    def made(self, items: tuple[ItemT, ...], form: object, begins: Begins[ItemT], make: Make[ItemT]) -> list[bytes]:
        """The bytes of all items, in blocks. `form`: all that `make` goes by besides the items; another one starts anew."""
        same = _same(self._items, items) if form == self._form else 0
        self._form = form
        self._drop(same, items, begins)
        start = self._blocks[-1].stop if self._blocks else 0
        beyond: list[bytes] = []
        for stop in _stops(items, start, self.run, begins):
            data = make(items[start:stop])
            start = stop
            if beyond or self._size + len(data) > self.most:
                beyond.append(data)
            else:
                self._add(data, stop)
        self._items = items[: self._blocks[-1].stop] if self._blocks else ()
        return [*(block.data for block in self._blocks), *beyond]

    def _drop(self, same: int, items: tuple[ItemT, ...], begins: Begins[ItemT]) -> None:
        """Blocks with other items in them, or whose last item goes on with the first behind it."""
        while self._blocks:
            stop = self._blocks[-1].stop
            if stop <= same and (stop == len(items) or begins(items[stop])):
                return
            self._size -= len(self._blocks.pop().data)

    def _add(self, data: bytes, stop: int) -> None:
        self._size += len(data)
        if self._blocks and len(self._blocks[-1].data) + len(data) <= self.block:
            self._blocks[-1].take(data, stop)
        else:
            self._blocks.append(_Block(data, stop))


def _same(kept: tuple[ItemT, ...], items: tuple[ItemT, ...]) -> int:
    """How many items both begin with."""
    if len(kept) <= len(items) and all(map(is_, kept, items)):
        return len(kept)
    differ = (at for at, (one, other) in enumerate(zip(kept, items, strict=False)) if one is not other)
    return next(differ, len(items))


def _stops(items: tuple[ItemT, ...], start: int, run: int, begins: Begins[ItemT]) -> Iterator[int]:
    """Where to cut, so that what belongs together stays together."""
    while start < len(items):
        start = min(start + run, len(items))
        while start < len(items) and not begins(items[start]):
            start += 1
        yield start

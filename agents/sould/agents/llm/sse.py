"""Server-sent events out of bytes: the `data` of each event, whatever the reads and line ends look like.

It decodes nothing and knows no API. Comments and unknown fields cost nothing and are never kept; what it does keep is
bounded. Lines may end in LF, CRLF or CR, and a character may be split between two reads.
"""

from sould.agents.llm.provider import ProviderProtocolError
from sould.agents.llm.provider_errors import Redactor, malformed

MAX_LINE = 48 * 1024 * 1024
"""Longest line kept, in bytes: room for a tool argument of 20 MB, escaped."""
MAX_STREAM = 256 * 1024 * 1024
"""Most decoded bytes of one answer: a compressed bomb ends here."""

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"event", b"id", b"retry")


class EventLines:
    """Feed it reads, get complete events. An event without its closing blank line is given by `close`."""

    __slots__ = ("_after_cr", "_data", "_discarding", "_kept", "_partial", "_redact", "_seen", "comments", "trouble")

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._partial: list[bytes] = []
        self._kept = 0
        self._data: list[bytes] = []
        self._seen = 0
        self._after_cr = False
        self._discarding = False
        self.comments = 0
        """How many there were: servers send them as signs of life."""
        self.trouble: ProviderProtocolError | None = None
        """What came behind the last events that were given, and ends the stream."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events this read completes.

        Raises:
            ProviderProtocolError: a line that is no event stream's, or more bytes than an answer can have.
        """
        if not self._seen and chunk.startswith(_BOM):
            chunk = chunk[3:]
        self._seen += len(chunk)
        if self._seen > MAX_STREAM:
            raise ProviderProtocolError(
                "The model server sent more than an answer can be; it was stopped.", kind="malformed"
            )
        if b"\r" in chunk or self._after_cr:
            chunk = self._plain_ends(chunk)
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            self._keep(chunk)
            return []
        if self._discarding:
            self._discarding = False
            self.comments += 1
            _, more, head = head.partition(b"\n")
            if not more:
                self._keep(tail)
                return []
        elif self._partial:
            self._partial.append(head)
            head = b"".join(self._partial)
            self._partial.clear()
        self._kept = 0
        self._keep(tail)
        return self._events(head.split(b"\n"))

    def close(self) -> list[bytes]:
        """The event the end of the stream left open."""
        lines = [b"".join(self._partial), b""]
        self._partial.clear()
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[5:])
            elif line[0] == 58:  # a colon
                self.comments += 1
            else:
                try:
                    data.extend(_other_line(line, self._redact))
                except ProviderProtocolError as error:
                    if not events:
                        raise
                    self.trouble = error
                    break
        return events

    def _plain_ends(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep(self, piece: bytes) -> None:
        if self._discarding or not piece:
            return
        if piece.startswith(b":") and not self._partial:
            self._discarding = True
            return
        self._partial.append(piece)
        self._kept += len(piece)
        if self._kept > MAX_LINE:
            raise malformed("The model server sent a line that never ends", self._partial[0], self._redact)


def _other_line(line: bytes, redact: Redactor) -> tuple[bytes, ...]:
    """A line that is neither data nor comment. Some servers send a bare or a labelled JSON error."""
    if line.startswith(b"{"):
        return (line,)
    name, colon, value = line.partition(b":")
    if name == b"error" and value.lstrip().startswith((b"{", b'"')):
        return (b'{"error":' + value + b"}",)
    if name in _FIELDS or name == b"data" or (colon and name.isalnum()):
        return ()
    raise malformed("The model server's answer is not an event stream", line, redact)

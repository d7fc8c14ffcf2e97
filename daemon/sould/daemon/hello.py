r"""The first frame on the socket: who connects, with which frontend, from where.

Read by the bridge, which must start in the time of a bare interpreter: nothing may be imported here. The frame is
`sould hello <length, 8 hex digits>\n` and then `key=value` fields, each ended by NUL. NUL cannot occur in arguments,
paths or environments, so bytes travel as they are and nobody has to parse JSON before the first answer. Keys repeat
for lists; unknown keys are ignored, so that old and new programs can talk.

After the frame the socket carries, from the daemon, lines for the waiting bridge: `say TEXT` (shown on its standard
error), `exit N`, and a bare end of file, which means "the daemon is gone: attach again".
"""

VERSION = "0.1.0"
PROTOCOL = (1, 1)
"""The lowest and highest version of this frame and of the lines after it that we can speak."""

MAGIC = b"sould hello "
HEADER = len(MAGIC) + 9
MAX_FRAME = 4 * 1024 * 1024
"""An environment is at most 2 MiB on Linux, arguments too."""

FRONTENDS = ("acp", "lsp", "wire", "control")


def encode(fields: "list[tuple[bytes, bytes]]") -> bytes:
    """The frame. Order is kept."""
    body = b"".join([key + b"=" + value + b"\0" for key, value in fields])
    return MAGIC + b"%08x\n" % len(body) + body


def decode(body: bytes) -> "list[tuple[bytes, bytes]]":
    """The fields of a frame's body. Raises ValueError when it is not one."""
    if body and not body.endswith(b"\0"):
        raise ValueError("the hello frame does not end in NUL")
    fields: list[tuple[bytes, bytes]] = []
    for field in body.split(b"\0")[:-1]:
        key, equals, value = field.partition(b"=")
        if not equals:
            raise ValueError("a field of the hello frame has no value")
        fields.append((key, value))
    return fields

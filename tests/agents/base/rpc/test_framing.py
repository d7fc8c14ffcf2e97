"""Messages behind headers, however the bytes come, and whoever goes on with them (D11)."""

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.rpc.framing import HEAD, HeaderSplitter, Malformed, TooLong

BODIES = st.lists(st.binary(min_size=1, max_size=60), max_size=6)
CUTS = st.lists(st.integers(1, 30), max_size=60)


def framed(bodies: list[bytes]) -> bytes:
    return b"".join(b"Content-Length: %d\r\n\r\n" % len(each) + each for each in bodies)


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    """The data cut into pieces of these sizes, and the rest."""
    cut: list[bytes] = []
    for size in sizes:
        cut.append(data[:size])
        data = data[size:]
    return [each for each in (*cut, data) if each]


@given(BODIES, CUTS)
def test_messages_are_the_same_however_their_bytes_come(bodies: list[bytes], sizes: list[int]) -> None:
    splitter = HeaderSplitter()
    assert [found for piece in pieces(framed(bodies), sizes) for found in splitter.feed(piece)] == bodies


@given(BODIES, CUTS, st.integers(0, 60))
def test_another_splitter_goes_on_with_the_rest(bodies: list[bytes], sizes: list[int], at: int) -> None:
    one, other = HeaderSplitter(), HeaderSplitter()
    cut = pieces(framed(bodies), sizes)
    found = [each for piece in cut[:at] for each in one.feed(piece)]
    assert found + [each for piece in (one.rest, *cut[at:]) for each in other.feed(piece)] == bodies


def test_more_headers_and_other_ends_of_lines_are_read() -> None:
    data = (
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length: 2\r\n\r\n{}Content-Length: 2\n\n[]"
    )
    assert list(HeaderSplitter().feed(data)) == [b"{}", b"[]"]


def test_what_is_no_header_is_the_last_that_is_read() -> None:
    splitter = HeaderSplitter()
    [first, ended] = splitter.feed(framed([b"{}"]) + b"rubbish\r\n\r\n" + framed([b"[]"]))
    assert (first, type(ended)) == (b"{}", Malformed)
    assert not list(splitter.feed(framed([b"[]"])))
    assert len(splitter.rest) == 0


@given(CUTS)
def test_what_is_too_long_is_told_with_its_id_and_not_kept(sizes: list[int]) -> None:
    long = b'{"id": 5, "params": "' + b"x" * 3 * HEAD + b'"}'
    splitter = HeaderSplitter(limit=1000)
    found = [
        each for piece in pieces(framed([long, b"{}"]), [each * 500 for each in sizes]) for each in splitter.feed(piece)
    ]
    assert found == [TooLong(len(long), 5), b"{}"]
    assert len(splitter.rest) == 0

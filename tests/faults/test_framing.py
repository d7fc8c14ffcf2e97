"""Bad lines on the JSON-RPC connection itself, over memory: rubbish in, one clear error out, the rest unharmed."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.base.errors import NoModelError
from sould.agents.base.rpc.connection import Connection, Limits
from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, ConnectionGoneError, RpcError
from sould.agents.base.rpc.framing import LineSplitter, TooLong, find_id
from sould.agents.base.rpc.messages import Invalid, Request, parse
from soultest.bench.memory import MemoryStream, stream_pair
from soultest.luck import examples

Json = dict[str, Any]


class Echo:
    """`echo` answers its params, `wait` when it is let, `fail` and `crash` fail, `order` notes when it began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.told: list[str] = []
        self.go = asyncio.Event()

    async def request(self, method: str, params: Json) -> Any:
        self.begun.append(method)
        match method:
            case "echo":
                return params
            case "wait":
                await self.go.wait()
                return "waited"
            case "fail":
                raise NoModelError("No model is configured; run `sould login`.")
            case "crash":
                raise ZeroDivisionError("secret")
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]}.")

    async def notification(self, method: str, params: Json) -> None:
        self.told.append(method)
        if method == "crash":
            raise ZeroDivisionError


class Peer:
    """The other side: raw lines out, parsed answers in."""

    def __init__(self, stream: MemoryStream, connection: Connection, handler: Echo) -> None:
        self.stream = stream
        self.connection = connection
        self.handler = handler
        self._lines = LineSplitter()
        self._ready: list[Json] = []

    def send(self, line: bytes) -> None:
        self.stream.write(line + b"\n")

    def call(self, method: str, identifier: Any = 1, **params: Any) -> None:
        self.send(orjson.dumps({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}))

    async def receive(self) -> Json:
        while not self._ready:
            data = await self.stream.read()
            assert data, "the connection was closed"
            self._ready += [orjson.loads(line) for line in self._lines.feed(data) if isinstance(line, bytes)]
        return self._ready.pop(0)

    async def alive(self) -> None:
        self.call("echo", "still there?")
        assert await self.receive() == {"jsonrpc": "2.0", "id": "still there?", "result": {}}


@contextlib.asynccontextmanager
async def serving(limits: Limits | None = None, pipe: int = 64 * 1024) -> AsyncGenerator[Peer, None]:
    """A connection that serves `Echo`, and its peer; the connection has ended when the block has."""
    ours, theirs = stream_pair(pipe)
    handler = Echo()
    connection = Connection(ours, handler, limits=limits or Limits(farewell=0.0))
    async with asyncio.TaskGroup() as group:
        group.create_task(connection.serve())
        yield Peer(theirs, connection, handler)
        theirs.vanish()


REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{bad", -32700),
        (b"[]", -32600),
        (b"42", -32600),
        (b"null", -32600),
        (b'"x"', -32600),
        (b"true", -32600),
        (b"{}", -32600),
        (b"[" + REQUEST + b"]", -32600),
        (b'"\xff\xfe"', -32700),
        ('{"jsonrpc":"2.0","method":"é"}'.encode("utf-16"), -32700),
        (b'{"a":"\x00"}', -32700),
        (b"[" * 100_000, -32700),
        (b'{"a":NaN}', -32700),
        (b'{"a":1e999}', -32700),
        (b'{"a":' + b"1" * 1_000_000 + b"}", -32700),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_line_that_is_no_message_is_answered_with_an_error_without_id_and_the_next_works(
    line: bytes, code: int
) -> None:
    async with serving() as peer:
        peer.send(line)
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, code)
        assert "Recursion" not in answer["error"]["message"]
        await peer.alive()


@pytest.mark.parametrize("line", [b"", b"   ", b"\r", b"\xef\xbb\xbf"])
async def test_blank_lines_are_not_answered(line: bytes) -> None:
    async with serving() as peer:
        peer.send(line)
        await peer.alive()


@pytest.mark.parametrize("wrap", [b"\xef\xbb\xbf%s", b"%s\r", b"  %s  "])
async def test_byte_order_mark_carriage_return_and_blanks_are_accepted(wrap: bytes) -> None:
    async with serving() as peer:
        peer.send(wrap % b'{"jsonrpc":"2.0","id":7,"method":"echo","params":{"text":"\xe2\x80\xa8\\u0000"}}')
        assert await peer.receive() == {"jsonrpc": "2.0", "id": 7, "result": {"text": "\u2028\0"}}


async def test_half_a_surrogate_pair_is_refused_with_the_id_of_its_request() -> None:
    """It reaches no handler."""
    async with serving() as peer:
        peer.send(b'{"jsonrpc":"2.0","id":7,"method":"echo","params":{"text":"\\ud800"}}')
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32602)
        peer.send(b'{"jsonrpc":"2.0","method":"echo","params":{"text":"\\udfff"}}')
        await peer.alive()
        assert peer.handler.begun == ["echo"]


async def test_a_hundred_bad_lines_close_the_connection() -> None:
    async with serving(Limits(bad_lines=5)) as peer:
        for _ in range(5):
            peer.send(b"{")
        answers = [await peer.receive() for _ in range(5)]
        assert len(answers) == 5
        assert await peer.stream.read() == b""


async def test_a_line_that_is_too_long_is_discarded_as_it_arrives_and_refused_with_its_size_and_id() -> None:
    async with serving(Limits(line=1000)) as peer:
        peer.call("echo", 5, data="x" * 5000)
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (5, -32600)
        assert "exceeds 1000 bytes" in answer["error"]["message"]
        await peer.alive()


async def test_a_line_above_a_mebibyte_is_handled() -> None:
    """Parsed in a thread."""
    async with serving() as peer:
        peer.call("echo", 5, data="x" * 3_000_000)
        assert len((await peer.receive())["result"]["data"]) == 3_000_000


async def test_one_byte_at_a_time_is_as_good_as_all_at_once() -> None:
    """Also inside a character."""
    async with serving() as peer:
        line = '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"日本😀"}}\n'.encode()
        for offset in range(len(line)):
            peer.stream.write(line[offset : offset + 1])
            await asyncio.sleep(0)
        assert (await peer.receive())["result"] == {"text": "日本😀"}


async def test_a_thousand_messages_in_one_write_are_all_answered_in_order() -> None:
    async with serving() as peer:
        lines = [b'{"jsonrpc":"2.0","id":%d,"method":"echo"}\n' % number for number in range(1000)]
        peer.stream.write(b"".join(lines))
        assert [(await peer.receive())["id"] for _ in range(1000)] == list(range(1000))


@pytest.mark.parametrize("identifier", [0, -1, "", "x" * 10_000, None, 2**63 - 1])
async def test_every_lawful_id_comes_back_as_it_was(identifier: Any) -> None:
    async with serving() as peer:
        peer.call("echo", identifier)
        answer = await peer.receive()
        assert answer == {"jsonrpc": "2.0", "id": identifier, "result": {}}


@pytest.mark.parametrize("identifier", [b"1.5", b"{}", b"[1]", b"true", b"9223372036854775808"])
async def test_an_unlawful_id_is_refused(identifier: bytes) -> None:
    async with serving() as peer:
        peer.send(b'{"jsonrpc":"2.0","id":' + identifier + b',"method":"echo"}')
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        await peer.alive()


async def test_an_id_already_in_flight_is_refused_and_the_first_request_is_unaffected() -> None:
    async with serving() as peer:
        peer.call("wait", 3)
        peer.call("echo", 3)
        refused = await peer.receive()
        assert (refused["id"], refused["error"]["code"]) == (3, -32600)
        peer.handler.go.set()
        assert (await peer.receive())["result"] == "waited"
        await peer.alive()


async def test_answers_to_nothing_are_ignored_and_counted() -> None:
    """The answers SDKs give to a stray print are among them."""
    async with serving() as peer:
        peer.send(b'{"jsonrpc":"2.0","id":99,"result":{}}')
        peer.send(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}')
        peer.send(b'{"jsonrpc":"2.0","id":"x","error":"what"}')
        await peer.alive()
        assert peer.connection.ignored_responses == 3


async def test_notifications_are_never_answered_whatever_they_are() -> None:
    async with serving() as peer:
        for method in ("told", "crash", "$/unknown", "x" * 10_000):
            peer.send(orjson.dumps({"jsonrpc": "2.0", "method": method}))
        peer.send(b'{"jsonrpc":"2.0","method":"told","params":[1]}')
        await peer.alive()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"jsonrpc":"2.0","id":4,"method":"nothing"}', -32601),
        (b'{"jsonrpc":"2.0","id":4,"method":"' + b"x" * 10_000 + b'"}', -32601),
        (b'{"jsonrpc":"2.0","id":4,"method":"echo","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', -32600),
        (b'{"id":4,"method":"echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":4}', -32600),
    ],
)
async def test_a_wrong_request_is_answered_with_its_id(line: bytes, code: int) -> None:
    async with serving() as peer:
        peer.send(line)
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (4, code)


async def test_a_failure_of_ours_is_one_sentence_with_data_and_a_bug_says_nothing_secret() -> None:
    async with serving() as peer:
        peer.call("fail", 1)
        peer.call("crash", 2)
        failed, crashed = await peer.receive(), await peer.receive()
        assert failed["error"]["code"] == -32603
        assert failed["error"]["data"]["kind"] == "no_model"
        assert "secret" not in json.dumps(crashed)


async def test_a_cancelled_request_is_answered_as_cancelled_even_when_it_had_not_begun() -> None:
    async with serving() as peer:
        peer.stream.write(
            b'{"jsonrpc":"2.0","id":1,"method":"wait"}\n'
            b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}\n'
            b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}\n'
            b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}\n'
        )
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)
        await peer.alive()


async def test_withdrawing_a_request_of_ours_tells_the_peer_and_its_late_answer_is_ignored() -> None:
    async with serving() as peer:
        asking = asyncio.create_task(peer.connection.request("ask", {}))
        asked = await peer.receive()
        asking.cancel()
        assert await peer.receive() == {
            "jsonrpc": "2.0",
            "method": "$/cancel_request",
            "params": {"requestId": asked["id"]},
        }
        peer.send(orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": 1}))
        await peer.alive()
        assert peer.connection.ignored_responses == 1
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_requests_of_ours_fail_at_once_when_the_peer_goes() -> None:
    async with serving() as peer:
        asking = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.stream.vanish()
        with pytest.raises(ConnectionGoneError):
            await asking
        with pytest.raises(ConnectionGoneError):
            await peer.connection.request("ask", {})


async def test_a_peer_that_closes_its_side_after_asking_still_gets_its_answer() -> None:
    async with serving() as peer:
        peer.stream.write(b'{"jsonrpc":"2.0","id":1,"method":"echo"}')
        peer.stream.end()
        assert (await peer.receive())["result"] == {}


async def test_a_peer_that_takes_no_answers_is_not_read_any_further() -> None:
    """What waits for it stays bounded."""
    async with serving(Limits(unsent=100_000, high_water=10_000)) as peer:
        for number in range(200):
            peer.call("echo", number, data="x" * 10_000)
        for _ in range(1000):  # far more than the loop needs to take everything, if it took everything
            await asyncio.sleep(0)
        assert peer.connection.congested
        assert len(peer.handler.begun) < 100
        assert {(await peer.receive())["id"] for _ in range(200)} == set(range(200))


# --- properties ---------------------------------------------------------------------------------------------------

pieces = st.lists(st.integers(min_value=1, max_value=40), max_size=60)


@given(st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line), max_size=20), pieces)
def test_how_bytes_are_cut_changes_no_line(lines: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    at_once = list(LineSplitter(30).feed(whole))
    splitter, start = LineSplitter(30), 0
    dribbled: list[bytes | TooLong] = []
    for cut in [*cuts, len(whole)]:
        dribbled += splitter.feed(whole[start : start + cut])
        start += cut
    dribbled += splitter.feed(whole[start:])
    assert dribbled == at_once
    assert all(len(line) <= 30 if isinstance(line, bytes) else line.size > 30 for line in at_once)
    assert sum(isinstance(line, TooLong) for line in at_once) == sum(len(line) > 30 for line in lines)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
members = st.fixed_dictionaries(
    {},
    optional={"jsonrpc": st.just("2.0") | json_values, "id": json_values, "method": json_values, "params": json_values},
)


@given(st.binary(max_size=200) | members.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=examples(400))
def test_any_line_is_one_message_or_one_error(line: bytes) -> None:
    message = parse(line)
    if isinstance(message, Invalid):
        assert message.error.code in (-32700, -32600, -32602)
        orjson.dumps(message.id)
    if isinstance(message, Request):
        assert not isinstance(message.id, bool | float)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1) | st.text(max_size=20), json_values)
def test_the_id_of_a_long_line_is_found_wherever_it_stands_at_the_top(identifier: int | str, params: Any) -> None:
    message = {"jsonrpc": "2.0", "method": "m", "params": params, "id": identifier, "x": [{"id": 0}, "y" * 50]}
    for order in (message, dict(reversed(message.items()))):
        assert find_id(json.dumps(order).encode()) == identifier
    assert find_id(json.dumps({"params": {"id": 1}, "data": "x" * 9000}).encode()[:4096]) is None

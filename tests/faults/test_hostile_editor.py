"""Hostile input through the real bridge: whatever an editor writes, one answer, and everybody else unharmed."""

import json
import random
from typing import Any

import pytest

from soultest.daemon import Bridge, Sould, count
from soultest.faulty import Editor

MIB = 1024 * 1024


def rss(pid: int) -> int:
    """Resident bytes of a process."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def raw(bridge: Bridge, data: bytes) -> None:
    """Bytes on the editor's pipe as they are."""
    assert bridge.process.stdin is not None
    bridge.process.stdin.write(data)
    bridge.process.stdin.flush()


def answers(bridge: Bridge, identifier: str = "after") -> None:
    """The connection still works."""
    assert "result" in bridge.request(identifier, "session/list")


@pytest.mark.parametrize(
    "line",
    [
        b"{bad",
        b"[]",
        b"42",
        b"null",
        b'"x"',
        b"true",
        b"\xff\xfe",
        b'{"id":1}',
        b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]',
    ],
)
def test_a_bad_line_costs_one_error_and_nothing_else(sould_after: Sould, line: bytes) -> None:
    neighbour, bridge = sould_after.acp(), sould_after.acp()
    raw(bridge, line + b"\n")
    refusal = json.loads(bridge.line())
    assert refusal["error"]["code"] in (-32700, -32600)
    answers(bridge)
    answers(neighbour)


@pytest.mark.parametrize("size", [1 * MIB, 16 * MIB, 47 * MIB])
def test_a_long_line_is_handled_and_its_memory_given_back(sould_after: Sould, size: int) -> None:
    bridge = sould_after.acp()
    before = rss(sould_after.pid)
    padding = b"x" * size
    raw(bridge, b'{"jsonrpc":"2.0","id":"long","method":"session/list","params":{"_meta":{"p":"' + padding + b'"}}}\n')
    assert "result" in bridge.answer("long", 30)
    answers(bridge)
    assert rss(sould_after.pid) - before < 4 * size + 48 * MIB


def test_a_line_without_end_is_thrown_away_as_it_arrives(sould_after: Sould) -> None:
    bridge = sould_after.acp()
    before = rss(sould_after.pid)
    raw(bridge, b'{"jsonrpc":"2.0","id":"huge","method":"session/list","params":{"p":"')
    for _ in range(count(200, 60)):
        raw(bridge, b"x" * MIB)
        assert rss(sould_after.pid) - before < 2 * 50 * MIB
    raw(bridge, b'"}}\n')
    refusal = bridge.answer("huge", 30)
    assert "exceeds" in refusal["error"]["message"]
    answers(bridge)


def test_deep_and_large_json_does_not_hold_up_the_others(sould_after: Sould) -> None:
    neighbour, bridge = sould_after.acp(), sould_after.acp()
    hostile = [
        b"[" * 100_000,
        b'{"a":' * 5000,
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":' + b"9" * 1_000_000 + b"}}",
    ]
    for number, line in enumerate(hostile):
        raw(bridge, line + b"\n")
        answers(neighbour, f"n{number}")
        assert "error" in json.loads(bridge.line())
    answers(bridge)


def test_half_a_line_and_then_death_harms_nobody(sould_after: Sould) -> None:
    neighbour = sould_after.acp()
    for part in (b"", b"{", b'{"jsonrpc":"2.0","id":"x","method":"session/n'):
        bridge = sould_after.acp()
        raw(bridge, part)
        bridge.kill()
    answers(neighbour)


def mutated(rng: random.Random, line: bytes) -> bytes:
    """Up to four places with other bytes; still one line."""
    changed = bytearray(line)
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(changed))
        changed[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3)).replace(b"\n", b" ")
    return bytes(changed)


def test_mutated_conversations_get_json_or_nothing(sould_after: Sould) -> None:
    """A fuzzer in its short form: seeded, so that a failure can be repeated; every line that comes back is a frame."""
    rng = random.Random(20261121)
    seeds: list[dict[str, Any]] = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "session/new",
            "params": {"cwd": str(sould_after.workspace), "mcpServers": []},
        },
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "session/prompt",
            "params": {"sessionId": "x", "prompt": [{"type": "text", "text": "hi"}]},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "session/set_mode", "params": {"sessionId": "x", "modeId": "plan"}},
        {"jsonrpc": "2.0", "id": 4, "method": "session/load", "params": {"sessionId": "../../etc/passwd", "cwd": "/"}},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "x"}},
    ]
    for _ in range(count(100, 8)):
        bridge = sould_after.acp()
        for _ in range(20):
            raw(bridge, mutated(rng, json.dumps(rng.choice(seeds)).encode()) + b"\n")
        answers(bridge, "alive")
        bridge.kill()


def test_ids_are_answered_once_each(sould: Sould) -> None:
    sould.world.script(["wait: 0.2\ntext: one"])
    editor = Editor(sould, sould.acp())
    editor.open()
    editor.begin("hi", "same")
    editor.begin("hi", "same")
    refusal = editor.wait(lambda message: "error" in message)
    assert refusal["error"]["code"] == -32600
    answer = editor.wait(lambda message: "result" in message)
    assert answer["id"] == "same"

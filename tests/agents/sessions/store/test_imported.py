"""Conversations that other agents keep: read whatever their files hold, and gone on with as sessions of ours."""

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.sessions.store.imported import claude, codex, kimi
from sould.agents.sessions.store.imported.finding import READERS, Agent
from sould.agents.sessions.store.imported.shape import LARGEST_IMAGE, ImportedConversation
from sould.agents.wire.content import ImagePart, TextPart
from soultest.acpclient import AgentError
from soultest.bench import Bench, asked, finish
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of
from soultest.kimisessions import STARTED, turn, wire_lines

Json = dict[str, Any]
Writer = Callable[[str, str], Json]


def of_claude(who: str, text: object) -> Json:
    message = {"role": who, "content": text}
    return {"type": who, "isSidechain": False, "cwd": "/p", "version": "2.0.61", "message": message}


def of_codex(who: str, text: str) -> Json:
    kind = "input_text" if who == "user" else "output_text"
    payload = {"type": "message", "role": who, "content": [{"type": kind, "text": text}]}
    return {"timestamp": "2025-12-08T00:39:54.800Z", "type": "response_item", "payload": payload}


def of_kimi(who: str, text: str) -> Json:
    return {"role": who, "content": text}


WRITERS: dict[Agent, Writer] = {"claude": of_claude, "codex": of_codex, "kimi": of_kimi}


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def texts(found: ImportedConversation, who: str) -> list[str]:
    return [part.text for each in found.said if each.who == who for part in each.parts if isinstance(part, TextPart)]


def test_claude_code_s_records_are_read_and_what_is_not_the_conversation_is_passed_over() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    large = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * LARGEST_IMAGE}}
    found = claude.read(
        lines(
            {"type": "summary", "summary": "The list", "leafUuid": "x"},
            of_claude("user", [{"type": "text", "text": "What is there?"}, picture, large]),
            of_claude("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}, call]),
            of_claude(
                "user", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.txt"}]}]
            ),
            of_claude("assistant", "One file.") | {"isSidechain": True},
            {"type": "later", "what": 1},
        )
    )
    assert (found.title, found.cwd, found.version) == ("The list", "/p", "2.0.61")
    assert texts(found, "user") == ["What is there?", "[An image was here.]"]
    assert sum(isinstance(part, ImagePart) for each in found.said for part in each.parts) == 1
    assert texts(found, "assistant") == ["I look.", '[Called Bash: {"command":"ls"}]', "[It answered:\na.txt\n]"]
    assert found.skipped["reasoning"] == found.skipped["records of unknown kinds"] == 1


def test_codex_s_records_are_read_once_without_what_it_puts_into_its_user_s_mouth() -> None:
    call = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"}
    found = codex.read(
        lines(
            {"type": "session_meta", "payload": {"id": "1", "cwd": "/p", "cli_version": "0.65.0"}},
            of_codex("user", "<environment_context>\n<cwd>/p</cwd>\n</environment_context>"),
            of_codex("user", "What is there?"),
            {"type": "event_msg", "payload": {"type": "user_message", "message": "What is there?"}},
            {"type": "response_item", "payload": {"type": "reasoning", "encrypted_content": "x"}},
            {"type": "response_item", "payload": call},
            {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "a.txt"}},
            of_codex("assistant", "One file."),
        )
    )
    assert (found.cwd, found.version) == ("/p", "0.65.0")
    assert texts(found, "user") == ["What is there?"]
    said = ['[Called shell: {"command":["ls"]}]', "[It answered:\na.txt\n]", "One file."]
    assert texts(found, "assistant") == said


def test_kimi_s_messages_are_read() -> None:
    call = {"type": "function", "id": "t", "function": {"name": "Shell", "arguments": "{}"}}
    found = kimi.read(
        lines(
            {"role": "_system_prompt", "content": "secret words"},
            {"role": "_checkpoint", "id": 0},
            of_kimi("user", "What is there?"),
            {"role": "assistant", "content": [{"type": "think", "think": "hm"}], "tool_calls": [call]},
            {"role": "tool", "content": [{"type": "text", "text": "a.txt"}], "tool_call_id": "t"},
        )
    )
    assert texts(found, "user") == ["What is there?"]
    assert texts(found, "assistant") == ["[Called Shell: {}]", "[It answered:\na.txt\n]"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "message", "payload", "text", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
NOISE = JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40).map(
    lambda raw: raw.replace(b"\n", b"")
)


@pytest.mark.parametrize("agent", READERS)
@given(
    noise=st.lists(NOISE, max_size=5), words=st.lists(st.text(min_size=1, max_size=20).map("w{}".format), max_size=5)
)
def test_whatever_stands_between_no_message_of_the_user_is_lost(
    agent: Agent, noise: list[bytes], words: list[str]
) -> None:
    pieces: list[bytes] = []
    for number in range(max(len(noise), len(words))):
        pieces += noise[number : number + 1]
        pieces += [json.dumps(WRITERS[agent]("user", each)).encode() for each in words[number : number + 1]]
    said = texts(READERS[agent](b"\n".join(pieces)), "user")
    left = iter(said)
    assert all(each in left for each in words), "in their order"


async def test_what_others_keep_is_found_imported_and_gone_on_with(bench: Bench, connect: Connect) -> None:
    home = bench.root / "home"
    kept = home / ".kimi" / "sessions" / hashlib.md5(str(bench.project).encode()).hexdigest() / "one"
    kept.mkdir(parents=True)
    data = lines(of_kimi("user", "The magic word is plugh."), of_kimi("assistant", "Noted."), "no object")
    (kept / "context.jsonl").write_bytes(data)
    (kept / "wire.jsonl").write_bytes(wire_lines(*turn("The magic word is plugh.")))
    (kept.parent / "two").mkdir()
    (kept.parent / "two" / "context.jsonl").symlink_to(kept / "context.jsonl")
    elsewhere = home / ".codex" / "sessions" / "2025" / "12" / "08"
    elsewhere.mkdir(parents=True)
    meta = {"type": "session_meta", "payload": {"cwd": "/another"}}
    (elsewhere / "rollout-1.jsonl").write_bytes(lines(meta, of_codex("user", "hi")))
    bench.script("text: plugh")
    environment = {**os.environ, "HOME": str(home)}
    async with bench.running(), connect(environment=environment) as client:
        await client.initialize()
        cwd = str(bench.project)
        [found] = (await client.request("_sould/session/imports", cwd=cwd))["found"]
        assert (found["agent"], found["title"]) == ("kimi", "The magic word is plugh.")
        link = bench.root / "link"
        link.symlink_to(bench.project)
        assert (await client.request("_sould/session/imports", cwd=str(link)))["found"] == [found]
        made = await client.request("_sould/session/import", cwd=cwd, path=found["path"])
        assert (made["source"], made["messages"], made["skipped"]) == ("Kimi", 2, {"lines that are no objects": 1})
        with pytest.raises(AgentError, match="holds no conversation"):
            await client.request("_sould/session/import", cwd=cwd, path=str(bench.project / "a.txt"))
        with pytest.raises(AgentError):
            await client.request("_sould/session/import", cwd=cwd, path=str(kept.parent / "two" / "context.jsonl"))
        session = await bench.open(made["sessionId"])
        assert session.info.title == "The magic word is plugh. (from Kimi)"
        assert session.info.created == STARTED
        await finish(session, "Which word?")
        said = [part.text for each in messages_of(session) for part in each.content if isinstance(part, TextPart)]
        assert "Noted." in said
        assert next(each for each in asked(session) if not each.startswith("<system>")) == "The magic word is plugh."
        assert "imported from Kimi" in asked(session)[0]
    assert (kept / "context.jsonl").read_bytes() == data

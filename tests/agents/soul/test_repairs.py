"""What is done about a refusal, and what is not."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from sould.agents.llm.provider import ChatMessage, ChatRequest
from sould.agents.llm.requests import RequestStyle
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import CompactionBegin, CompactionEnd, MediaLeftOut, Notification
from soultest.bench import Watcher, finish
from soultest.bench.looks import messages_of
from soultest.families.bench import ServedBench
from soultest.families.kinds import Gateway, OpenAI
from soultest.families.server import Call, Complaint, Family, FamilyServer, Said
from soultest.llm import Json
from soultest.llmclient import ask, provider_for
from soultest.pictures import png


class Broke(Family):
    """After the first answer it refuses everything, in words that speak of media when they do not."""

    words = "Your credit balance is too low; access ends immediately."

    def complaints(self, body: Json) -> Iterator[Complaint]:
        if self._said:
            yield Complaint(self.words, "fault")


async def test_a_refusal_for_another_reason_costs_the_conversation_nothing(tmp_path: Path) -> None:
    async with FamilyServer(Broke()) as server:
        bench = ServedBench(tmp_path, server=server)
        bench.prepare()
        (bench.project / "shot.png").write_bytes(png())
        server.say(Said(calls=(Call("ReadMediaFile", {"path": "shot.png"}),)))
        async with bench.running():
            watcher = Watcher(await bench.new("full"))
            end = await finish(watcher.session, "look")
            messages = messages_of(watcher.session)
    assert end.error is not None
    assert Broke.words in end.error.message
    assert (watcher.of(MediaLeftOut), watcher.of(CompactionEnd)) == ([], [])
    assert [message.role for message in messages][:2] == ["user", "assistant"]


async def test_a_first_prompt_that_does_not_fit_is_not_compacted_and_told_once(tmp_path: Path) -> None:
    async with FamilyServer(OpenAI(limit=400)) as server:
        bench = ServedBench(tmp_path, server=server)
        bench.prepare()
        async with bench.running():
            watcher = Watcher(await bench.new("full"))
            end = await finish(watcher.session, "hi")
    assert end.error is not None
    assert end.error.kind == "context_too_long"
    assert "Nearly all of it is the system prompt and the tools" in end.error.message
    assert "/compact" not in end.error.message
    assert not watcher.of(CompactionBegin)
    assert not [told for told in watcher.of(Notification) if "context" in told.body]


async def test_requests_that_meet_the_same_refusal_together_are_all_answered() -> None:
    request = ChatRequest("", (ChatMessage("user", (TextPart(text="hello"),)),))
    async with FamilyServer(Gateway()) as server, provider_for(server.url) as provider:
        outcomes = await asyncio.gather(*(ask(provider, "", request=request) for _ in range(5)))
    assert [outcome.error for outcome in outcomes] == [None] * 5


async def test_a_limit_that_leaves_no_room_is_left_out_of_that_request_alone() -> None:
    class Narrow(OpenAI):
        def complaints(self, body: Json) -> Iterator[Complaint]:
            if wanted := body.get("max_completion_tokens", body.get("max_tokens")):
                yield Complaint(
                    f"This model's maximum context length is 100 tokens. However, you requested {wanted} output tokens"
                )

    request = ChatRequest("", (ChatMessage("user", (TextPart(text="hello"),)),))
    async with FamilyServer(Narrow()) as server:
        async with provider_for(server.url, style=RequestStyle(max_output_tokens=4096)) as provider:
            outcomes = [await ask(provider, "", request=request) for _ in range(2)]
        asked = [each.body.get("max_tokens") for each in server.requests]
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert asked == [4096, None, 4096, None]

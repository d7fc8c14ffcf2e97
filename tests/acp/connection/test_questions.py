"""Questions of the soul, put to the user as a form or, without forms, as buttons."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from sould.acp.clients import shows_names
from sould.acp.connection.asking import buttons, pressed
from sould.acp.introduction import Implementation
from sould.acp.schema import ElicitationAnswer
from sould.agents.permissions.questions import OWN_WORDS
from sould.agents.wire.messages import (
    ApprovalRequest,
    QuestionItem,
    QuestionOption,
    QuestionRequest,
    QuestionResponse,
    ToolResult,
    TurnBegin,
)
from soultest.acpclient import ALLOW_ONCE, FULL, Policy, choose, ignore
from soultest.bench import Bench, Watcher, call
from soultest.bench.acp import Connect

Json = dict[str, Any]
COLOUR = QuestionItem(
    question="Which colour?",
    header="Colour",
    body="For the gate.",
    options=(QuestionOption(label="red", description="warm"), QuestionOption(label="blue")),
    other_label="Another",
)
TOOLS = QuestionItem(
    question="Which tools?",
    options=(QuestionOption(label="saw"), QuestionOption(label="axe")),
    multi_select=True,
)
NAME = QuestionItem(question="What name?")
REQUEST = QuestionRequest(id="q1", tool_call_id="c1", questions=(COLOUR, TOOLS, NAME))
CHOICES = QuestionRequest(id="q1", tool_call_id="c1", questions=(COLOUR, TOOLS))


def cancel(_: Json) -> Json:
    return {"action": "cancel"}


async def answered(
    bench: Bench,
    connect: Connect,
    capabilities: Json,
    *,
    form: Callable[[Json], Json] = cancel,
    permissions: Policy = ALLOW_ONCE,
) -> dict[str, str]:
    """What the soul hears when it asks `REQUEST`, without forms `CHOICES`."""
    async with bench.running() as host, connect(check=False, form=form, permissions=permissions) as client:
        await client.initialize(capabilities)
        session = await client.new_session(bench.project)
        live = host.sessions.get(session)
        assert live is not None
        await client.wait_update("available_commands_update")
        async with asyncio.timeout(10):
            response = await live.log.channel.request(REQUEST if "elicitation" in capabilities else CHOICES)
        assert isinstance(response, QuestionResponse)
        return response.answers


async def test_questions_are_one_form(bench: Bench, connect: Connect) -> None:
    asked: list[Json] = []

    def fill(params: Json) -> Json:
        asked.append(params)
        return {"action": "accept", "content": {"q1": "red", "q2": ["saw", "axe"], "q3": "Gate"}}

    answers = await answered(bench, connect, FULL, form=fill)
    assert answers == {"Which colour?": "red", "Which tools?": "saw, axe", "What name?": "Gate"}
    properties = asked[0]["requestedSchema"]["properties"]
    assert properties["q1"]["oneOf"][0] == {"const": "red", "title": "red", "description": "warm"}
    assert properties["q2"]["type"] == "array"
    assert properties["q3"] == {"title": "What name?", "type": "string"}
    assert asked[0]["mode"] == "form"


async def test_words_of_the_user_s_own_win_over_a_choice_and_join_several(bench: Bench, connect: Connect) -> None:
    content = {"q1": "red", "q1_other": "violet", "q2": ["saw"], "q2_other": "a plane"}
    answers = await answered(bench, connect, FULL, form=lambda _: {"action": "accept", "content": content})
    assert answers == {"Which colour?": "violet", "Which tools?": "saw, a plane"}


async def test_a_declined_or_broken_form_is_dismissed(bench: Bench, connect: Connect) -> None:
    replies: list[Json] = [{"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": 5}, {}]
    for reply in replies:
        assert await answered(bench, connect, FULL, form=partial(given, reply)) == {}


def given(reply: Json, _: Json) -> Json:
    return reply


def test_what_is_wrong_with_an_answer_is_said_without_the_answer() -> None:
    with pytest.raises(ValidationError) as caught:
        ElicitationAnswer.model_validate({"action": ["canary"], "content": "canary"})
    assert "canary" not in str(caught.value)


async def test_without_forms_each_choice_is_a_button(bench: Bench, connect: Connect) -> None:
    answers = await answered(bench, connect, {}, permissions=choose("allow_once"))
    assert answers == {"Which colour?": "red", "Which tools?": "saw, axe"}
    assert await answered(bench, connect, {}, permissions=choose("reject_once")) == {}


async def test_without_forms_several_choices_end_with_done_and_own_words_can_be_asked_for(
    bench: Bench, connect: Connect
) -> None:
    shown: list[list[str]] = []

    def pick(*names: str) -> Callable[[Json], Json]:
        wanted = iter(names)

        def policy(params: Json) -> Json:
            shown.append([option["name"] for option in params["options"]])
            name = next(wanted)
            (option,) = [option for option in params["options"] if option["name"] == name]
            return {"outcome": "selected", "optionId": option["optionId"]}

        return policy

    answers = await answered(bench, connect, {}, permissions=pick("Another", "axe", "Done"))
    assert answers == {"Which colour?": OWN_WORDS, "Which tools?": "axe"}
    assert shown[1:] == [["saw", "axe", "None of these", "Dismiss"], ["saw", "Done", "Dismiss"]]
    answers = await answered(bench, connect, {}, permissions=pick("blue", "None of these"))
    assert answers == {"Which colour?": "blue", "Which tools?": "None of these"}
    assert await answered(bench, connect, {}, permissions=pick("blue", "Dismiss")) == {"Which colour?": "blue"}


async def test_the_card_says_what_the_buttons_mean_before_they_are_shown(bench: Bench, connect: Connect) -> None:
    options = [{"label": "SQLite", "description": "No server."}, {"label": "PostgreSQL"}]
    bench.script(call("AskUserQuestion", questions=[{"question": "Which database?", "options": options}]), "text: So.")
    async with bench.running(), connect(permissions=choose("allow_once")) as client:
        await client.initialize({}, clientInfo={"name": "agentic.nvim", "version": "1"})
        await client.prompt(await client.new_session(bench.project), "go")
        log = [message for message in client.messages if message.get("method")]
        (asked,) = [n for n, each in enumerate(log) if each["method"] == "session/request_permission"]
        cards = [each["params"]["update"] for each in log[:asked] if each["method"] == "session/update"]
        said = [
            each["content"] for each in cards if each["sessionUpdate"].startswith("tool_call") and "content" in each
        ]
    assert said[-1] == [{"type": "content", "content": {"type": "text", "text": "SQLite: No server."}}]
    assert log[asked]["params"]["toolCall"]["content"] == said[-1]


def test_the_names_of_buttons_are_plain_text() -> None:
    item = QuestionItem(question="Which?", options=(QuestionOption(label="`make` or `tox`"),))
    params = buttons("s", QuestionRequest(id="q", tool_call_id="c", questions=(item,)), item)
    assert [each["name"] for each in params["options"]] == ["make or tox", "Dismiss"]
    assert pressed("option_0", item) == 0


CODE_COMPANION = {"name": "CodeCompanion.nvim", "version": "17.0.0"}
OPEN_FILE: Json = {"type": "resource", "resource": {"uri": "file:///x/a.txt", "text": "hello"}}
OTHERS = ("zed", "agent-shell", "Agentic.nvim", "toad", "sould-run")


def test_clients_are_known_that_label_options_by_kind() -> None:
    def named(name: str) -> Implementation:
        return Implementation(name=name, version="1")

    assert not any(shows_names(named(name)) for name in ("CodeCompanion.nvim", "acpx"))
    assert not shows_names(None), "avante.nvim says no name, and tells options apart by kind and order"
    assert all(map(shows_names, map(named, OTHERS)))


async def test_where_options_are_labelled_by_kind_questions_are_words_that_the_next_prompt_answers(
    bench: Bench, connect: Connect
) -> None:
    options = [{"label": "SQLite", "description": "No server."}, {"label": "PostgreSQL"}]
    tools = [{"label": "saw"}, {"label": "axe"}]
    asked = [
        {"question": "Which database?", "options": options},
        {"question": "Which tools?", "options": tools, "multi_select": True},
        {"question": "Which end?", "options": tools},
    ]
    bench.script(call("AskUserQuestion", questions=asked), "text: As you like.")
    async with bench.running() as host, connect() as client:
        await client.initialize({}, clientInfo=CODE_COMPANION)
        session = await client.new_session(bench.project)
        said: list[str] = []

        async def says(*blocks: str | Json) -> str:
            """What the agent says to a prompt, which ends then: such a client lets nobody type before."""
            assert await client.prompt(session, *blocks) == {"stopReason": "end_turn"}
            new = client.text().removeprefix("".join(said))
            said.append(new)
            return new

        choices = "1. SQLite: No server.\n2. PostgreSQL\n3. Other"
        assert await says("go") == f"Which database?\n\n{choices}\n\nAnswer 1, 2 or 3; n dismisses the question."
        assert await says("7") == "7 is not one of the answers. Answer 1, 2 or 3; n dismisses the question."
        assert await says("3") == "Other: which? Type 3 and your words."
        assert (await says("3 a text file")).startswith(
            "Which tools?\n\n1. saw\n2. axe\n3. Other\n\nAnswer 1, 2 or 3, or "
        )
        assert (await says(OPEN_FILE, "2, 1")).startswith("Which end?"), "what was typed is the answer"
        assert await says("n") == "As you like."
        live = host.sessions.get(session)
        assert live is not None
        (answer,) = [each.message for each in live.log.replay(None) if isinstance(each.message, QuestionResponse)]
        assert answer.answers == {"Which database?": "a text file", "Which tools?": "axe, saw"}
        assert not client.asked("session/request_permission")
        assert len([each for each in live.log.replay(None) if isinstance(each.message, TurnBegin)]) == 1


async def test_a_question_in_words_ends_when_it_is_answered_elsewhere_or_its_turn_is_cancelled(
    bench: Bench, connect: Connect
) -> None:
    question = call("AskUserQuestion", questions=[{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}])
    bench.script(question, "text: So a.", question, "text: Here.", "text: Hello.")
    async with bench.running() as host, connect() as client:
        await client.initialize({}, clientInfo=CODE_COMPANION)
        session = await client.new_session(bench.project)
        await client.prompt(session, "go")
        live = host.sessions.get(session)
        assert live is not None
        (pending,) = live.log.channel.pending
        live.parts.attached.answer(QuestionResponse(request_id=pending.id, answers={"Which?": "a"}), "another")
        await client.wait_update("agent_message_chunk", lambda update: "So a." in update["content"]["text"])
        assert await client.prompt(session, "again") == {"stopReason": "end_turn"}
        client.notify("session/cancel", sessionId=session)
        await client.wait_update("tool_call_update", lambda update: update.get("status") == "failed")
        assert await client.prompt(session, "hello") == {"stopReason": "end_turn"}
        assert client.text().endswith("Here."), "it is a prompt of its own, whatever the model says to it"


@pytest.mark.parametrize("client_info", [{"name": "zed", "version": "1"}, CODE_COMPANION])
async def test_what_nobody_can_be_shown_outside_of_a_turn_waits_and_the_user_is_told_where_to_answer(
    bench: Bench, connect: Connect, client_info: Json
) -> None:
    async with bench.running() as host, connect() as client:
        await client.initialize({}, clientInfo=client_info)
        live = host.sessions.get(await client.new_session(bench.project))
        assert live is not None
        await client.wait_update("available_commands_update")
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(live.log.channel.request(REQUEST))
            said = "Which colour?\n\nFor the gate.\n\nWhich tools?\n\nWhat name?\n\nAnswer in a terminal, with `sould answer q1`"
            await client.wait_update("agent_message_chunk", lambda update: update["content"]["text"].startswith(said))
            answer = QuestionResponse(request_id="q1", answers={"What name?": "Gate"})
            assert live.parts.attached.answer(answer, "terminal").outcome == "accepted", "it waits"
        response = asking.result()
        assert isinstance(response, QuestionResponse)
        assert response.answers == {"What name?": "Gate"}
        assert not client.asked("session/request_permission")


async def test_a_client_that_cannot_show_its_form_after_all_has_not_dismissed_it(
    bench: Bench, connect: Connect
) -> None:
    def fail(_: Json) -> Json:
        raise OSError("no forms here")

    question = call("AskUserQuestion", questions=[{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}])
    bench.script(question, "text: So b.")
    async with bench.running() as host, connect(form=fail) as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        assert await client.prompt(session, "go") == {"stopReason": "end_turn"}
        assert client.text().endswith("Answer 1, 2 or 3; n dismisses the question.")
        assert await client.prompt(session, "2") == {"stopReason": "end_turn"}
        live = host.sessions.get(session)
        assert live is not None
        (answer,) = [each.message for each in live.log.replay(None) if isinstance(each.message, QuestionResponse)]
        assert answer.answers == {"Which?": "b"}


async def test_where_options_are_labelled_by_kind_permissions_are_asked_one_at_a_time(
    bench: Bench, connect: Connect
) -> None:
    reads = [call("ReadFile", path=path) for path in ("/etc/hostname", "/etc/hosts")]
    bench.script("\n".join(reads), "text: Done.")
    async with bench.running() as host, connect(permissions=ignore) as client:
        await client.initialize({}, clientInfo=CODE_COMPANION)
        session = await client.new_session(bench.project)
        live = host.sessions.get(session)
        assert live is not None
        watcher = Watcher(live, answer=None)
        turn = client.prompt(session, "go")
        await watcher.wait_for(ApprovalRequest, lambda _: len(watcher.of(ApprovalRequest)) == 2)
        await client.request("_sould/queue", sessionId=session)  # what was sent before it has come
        (first,) = client.asked("session/request_permission")
        client.answer(first, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        second = await client.wait_for(lambda message: message in client.asked("session/request_permission")[1:])
        client.answer(second, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert await turn == {"stopReason": "end_turn"}
        assert not any(result.return_value.is_error for result in watcher.of(ToolResult))

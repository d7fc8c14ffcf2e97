"""What an MCP server asks the user: its form with its types, and its page, in clients that show them and in others."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sould.agents.mcp.asking import TRIES, WARNING
from soultest.acpclient import ALLOW_ONCE, FULL, Policy
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.mcp import SERVER
from soultest.mcpserver import FORM, PAGE

Json = dict[str, Any]
GIVEN: Json = {"mail": "ada@example.org", "count": 3, "gift": True, "day": "2026-11-22", "size": "l", "extras": ["bow"]}


async def told(
    bench: Bench,
    connect: Connect,
    tool: str,
    form: Callable[[Json], Json],
    capabilities: Json = FULL,
    permissions: Policy = ALLOW_ONCE,
) -> Json:
    """What the server hears when it asks."""
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000}}
    bench.script(call(f"box__{tool}"), "text: done")
    server: Json = {"name": "box", "command": sys.executable, "args": [SERVER, "rich"], "env": []}
    async with bench.running(), connect(form=form, permissions=permissions) as client:
        await client.initialize(capabilities)
        answer = await client.request("session/new", cwd=str(bench.project), mcpServers=[server])
        await client.prompt(answer["sessionId"], "ask")
        ended = [each for each in client.updates("tool_call_update") if each.get("status") == "completed"]
        (output,) = [each["rawOutput"]["output"] for each in ended if not each["toolCallId"].startswith("mcp_")]
        return json.loads(output)


def forms(asked: list[Json], *answers: Json) -> Callable[[Json], Json]:
    """Answers one form after the other, and keeps what was asked."""
    given = iter(answers)

    def form(params: Json) -> Json:
        asked.append(params)
        return next(given)

    return form


def accept(**content: object) -> Json:
    return {"action": "accept", "content": content}


async def test_a_form_keeps_its_types_defaults_and_formats_both_ways(bench: Bench, connect: Connect) -> None:
    asked: list[Json] = []
    heard = await told(bench, connect, "form", forms(asked, accept(**GIVEN)))
    assert heard == {"action": "accept", "content": GIVEN}
    (params,) = asked
    properties: Json = params["requestedSchema"]["properties"]
    assert properties["mail"] == {"type": "string", "title": "E-mail", "format": "email"}
    assert properties["count"] == FORM["properties"]["count"]
    assert properties["gift"] == FORM["properties"]["gift"]
    assert properties["day"]["description"] == "When it should come."
    assert properties["size"]["oneOf"][1] == {"const": "l", "title": "Large"}
    assert properties["extras"]["maxItems"] == 1
    assert "$ref" not in str(properties)
    assert params["requestedSchema"]["required"] == ["mail", "count"]
    assert (params["message"].count("Tell us."), params["message"].count(WARNING)) == (1, 1)
    assert "Tell us." not in str(properties)


async def test_what_does_not_fit_is_asked_again_with_the_reason(bench: Bench, connect: Connect) -> None:
    asked: list[Json] = []
    heard = await told(bench, connect, "form", forms(asked, accept(**GIVEN | {"mail": "nobody"}), accept(**GIVEN)))
    assert heard["content"] == GIVEN
    assert ["E-mail: this is not an e-mail address." in params["message"] for params in asked] == [False, True]


async def test_what_never_fits_is_never_sent_on(bench: Bench, connect: Connect) -> None:
    asked: list[Json] = []
    heard = await told(bench, connect, "form", forms(asked, *[accept(mail="nobody", count=1)] * TRIES))
    assert heard == {"action": "cancel"}
    assert len(asked) == TRIES


@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("tool", ["form", "visit"])
async def test_a_no_stays_a_no_and_a_dismissal_a_dismissal(
    bench: Bench, connect: Connect, tool: str, action: str
) -> None:
    assert await told(bench, connect, tool, forms([], {"action": action})) == {"action": action}


async def test_a_page_to_visit_is_passed_on_as_such(bench: Bench, connect: Connect) -> None:
    asked: list[Json] = []
    assert await told(bench, connect, "visit", forms(asked, {"action": "accept"})) == {"action": "accept"}
    (params,) = asked
    assert (params["mode"], params["url"]) == ("url", PAGE)
    assert params["elicitationId"]
    assert "Pay there." in params["message"]


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"form": {}}}], ids=["buttons", "forms"])
async def test_a_client_that_opens_no_pages_is_shown_the_link(
    bench: Bench, connect: Connect, capabilities: Json
) -> None:
    shown: list[Json] = []

    def press(params: Json) -> Json | None:
        shown.append(params)
        return ALLOW_ONCE(params)

    heard = await told(bench, connect, "visit", forms(shown, accept(q1="Done")), capabilities, press)
    assert heard == {"action": "accept"}
    assert PAGE in str(shown[-1])


async def test_without_forms_choices_are_buttons_and_what_is_said_stands_once(bench: Bench, connect: Connect) -> None:
    shown: list[Json] = []

    def press(params: Json) -> Json | None:
        shown.append(params)
        return ALLOW_ONCE(params)

    heard = await told(bench, connect, "ask", forms([]), {}, press)
    assert heard == {"action": "accept", "content": {"colour": "red"}}
    assert "Which colour?" in str(shown[-1])


def press(params: Json) -> Json:
    """Allow the call, and dismiss what is asked with buttons."""
    ids = [option["optionId"] for option in params["options"]]
    return {"outcome": "selected", "optionId": "dismiss" if "dismiss" in ids else "allow_once"}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["next prompt", "inbox"])
async def test_without_forms_what_takes_words_alone_is_asked_in_words_and_waits_for_the_next_prompt_or_the_inbox(
    bench: Bench, connect: Connect, elsewhere: bool
) -> None:
    typed = {"E-mail": "ada@example.org", "How many": "3"}
    bench.settings["mcp"] = {"client": {"turn_wait_ms": 30_000}}
    bench.script(call("box__form"), "text: done")
    server: Json = {"name": "box", "command": sys.executable, "args": [SERVER, "rich"], "env": []}
    async with bench.running(), connect(permissions=press) as client:
        await client.initialize({})
        session = (await client.request("session/new", cwd=str(bench.project), mcpServers=[server]))["sessionId"]
        said, words = "", "go"
        while not said.endswith("done"):
            before = client.text()
            assert await client.prompt(session, words) == {"stopReason": "end_turn"}
            said = client.text().removeprefix(before)
            words = next((answer for title, answer in typed.items() if said.startswith(title)), "n")
            if elsewhere and words == typed["E-mail"]:
                [item] = (await client.request("_sould/inbox/list"))["items"]
                given = [{"words": typed.get(asked["header"], "")} for asked in item["questions"]]
                await client.request("_sould/inbox/answer", id=item["id"], decision="answer", answers=given)
                await client.wait_update("agent_message_chunk", lambda update: update["content"]["text"] == "done")
                break
        ended = [each for each in client.updates("tool_call_update") if each.get("status") == "completed"]
        (output,) = [each["rawOutput"]["output"] for each in ended if not each["toolCallId"].startswith("mcp_")]
        assert json.loads(output) == {"action": "accept", "content": {"mail": "ada@example.org", "count": 3}}

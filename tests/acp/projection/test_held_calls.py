"""Calls that are not shown as soon as they are opened.

A history shows a call that has ended at once with its result, and in all else says what was seen live. Where a card stays as it
was shown first, it is shown when it is known what the call does.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sould.acp.connection.asking import permission
from sould.acp.features import Features
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart
from soultest.acpscreen import DETAIL, DIFF, REQUEST, Json, Screen, lawful, result, tool_call

IDS = ("c1", "c2", "c3")
OPS = ("open", "part", "detail", "ask", "answer", "result", "text", "step", "child", "child result", "plan", "end")
STREAMS = st.lists(st.tuples(st.sampled_from(OPS), st.sampled_from(IDS), st.booleans()), max_size=40)


def stream(drawn: list[tuple[str, str, bool]]) -> list[wire.WireMessage]:
    """A lawful stream: what is about a call that is not open, or was opened twice, is left out, as is a question before its detail."""
    said: list[wire.WireMessage] = [wire.TurnBegin(user_input="go", turn_id="t", client_id="me")]
    open_calls: set[str] = set()
    ended: set[str] = set()
    detailed: set[str] = set()

    def child(message: wire.WireMessage, parent: str) -> wire.SubagentEvent:
        return wire.SubagentEvent(parent_tool_call_id=parent, agent_id="a", subagent_type="x", event=message)

    for number, (op, call_id, flag) in enumerate(drawn):
        inner = f"in {call_id}"
        match op:
            case "open" if call_id not in open_calls | ended:
                open_calls.add(call_id)
                said.append(tool_call("Shell" if flag else "StrReplaceFile", call_id))
            case "part" if call_id in open_calls:
                said.append(wire.ToolCallPart(arguments_part='{"a": 1}', tool_call_id=call_id))
            case "detail" if call_id in open_calls:
                detailed.add(call_id)
                said.append(DETAIL.model_copy(update={"tool_call_id": call_id, "after": "c1" if flag else ""}))
            case "ask" if call_id in open_calls & detailed:
                said.append(REQUEST.model_copy(update={"id": f"r {call_id}", "tool_call_id": call_id}))
            case "answer":
                said.append(wire.ApprovalResponse(request_id=f"r {call_id}", response="approve"))
            case "result" if call_id in open_calls:
                open_calls.discard(call_id)
                ended.add(call_id)
                said.append(result(call_id, output="out" if flag else "", is_error=not flag))
            case "text":
                said.append(TextPart(text="word"))
            case "step":
                said.append(wire.StepBegin(n=number))
            case "child" if call_id in open_calls and inner not in open_calls | ended:
                open_calls.add(inner)
                said.append(child(tool_call("Shell", inner), call_id))
            case "child result" if inner in open_calls and call_id in open_calls:
                open_calls.discard(inner)
                ended.add(inner)
                said.append(child(result(inner, output="of a child"), call_id))
            case "plan":
                said.append(wire.PlanDisplay(content="plan", file_path="p"))
            case "end":
                said.append(wire.TurnEnd(turn_id="t"))
                ended |= open_calls
                open_calls.clear()
            case _:
                pass
    return said


def seen(updates: list[Json]) -> list[tuple[str, Any]]:
    """What a client has in the end, in the order in which it stands on the screen."""
    shown: dict[str, Any] = {}
    for number, update in enumerate(updates):
        match update.pop("sessionUpdate"):
            case "tool_call" | "tool_call_update":
                shown.setdefault(update["toolCallId"], {}).update(update)
            case "agent_message_chunk":
                shown[f"message {number}"] = update["content"]
            case _:
                pass
    return [("message" if key.startswith("message") else key, value) for key, value in shown.items()]


@given(STREAMS, st.booleans(), st.booleans())
def test_a_history_ends_with_the_cards_and_words_that_were_seen_live(
    drawn: list[tuple[str, str, bool]], terminals: bool, redraws: bool
) -> None:
    messages, features = stream(drawn), Features(terminals=terminals, redraws=redraws)
    live, again = Screen(features), Screen(features)
    then = seen(live.show(*messages))
    now = seen(again.show(*messages, history=True) + lawful(again.updates.end_history()))
    for (_, card), (_, before) in zip(now, then, strict=False):
        if "rawInput" not in before:
            card.pop("rawInput", None)  # announced later, so that more is known of it
    assert now == then


def test_a_call_that_has_ended_is_one_update_of_a_history() -> None:
    screen = Screen(Features())
    card, words = screen.show(
        tool_call("StrReplaceFile"), DETAIL, REQUEST, wire.ApprovalResponse(request_id="r1", response="approve"),
        result(), TextPart(text="Done."), history=True,
    )  # fmt: skip
    assert (card["sessionUpdate"], card["status"], card["title"]) == ("tool_call", "completed", "Edit a.py")
    assert words["content"]["text"] == "Done."
    assert screen.updates.end_history() == b""


def test_a_call_that_runs_is_announced_where_the_history_ends() -> None:
    screen = Screen()
    assert screen.show(tool_call("StrReplaceFile"), DETAIL, history=True) == []
    (card,) = lawful(screen.updates.end_history())
    assert (card["sessionUpdate"], card["status"]) == ("tool_call", "in_progress")


def test_a_card_that_stays_as_it_is_shown_first_is_shown_when_it_is_known_what_the_call_does() -> None:
    """agentic.nvim and acpx ask about the card as it came, and keep no more of it than its last update says."""
    screen = Screen(Features())
    said = screen.show(tool_call("StrReplaceFile"), wire.ToolCallPart(arguments_part='{"path": "a.py"}'))
    said += lawful(screen.updates.open_calls())
    assert said == []
    (card,) = screen.show(DETAIL.model_copy(update={"display": ()}))
    assert (card["sessionUpdate"], card["title"], "content" in card) == ("tool_call", "Edit a.py", False)
    (asked,) = screen.show(REQUEST)
    assert asked == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "title": "Edit a.py",
        "status": "pending",
        "content": [DIFF],
    }
    (approved,) = screen.show(wire.ApprovalResponse(request_id="r1", response="approve"))
    assert approved == {**asked, "status": "in_progress"}
    (ended,) = screen.show(result(output="Replaced."))
    assert (ended["title"], ended["status"]) == ("Edit a.py", "completed")


def test_a_call_whose_arguments_were_cut_off_is_shown_with_its_end() -> None:
    screen = Screen(Features(terminals=True))
    screen.show(wire.TurnBegin(user_input="go", turn_id="t", client_id="me"))
    assert screen.show(tool_call("Shell", "c1"), tool_call("StrReplaceFile", "c2"), tool_call("Shell", "c3")) == []
    updates = screen.show(result("c1", is_error=True, message="Malformed."), wire.TurnEnd(turn_id="t"))
    ends = {update["toolCallId"]: update["status"] for update in updates if "status" in update}
    assert ends == {"c1": "failed", "c2": "failed", "c3": "failed"}
    opened = [update["toolCallId"] for update in updates if update["sessionUpdate"] == "tool_call"]
    assert sorted(opened) == ["c1", "c2", "c3"]


def test_a_secret_s_difference_is_in_the_question_and_not_in_the_card() -> None:
    screen = Screen(Features())
    secret = DETAIL.display[0].model_copy(update={"secret": True})
    screen.show(tool_call("StrReplaceFile"), DETAIL.model_copy(update={"display": ()}))
    request = REQUEST.model_copy(update={"display": (secret,)})
    assert "content" not in screen.show(request)[0]
    assert permission("s1", screen.updates.calls["c1"], request)["toolCall"]["content"][0] == DIFF

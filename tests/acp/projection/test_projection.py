"""Wire records in, `session/update` lines out: golden lines, each judged by the official schema."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from sould.acp.connection.asking import permission
from sould.acp.features import Features
from sould.acp.projection.toolcalls import CLEAR, MAX_TEXT, fenced
from sould.agents.base.yaml_text import as_lines
from sould.agents.journal.channel import Record
from sould.agents.wire import messages as wire
from sould.agents.wire.content import AudioPart, ImagePart, MediaUrl, TextPart, ThinkPart, VideoPart
from sould.agents.wire.display import BackgroundTaskBlock, BriefBlock, DiffBlock, ShellBlock, TodoBlock, TodoItem
from soultest.acpscreen import DETAIL, DIFF, REQUEST, Json, Screen, lawful, result, tool_call
from soultest.schema import faults, schema


def test_every_stable_update_of_the_official_schema_is_made_somewhere() -> None:
    """D4."""
    screen = Screen()
    shown = screen.show(
        wire.TurnBegin(user_input="hi", turn_id="t", client_id="other"),
        ThinkPart(think="hm"),
        TextPart(text="hi"),
        tool_call(),
        result(display=(TodoBlock(items=(TodoItem(title="a", status="done"),)),)),
        wire.PlanUpdate(items=(TodoItem(title="b", status="in_progress"),)),
        wire.StatusUpdate(context_tokens=5, max_context_tokens=10, cost=0.5, currency="EUR"),
        wire.CompactionBegin(compaction_id="k"),
        wire.CompactionEnd(compaction_id="k", summary="so far"),
        wire.Notification(id="n", title="Note"),
        wire.SessionChanged(title="T", options={"mode": "ask"}, commands=True),
    )
    every = {each["properties"]["sessionUpdate"]["const"] for each in schema()["$defs"]["SessionUpdate"]["oneOf"]} - {
        "compaction_summary_chunk"
    }  # the summary comes whole
    assert {update["sessionUpdate"] for update in shown} == every


def test_a_call_is_announced_described_asked_about_run_and_ended() -> None:
    screen = Screen()
    announced, *rest = screen.show(tool_call("StrReplaceFile"), wire.ToolCallPart(arguments_part='{"path"'))
    assert announced == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c1",
        "title": "Edit a file",
        "name": "StrReplaceFile",
        "kind": "edit",
        "status": "pending",
    }
    assert rest == []
    (described,) = screen.show(DETAIL)
    assert described == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "title": "Edit a.py",
        "name": "StrReplaceFile",
        "kind": "edit",
        "status": "in_progress",
        "content": [DIFF],
        "locations": [{"path": "/project/a.py", "line": 3}],
        "rawInput": {"path": "a.py"},
    }
    assert [update["status"] for update in screen.show(REQUEST)] == ["pending"]
    params = permission("s1", screen.updates.calls["c1"], REQUEST)
    assert not faults("RequestPermissionRequest", params)
    scope = {"type": "text", "text": "Allow edits this session: edits in this project"}
    assert params["toolCall"] == {
        **{key: value for key, value in described.items() if key != "sessionUpdate"},
        "status": "pending",
        "content": [DIFF, {"type": "content", "content": scope}],
    }
    assert params["options"] == [
        {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "allow_always", "name": "Allow edits this session", "kind": "allow_always"},
        {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
    ]
    approved = wire.ApprovalResponse(request_id="r1", response="approve")
    assert [update["status"] for update in screen.show(approved)] == ["in_progress"]
    (ended,) = screen.show(result(output="Replaced.", display=DETAIL.display))
    assert (ended["status"], ended["content"]) == ("completed", [DIFF])
    assert ended["rawOutput"] == {"output": "Replaced."}


def test_a_call_that_waits_for_another_is_pending_until_that_has_ended() -> None:
    screen = Screen()
    screen.show(tool_call(identifier="c1"), tool_call(identifier="c2"), DETAIL)
    behind = DETAIL.model_copy(update={"tool_call_id": "c2", "after": "c1"})
    assert [update["status"] for update in screen.show(behind)] == ["pending"]
    ended, began = screen.show(result("c1"))
    assert (ended["toolCallId"], ended["status"]) == ("c1", "completed")
    told = {"title": "Edit a.py", "status": "in_progress", "content": [DIFF]}
    assert began == {"sessionUpdate": "tool_call_update", "toolCallId": "c2", **told}


def test_a_restore_of_files_is_a_card_that_says_what_went_back_and_what_did_not() -> None:
    files = (
        wire.RestoredFile(path="/project/src/a.py", action="restored"),
        wire.RestoredFile(path="/project/new\n.py", action="deleted"),
        wire.RestoredFile(path="/elsewhere/b.py", action="conflict", reason="it was changed since in the same place"),
        wire.RestoredFile(path="/project/c.py", action="kept", reason="it changed after you were asked"),
        wire.RestoredFile(path="/project/d.py", action="restored", changes=1, kept=(2,)),
        wire.RestoredFile(
            path="/project/e.py", action="restored", changes=2, conflicts=1, reason="it was changed since"
        ),
        wire.RestoredFile(path="/project/f.py", action="kept", kept=(1, 7), reason="you kept what was changed in it"),
    )
    screen = Screen()
    (card,) = screen.show(wire.FilesRestored(restore_id="r", files=files, can_take_kept=True))
    assert (card["sessionUpdate"], card["status"]) == ("tool_call", "completed")
    assert card["title"] == "4 files restored, 3 left as they are"
    assert card["content"][0]["content"]["text"].splitlines() == [
        "- src/a.py: restored",
        "- new\\n.py: deleted",
        "- /elsewhere/b.py: left as it is (it was changed since in the same place)",
        "- c.py: left as it is (it changed after you were asked)",
        "- d.py: 1 change taken back; 1 kept change stays (line 2)",
        "- e.py: 2 changes taken back; 1 change stays: it was changed since",
        "- f.py: left as it is (2 kept changes stay (line 1, line 7))",
        "",
        "`/undo kept` takes back what you kept, too.",
    ]
    changed = ["/project/src/a.py", "/project/new\n.py", "/project/d.py", "/project/e.py"]
    assert [place["path"] for place in card["locations"]] == changed
    assert screen.show(wire.FilesRestored(restore_id="r")) == []


def test_what_is_asked_and_why_are_paragraphs_of_their_own() -> None:
    """Found in a real editor: these texts are shown as Markdown, where lines run together."""
    screen = Screen()
    screen.show(REQUEST)
    why = "Run a command in /project\nasked because there is a glob"
    asked = REQUEST.model_copy(update={"description": why, "scope_button": ""})
    diff, words = permission("s1", screen.updates.calls["c1"], asked)["toolCall"]["content"]
    assert words["content"]["text"] == "Run a command in /project\n\nasked because there is a glob"
    assert diff == DIFF, "first: CodeCompanion shows nothing else"


def test_a_subagent_s_edit_is_asked_about_with_the_diff_first() -> None:
    screen = Screen()
    screen.show(REQUEST)
    asked = REQUEST.model_copy(
        update={"subagent_type": "coder", "description": "Edit a.py\nbecause it is new", "scope_button": ""}
    )
    content = permission("s1", screen.updates.calls["c1"], asked)["toolCall"]["content"]
    assert [item["type"] for item in content] == ["diff", "content", "content"]
    assert "coder" in content[1]["content"]["text"]


def test_a_permission_request_stands_alone_also_for_a_call_nobody_announced() -> None:
    screen = Screen()
    (announced,) = screen.show(REQUEST)
    assert (announced["sessionUpdate"], announced["title"]) == ("tool_call", "Edit a.py")
    call = permission("s1", screen.updates.calls["c1"], REQUEST)["toolCall"]
    assert call["toolCallId"] == "c1"
    assert call["content"][0] == DIFF


def test_without_a_scope_nothing_is_remembered() -> None:
    screen = Screen()
    screen.show(REQUEST)
    options = permission("s1", screen.updates.calls["c1"], REQUEST.model_copy(update={"scope": ""}))["options"]
    assert [option["kind"] for option in options] == ["allow_once", "reject_once"]


def test_what_changed_since_it_was_allowed_can_be_allowed_whatever_becomes_of_it_where_buttons_say_so() -> None:
    screen = Screen()
    screen.show(REQUEST)
    asked = REQUEST.model_copy(update={"changed": True})

    def offered(*, lasting: bool) -> list[str]:
        params = permission("s1", screen.updates.calls["c1"], asked, lasting=lasting)
        return [option["name"] for option in params["options"]]

    ever = "Allow this session, also when it changes"
    assert offered(lasting=True) == ["Allow once", "Allow edits this session", ever, "Reject"]
    assert offered(lasting=False) == ["Allow once", "Allow edits this session", "Reject"], "two would look the same"
    assert all(len(name) <= 40 for name in offered(lasting=True))


def test_two_changes_that_are_too_large_to_be_shown_are_told_apart() -> None:
    screen = Screen()
    screen.show(REQUEST)

    def shown(text: str) -> str:
        block = DiffBlock(path="a\n`.py", old_text="", new_text=text * 2_000_000)
        asked = REQUEST.model_copy(update={"display": (block,)})
        content = permission("s1", screen.updates.calls["c1"], asked)["toolCall"]["content"]
        return str(content[0]["content"]["text"])

    assert shown("a").startswith("/project/a\\n\\x60.py: changed (+0 lines; too large to show; sha256 ")
    assert shown("a") != shown("b")


def test_words_that_a_markdown_renderer_would_change_are_code() -> None:
    screen = Screen()
    screen.show(REQUEST)
    lines = ["Edit file `/p/a*b`", "Call x with", "<!-- rm -rf ~ --> `y`", "a __b__ \\u202e"]
    asked = REQUEST.model_copy(update={"description": "\n".join(lines), "scope_button": ""})
    content = permission("s1", screen.updates.calls["c1"], asked)["toolCall"]["content"]
    shown = [*lines[:2], f"`` {lines[2]} ``", f"` {lines[3]} `"]
    assert content[1]["content"]["text"].split("\n\n") == shown


def test_what_is_indented_is_shown_as_it_is_because_it_would_mean_another_thing() -> None:
    screen = Screen()
    screen.show(REQUEST)

    def shown(**arguments: JsonValue) -> str:
        asked = REQUEST.model_copy(update={"description": f"Call x with\n{as_lines(arguments)}", "scope_button": ""})
        _, words = permission("s1", screen.updates.calls["c1"], asked)["toolCall"]["content"]
        return str(words["content"]["text"])

    assert shown(path="a\n\nforce: true") == "```\nCall x with\npath: |-\n  a\n\n  force: true\n```"
    assert shown(path="a", force=True) == "Call x with\n\npath: a\n\nforce: true"


def test_a_command_has_a_display_terminal_from_its_announcement_to_its_exit() -> None:
    screen = Screen()
    announced, *_ = screen.show(tool_call("Shell"))
    assert announced["content"] == [{"type": "terminal", "terminalId": "c1"}]
    assert announced["_meta"] == {"terminal_info": {"terminal_id": "c1", "cwd": "/project"}}
    (printed,) = screen.show(wire.ToolOutput(tool_call_id="c1", text="one\n"))
    assert printed["_meta"] == {"terminal_output": {"terminal_id": "c1", "data": "one\n"}}
    (ended,) = screen.show(result(is_error=True, output="one\n", extras={"exit_code": 2, "signal": None}))
    assert ended["_meta"] == {"terminal_exit": {"terminal_id": "c1", "exit_code": 2, "signal": None}}
    assert "content" not in ended
    assert ended["status"] == "failed"


def test_a_call_of_kind_execute_has_a_display_terminal_once_it_runs_a_command() -> None:
    screen = Screen()
    detail = wire.ToolCallDetail(tool_call_id="c1", name="Deploy", title="Deploy to staging", kind="execute")
    opened, described = screen.show(tool_call("Deploy"), detail)
    assert "content" not in opened
    assert "content" not in described
    screen.show(wire.ToolOutput(tool_call_id="c1", text="looking\n"))
    announced, before = screen.show(wire.CommandBegin(tool_call_id="c1"))
    assert (announced["sessionUpdate"], announced["status"]) == ("tool_call", "in_progress")
    assert announced["content"] == [{"type": "terminal", "terminalId": "c1"}]
    assert announced["_meta"] == {"terminal_info": {"terminal_id": "c1", "cwd": "/project"}}
    assert before["_meta"] == {"terminal_output": {"terminal_id": "c1", "data": "looking\n"}}
    assert screen.show(wire.CommandBegin(tool_call_id="c1")) == []
    (ended,) = screen.show(result(output="It is on staging."))
    assert [item["type"] for item in ended["content"]] == ["terminal", "content"]
    assert ended["_meta"]["terminal_exit"]["exit_code"] == 0


def test_a_command_gives_no_terminal_to_another_kind_of_call_nor_to_a_client_without_them() -> None:
    screen = Screen()
    screen.show(tool_call("Look"), wire.ToolCallDetail(tool_call_id="c1", name="Look", title="Look", kind="read"))
    assert screen.show(wire.CommandBegin(tool_call_id="c1")) == []
    screen = Screen(Features())
    screen.show(tool_call("Run"), wire.ToolCallDetail(tool_call_id="c1", name="Run", title="Run", kind="execute"))
    assert screen.show(wire.CommandBegin(tool_call_id="c1")) == []


def test_a_terminal_that_was_opened_late_shows_everything_in_the_end() -> None:
    screen = Screen()
    screen.show(tool_call("Shell"))
    screen.updates.calls.miss()
    screen.show(wire.ToolOutput(tool_call_id="c1", text="two\n"))
    whole, ended = screen.show(result(output="one\ntwo\n"))
    assert whole["_meta"]["terminal_output"]["data"] == CLEAR + "one\ntwo\n"
    assert "terminal_exit" in ended["_meta"]


def test_a_command_that_never_ran_has_no_exit_code() -> None:
    screen = Screen()
    *_, ended = screen.show(tool_call("Shell"), result(is_error=True, message="Rejected."))
    assert ended["_meta"] == {"terminal_exit": {"terminal_id": "c1", "exit_code": None, "signal": None}}


def test_a_replayed_command_shows_its_output_in_the_terminal() -> None:
    screen = Screen()
    shown = screen.show(tool_call("Shell"), result(output="one\n"), history=True)
    assert shown[1]["_meta"]["terminal_output"]["data"] == "one\n"
    assert "terminal_exit" in shown[2]["_meta"]


def test_without_terminals_running_output_is_the_end_of_it_all_and_the_result_replaces_it() -> None:
    screen = Screen(Features())
    screen.show(tool_call("Shell"))
    shown = screen.show(*[wire.ToolOutput(tool_call_id="c1", text="x" * 1000 + "\n")] * 30)
    assert len(orjson.dumps(shown[-1])) < 6000
    (ended,) = screen.show(result(output="all of it"))
    assert ended["content"] == [{"type": "content", "content": {"type": "text", "text": "```\nall of it\n```"}}]


def test_a_diff_says_to_clients_that_know_sould_which_lines_the_review_has_as_changed() -> None:
    block = DiffBlock(path="a.py", old_text="one\ntwo\nthree\nfour\n", new_text="zero\none\nthree\n4\n")
    told = result(display=(block,))
    *_, ended = Screen(Features(edits=True, redraws=True)).show(tool_call("StrReplaceFile"), told)
    (diff,) = ended["content"]
    assert diff["_meta"] == {"sould": {"edits": [[0, 0, 0, 1], [1, 2, 2, 2], [3, 4, 3, 4]]}}
    *_, ended = Screen(Features(redraws=True)).show(tool_call("StrReplaceFile"), told)
    assert "_meta" not in ended["content"][0]


def test_a_failure_says_why_and_keeps_no_diff() -> None:
    screen = Screen()
    screen.show(tool_call("StrReplaceFile"), DETAIL)
    brief = BriefBlock(text="Rejected by user")
    (ended,) = screen.show(result(is_error=True, message="The user rejected it.", display=(brief,)))
    assert ended["content"] == [{"type": "content", "content": {"type": "text", "text": "Rejected by user"}}]
    assert ended["status"] == "failed"


def test_the_end_of_a_turn_closes_what_is_still_open() -> None:
    screen = Screen(Features())
    shown = screen.show(tool_call(), wire.TurnEnd(turn_id="t", stop_reason="cancelled"))
    assert shown[-1]["status"] == "failed"
    assert screen.show(wire.TurnEnd(turn_id="u")) == []


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (DiffBlock(path="/x/a", old_text="", new_text="b", is_new=True), {"oldText": None, "newText": "b"}),
        (DiffBlock(path="/x/a", old_text="", new_text="3 lines", is_summary=True), {"text": "/x/a: 3 lines"}),
        (DiffBlock(path="/x/a", old_text="", new_text="b\n" * 400_000), {"text": "too large"}),
        (ShellBlock(command="ls"), {"text": "```\nls\n```"}),
        (BackgroundTaskBlock(task_id="t", kind="shell", status="running", description="d"), {"text": "running"}),
    ],
)
def test_display_blocks_become_tool_content(block: Any, content: Json) -> None:
    (ended,) = Screen(Features(redraws=True)).show(tool_call("X"), result(display=(block,)))[1:]
    shown = ended["content"][0]
    shown = shown.get("content", shown)
    for key, value in content.items():
        assert shown[key] == value or (isinstance(value, str) and value in shown[key])


def test_long_texts_are_cut_so_that_every_line_stays_below_a_mebibyte() -> None:
    screen = Screen()
    big = "é" * 600_000
    feed = screen.updates.feed
    screen.show(tool_call("WriteFile", content=big))
    lines = [
        feed(Record(9, 0, DETAIL.model_copy(update={"arguments": {"content": big, "list": [big]}}), 0.0)),
        feed(Record(10, 0, result(output=big, message=big, extras={"x": big}), 0.0)),
    ]
    assert all(0 < len(line) < 400_000 for line in lines)
    assert MAX_TEXT < 400_000
    for character in ("é", "\n", "\x01", "a"):
        display = (DiffBlock(path="a.py", old_text="", new_text=character * 330_000),)
        screen.show(tool_call("WriteFile"))
        assert 0 < len(feed(Record(11, 0, DETAIL.model_copy(update={"display": display}), 0.0))) < 2**20


def test_a_subagent_s_calls_name_their_parent_and_its_words_are_not_the_agent_s() -> None:
    screen = Screen()
    screen.show(tool_call("Agent", "p"))
    nested = [
        wire.SubagentEvent(parent_tool_call_id="p", event=TextPart(text="hidden")),
        wire.SubagentEvent(parent_tool_call_id="p", event=tool_call("ReadFile", "n")),
        wire.SubagentEvent(
            parent_tool_call_id="p", event=wire.SubagentEvent(parent_tool_call_id="n", event=result("n"))
        ),
    ]
    shown = screen.show(*nested)
    assert shown[0]["_meta"] == {"sould": {"parentToolCallId": "p"}}
    assert [update["toolCallId"] for update in shown] == ["n", "n"]


def test_a_subagent_s_list_of_what_is_to_do_is_not_the_plan() -> None:
    listed = (TodoBlock(items=(TodoItem(title="theirs", status="in_progress"),)),)
    screen = Screen()
    screen.show(tool_call("Agent", "p"))
    theirs = (tool_call("SetTodoList", "n"), result("n", display=listed))
    shown = screen.show(*(wire.SubagentEvent(parent_tool_call_id="p", event=event) for event in theirs))
    assert "plan" not in {update["sessionUpdate"] for update in shown}


def test_a_plan_that_was_cut_off_is_put_down_and_one_that_was_carried_out_stays() -> None:
    items = (TodoItem(title="a", status="done"), TodoItem(title="b", status="in_progress"))
    for stop_reason in ("cancelled", "interrupted", "error", "max_tokens", "finished"):
        screen = Screen()
        shown = screen.show(wire.PlanUpdate(items=items), wire.TurnEnd(stop_reason=stop_reason))
        states = [entry["status"] for entry in shown[-1]["entries"]]
        assert states == ["completed", "in_progress" if stop_reason == "finished" else "pending"]
        assert screen.show(wire.TurnEnd(stop_reason=stop_reason)) == []


def test_media_become_blocks_of_their_kind_or_links() -> None:
    data, link = MediaUrl(url="data:image/png;base64,aGk="), MediaUrl(url="https://x.example/a.mp4")
    shown = Screen().show(
        ImagePart(image_url=data), AudioPart(audio_url=link), VideoPart(video_url=link), VideoPart(video_url=data)
    )
    assert [update["content"]["type"] for update in shown] == ["image", "resource_link", "resource_link", "text"]


def test_own_prompts_are_not_echoed_and_those_of_others_and_of_history_are() -> None:
    screen = Screen()
    own = wire.TurnBegin(user_input=(TextPart(text="a"), ImagePart(image_url=MediaUrl(url="https://x/y.png"))))
    assert screen.show(own.model_copy(update={"client_id": "me"})) == []
    assert [update["content"]["type"] for update in screen.show(own)] == ["text", "resource_link"]
    assert len(screen.show(own.model_copy(update={"client_id": "me"}), history=True)) == 2


def test_a_foreign_turn_s_error_is_shown_and_the_own_one_is_the_answer_s() -> None:
    failed = wire.TurnEnd(stop_reason="error", error=wire.TurnError(kind="provider", message="It broke."))
    screen = Screen()
    assert screen.show(wire.TurnBegin(user_input="x", client_id="me"), failed) == []
    shown = screen.show(wire.TurnBegin(user_input="x", client_id="you"), failed)
    assert (shown[-1]["severity"], shown[-1]["title"]) == ("error", "It broke.")


def test_notices_and_compaction_are_text_for_clients_that_do_not_know_them() -> None:
    said = (
        wire.TurnBegin(user_input="go", turn_id="t", client_id="me"),
        wire.StepRetry(n=1, next_attempt=2, max_attempts=3, wait_s=1.0, error_type="rate_limited", status_code=429),
        wire.Notification(id="n", title="Careful", body="now", severity="warning"),
        wire.HookResolved(event="e", target="Shell", action="block", reason="no"),
        wire.PromptQueued(turn_id="t", client_id="me", position=1),
        wire.CompactionBegin(compaction_id="k"),
        wire.CompactionEnd(compaction_id="k", failed=True, error="no room"),
        wire.CompactionEnd(compaction_id="k", failed=True, cancelled=True, error="It was kept."),
    )
    gated, plain = Screen().show(*said), Screen(Features()).show(*said)
    assert [update["sessionUpdate"] for update in gated] == ["notice"] * 4 + ["compaction_update"] * 3
    assert [update["status"] for update in gated[4:]] == ["in_progress", "failed", "cancelled"]
    assert {update["sessionUpdate"] for update in plain} == {"agent_message_chunk", "agent_thought_chunk"}
    assert "429" in plain[0]["content"]["text"]
    assert "Careful: now" in plain[1]["content"]["text"]


def test_a_change_of_options_is_told_in_both_ways_and_a_title_can_be_cleared() -> None:
    shown = Screen().show(wire.SessionChanged(options={"mode": "ask"}), wire.SessionChanged(title=""))
    assert [update["sessionUpdate"] for update in shown] == [
        "config_option_update",
        "current_mode_update",
        "session_info_update",
    ]
    assert shown[2]["title"] is None
    assert shown[2]["updatedAt"] == "2023-11-14T22:13:20.500Z"


def test_a_side_question_is_shown_with_its_answer_to_those_who_did_not_ask_it() -> None:
    asked = wire.BtwBegin(id="b", question="why?", client_id="other")
    answered = wire.BtwEnd(id="b", response="because")
    shown = Screen().show(asked, answered)
    assert [(each["sessionUpdate"], each["content"]["text"]) for each in shown] == [
        ("user_message_chunk", "/btw why?"),
        ("agent_message_chunk", "because"),
    ]
    assert [each["_meta"]["sould"] for each in shown] == [{"sideQuestion": "b"}] * 2
    mine = Screen().show(asked.model_copy(update={"client_id": "me"}), answered)
    assert [each["sessionUpdate"] for each in mine] == ["agent_message_chunk"]


def test_the_introduction_has_commands_title_and_usage() -> None:
    screen = Screen()
    assert screen.show(wire.StatusUpdate(context_tokens=5, max_context_tokens=10), history=True) == []
    kinds = [update["sessionUpdate"] for update in lawful(screen.updates.introduction("T", 1.0))]
    assert kinds == ["available_commands_update", "session_info_update", "usage_update"]


def test_what_only_programs_need_is_not_shown() -> None:
    silent = (
        wire.StepBegin(n=1),
        wire.StepInterrupted(),
        wire.SystemPrompt(text="x"),
        wire.ContextNote(text="x"),
        wire.ContextCleared(),
        wire.RequestClosed(request_id="r", reason="cancelled"),
        wire.QuestionRequest(id="q", tool_call_id="c", questions=()),
        wire.MCPLoadingBegin(),
        ThinkPart(think="", encrypted="x"),
        wire.ToolOutput(tool_call_id="unknown", text="x"),
        result("unknown"),
    )
    assert Screen().show(*silent) == []


@given(st.text(alphabet="`a\n ", max_size=30))
def test_a_fence_is_never_closed_by_what_it_holds(text: str) -> None:
    fence, *lines, last = fenced(text).split("\n")
    assert set(fence) == {"`"}
    assert last == fence
    assert not any(line.strip().startswith(fence) for line in lines)

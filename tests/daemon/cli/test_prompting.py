"""What a question shows at the terminal and in other places of one column: all that decides, and never another thing."""

import asyncio
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.acp.connection.asking import permission
from sould.acp.projection.toolcalls import Call
from sould.agents.base.workspace import ResolvedPath
from sould.agents.clients.inbox.shown import request_lines
from sould.agents.permissions.policy import Action, CallExternal, EditFile, RunCommand
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.visible import both_ends, file_name
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.wire.display import DiffBlock, DisplayBlock, ShellBlock
from sould.agents.wire.extensions import ToolKind
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse
from sould.daemon.cli.run.dialogs import DETAILS, PermissionDialog
from sould.daemon.cli.run.render import DIFF_LINES, TextRenderer, Update, diffs
from soultest.luck import examples
from soultest.policy import approval_of

ROOT = Path("/w")
OLD = "one\r\ntwo \nthree"


def explained(text: str) -> PermissionDialog:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return PermissionDialog.model_validate({"toolCall": {"title": "a command", "content": content}})


def test_the_end_of_a_long_line_and_of_many_lines_is_shown_and_all_of_them_can_be() -> None:
    assert explained("echo " + "a" * 1900 + "; rm -rf x").question().splitlines()[1].endswith("; rm -rf x")
    lines = [*(f": {number}" for number in range(100)), "rm -rf x"]
    many = explained("\n".join(lines))
    shown = many.question().splitlines()
    assert (len(shown), shown[-2]) == (2 + DETAILS, "  rm -rf x")
    assert any(line.startswith("  … 72 lines (sha256 ") for line in shown)
    assert shown[-1] == "  [v] View all"
    assert many.question(whole=True).splitlines()[1:-1] == [f"  {line}" for line in lines]


def test_a_line_that_reads_like_the_title_is_shown_all_the_same() -> None:
    assert "  a command" in explained("path: x\na command").question().splitlines()


def question(action: Action) -> ApprovalRequest:
    """What is asked about an action, as the tools ask it."""
    asked: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request)
        return ApprovalResponse(request_id=request.id, response="reject")

    description, display = words_of(action)
    approval = approval_of(ask, PolicyContext(ROOT))
    call = ToolCallContext("c1", 1)
    asyncio.run(approval.request(call, action, sender="A", description=description, display=display))
    return asked[0]


def words_of(action: Action) -> tuple[str, tuple[DisplayBlock, ...]]:
    match action:
        case RunCommand(line=line):
            return "Run a command in /w", (ShellBlock(command=line),)
        case EditFile(path=path):
            name, _, text = str(path.path).partition("|")
            return f"Edit file `{file_name(name)}`", (DiffBlock(path=name, old_text=OLD, new_text=text),)
        case CallExternal(name=name, arguments=arguments):
            return f"Call {name} with {arguments['text']}", ()
        case _:
            raise AssertionError


def at_the_terminal(request: ApprovalRequest, *, whole: bool) -> str:
    """`sould run`: the difference, and the question directly below."""
    kind: ToolKind = "execute" if request.action == "run command" else "other"
    call = Call("c1", request.sender, "/w", title="title", kind=kind)
    asked = PermissionDialog.model_validate(permission("s1", call, request))
    above = () if whole else both_ends(diffs(asked.tool_call), DIFF_LINES)
    return click.unstyle("\n".join([*above, asked.question(whole=whole)]))


def at_another_terminal(request: ApprovalRequest, most: int | None) -> str:
    """`sould status` and `sould approve`."""
    title, lines = request_lines(request)
    return "\n".join([title, *both_ends(lines, most)])


TEXT = st.text(
    alphabet=st.sampled_from("ab \n\t`\\\\u2800|⏎…-+@<>*\u2800\u3164\u200b\ufe0f\u0301e\u00e9\u1161\r\x1b\u2028")
    | st.characters(exclude_categories=["Cs"]),
    max_size=20,
)


def repeated(text: str, times: int, end: str) -> str:
    return text * times + end


def command(line: str) -> Action:
    return RunCommand(line.replace("\0", "") + "x", ROOT)


def edit(name: str, text: str) -> Action:
    return EditFile(ResolvedPath(Path(f"/w/{name}|{text}"), inside=True), "modify")


def external(text: str) -> Action:
    return CallExternal("server__tool", {"text": text})


LONG = st.builds(repeated, TEXT, st.sampled_from((1, 1, 1, 300)), TEXT)
COMMANDS = st.builds(command, LONG)
EDITS = st.builds(edit, TEXT, LONG)
CALLS = st.builds(external, LONG)


@settings(max_examples=examples(30), deadline=None)
@given(st.one_of(*(st.tuples(each, each) for each in (COMMANDS, EDITS, CALLS))))
def test_two_different_actions_never_render_the_same(actions: tuple[Action, Action]) -> None:
    one, other = map(question, actions)
    assert (one.digest == other.digest) == (words_of(actions[0]) == words_of(actions[1]))
    for whole in (True, False):
        shown = [at_the_terminal(request, whole=whole) for request in (one, other)]
        assert (shown[0] == shown[1]) == (one.digest == other.digest)
        listed = [at_another_terminal(request, None if whole else 20) for request in (one, other)]
        assert (listed[0] == listed[1]) == (one.digest == other.digest)
        assert all(char in "\n\t" or char.isprintable() for text in (*shown, *listed) for char in text)


def test_nothing_comes_between_a_difference_and_its_question_and_nothing_of_it_is_lost(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def text(words: str) -> Update:
        return {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": words}}

    def edited(name: str, status: str) -> Update:
        difference: Update = {"type": "diff", "path": f"/w/{name}", "oldText": "a", "newText": name}
        return {"toolCallId": name, "title": f"Edit {name}", "status": status, "content": [difference]}

    renderer = TextRenderer()
    renderer.permission(edited("one", "pending"))
    shown = capfd.readouterr()
    assert "+one" in shown.err
    renderer.update({"sessionUpdate": "tool_call_update", **edited("two", "in_progress")})
    renderer.update({"sessionUpdate": "tool_call_update", "toolCallId": "two", "status": "completed"})
    for words in ("Mean", "while."):
        renderer.update(text(words))
    assert capfd.readouterr() == ("", "")
    renderer.answered()
    shown = capfd.readouterr()
    assert shown.out == "Meanwhile."
    assert shown.err.count("Edit two") == shown.err.count("+two") == 1
    renderer.permission(edited("one", "pending"))
    assert "+one" in capfd.readouterr().err, "a call that is asked about twice shows twice what it is about"


def test_every_answer_on_offer_has_a_key_of_its_own() -> None:
    asked = question(RunCommand("make", ROOT)).model_copy(update={"changed": True})
    params = permission("s1", Call("c1", "Shell", "/w", title="make"), asked, lasting=True)
    offered = PermissionDialog.model_validate(params)
    assert {key: option.option_id for key, option in offered.choices.items()} == {
        "y": "allow_once",
        "a": "allow_always",
        "c": "allow_always_also_changed",
        "n": "reject_once",
    }

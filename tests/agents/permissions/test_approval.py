"""Approvals: who is asked, what is shown, what an answer means and what is remembered."""

import asyncio
import os
import re
import sys
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.workspace import ResolvedPath
from sould.agents.permissions.approval import MOST_SHOWN, Approval
from sould.agents.permissions.asking import digest
from sould.agents.permissions.policy import Action, EditFile, Mode, ReadFile, RunCommand
from sould.agents.permissions.protected import account_places
from sould.agents.permissions.rules import Rule, Rules, UserRules
from sould.agents.permissions.scopes import button
from sould.agents.permissions.visible import LONG, NO_NEWLINE, columns_of, diff_lines, file_name, shortened, visible
from sould.agents.sessions.settings.modes import Modes
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.wire.display import DiffBlock, DisplayBlock, ShellBlock
from sould.agents.wire.messages import ApprovalKind, ApprovalRequest, ApprovalResponse, ToolReturn
from soultest.policy import HOME, approval_of, place_of

ROOT = Path("/w")


@dataclass
class Person:
    """Sees every question; answers with `answer`, or when told."""

    answer: ApprovalKind | None = "approve"
    feedback: str = ""
    seen: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    arrivals: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    waiting: list["asyncio.Future[ApprovalResponse]"] = field(default_factory=list["asyncio.Future[ApprovalResponse]"])

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
        self.seen.append(request)
        if self.answer is not None:
            return ApprovalResponse(request_id=request.id, response=self.answer, feedback=self.feedback)
        self.waiting.append(asyncio.get_running_loop().create_future())
        self.arrivals.release()
        return await self.waiting[-1]

    async def sees(self, count: int = 1) -> None:
        """Until so many more questions are waiting."""
        for _ in range(count):
            await self.arrivals.acquire()


def approval(person: Person, mode: Mode | Modes = "ask", *rules: Rule) -> Approval:
    return approval_of(person, place_of(ROOT, account=account_places(HOME)), mode, lambda: Rules(rules), "unknown")


async def test_while_the_rules_cannot_be_read_nothing_goes_ahead_and_why_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\ndecision = "deny"\ntool = "shell"')
    file.chmod(0o666)
    person = Person()
    door = approval_of(person, place_of(ROOT), "full", lambda: UserRules(file).now(date(2026, 1, 1)), "unknown")
    refused = await request(door, RunCommand("true", ROOT))
    assert refused is not None
    assert f"run `chmod go-w {file}`" in refused.message
    assert person.seen == []


def test_a_changed_rule_holds_at_the_next_decision_also_in_a_file_that_had_settled(tmp_path: Path) -> None:
    file, denied = tmp_path / "rules.toml", '[[rule]]\ndecision = "deny"\ntool = "edit"\npath = "{}.py"\n'
    file.write_text(denied.format("a"))
    file.chmod(0o600)
    written, rules = file.stat(), UserRules(file)
    door = approval_of(Person(), place_of(ROOT), "full", lambda: rules.now(date(2026, 1, 1)), "unknown")

    def decided() -> tuple[str, str]:
        return door.judge(edit("a.py")).decision, door.judge(edit("b.py")).decision

    while time.time_ns() - written.st_ctime_ns < 3 * 10**8:  # decisions go on until what the file says is kept
        assert decided() == ("deny", "allow")
    file.write_text(denied.format("b"))
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert decided() == ("allow", "deny")
    file.unlink()
    assert decided() == ("allow", "allow")


async def request(
    door: Approval, action: Action, description: str = "Run it", *blocks: DisplayBlock
) -> ToolReturn | None:
    call = ToolCallContext("call-1", 1)
    return await door.request(call, action, sender="Shell", description=description, display=blocks)


def run(line: str) -> RunCommand:
    return RunCommand(line, ROOT)


def edit(path: str) -> EditFile:
    return EditFile(ResolvedPath(ROOT / path, inside=True), "modify")


async def test_what_is_allowed_asks_nobody() -> None:
    person = Person()
    assert await request(approval(person), run("ls")) is None
    assert person.seen == []


async def test_a_question_is_self_contained() -> None:
    person = Person()
    assert await request(approval(person), run("make"), "Run a command", ShellBlock(command="make")) is None
    (asked,) = person.seen
    assert (asked.tool_call_id, asked.sender, asked.action, asked.description) == (
        "call-1",
        "Shell",
        "run command",
        "Run a command",
    )
    assert asked.display == (ShellBlock(command="make"),)
    assert asked.digest == digest(run("make"), (ShellBlock(command="make"),))
    assert asked.scope == "This session runs this command in /w without asking."


async def test_a_rejection_is_the_tools_result_and_carries_the_feedback() -> None:
    refused = await request(approval(Person("reject", "use tox")), run("make"))
    assert refused is not None
    assert refused.is_error
    assert "use tox" in refused.message
    assert refused.extras == {"rejected": True, "feedback": "use tox"}


async def test_for_session_remembers_exactly_that_command() -> None:
    person = Person("approve_for_session")
    door = approval(person)
    await request(door, run("make"))
    person.answer = "reject"
    assert await request(door, run("make")) is None
    assert await request(door, run("make x")) is not None
    assert len(person.seen) == 2


async def test_for_session_remembers_edits_in_the_workspace_but_no_protected_ones() -> None:
    person = Person("approve_for_session")
    door = approval(person)
    await request(door, edit("a.py"))
    assert (
        person.seen[0].scope
        == "This session edits files in this workspace without asking, except secrets and protected files."
    )
    assert person.seen[0].scope_button == "Allow edits this session"
    await request(door, edit("b.py"))
    assert len(person.seen) == 1
    await request(door, edit(".git/config"))
    await request(door, edit(".git/config"))
    assert len(person.seen) == 3
    assert person.seen[2].scope == ""


async def test_a_yes_to_a_secret_holds_for_that_file_and_no_other() -> None:
    person = Person()
    door = approval(person, "full")
    for action in (ReadFile(edit(".env").path), edit(".env")):
        assert await request(door, action) is None
        assert await request(door, action) is None
    assert [asked.scope for asked in person.seen] == ["", ""]
    assert "your answer holds for this file until the session ends" in person.seen[0].description
    assert "undo ends with the daemon" in person.seen[1].description
    await request(door, edit(".env.local"))
    assert len(person.seen) == 3


async def test_edits_allowed_for_the_workspace_leave_its_secrets_out() -> None:
    person = Person("approve_for_session")
    door = approval(person)
    await request(door, edit("a.py"))
    person.answer = "reject"
    assert await request(door, edit("b.py")) is None
    assert await request(door, edit("key.pem")) is not None


async def test_approving_once_is_not_remembered() -> None:
    person = Person()
    door = approval(person)
    await request(door, run("make"))
    await request(door, run("make"))
    assert len(person.seen) == 2


async def test_a_denied_action_asks_nobody_and_says_why() -> None:
    person = Person()
    refused = await request(approval(person, "full", Rule("deny", "shell", argv=("make", "**"))), run("make all"))
    assert refused is not None
    assert "a rule forbids make all" in refused.message
    assert person.seen == []


async def test_many_questions_stand_at_once_and_the_rest_wait_their_turn() -> None:
    person = Person(answer=None)
    door = approval(person)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(request(door, run(f"make {number}"))) for number in range(MOST_SHOWN + 1)]
        await person.sees(MOST_SHOWN)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(person.seen) == MOST_SHOWN
        person.waiting[3].set_result(ApprovalResponse(request_id="", response="reject"))
        await person.sees()
        for waiter in person.waiting:
            if not waiter.done():
                waiter.set_result(ApprovalResponse(request_id="", response="approve"))
    assert [call.result() is None for call in calls].count(False) == 1
    assert calls[3].result() is not None


async def test_a_lower_mode_holds_for_a_question_that_is_being_asked() -> None:
    person = Person(answer=None)
    modes = Modes("ask")
    door = approval(person, modes)
    asking = asyncio.ensure_future(request(door, edit("a.py")))
    await person.sees()
    modes.take("plan")
    person.waiting[0].set_result(ApprovalResponse(request_id="", response="approve"))
    refused = await asking
    assert refused is not None
    assert "plan mode" in refused.message


async def test_cancelling_a_call_ends_its_question() -> None:
    person = Person(answer=None)
    asking = asyncio.ensure_future(request(approval(person), run("make")))
    await person.sees()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert person.waiting[0].cancelled()


async def test_nothing_invisible_reaches_the_question() -> None:
    person = Person()
    evil = "make \u202eevil\u200b\x1b[2K\rls" + " " * 5000 + "; rm"
    await request(approval(person), run(evil), f"Run {evil}", ShellBlock(command=evil))
    (asked,) = person.seen
    block = asked.display[0]
    assert isinstance(block, ShellBlock)
    assert block.command == "make \\u202eevil\\u200b\\u001b[2K\\u000dls\\u0020{5000}; rm"
    for text in (asked.description, asked.scope, block.command):
        assert not any(char in text for char in "\u202e\u200b\x1b\r")


async def test_a_long_command_shows_both_ends_and_cannot_be_remembered() -> None:
    person = Person("approve_for_session")
    door = approval(person)
    line = "echo " + "a" * LONG + " > b"
    await request(door, run(line), line, ShellBlock(command=line))
    assert person.seen[0].scope == ""
    assert re.search(r"… \d+ more characters \(sha256 [0-9a-f]{8}\), view all …", person.seen[0].description)
    assert person.seen[0].description.endswith("> b\nasked because there is a redirection")
    assert person.seen[0].display == (ShellBlock(command=line),)
    await request(door, run(line))
    assert len(person.seen) == 2


async def test_letters_that_look_like_others_are_named() -> None:
    person = Person()
    await request(approval(person), run("m\u0430ke"))
    assert "U+0430" in person.seen[0].description
    diff = DiffBlock(path="/w/a.py", old_text="", new_text="a\u202eb")
    await request(approval(person), edit("a.py"), "Edit", diff)
    assert "cannot be seen" in person.seen[1].description
    assert person.seen[1].display == (diff,)


def test_every_character_that_prints_nothing_is_an_escape() -> None:
    """By Unicode's data, which the list below samples: fillers, blank glyphs, joiners, selectors, tags, foreign blanks."""
    ignorable = regex.compile(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}--[\p{Cn}\p{Co} \n\t]]", regex.VERSION1)
    nothing = ignorable.findall("".join(map(chr, range(sys.maxunicode + 1))))
    sample = "\u3164\u2800\u115f\u1160\uffa0\u034f\u17b4\u180e\u2062\ufe0f\U000e0041\U000e0100\U0001d159\U00016fe4\u00a0\u3000"
    assert len(nothing) > 2_000
    for char in (*nothing, *sample):
        assert visible(f"a{char}b").isascii(), hex(ord(char))
        assert visible(f"a{char}b") != visible("ab")
    plain = "naïve 漢字 한국어 हिन्दी עִבְרִית ☂ 🚀"
    assert visible(plain) == plain


def test_accents_that_are_letters_of_their_own_or_too_many_to_read_are_escapes() -> None:
    assert visible("caf\u00e9") == "caf\u00e9"
    assert visible("cafe\u0301") == "cafe\\u0301"
    assert visible("\u1100\u1161") == "\u1100\\u1161"
    assert visible("\u212a") == "\\u212a"
    assert visible("q" + "\u0334" * 6) == "q" + "\u0334" * 4 + "\\u0334" * 2


def test_blanks_at_the_end_of_a_line_and_in_names_are_escapes() -> None:
    assert visible("rm a\\ \nb\t") == "rm a\\\\u0020\nb\\u0009"
    assert visible(f"`{file_name('a`b' + chr(10) + '`c')}`") == "`a\\x60b\\n\\x60c`"
    assert len({visible(file_name(name)) for name in ("a\nb", "a\\nb", "a\\\\nb", "a\tb", "a\rb")}) == 5


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a\nb\n", "a\nc\n", [" a", "-b", "+c"]),
        ("a\n\nb\n", "a\n\nc\n", [" a", " ", "-b", "+c"]),
        ("a", "a\n", ["-a", NO_NEWLINE, "+a"]),
        ("a\n", "a\r\n", ["-a", "+a\\u000d"]),
        ("a\r\n", "b\r\n", ["-a", "+b"]),
        ("a\n", "a \n", ["-a", "+a\\u0020"]),
        ("", "a\x0cb\u2028c\n", ["+a\\u000cb\\u2028c"]),
        ("", " " * 40 + "a\n", ["+" + " " * 40 + "a"]),
    ],
)
def test_a_difference_shows_line_ends_and_blanks(old: str, new: str, shown: list[str]) -> None:
    header, _, _, *lines = diff_lines("x\n+y", old, new)
    assert header == "--- x\\n+y"
    assert lines == shown


def test_nothing_is_out_of_sight_behind_blank_space() -> None:
    for blank in ("\n" * 900, "\n \t" * 300, " " * 900, "\t" * 900):
        assert visible(f"ls{blank}rm -rf x").count("\n") < 8


BLANKS = st.text(alphabet=st.sampled_from("\n\n\n\t  \\u0a{8}"), min_size=8)
TEXTS = st.text(alphabet=st.sampled_from("\\u202e0\u202e {17}\x1b\r\na\U000e0041U\u00a0\ud800")) | st.text() | BLANKS


@given(TEXTS, TEXTS)
def test_two_different_texts_never_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


@given(st.text())
def test_what_is_shown_is_visible(text: str) -> None:
    assert all(char in "\n\t " or char.isprintable() for char in visible(text))


def test_a_short_text_is_not_shortened() -> None:
    assert shortened("a" * LONG) == "a" * LONG
    assert shortened("a" * 5812).count("3,812 more characters (") == 1


def test_a_digest_binds_every_part_of_the_action() -> None:
    actions: list[tuple[Action, tuple[DisplayBlock, ...]]] = [
        (run("make"), ()),
        (RunCommand("make", Path("/")), ()),
        (run("make "), ()),
        (edit("a"), ()),
        (EditFile(ResolvedPath(ROOT / "a", inside=True), "delete"), ()),
        (edit("a\udcff"), ()),
        (edit("a"), (DiffBlock(path="a", old_text="", new_text="1"),)),
        (edit("a"), (DiffBlock(path="a", old_text="", new_text="2"),)),
    ]
    assert len({digest(action, blocks) for action, blocks in actions}) == len(actions)


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (Rule("allow", "edit", cwd="workspace"), "Allow edits this session"),
        (Rule("allow", "edit", path="/a/b"), "Allow changes to it this session"),
        (Rule("allow", "read", path="/a/b"), "Allow reading it this session"),
        (Rule("allow", "shell", argv=("git", "push")), "Allow “git push” this session"),
        (Rule("allow", "shell", argv=("git", "commit", "-m", "a b")), "Allow “git commit -m 'a b'” this session"),
        (Rule("allow", "shell", line="make a && make b | tee x"), "Allow “make a && make b |…” this session"),
        (Rule("allow", "shell", line="echo \u3164`x`"), "Allow “echo \\u3164\\x60x\\x…” this session"),
        (Rule("allow", "shell", line="a” in any project"), "Allow “a\\u201d in any pro…” this session"),
        (Rule("allow", "shell", line="漢字" * 20), "Allow “漢字漢字漢字漢字漢…” this session"),
        (Rule("allow", "fetch", argv=("docs.example.org",)), "Allow “docs.example.org” this session"),
        (Rule("allow", "mcp:hours__opening_hours"), "Allow “hours__opening_hou…” this session"),
    ],
)
def test_a_button_says_what_it_allows_in_forty_columns(rule: Rule, shown: str) -> None:
    assert button(rule) == shown
    assert columns_of(shown) <= 40

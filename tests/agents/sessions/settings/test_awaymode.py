"""`/yolo`, `/afk` and the configuration's default modes."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sould.agents.base.errors import OptionError
from sould.agents.permissions.policy import Mode
from sould.agents.sessions.session import Session
from sould.agents.soul.reminders import AWAY, BACK
from sould.agents.wire.messages import ApprovalRequest, ContextNote, QuestionRequest, ToolResult
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import choose

ASK = call("AskUserQuestion", questions=[{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}])
PROTECTED = call("WriteFile", path=".git/hooks/pre-commit", content="x")


async def asking(bench: Bench) -> Session:
    opening = bench.opening(capabilities=frozenset({"questions", "plan_mode"}))
    return await bench.host.new(opening)


async def test_away_questions_are_dismissed_and_protected_changes_refused(tmp_path: Path) -> None:
    scripts = [ASK, PROTECTED, call("EnterPlanMode"), "text: decided", "text: hello again"]
    bench = make_bench(tmp_path, scripts=scripts)
    async with bench.running():
        session = await asking(bench)
        watcher = Watcher(session, answer=None)
        await finish(session, "/afk")
        assert session.parts.services.permission.modes.mode == "full"
        await finish(session, "go")
        asked, changed, planned = (result.return_value for result in watcher.of(ToolResult))
        assert "dismissed" in str(asked.output)
        assert "away" in changed.message
        assert "away" in planned.message
        assert not (bench.project / ".git").exists()
        await finish(session, "/afk off")
        assert session.parts.services.permission.modes.mode == "ask"
        await finish(session, "I am back")
        assert [note.text for note in watcher.of(ContextNote)] == [AWAY, BACK]


async def test_a_client_cannot_choose_to_be_away_while_something_waits_for_a_person(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {"skip_afk_prompt_injection": True}, [ASK, "text: alone"])
    async with bench.running():
        session = await asking(bench)
        watcher = Watcher(session)
        prompt = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(QuestionRequest)
        with pytest.raises(OptionError, match=f"an answer to `Which\\?`.* `sould answer {asked.id[:8]}`"):
            await choose(session, "mode", "afk", "watcher")
        assert session.parts.services.permission.modes.mode == "ask"
        assert session.log.channel.pending == (asked,)
        await finish(session, "/afk")
        assert (await prompt.outcome()).stop_reason == "finished"
        assert not watcher.of(ContextNote), "the configuration says that the model is not told"


async def test_away_holds_at_once_also_while_a_turn_asks(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[ASK, call("Shell", command="touch b"), "text: alone"])
    async with bench.running():
        session = await asking(bench)
        watcher = Watcher(session, answer=None)
        prompt = session.turns.prompt("go", "watcher")
        await watcher.wait_for(QuestionRequest)
        assert (await session.turns.prompt("/afk", "watcher").outcome()).stop_reason == "finished"
        assert session.parts.services.permission.modes.mode == "full"
        assert (await prompt.outcome()).stop_reason == "finished"
        assert (bench.project / "b").exists()


async def test_full_access_ends_in_the_mode_before(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("Shell", command="touch b"), "text: done"])
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        await finish(session, "/yolo")
        await finish(session, "go")
        assert not watcher.of(ApprovalRequest)
        await finish(session, "/yolo off")
        assert session.parts.services.permission.modes.mode == "review"


async def test_full_access_ends_in_a_mode_that_asks_also_after_a_plan_within_it(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        session = Watcher(await bench.new("review")).session
        for command in ("/afk", "/plan on", "/plan off"):
            await finish(session, command)
        assert (session.parts.services.permission.modes.mode, session.parts.services.permission.modes.away) == (
            "full",
            False,
        )
        await finish(session, "/yolo off")
        assert session.parts.services.permission.modes.mode == "review"


@pytest.mark.parametrize(
    ("settings", "mode", "after_a_plan"),
    [
        ({"default_yolo": True}, "full", "full"),
        ({"default_plan_mode": True}, "plan", "ask"),
        ({"default_plan_mode": True, "default_yolo": True}, "plan", "full"),
        ({"default_mode": "review", "default_yolo": True}, "review", "review"),
    ],
)
async def test_the_configuration_chooses_the_first_mode(
    tmp_path: Path, settings: dict[str, Any], mode: Mode, after_a_plan: Mode
) -> None:
    bench = make_bench(tmp_path, settings, ["text: hello"])
    async with bench.running():
        session = await bench.new()
        assert session.parts.services.permission.modes.mode == mode
        assert session.parts.services.permission.modes.before_plan == after_a_plan
        chosen = await bench.host.new(replace(session.parts.services.workplace.opening, mode="ask"))
        assert chosen.parts.services.permission.modes.mode == "ask"


async def test_a_session_is_not_put_back_into_plan_mode(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {"default_plan_mode": True}, ["text: hello"])
    async with bench.running():
        session = await bench.new()
        await finish(session, "/plan off")
        identity = session.id
    async with bench.running():
        assert (await bench.open(identity)).parts.services.permission.modes.mode == "ask"

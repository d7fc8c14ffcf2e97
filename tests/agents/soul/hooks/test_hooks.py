"""Hooks: commands and clients that watch an agent and may forbid what it does."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sould.agents.base.process.searching import SearchLimits
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.hooks.command import decision_in
from sould.agents.soul.hooks.engine import fitting
from sould.agents.soul.hooks.events import EVENTS, Subscription
from sould.agents.soul.hooks.project import ProjectHooks
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ContextNote,
    HookRequest,
    HookResolved,
    HookResponse,
    HookTriggered,
    Notification,
    StepBegin,
    ToolResult,
)
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import messages_of

WRITE = call("WriteFile", path="new.txt", content="x")


def hook(event: str, command: str, **rest: Any) -> dict[str, Any]:
    return {"event": event, "command": command, **rest}


def with_hooks(tmp_path: Path, *hooks: dict[str, Any], scripts: tuple[str, ...] = (WRITE, "text: done")) -> Bench:
    return make_bench(tmp_path, {"hooks": list(hooks)}, scripts)


def recorder(tmp_path: Path) -> str:
    """A command that keeps what it was given."""
    return f"cat >> {tmp_path}/seen; echo >> {tmp_path}/seen"


def seen(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "seen"
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo not now >&2; exit 2", "not now"),
        (
            """echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not so"}}'""",
            "not so",
        ),
    ],
)
async def test_a_hook_forbids_a_tool_call_with_a_reason_for_the_model(
    tmp_path: Path, command: str, reason: str
) -> None:
    bench = with_hooks(tmp_path, hook("PreToolUse", command, matcher="^Write"))
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        result = watcher.of(ToolResult)[0].return_value
        assert result.is_error
        assert reason in result.message
        assert watcher.of(HookTriggered) == [HookTriggered(event="PreToolUse", target="WriteFile", hook_count=1)]
        resolved = watcher.of(HookResolved)[0]
        assert (resolved.action, resolved.reason) == ("block", reason)
    assert not (bench.project / "new.txt").exists()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit 1", "It ended with exit code 1."),
        ("echo oh no >&2; exit 3", "It ended with exit code 3: oh no"),
        ("kill -9 $$", "It ended with signal 9."),
        ("no-such-program-anywhere", "It ended with exit code 127: "),
        ("echo nonsense", ""),
        ("echo '[1]'", ""),
    ],
)
async def test_a_hook_that_fails_forbids_nothing_and_how_it_failed_is_told(
    tmp_path: Path, command: str, told: str
) -> None:
    bench = with_hooks(tmp_path, hook("PreToolUse", command))
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        assert not watcher.of(ToolResult)[0].return_value.is_error
        resolved = watcher.of(HookResolved)[0]
        assert resolved.action == "allow"
        assert resolved.reason.startswith(told)
        assert bool(resolved.reason) is bool(told)
    assert (bench.project / "new.txt").exists()


async def test_a_hook_is_told_everything_about_the_call_and_how_it_went(tmp_path: Path) -> None:
    keep = recorder(tmp_path)
    scripts = (WRITE, call("ReadFile", path="missing.txt"), "text: done")
    events = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
    bench = with_hooks(tmp_path, *(hook(event, keep) for event in events), scripts=scripts)
    async with bench.running():
        session = await bench.new("full")
        await finish(session, "go")
        before, after, before_read, failed = seen(tmp_path)
        assert before["hook_event_name"] == "PreToolUse"
        assert before["session_id"] == session.id
        assert before["cwd"] == str(bench.project)
        assert before["tool_name"] == "WriteFile"
        assert before["tool_input"] == {"path": "new.txt", "content": "x"}
        assert after["hook_event_name"] == "PostToolUse"
        assert after["tool_call_id"] == before["tool_call_id"]
        assert before_read["tool_name"] == "ReadFile"
        assert failed["hook_event_name"] == "PostToolUseFailure"
        assert "missing.txt" in failed["error"]


async def test_what_a_hook_says_afterwards_reaches_the_model_with_the_result(tmp_path: Path) -> None:
    bench = with_hooks(tmp_path, hook("PostToolUse", "echo run the formatter >&2; exit 2"))
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        result = watcher.of(ToolResult)[0].return_value
        assert not result.is_error
        assert "run the formatter" in result.message


async def test_the_same_command_runs_once_for_an_event_and_matchers_choose(tmp_path: Path) -> None:
    keep = recorder(tmp_path)
    hooks = [
        hook("PreToolUse", keep),
        hook("PreToolUse", keep, matcher="Write"),
        hook("PreToolUse", keep, matcher="Shell"),
    ]
    bench = with_hooks(tmp_path, *hooks)
    async with bench.running():
        session = await bench.new("full")
        await finish(session, "go")
        assert len(seen(tmp_path)) == 1


async def test_a_forbidden_prompt_never_reaches_the_model(tmp_path: Path) -> None:
    refuse = "if grep -q secret; then echo no secrets >&2; exit 2; fi"
    bench = with_hooks(tmp_path, hook("UserPromptSubmit", refuse), scripts=("text: fine",))
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        assert (await finish(session, "my secret")).stop_reason == "refusal"
        assert not watcher.of(StepBegin)
        assert not messages_of(session)
        await finish(session, "hello")
        assert [part.text for part in watcher.of(TextPart)] == ["fine"]
        await finish(session, "my secret")
        assert "secret" not in repr(messages_of(session))
        assert "hello" in repr(messages_of(session))


async def test_a_stop_hook_sends_the_model_back_once(tmp_path: Path) -> None:
    bench = with_hooks(tmp_path, hook("Stop", "echo run the tests >&2; exit 2"), scripts=("text: done", "text: tested"))
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        assert (await finish(session, "go")).stop_reason == "finished"
        assert [part.text for part in watcher.of(TextPart)] == ["done", "tested"]
        assert [step.n for step in watcher.of(StepBegin)] == [1, 2]
        assert "run the tests" in watcher.of(ContextNote)[0].text
        assert len(watcher.of(HookTriggered)) == 1


async def test_hooks_hear_of_the_session_its_failures_and_its_notices(tmp_path: Path) -> None:
    keep = recorder(tmp_path)
    events = ("SessionStart", "SessionEnd", "StopFailure", "Notification", "PreCompact", "PostCompact")
    bench = with_hooks(tmp_path, *(hook(event, keep) for event in events), scripts=())
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        assert (await finish(session, "go")).stop_reason == "error"
        session.log.publish(Notification(id="n", type="task", title="Finished"))
        await watcher.wait_for(HookResolved, lambda resolved: resolved.event == "Notification")
    told = {event["hook_event_name"]: event for event in seen(tmp_path)}
    assert told["SessionStart"]["source"] == "startup"
    assert told["StopFailure"]["error_message"]
    assert told["Notification"]["title"] == "Finished"
    assert told["SessionEnd"]["reason"]


async def test_hooks_hear_before_and_after_the_conversation_is_compacted(tmp_path: Path) -> None:
    keep = recorder(tmp_path)
    bench = with_hooks(
        tmp_path,
        hook("PreCompact", keep),
        hook("PostCompact", keep),
        scripts=("text: a", "text: b", "text: c", "text: s", "text: s"),
    )
    async with bench.running():
        session = await bench.new()
        Watcher(session)
        for text in ("one " * 500, "two " * 500, "three " * 500, "/compact"):
            await finish(session, text)
        told = [(event["hook_event_name"], event["trigger"]) for event in seen(tmp_path)]
        assert told == [("PreCompact", "manual"), ("PostCompact", "manual")]


async def test_hooks_see_the_session_s_environment_without_provider_keys(tmp_path: Path) -> None:
    bench = with_hooks(tmp_path, hook("PreToolUse", f"env > {tmp_path}/env"))
    os.environ["OPENAI_API_KEY"] = "sk-hidden"
    try:
        async with bench.running():
            await finish(await bench.new("full"), "go")
    finally:
        del os.environ["OPENAI_API_KEY"]
    variables = (tmp_path / "env").read_text()
    assert "PATH=" in variables
    assert "sk-hidden" not in variables


@pytest.mark.parametrize(("action", "runs"), [("allow", True), ("block", False)])
async def test_a_client_that_asked_for_an_event_decides(tmp_path: Path, action: Any, runs: bool) -> None:
    bench = with_hooks(tmp_path)
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        session.parts.hooks.hooks.subscribe(
            "watcher", [Subscription("h1", "PreToolUse", "Write"), Subscription("x", "Never")]
        )
        assert session.parts.hooks.hooks.counts() == {"PreToolUse": 1}
        prompt = session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(HookRequest)
        assert request.subscription_id == "h1"
        session.parts.attached.answer(
            HookResponse(request_id=request.id, action=action, reason="client says"), "watcher"
        )
        await prompt.outcome()
        assert (bench.project / "new.txt").exists() is runs


async def test_a_client_that_does_not_answer_or_leaves_forbids_nothing(tmp_path: Path) -> None:
    bench = with_hooks(tmp_path, scripts=(WRITE, call("ReadFile", path="a.txt"), "text: done"))
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        session.parts.hooks.hooks.subscribe("watcher", [Subscription("h1", "PreToolUse", timeout=0.05)])
        prompt = session.turns.prompt("go", "watcher")
        await watcher.wait_for(HookRequest)
        session.detach("watcher")
        await prompt.outcome()
        assert (bench.project / "new.txt").exists()
        assert not session.log.channel.pending
        assert not session.parts.hooks.hooks.counts()


async def test_hooks_of_a_project_run_only_as_the_user_trusted_them(tmp_path: Path) -> None:
    bench = with_hooks(tmp_path, scripts=(WRITE, "text: 1", WRITE, "text: 2", WRITE, "text: 3", WRITE, "text: 4"))
    (bench.project / ".sould").mkdir()
    check = bench.project / "check.sh"
    check.write_text("exit 2\n")
    (bench.project / ".sould" / "hooks.toml").write_text(
        '[[hooks]]\nevent = "PreToolUse"\ncommand = "bash ./check.sh --x=1"\n'
    )
    trust = bench.trust

    async def blocked() -> bool:
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        return watcher.of(ToolResult)[0].return_value.is_error

    async with bench.running():
        assert not await blocked(), "not trusted: not even read"
        trust.set(bench.project, "trusted")
        check.write_text("exit 2 # changed before any session saw it\n")
        assert not await blocked()
        trust.set(bench.project, "trusted")
        assert await blocked()
        check.write_text("exit 2 # changed\n")
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        assert not watcher.of(ToolResult)[0].return_value.is_error
        assert "- check.sh: changed" in watcher.of(Notification)[0].body
        trust.set(bench.project, "trusted")
        assert await blocked()


def test_a_mistake_in_the_hooks_of_a_project_is_named(tmp_path: Path) -> None:
    (tmp_path / ".sould").mkdir()
    (tmp_path / ".sould" / "hooks.toml").write_text('[[hooks]]\nevent = "PreToolUse"\n')
    trust = TrustStore(tmp_path / "trust.json")
    trust.set(tmp_path, "trusted")
    hooks = ProjectHooks(tmp_path / "hooks.json", trust, tmp_path)
    assert hooks.problem() == "The hooks of .sould/hooks.toml do not run: hooks.0.command is required."


def test_there_are_thirteen_events() -> None:
    assert len(set(EVENTS)) == 13


async def test_a_matcher_that_is_no_regular_expression_fits_nothing() -> None:
    assert await fitting(["(", "", "^Write|File$", "^(Shell|Edit)$", "(?i)readf", "x*y+z?"], "ReadFile") == {
        "",
        "^Write|File$",
        "(?i)readf",
    }


@pytest.mark.parametrize("matcher", ["(a+)+$", "(a|a)(a|a)(a|a)(a|a)" * 9 + "$", "a?" * 40 + "a" * 40, ".*.*.*.*.*="])
async def test_a_matcher_that_would_take_for_ever_is_ended_and_its_hook_judges(matcher: str) -> None:
    limits = SearchLimits(seconds=0.1, bytes=4096)
    assert await fitting([matcher], "a" * 39 + "b" * 1000, limits) == {matcher}


@pytest.mark.parametrize("output", [b"", b"{}", b"null", b'{"hookSpecificOutput": []}', b'{"hookSpecificOutput": {}}'])
def test_output_that_says_nothing_allows(output: bytes) -> None:
    assert not decision_in(output).blocked

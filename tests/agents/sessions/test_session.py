"""Options, commands, clients and the life of a session."""

import pytest

from sould.agents.base.errors import NoModelError, OptionError, SessionNotFoundError, WorkspaceGoneError
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import CompactionEnd, SessionChanged
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import choose, messages_of
from soultest.summaries import summary_of


async def test_a_mode_is_remembered_for_the_project_and_full_is_not(bench: Bench) -> None:
    async with bench.running():
        session = await bench.new()
        assert session.parts.services.permission.modes.mode == "ask"
        await choose(session, "mode", "plan")
        assert (await bench.new()).parts.services.permission.modes.mode == "plan"
        await choose(session, "mode", "full")
        assert (await bench.new()).parts.services.permission.modes.mode == "plan"


async def test_a_programs_choice_holds_for_its_session_only(bench: Bench) -> None:
    async with bench.running():
        watcher = Watcher(await bench.new())
        watcher.chooses_for_project = False
        await choose(watcher.session, "mode", "review", watcher.id)
        assert watcher.session.parts.services.permission.modes.mode == "review"
        assert (await bench.new()).parts.services.permission.modes.mode == "ask"


async def test_an_unknown_option_or_value_names_what_there_is(bench: Bench) -> None:
    async with bench.running():
        session = await bench.new()
        with pytest.raises(OptionError, match="this session has mode, model, agent, loop"):
            await choose(session, "colour", "red")
        with pytest.raises(OptionError, match="plan, ask, review, full"):
            await choose(session, "mode", "auto")


async def test_changed_options_are_published(bench: Bench) -> None:
    async with bench.running():
        watcher = Watcher(await bench.new())
        await choose(watcher.session, "mode", "review")
    assert watcher.of(SessionChanged)[0].options == {
        "mode": "review",
        "model": "scripted",
        "agent": "default",
        "loop": "off",
    }


async def test_clear_empties_the_context_and_leaves_the_history(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "first")
        await finish(watcher.session, "/clear")
        assert list(messages_of(watcher.session)) == []
        await finish(watcher.session, "second")
        texts = [
            part.text
            for message in messages_of(watcher.session)
            for part in message.content
            if isinstance(part, TextPart)
        ]
    assert texts == ["second", "two"]
    assert any("cleared" in part.text for part in watcher.of(TextPart))


async def test_compact_replaces_what_it_compacted(bench: Bench) -> None:
    bench.settings["compaction"] = {"strategy": "simple"}
    bench.script("text: one", "text: two", f"text: {summary_of('summary')}", "text: three")
    async with bench.running():
        watcher = Watcher(await bench.new())
        for prompt in ("first " * 200, "second", "/compact keep names"):
            await finish(watcher.session, prompt)
        messages = messages_of(watcher.session)
        (end,) = watcher.of(CompactionEnd)
        assert not end.failed
        assert "summary" in str(messages[0].content)
        assert [message.role for message in messages[1:]] == ["user", "assistant"]
        await finish(watcher.session, "third")


async def test_a_full_window_is_compacted_before_the_next_step_and_only_once(bench: Bench) -> None:
    bench.settings["model"] = {"max_context_size": 8000}
    bench.script(
        "text: one\nusage: input_other=7500 output=10",
        f"text: {summary_of('short')}",
        "text: two\nusage: input_other=7500 output=10",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "first " + "x" * 100)
        await finish(watcher.session, "second")
    assert len(watcher.of(CompactionEnd)) == 1


async def test_a_fork_remembers_what_its_source_said(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        source = await bench.new()
        await finish(source, "remember me")
        fork = await bench.host.fork(source.id, bench.opening())
        assert messages_of(fork) == messages_of(source)
        assert fork.id != source.id


async def test_sessions_are_listed_found_and_deleted(bench: Bench) -> None:
    bench.script("text: one")
    async with bench.running():
        session = await bench.new()
        await finish(session, "a title of its own")
        page = await bench.host.stored.list(bench.project, None)
        assert [info.title for info in page.items] == ["a title of its own"]
        await bench.host.stored.delete(session.id)
        await bench.host.stored.delete(session.id)
        assert (await bench.host.stored.list(bench.project, None)).items == ()
        with pytest.raises(SessionNotFoundError):
            await bench.open(session.id)


async def test_a_session_never_moves_to_another_directory(bench: Bench) -> None:
    async with bench.running():
        session = await bench.new()
        bench.host.stored.rename(session.id, "here")
        await bench.host.close(session.id, "c")
        other = bench.root / "other"
        other.mkdir()
        with pytest.raises(WorkspaceGoneError, match="belongs to"):
            await bench.host.open(session.id, SessionRequest(other))


async def test_a_session_without_any_model_says_what_to_do(bench: Bench) -> None:
    bench.settings = {"models": {}, "providers": {}, "default_model": ""}
    async with bench.running():
        with pytest.raises(NoModelError):
            await bench.host.require_model(bench.opening(environment={}))
        session = await bench.host.new(bench.opening(environment={}))
        end = await finish(session, "hello")
        assert end.error is not None
        assert (end.error.kind, "`sould login`" in end.error.message) == ("no_model", True)


async def test_the_todo_list_survives_a_restart(bench: Bench) -> None:
    bench.script(call("SetTodoList", todos=[{"title": "one", "status": "pending"}]), "text: ok")
    async with bench.running():
        session = await bench.new()
        await finish(session, "plan")
    bench.script(call("SetTodoList"), "text: ok")
    async with bench.running():
        again = await bench.open(session.id)
        await finish(again, "what was the plan?")
        tool = [message for message in messages_of(again) if message.role == "tool"][-1]
    assert "one" in str(tool.content)

"""What an agent is told of its files when a session goes on that was closed, or whose daemon was down."""

from tests.agents.soul.test_reviewed_turns import calls, replace, told

from soultest.bench import Bench, Watcher, asked, call, finish


async def test_what_the_user_changed_while_the_session_was_closed_is_told_once_when_it_goes_on(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("one\n")
    (bench.project / "same.txt").write_text("same\n")
    reads = [call("ReadFile", path=name) for name in ("a.txt", "same.txt")]
    bench.script(calls(*reads, replace("b.txt", "one", "two")), "text: done")
    async with bench.running():
        session = await bench.new("review")
        await finish(Watcher(session).session, "go")
    (bench.project / "a.txt").write_text("hello\nyou\n")
    (bench.project / "b.txt").write_text("two\nthree\n")
    bench.script("text: I see.", "text: And so on.")
    for _ in range(2):
        async with bench.running():
            again = Watcher(await bench.open(session.id)).session
            await finish(again, "what now?")
            await finish(again, "and now?")
            [note] = [text for text in asked(again) if "While this session was closed" in text]
            assert " hello\n+you" in note
            assert " two\n+three" in note
            assert "same.txt" not in note
            assert not told(again)


async def test_what_the_agent_itself_wrote_last_is_not_told_when_the_session_goes_on(bench: Bench) -> None:
    bench.script(call("ReadFile", path="a.txt"), call("Shell", command="echo more >> a.txt"), "text: done")
    async with bench.running():
        session = await bench.new("full")
        await finish(Watcher(session).session, "go")
    bench.script("text: I see.")
    async with bench.running():
        again = Watcher(await bench.open(session.id)).session
        await finish(again, "what now?")
        assert not [text for text in asked(again) if "While this session was closed" in text]

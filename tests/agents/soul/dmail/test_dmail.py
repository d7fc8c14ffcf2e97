"""Who has D-Mail, and to whom a message goes that names its receiver by id. The arrows are in `tests/e2e/test_dmail.py`."""

from sould.agents.soul.spec import builtin_path, load_spec
from sould.agents.wire.messages import ContextNote, ContextReverted
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import choose, toolset_of


async def test_only_agents_with_the_tool_see_checkpoints(bench: Bench) -> None:
    bench.script("text: hi")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "hello")
        assert not watcher.of(ContextNote)
        missing = toolset_of(watcher.session).find("SendDMail")
    assert missing is None


async def test_the_id_of_one_s_own_session_or_parent_is_oneself_or_the_parent(bench: Bench) -> None:
    async with bench.running():
        session = await bench.new("full")
        own = call("SendDMail", message="from myself", to=session.id, checkpoint_id=1)
        child = call("SendDMail", message="from a child", to=session.id, checkpoint_id=4)
        bench.script(own, "text: once more", call("Agent", prompt="look", subagent_type="explore"), child, "text: done")
        await choose(session, "agent", "okabe", "")
        watcher = Watcher(session)
        await finish(session, "go")
        await finish(session, "again")
    assert watcher.of(ContextReverted) == [ContextReverted(checkpoint_id=1), ContextReverted(checkpoint_id=4)]


def test_okabe_has_the_default_tools_and_the_phone_and_so_have_its_subagents() -> None:
    paths = {
        name: [entry.tool for entry in load_spec(builtin_path(name)).fields.tools] for name in ("default", "okabe")
    }
    phone = "sould.agents.tools.senddmail:SendDMail"
    assert paths["okabe"] == [*paths["default"], phone, "sould.agents.tools.listagents:ListAgents"]
    subagents = load_spec(builtin_path("okabe")).fields.subagents
    for entry in subagents.values():
        assert phone in [tool.tool for tool in load_spec(entry.path).fields.tools]

"""Approvals that outlive their session: what is offered to an editor, for whom an answer holds, and what ends it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sould.agents.permissions.remembered import FILE, Remembered
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse
from soultest.acpclient import FULL, AcpClient
from soultest.bench import Bench, Watcher, call
from soultest.bench.acp import Connect
from soultest.bench.mcp import configure, entry, user_file
from soultest.gitinit import git_init

Json = dict[str, Any]
ECHO = call("Shell", command="echo hello > new.txt")
DONE = "text: done"
DESK = {"name": "agent-shell", "title": "Desk", "version": "1"}
"""A client that is known to show what its options are called."""
PROJECT, EVERYWHERE = "allow_always_project", "allow_always_everywhere"


class Desk:
    """Somebody at an editor with one session. They press the button with this id where it is offered, else they reject."""

    def __init__(self, option: str) -> None:
        self.option = option
        self.asked: list[Json] = []
        self.client: AcpClient
        self.session = ""

    def press(self, params: Json) -> Json:
        self.asked.append(params)
        return {"outcome": "selected", "optionId": self.option if self.option in self.names else "reject_once"}

    async def turn(self) -> None:
        await self.client.prompt(self.session, "go")

    @property
    def names(self) -> dict[str, str]:
        """The buttons of the last question."""
        return {option["optionId"]: option["name"] for option in self.asked[-1]["options"]}

    @property
    def lasting(self) -> dict[str, str]:
        """Those that outlive the session."""
        return {key: name for key, name in self.names.items() if key in (PROJECT, EVERYWHERE)}

    @property
    def text(self) -> str:
        """What the last question says beside its buttons."""
        content = self.asked[-1]["toolCall"].get("content", ())
        return "\n".join(each["content"]["text"] for each in content if each["type"] == "content")


@asynccontextmanager
async def sitting(
    bench: Bench, connect: Connect, option: str = "", place: Path | None = None, mode: str = "ask"
) -> AsyncGenerator[Desk]:
    desk = Desk(option)
    async with connect(permissions=desk.press) as desk.client:
        await desk.client.initialize(FULL, clientInfo=DESK)
        desk.session = await desk.client.new_session(place or bench.project)
        await desk.client.request("session/set_mode", sessionId=desk.session, modeId=mode)
        yield desk


def kept(bench: Bench) -> Remembered:
    return Remembered(bench.config / FILE)


async def test_an_answer_for_the_project_holds_in_its_other_sessions_after_a_restart_and_nowhere_else(
    bench: Bench, connect: Connect
) -> None:
    other = bench.root / "other"
    other.mkdir()
    bench.script(ECHO, DONE)
    async with bench.running(), sitting(bench, connect, PROJECT) as one, sitting(bench, connect) as two:
        await one.turn()
        assert one.names == {
            "allow_once": "Allow once",
            "allow_always": "Allow “echo hello > new.t…” this session",
            PROJECT: "Allow “echo hello > ne…” in this project",
            "reject_once": "Reject",
        }
        covers = f"Every session in {bench.project} runs this command there without asking."
        assert f"{one.names[PROJECT]}: {covers}" in one.text
        await two.turn()
        assert not two.asked
        async with sitting(bench, connect, place=other) as elsewhere:
            await elsewhere.turn()
            assert len(elsewhere.asked) == 1
    async with bench.running(), sitting(bench, connect) as later:
        await later.turn()
        assert not later.asked
    [(_, entry_)] = kept(bench).entries()
    assert (entry_.scope, entry_.by) == ("project", "Desk")
    assert entry_.given


async def test_what_is_forgotten_or_deleted_by_hand_is_asked_about_again_in_sessions_that_run(
    bench: Bench, connect: Connect
) -> None:
    bench.script(ECHO, DONE, ECHO)
    async with bench.running(), sitting(bench, connect, PROJECT) as giver, sitting(bench, connect) as runner:
        await giver.turn()
        await runner.turn()
        assert not runner.asked
        kept(bench).forget([entry.id for _, entry in kept(bench).entries()])
        await runner.turn()
        assert len(runner.asked) == 1
        giver.option = ""
        await giver.turn()
        assert len(giver.asked) == 2, "also in the session that it was answered in"


async def test_a_script_that_changed_since_is_asked_about_and_the_difference_is_shown_after_a_restart(
    bench: Bench, connect: Connect
) -> None:
    script = bench.project / "b.sh"
    script.write_text("true\n")
    bash = call("Shell", command="bash b.sh")
    bench.script(bash, DONE)
    async with bench.running(), sitting(bench, connect, PROJECT) as one:
        await one.turn()
        assert " runs this command there without asking until b.sh changes." in one.text
    script.write_text("false\n")
    async with bench.running(), sitting(bench, connect, PROJECT) as two, sitting(bench, connect) as three:
        await two.turn()
        assert "b.sh changed since you allowed this." in two.text
        [diff] = [each for each in two.asked[0]["toolCall"]["content"] if each["type"] == "diff"]
        assert (diff["oldText"], diff["newText"]) == ("true\n", "false\n")
        await three.turn()
        assert not three.asked
    assert len(kept(bench).entries()) == 1


async def test_a_host_is_allowed_in_all_projects(bench: Bench, connect: Connect) -> None:
    other = bench.root / "other"
    other.mkdir()
    fetch = call("FetchURL", url="http://docs.invalid/page")
    bench.script(fetch, DONE)
    async with bench.running(), sitting(bench, connect, EVERYWHERE) as one, sitting(bench, connect, place=other) as two:
        await one.turn()
        assert one.lasting == {
            PROJECT: "Allow “docs.invalid” in this project",
            EVERYWHERE: "Always allow “docs.invalid”",
        }
        assert ": Every session fetches from docs.invalid without asking." in one.text
        await two.turn()
        assert not two.asked


async def test_a_file_outside_is_read_and_a_command_about_the_machine_run_wherever_that_was_allowed(
    bench: Bench, connect: Connect
) -> None:
    other, notes = bench.root / "other", bench.root / "notes.txt"
    other.mkdir()
    notes.write_text("notes\n")
    both = [call("ReadFile", path=str(notes)), call("Shell", command="ps -o pid -p 1"), DONE]
    bench.script(*both)
    async with bench.running(), sitting(bench, connect, EVERYWHERE) as one, sitting(bench, connect, place=other) as two:
        await one.turn()
        assert len(one.asked) == 2
        assert ": Every session runs this command in any directory without asking." in one.text
        await two.turn()
        assert not two.asked


@pytest.mark.parametrize(
    "step",
    [
        ECHO,
        call("StrReplaceFile", path="a.txt", edit={"old": "hello", "new": "bye"}),
        call("FetchURL", url="http://docs.invalid/page"),
    ],
)
@pytest.mark.parametrize(
    "client_info", [None, {"name": "new-editor", "version": "1"}, {"name": "acpx", "version": "1"}]
)
async def test_a_client_that_is_not_known_has_one_option_of_each_kind_and_none_outlives_the_session(
    bench: Bench, connect: Connect, step: str, client_info: Json | None
) -> None:
    asked: list[Json] = []

    def widest(params: Json) -> Json:
        asked.append(params)
        always = [each["optionId"] for each in params["options"] if each["kind"] == "allow_always"]
        return {"outcome": "selected", "optionId": always[-1]}

    bench.script(step, step, DONE)
    async with bench.running(), connect(permissions=widest) as client:
        await client.initialize(clientInfo=client_info)
        session = await client.new_session(bench.project)
        await client.prompt(session, "go")
    (params,) = asked
    assert [each["kind"] for each in params["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert not (bench.config / FILE).exists()


@pytest.mark.parametrize(
    ("command", "lasting"),
    [
        ("make test", [PROJECT]),
        ("pytest", [PROJECT]),
        ("git push", [PROJECT]),
        ("./curl", []),
        ("env ps -e", [PROJECT]),
        ("kubectl apply -f a.txt", []),
        ("curl -o Makefile docs.invalid", [PROJECT]),
        ("ip -batch ./a.txt", []),
        ("ss -D a.txt", []),
        ("systemctl enable ./a.txt", []),
        ("systemctl status a.txt", []),
        ("systemctl status cron", [PROJECT, EVERYWHERE]),
        ("ps -e > a.txt", [PROJECT]),
        ("ps -e && ps -f", [PROJECT]),
        ("ps -e", [PROJECT, EVERYWHERE]),
        ("curl -H 'Authorization: Bearer 4f9a8e7d6c5b4a3f2e1d' docs.invalid", []),
        ("cat .env", []),
        ("cat ~/.ssh/config", []),
    ],
)
async def test_of_commands_only_those_about_the_machine_are_allowed_everywhere(
    command: str, lasting: list[str], bench: Bench, connect: Connect
) -> None:
    (bench.project / ".env").write_text("A=1\n")
    tools = bench.root / "tools"
    tools.mkdir()
    for name in ("kubectl", "curl", "systemctl", "ps"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
    bench.script(call("Shell", command=command))
    environment = {"HOME": str(bench.root), "PATH": f"{tools}:/usr/bin:/bin"}
    desk = Desk("")
    async with bench.running(), connect(permissions=desk.press, environment=environment) as desk.client:
        await desk.client.initialize(FULL, clientInfo=DESK)
        desk.session = await desk.client.new_session(bench.project)
        await desk.turn()
    assert list(desk.lasting) == lasting


async def test_edits_are_allowed_for_the_directory_of_the_session_in_its_project_only(
    bench: Bench, connect: Connect
) -> None:
    git_init(bench.project)
    below = bench.project / "below"
    below.mkdir()
    bench.script(
        call("WriteFile", path=str(below / "c.txt"), content="1\n"),
        call("WriteFile", path="d.txt", content="1\n"),
        DONE,
    )
    async with bench.running(), sitting(bench, connect, PROJECT, below) as one, sitting(bench, connect) as two:
        await one.turn()
        assert one.lasting == {PROJECT: "Allow edits in this project"}
        assert f": Every session in {bench.project} edits files in {below} without asking, " in one.text
        await two.turn()
        assert [asked["toolCall"]["locations"][0]["path"] for asked in two.asked] == [str(bench.project / "d.txt")]
        assert f": Every session in {bench.project} edits files there without asking, " in two.text


async def test_a_tool_of_a_server_is_allowed_in_the_project_until_it_is_another_one(
    bench: Bench, connect: Connect
) -> None:
    configure(user_file(bench), {"box": entry()})
    use = call("box__sum", a=2, b=3)
    bench.script(use, DONE)
    async with bench.running(), sitting(bench, connect, PROJECT) as one:
        await one.turn()
        assert one.lasting == {PROJECT: "Allow “box__sum” in this project"}
    async with bench.running(), sitting(bench, connect) as two:
        await two.turn()
        assert not two.asked
    configure(user_file(bench), {"box": entry(mark="another")})
    async with bench.running(), sitting(bench, connect) as three:
        await three.turn()
        assert len(three.asked) == 1


@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_the_agent_may_not_write_what_it_is_allowed_itself(mode: str, bench: Bench, connect: Connect) -> None:
    rules, words = bench.config / FILE, "[[rule]]\n"
    tries = [
        call("WriteFile", path=str(rules), content=words),
        call("Shell", command=f"echo '[[rule]]' >> {rules}"),
        call("Shell", command=f"cd {bench.config} && cp /etc/hostname {FILE}"),
        call("Shell", command="sould rules forget all"),
        call("ReadFile", path=str(rules)),
    ]
    bench.config.mkdir(parents=True)
    bench.script(*tries)
    async with bench.running(), sitting(bench, connect, PROJECT, mode=mode) as desk:
        for number, _ in enumerate(tries, 1):
            await desk.turn()
            assert len(desk.asked) == number
            assert not desk.lasting
    assert not rules.exists()


async def test_a_damaged_file_counts_for_nothing_the_question_says_so_and_it_stays_as_it_is(
    bench: Bench, connect: Connect
) -> None:
    bench.script(ECHO, DONE, ECHO)
    async with bench.running(), sitting(bench, connect, PROJECT) as one:
        await one.turn()
        file = bench.config / FILE
        damaged = file.read_text() + '\n[[rule]]\ndecision = "allow"\ntool = "everything"\nscope = "always"\n'
        file.write_text(damaged)
        await one.turn()
        assert len(one.asked) == 2
        async with sitting(bench, connect, PROJECT) as two:
            await two.turn()
            assert not two.lasting
            assert "What you allowed beyond a session does not count: " in two.text
            assert f"{file}: rule 2 (line " in two.text
        assert file.read_text() == damaged


async def test_where_nothing_is_trusted_an_answer_for_the_project_holds_and_no_command_allowed_elsewhere(
    bench: Bench, connect: Connect
) -> None:
    careless = bench.root / "careless"
    careless.mkdir()
    bench.trust.set(bench.project, "restricted")
    everywhere = call("Shell", command="ps -e")
    bench.script(everywhere, DONE)
    async with (
        bench.running(),
        sitting(bench, connect, EVERYWHERE, careless) as giver,
        sitting(bench, connect, PROJECT) as one,
        sitting(bench, connect) as two,
    ):
        await giver.turn()
        bench.script(ECHO, DONE)
        await one.turn()
        bench.script(ECHO, everywhere)
        await two.turn()
        [asked] = two.asked
        assert "ps -e" in json.dumps(asked)
        assert list(two.lasting) == [PROJECT]


async def test_several_commands_in_one_line_are_allowed_as_that_line_and_none_of_them_alone(
    bench: Bench, connect: Connect
) -> None:
    line = "git status && rm -rf ./tmp"
    bench.script(call("Shell", command=line), DONE)
    async with bench.running(), sitting(bench, connect, PROJECT) as one, sitting(bench, connect) as two:
        await one.turn()
        assert list(one.lasting) == [PROJECT]
        bench.script(call("Shell", command=line), call("Shell", command="rm -rf ./tmp"))
        await two.turn()
        [asked] = two.asked
        assert asked["toolCall"]["title"] == "rm -rf ./tmp"


async def test_what_was_not_offered_is_not_kept_whatever_a_client_answers(bench: Bench) -> None:
    bench.script(call("WriteFile", path="b.txt", content="1\n"), DONE)
    async with bench.running():
        session = await bench.new("ask")
        watcher = Watcher(session, answer=None)
        turn = session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(ApprovalRequest)
        assert [each.scope for each in asked.lasting] == ["project"]
        answer = ApprovalResponse(request_id=asked.id, response="approve_for_session", lasting="always")
        session.parts.attached.answer(answer, "watcher")
        await turn.outcome()
        assert (bench.project / "b.txt").exists()
        assert not (bench.config / FILE).exists()
        assert watcher.of(ApprovalResponse)[0].lasting == "always", "the journal has what was said"


async def test_a_directory_that_has_become_a_link_is_not_the_one_that_was_allowed(
    bench: Bench, connect: Connect
) -> None:
    git_init(bench.project)
    below, outside = bench.project / "below", bench.root / "outside"
    below.mkdir()
    outside.mkdir()
    bench.script(call("WriteFile", path=str(below / "c.txt"), content="1\n"), DONE)
    async with bench.running(), sitting(bench, connect, PROJECT, below) as one, sitting(bench, connect) as two:
        await one.turn()
        (below / "c.txt").unlink()
        below.rmdir()
        below.symlink_to(outside)
        await two.turn()
        assert len(two.asked) == 1
    assert not (outside / "c.txt").exists()


async def test_an_answer_that_cannot_be_saved_holds_for_the_session_and_its_user_is_told(
    bench: Bench, connect: Connect
) -> None:
    (bench.config / ".answers.lock").mkdir(parents=True)
    bench.script(ECHO, DONE, ECHO, DONE)
    async with bench.running(), sitting(bench, connect, PROJECT) as one:
        await one.turn()
        await one.turn()
        assert len(one.asked) == 1
        said = json.dumps(one.client.messages)
        assert "Your answer was not saved" in said
        assert ".answers.lock cannot be locked" in said


async def test_at_home_there_is_no_project_to_allow_anything_for(bench: Bench, connect: Connect) -> None:
    bench.script(ECHO)
    desk = Desk("")
    environment = {"HOME": str(bench.project), "PATH": "/usr/bin:/bin"}
    async with bench.running(), connect(permissions=desk.press, environment=environment) as desk.client:
        await desk.client.initialize(FULL, clientInfo=DESK)
        desk.session = await desk.client.new_session(bench.project)
        await desk.turn()
    assert not desk.lasting

"""Compaction as a user meets it: the real daemon, an editor with forms or without, and the page that describes it."""

import json
import re
import tomllib
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sould.agents.base.config import Compaction, LoopControl
from sould.agents.journal.context import COMPACTED
from sould.agents.soul.compaction.preview import CONFIRM, EDIT_IT, REGENERATE
from soultest.acpclient import FULL, AcpClient, Json
from soultest.cliuser import User
from soultest.daemon import Sould
from soultest.editor import client_of
from soultest.summaries import summary_of
from soultest.terminal import terminal
from soultest.world import World

DOCS = Path(__file__).parents[2] / "docs"
SUMMARY = f"text: {summary_of('the summary')}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.start()
    yield made
    made.close()


@asynccontextmanager
async def editor(world: World, capabilities: Json, **options: Any) -> AsyncGenerator[tuple[AcpClient, str], None]:
    """A client of the real bridge, and a session in which two prompts were answered."""
    async with client_of(world, capabilities=capabilities, **options) as client:
        session = await client.new_session(world.project)
        for text in ("first", "second"):
            await client.prompt(session, text)
        yield client, session


def kept(world: World, session: str, name: str) -> list[Json]:
    """The lines of a file of the session."""
    (file,) = (world.root / "state").glob(f"**/sessions/{session}/{name}")
    return [json.loads(line) for line in file.read_text().splitlines()]


def remembered(world: World, session: str) -> str:
    """What the model is told next."""
    return json.dumps(kept(world, session, "context.jsonl"))


def ends(world: World, session: str) -> list[Json]:
    """The journal's ends of compactions."""
    records = [record.get("message", {}) for record in kept(world, session, "wire.jsonl")]
    return [record["payload"] for record in records if record.get("type") == "CompactionEnd"]


class Forms:
    """Fills the forms in order; remembers what they asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Json] = []

    def __call__(self, params: Json) -> Json:
        self.asked.append(params)
        answer = self.answers.pop(0)
        return {"action": "accept", "content": {"q1": answer}} if answer else {"action": "decline"}


async def test_the_preview_is_a_form_and_the_confirmed_summary_takes_the_conversation_s_place(world: World) -> None:
    world.script(["text: one " + "x" * 6000, "text: two", SUMMARY, "text: three"])
    forms = Forms(CONFIRM)
    async with editor(world, FULL, form=forms) as (client, session):
        await client.prompt(session, "/compact preview the names")
        shown = await client.wait_update("compaction_update", lambda update: update["status"] == "completed")
        assert "the summary" in json.dumps(shown["summary"])
        known = shown["_meta"]["sould"]
        assert known["tokens_before"] > known["tokens_after"]
        assert (known["strategy"], known["note"][:4]) == ("smart", "Kept")
    (asked,) = forms.asked
    assert "the summary" in asked["message"]
    assert re.search(r"\d+ tokens become about \d+\. Kept the last 2 messages", asked["message"])
    choices = asked["requestedSchema"]["properties"]["q1"]["oneOf"]
    assert [choice["const"] for choice in choices] == [CONFIRM, EDIT_IT, REGENERATE]
    (end,) = ends(world, session)
    assert {"summary", "kept", "tokens_before", "tokens_after", "strategy"} <= end.keys()
    assert end["tokens_before"] > end["tokens_after"] > 0
    assert COMPACTED in remembered(world, session)
    # what it replaced stays readable, and can be gone back to
    assert "one xxx" in world_says(world, "sessions", "show", session)
    assert "one xxx" not in remembered(world, session)
    world_says(world, "run", "--session", session, "/rewind 0")
    assert COMPACTED not in remembered(world, session)


async def test_the_preview_can_be_edited_and_made_anew_in_forms(world: World) -> None:
    again = f"text: {summary_of('with names')}"
    world.script(["text: one", "text: two", SUMMARY, again])
    forms = Forms(REGENERATE, "the names", EDIT_IT, "<current_focus>my own words</current_focus>")
    forms.answers.append(CONFIRM)
    async with editor(world, FULL, form=forms) as (client, session):
        await client.prompt(session, "/compact preview")
    edit = forms.asked[3]["requestedSchema"]["properties"]["q1"]
    assert "with names" in edit["default"]
    assert "my own words" in remembered(world, session)
    assert "Edited by the user" in ends(world, session)[0]["note"]


async def test_without_forms_the_preview_is_a_permission_request(world: World) -> None:
    world.script(["text: one", "text: two", SUMMARY, SUMMARY])
    asked: list[Json] = []
    answers = ["Dismiss", CONFIRM]

    def press(params: Json) -> Json:
        asked.append(params)
        answer = answers[len(asked) - 1]
        (chosen,) = [option["optionId"] for option in params["options"] if option["name"] == answer]
        return {"outcome": "selected", "optionId": chosen}

    async with editor(world, {}, permissions=press) as (client, session):
        await client.prompt(session, "/compact preview")
        assert COMPACTED not in remembered(world, session)
        await client.prompt(session, "/compact preview")
    assert COMPACTED in remembered(world, session)
    assert [end["failed"] for end in ends(world, session)] == [True, False]
    for each in asked:
        assert "the summary" in json.dumps(each["toolCall"]["content"])
        assert [option["name"] for option in each["options"]] == [CONFIRM, EDIT_IT, REGENERATE, "Dismiss"]


def test_at_a_terminal_the_preview_is_a_question(sould: Sould) -> None:
    user = User(sould)
    user.scripted("text: one", "text: two", SUMMARY, f"text: {summary_of('made anew')}")
    session = user.result("first")["session_id"]
    user.result("second", "--session", session)
    user.environment["EDITOR"] = "sed -i s/anew/better/"
    with terminal(user, "run", "--session", session, "/compact preview") as screen:
        screen.expect("the summary")
        screen.expect("[3] Regenerate")
        screen.type("3")
        screen.expect("Enter alone: no answer")
        screen.type("the numbers")
        screen.expect("made anew")
        screen.expect("[3] Regenerate")
        screen.type("2")
        screen.expect("The context has been compacted.")
        assert screen.wait() == 0
    assert "made better" in user.sould("sessions", "export", session, "--format", "wire").stdout


@pytest.mark.parametrize(("answers", "failed"), [((CONFIRM,), False), (("",), True)])
async def test_an_automatic_compaction_asks_when_configured(world: World, answers: tuple[str], failed: bool) -> None:
    full = "usage: input_other=80000"
    rest = [SUMMARY, "text: three"]
    world.script(["text: one", f"text: two\n{full}", *rest], more='\n[compaction]\nconfirm = "ask"\n')
    forms = Forms(*answers)
    async with editor(world, FULL, form=forms) as (client, session):
        done = await client.prompt(session, "third")
        assert done["stopReason"] == "end_turn"
        assert "three" in client.text()
    assert len(forms.asked) == 1
    assert [end["failed"] for end in ends(world, session)] == [failed]


def test_a_run_without_a_person_is_not_asked(world: World) -> None:
    scripts = ["text: one", "text: two\nusage: input_other=80000", SUMMARY, "text: three"]
    world.script(scripts, more='\n[compaction]\nconfirm = "ask"\n')
    session = json.loads(world_says(world, "run", "-o", "json", "first"))["session_id"]
    world_says(world, "run", "--session", session, "second")
    third = world.sould("run", "--session", session, "third")
    assert third.stdout.strip() == "three"
    assert "! The conversation was compacted: from " in third.stderr
    assert [end["failed"] for end in ends(world, session)] == [False]


@pytest.mark.parametrize("window", [8_192, 1_000_000])
async def test_every_window_is_compacted_at_its_trigger_and_never_twice_in_a_row(world: World, window: int) -> None:
    trigger = min(int(window * 0.85), window - min(50_000, window // 4))
    full = f"usage: input_other={trigger}"
    world.script([f"text: one\n{full.replace(str(trigger), str(trigger - 500))}", *[f"text: x\n{full}", SUMMARY] * 3])
    config = world.root / "config" / "sould" / "config.toml"
    config.write_text(config.read_text().replace("max_context_size = 100000", f"max_context_size = {window}"))
    async with editor(world, FULL) as (client, session):
        assert not client.updates("compaction_update")  # just below the trigger
        await client.prompt(session, "third")
        await client.prompt(session, "fourth")
    states = [update["status"] for update in client.updates("compaction_update")]
    assert states == ["in_progress", "completed"] * 2


def test_tools_and_instructions_that_do_not_fit_are_refused_with_their_sizes(world: World) -> None:
    (world.project / "AGENTS.md").write_text("rule " * 6_000)
    world.script(["text: never"])
    config = world.root / "config" / "sould" / "config.toml"
    config.write_text(config.read_text().replace("max_context_size = 100000", "max_context_size = 8000"))
    done = world.sould("run", "hello")
    assert done.returncode == 1
    assert re.search(r"system prompt \(about \d+ tokens\) and the tools \(about \d+\)", done.stderr)


# --- the pages -------------------------------------------------------------------------------------------------------


def world_says(world: World, *arguments: str) -> str:
    done = world.sould(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return found


async def test_every_command_of_the_page_does_what_it_says(world: World) -> None:
    commands = re.findall(r"`(/compact[^`]*)`", (DOCS / "compaction.md").read_text())
    assert len(commands) >= 3
    long = "x" * 6000
    world.script(
        [f"text: one {long}", "text: two", SUMMARY, f"text: three {long}", *[SUMMARY, f"text: {long}"] * len(commands)]
    )
    async with editor(world, FULL, form=Forms(*[CONFIRM] * len(commands))) as (
        client,
        session,
    ):
        for command in commands:
            await client.prompt(session, command)
            await client.prompt(session, "and on")
    assert [end["failed"] for end in ends(world, session)] == [False] * len(commands)


def test_the_configuration_of_the_page_is_the_default_one() -> None:
    (block,) = blocks("compaction.md", "toml")
    written = tomllib.loads(block)
    assert Compaction.model_validate(written["compaction"]) == Compaction()
    assert LoopControl.model_validate(written["loop_control"]) == LoopControl()

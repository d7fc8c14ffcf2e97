"""`sould inbox` against the real daemon: the live screen in tmux, beside an editor; the list and the JSON of it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from soultest.acpclient import AcpClient, ignore
from soultest.daemon import Sould, until
from soultest.editor import client_of, editor
from soultest.screen import Screen, screen
from soultest.world import SOULD, World, call

Json = dict[str, Any]
HOSTILE = "printf 'ok\x1b[2J\x1b]0;owned\x07'\necho \u202egnp.exe"


def shell(command: str) -> str:
    return call("Shell", "c", command=command)


@contextmanager
def inbox(world: World, size: tuple[int, int] = (50, 150)) -> Generator[Screen]:
    with screen(world, f"exec {SOULD} inbox", world.project, size=size) as shown:
        yield shown


@asynccontextmanager
async def waiting(world: World, *scripts: str) -> AsyncGenerator[tuple[AcpClient, "asyncio.Future[Any]"]]:
    """An editor whose user leaves the dialog open, and its turn."""
    world.script(scripts)
    async with editor(world, permissions=ignore) as (client, session):
        turn = client.prompt(session, "go")
        await client.wait_request("session/request_permission")
        yield client, turn


async def sees(shown: Screen, *words: str) -> None:
    await asyncio.to_thread(shown.wait, *words)


async def withdrawn(client: AcpClient) -> None:
    await client.wait_for(lambda message: message.get("method") == "$/cancel_request")


async def test_what_is_allowed_here_closes_the_dialog_of_the_editor_and_runs(sould: Sould) -> None:
    async with waiting(sould.world, shell("echo hello > new.txt"), "text: done") as (client, turn):
        with inbox(sould.world) as shown:
            await sees(shown, "1 request waiting", "$ echo hello > new.txt", "[a] allow once")
            shown.press("a")
            await sees(shown, "Nothing waits for you.", "You approved it.")
            await withdrawn(client)
            assert (await turn)["stopReason"] == "end_turn"
            assert (sould.world.project / "new.txt").read_text() == "hello\n"


async def test_a_command_that_does_not_fit_the_screen_is_allowed_only_when_its_end_was_shown(sould: Sould) -> None:
    lines = [f"echo {number} > {number}.txt" for number in range(300)]
    lines.insert(60, f"echo {'a' * 300}; touch hidden")
    async with waiting(sould.world, shell("\n".join(lines)), "text: done") as (_, turn):
        with inbox(sould.world, (24, 40)) as shown:
            await sees(shown, "$ echo 0 > 0.txt $ echo 1 > 1.txt", "more rows", "[space] next page")
            shown.press("a")
            await sees(shown, "See its end first: space shows the rest.", "[q] quit")
            seen = command_rows(shown)
            while seen[-1] != "$ echo 299 > 299.txt":
                shown.press("Space")
                await asyncio.to_thread(until, partial(goes_on, shown, seen[-1]), 20.0, "the next page")
                seen += command_rows(shown)
            assert "".join(seen) == "".join(f"$ {line}" for line in lines)
            assert not (sould.world.project / "0.txt").exists()
            shown.press("a")
            await sees(shown, "Nothing waits for you.")
            assert (await turn)["stopReason"] == "end_turn"
            assert (sould.world.project / "hidden").exists()


def command_rows(shown: Screen) -> list[str]:
    """Those of the command, below the list."""
    return list(takewhile(lambda row: row and not row.startswith(("…", "Run a command")), shown.lines[4:]))


def goes_on(shown: Screen, last: str) -> bool:
    """Another page is there, to its end."""
    return command_rows(shown)[-1:] not in ([], [last]) and "[q] quit" in shown.text


async def test_words_of_a_refusal_reach_the_agent(sould: Sould) -> None:
    async with waiting(sould.world, shell("echo hello > new.txt"), "text: as you say") as (client, turn):
        with inbox(sould.world) as shown:
            await sees(shown, "[r] reject")
            shown.press("r")
            await sees(shown, "What shall the agent do instead?")
            shown.type("use the other file")
            shown.press("Enter")
            await sees(shown, "You rejected it: use the other file.")
            await withdrawn(client)
            assert (await turn)["stopReason"] == "end_turn"
            assert "use the other file" in str(client.messages)
            assert not (sould.world.project / "new.txt").exists()


async def test_what_is_answered_elsewhere_goes_and_the_next_key_answers_nothing_else(sould: Sould) -> None:
    world = sould.world
    async with (
        waiting(world, shell("echo one > one.txt"), "text: done") as (_, turn),
        client_of(world) as desk,
        waiting(world, shell("echo two > two.txt"), "text: done"),
    ):
        with inbox(world) as shown:
            await sees(shown, "2 requests waiting", "> $ echo one > one.txt")
            items = (await desk.request("_sould/inbox/list"))["items"]
            await desk.request("_sould/inbox/answer", id=items[0]["id"], decision="approve")
            await sees(shown, "1 request waiting", "Approved by an ACP client.")
            shown.press("a")
            await turn
            shown.press("j")
            await sees(shown, "> $ echo two > two.txt", "[a] allow once")
            assert not (world.project / "two.txt").exists()


async def test_text_that_would_drive_the_terminal_is_shown_with_marks(sould: Sould) -> None:
    async with waiting(sould.world, shell(HOSTILE), "text: done"):
        printed = sould.cli("inbox").stdout
        assert "\x1b" not in printed
        assert "\u202e" not in printed
        assert "\\u001b[2J" in printed
        assert "→ sould approve " in printed
        with inbox(sould.world) as shown:
            await sees(shown, "\\u001b[2J", "\\u202egnp.exe")
            assert shown.tmux("display-message", "-p", "#{pane_title}").strip() != "owned"


async def test_a_question_is_answered_by_the_number_of_an_option(sould: Sould) -> None:
    options = [{"label": "SQLite"}, {"label": "PostgreSQL"}]
    question = call("AskUserQuestion", "q", questions=[{"question": "Which?", "header": "db", "options": options}])
    sould.world.script([question, "text: done"])
    async with client_of(sould.world) as client:
        client.hang.add("elicitation/create")
        turn = client.prompt(await client.new_session(sould.world.project), "go")
        await client.wait_request("elicitation/create")
        with inbox(sould.world) as shown:
            await sees(shown, "Which?", "2. PostgreSQL", "[a] answer")
            shown.press("a")
            await sees(shown, "[2] PostgreSQL")
            shown.type("2")
            shown.press("Enter")
            await sees(shown, "You answered it: PostgreSQL.")
        await withdrawn(client)
        assert (await turn)["stopReason"] == "end_turn"


async def test_what_waits_without_any_client_outlives_a_restart_beneath_the_screen(sould: Sould) -> None:
    world: World = sould.world
    world.script([shell("echo hello > new.txt")])
    async with client_of(world, permissions=ignore) as client:
        client.prompt(await client.new_session(world.project), "go")
        await client.wait_request("session/request_permission")
    with inbox(world) as shown:
        await sees(shown, "> $ echo hello > new.txt")
        world.script(["text: done"])
        before = world.daemon()
        assert sould.cli("restart", "--force").returncode == 0
        await asyncio.to_thread(until, lambda: world.daemon() not in (None, 0, before), 20.0, "the next daemon")
        await sees(shown, "the answer opens it again")
        shown.press("a")
        await sees(shown, "You approved it.")
        await asyncio.to_thread(until, lambda: written(world.project / "new.txt") == "hello\n", 20.0, "the file")


def written(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_as_json_it_is_what_clients_are_told(sould: Sould) -> None:
    sould.start()
    assert json.loads(sould.cli("inbox", "--json").stdout) == {"items": []}
    assert sould.cli("inbox").stdout == "Nothing waits for you.\n"
    async with waiting(sould.world, shell("echo hello > new.txt"), "text: done"):
        [item] = json.loads(sould.cli("inbox", "--json").stdout)["items"]
        assert item["commands"][0]["command"] == "echo hello > new.txt"
        assert item["session"]["cwd"] == str(sould.world.project)

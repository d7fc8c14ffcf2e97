"""One question for all that changed while a command of the agent ran, where nobody can tell who did it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.agents.files.reviewing.commanddesk import Desk, shell

from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.permissions.policy import Mode
from sould.agents.sessions.operations.whosechanges import AGENTS, EACH, MINE
from sould.agents.wire.messages import QuestionRequest, QuestionResponse, RequestClosed
from soultest.bench import Bench, Watcher

CHANGES = "echo U > a.txt; echo mine > mine.txt"
TEXTS = {"a.txt": "U\n", "mine.txt": "mine\n"}


@asynccontextmanager
async def after(bench: Bench, mode: Mode = "ask", command: str = CHANGES, seconds: float = 0) -> AsyncGenerator[Desk]:
    """A turn is over in which a command ran that takes too long to be sure of what it changed, unless it is one of less seconds."""
    bench.settings = {"review": {"certain_within": seconds}}
    bench.script(shell(command), "text: done", "text: and now?")
    async with bench.running(), bench.port.project(bench.project, Path.home(), "editor") as port:
        at = Desk(bench, port, Watcher(await bench.new(mode)))
        await at.turn()
        yield at


def files(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir()}


async def question(at: Desk) -> QuestionRequest:
    return await at.watcher.wait_for(QuestionRequest)


def answer(at: Desk, request: QuestionRequest, words: str) -> None:
    given = {request.questions[0].question: words}
    at.watcher.session.parts.attached.answer(QuestionResponse(request_id=request.id, answers=given), "watcher")


async def until(at: Desk, met: Callable[[Sequence[ReviewedHunk]], bool]) -> None:
    """What is pending is so."""
    changed = asyncio.Event()

    def hear(path: str) -> None:
        changed.set()

    with at.port.following(hear):
        while not met(await at.pending()):
            await changed.wait()
            changed.clear()


def sure(hunks: Sequence[ReviewedHunk]) -> bool:
    return bool(hunks) and not any(each.unsure for each in hunks)


@pytest.mark.parametrize("mode", ["ask", "review"])
async def test_one_question_names_all_files_and_holds_no_turn_up(bench: Bench, mode: Mode) -> None:
    async with after(bench, mode) as at:
        asked = await question(at)
        [item] = asked.questions
        assert item.question.startswith("2 files changed while `echo U > a.txt; echo mine > mine.txt` ran for 0.")
        assert item.body == "a.txt: +1 -1, U\nmine.txt: +1 -0, mine"
        assert [each.label for each in item.options] == [MINE, AGENTS, EACH]
        await at.says("go on")
        assert at.watcher.of(QuestionRequest) == [asked]


async def test_what_is_the_users_is_not_to_be_reviewed_and_stays(bench: Bench) -> None:
    async with after(bench) as at:
        answer(at, await question(at), MINE)
        await until(at, lambda hunks: not hunks)
        assert files(bench.project) == TEXTS


async def test_what_is_the_agents_is_rejected_with_everything(bench: Bench) -> None:
    async with after(bench) as at:
        answer(at, await question(at), AGENTS)
        await until(at, sure)
        assert not (await at.reject()).left
        assert files(bench.project) == {"a.txt": "hello\n"}


@pytest.mark.parametrize("words", [EACH, "no idea"])
async def test_other_answers_leave_each_to_be_decided_by_itself(bench: Bench, words: str) -> None:
    async with after(bench) as at:
        answer(at, await question(at), words)
        await at.says("go on")
        assert {each.why for each in (await at.reject()).left} == {"unsure"}
        assert files(bench.project) == TEXTS


async def test_the_question_goes_when_all_of_it_was_decided_in_another_way(bench: Bench) -> None:
    async with after(bench) as at:
        asked = await question(at)
        await at.port.review.decide(Order("keep", Selection(), "test"))
        closed = await at.watcher.wait_for(RequestClosed)
        assert (closed.request_id, closed.reason) == (asked.id, "cancelled")


async def test_what_was_decided_before_the_answer_stays_decided(bench: Bench) -> None:
    async with after(bench) as at:
        asked = await question(at)
        hunks = [each for each in await at.pending() if each.path.endswith("mine.txt")]
        await at.reject(*[each.id for each in hunks])
        answer(at, asked, MINE)
        await until(at, lambda hunks: not hunks)
        assert files(bench.project) == {"a.txt": "U\n"}


@pytest.mark.parametrize(("mode", "seconds"), [("full", 0), ("ask", 60)])
async def test_nothing_is_asked_where_nobody_is_asked_or_it_is_sure(bench: Bench, mode: Mode, seconds: float) -> None:
    async with after(bench, mode, seconds=seconds) as at:
        await at.says("go on")
        assert not at.watcher.of(QuestionRequest)
        assert len(await at.pending()) == len(TEXTS)

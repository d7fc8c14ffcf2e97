"""Decisions of the editor's user: done through the project, and what is left told or asked about. No decision is made here."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from sould.agents.base.tasks import begun, first_of
from sould.agents.clients.review.projects import resolve
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.answers import LeftHunk, Outcome
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.shapes import Verdict
from sould.agents.files.reviewing.shown import as_json, shown_outcome
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.edits import labelled, noticed
from sould.editors.lsp.hunks import called
from sould.editors.lsp.words import ask, sentence, tell

Json = dict[str, Any]
Chosen: TypeAlias = Literal["drop", "mine", "leave", "replace"]

CHOICES: Final[dict[Chosen, str]] = {
    "mine": "Keep my lines",
    "drop": "Drop my lines",
    "replace": "Put the old content back",
    "leave": "Leave it",
}
"""What becomes of words of the user's, on buttons."""
MOST_ASKED: Final = 5
"""Questions after one decision; what else is left is only told."""
REPORTED_AT_ONCE: Final = 0.3
"""Seconds in which editors report an edit that they have applied, but for those that are waiting for us."""
VERBS: Final[dict[Verdict, str]] = {"keep": "Keep", "reject": "Reject", "undo": "Undo the decision about"}


async def decide(client: LspClient, about: Path, order: Order) -> Json:
    """Carry an order out in the project of a file or directory. The user is asked where a choice is needed, and told what is left.

    Emacs, which asked for this, does nothing until it has its answer, and reports an edit only then. So it is answered a moment
    after it has applied one: that nothing is done yet.
    """
    applied = asyncio.Event()
    with noticed(applied):
        outcome = await first_of(begun(_carried_out(client, about, order)), _waited_enough(applied))
    return as_json(shown_outcome(outcome or Outcome((), ())))


async def _waited_enough(applied: asyncio.Event) -> None:
    await applied.wait()
    await asyncio.sleep(REPORTED_AT_ONCE)


async def _carried_out(client: LspClient, about: Path, order: Order) -> Outcome:
    [path] = await asyncio.to_thread(resolve, [about])
    await client.reports_taken()
    async with (await client.projects()).of(path) as project:
        with labelled(await _label(project.port, path, order)):
            outcome = await project.port.review.decide(order)
            outcome = await _after_choices(client, project.port, order, outcome)
    for left in outcome.left[:MOST_ASKED]:
        if left.why != "unknown" or order.selection.ids:
            tell(client, "warning", _told(left))
    return outcome


async def _after_choices(client: LspClient, port: ProjectPort, order: Order, outcome: Outcome) -> Outcome:
    """With what came of the user's answers in the place of the questions."""
    done, left = list(outcome.done), list[LeftHunk]()
    asked = 0
    for each in outcome.left:
        choice = None
        if each.choices and asked < MOST_ASKED:
            asked += 1
            choice = await _choice(client, each)
        if choice in (None, "leave"):
            left.append(each)
            continue
        digests = {each.id: each.present.digest} if each.present is not None else {}
        again = replace(order, selection=Selection((each.id,)), choice=choice, digests=digests)
        decided = await port.review.decide(again)
        done += decided.done
        left += decided.left
    return Outcome(tuple(done), tuple(left))


async def _choice(client: LspClient, left: LeftHunk) -> Chosen | None:
    titles: dict[str, Chosen] = {title: choice for choice, title in CHOICES.items() if choice in left.choices}
    if left.why == "needs_choice":
        words = " ".join("".join(left.mixed[:3]).split())[:200]
        question = f"You changed words in lines of the agent: {words}. What becomes of these lines?"
    else:
        question = (
            f"Something of yours is at {left.path} now. Put the old content in its place? Yours stays in the log."
        )
    return titles.get(await ask(client, "warning", question, list(titles)) or "")


def _told(left: LeftHunk) -> str:
    place = f" in {Path(left.path).name}" if left.path else ""
    if left.why == "needs_choice":
        return f"Hunk {left.id}{place} is left: it has words of yours in lines of the agent."
    return f"Hunk {left.id}{place} is left: {sentence(left.message)[:1].lower()}{sentence(left.message)[1:]}"


async def _label(port: ProjectPort, path: Path, order: Order) -> str:
    """What the editor's undo calls an edit that comes of it."""
    verb = VERBS[order.verdict]
    if len(order.selection.ids) != 1:
        return f"sould: {verb} {path.name}"
    [number] = order.selection.ids
    hunks: Sequence[ReviewedHunk] = [hunk for file in port.files([str(path)]) for hunk in file.hunks]
    found = [(place, each) for place, each in enumerate(hunks, 1) if each.id == number]
    if not found:
        return f"sould: {verb} hunk"
    place, hunk = found[0]
    first = next(iter((*hunk.texts, *hunk.base)), "").strip()[:60]
    return f"sould: {verb} {called(hunk, place, len(hunks))}{f': {first}' if first else ''}"

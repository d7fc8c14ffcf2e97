"""`sould answer` at a terminal: what was not given as an argument is asked for."""

import asyncio

from msgspec.structs import replace

from sould.agents.clients.choice_input import Choices
from sould.agents.clients.inbox.shapes import AskedQuestion, InboxItem
from sould.daemon.cli.output import CommandError
from sould.daemon.cli.terminal.forms import ClosedInputError, ask_question, ask_words
from sould.daemon.cli.waiting import choices


def asked_here(request: InboxItem, answers: tuple[str, ...]) -> tuple[str, ...] | None:
    """The answers, or what is missing of them asked for; None when the user dismissed a question."""
    return asyncio.run(_complete(request, answers) if answers else _ask(request))


async def _complete(request: InboxItem, answers: tuple[str, ...]) -> tuple[str, ...]:
    pairs = zip(request.questions, answers, strict=False)
    return tuple([await _completed(*pair) for pair in pairs]) + answers[len(request.questions) :]


async def _ask(request: InboxItem) -> tuple[str, ...] | None:
    if request.form.get("properties"):
        return await _form(request)
    given: list[str] = []
    body = "\n".join(request.lines)
    for question in request.questions:
        text, body = f"{question.question}\n{body}".strip(), ""
        try:
            answered = await ask_question(replace(question, question=text))
        except ClosedInputError:
            raise CommandError("Nothing was answered.") from None
        if answered is None:
            return None
        given.append(_typed(choices(question), answered))
    return tuple(given)


async def _form(request: InboxItem) -> tuple[str, ...] | None:
    from sould.agents.wire.requests import ServerForm  # noqa: PLC0415 -- only where an MCP server asks
    from sould.daemon.cli.terminal.serverforms import fill_in_words  # noqa: PLC0415 -- as above

    try:
        return await fill_in_words(ServerForm.model_validate(request.form))
    except ClosedInputError:
        raise CommandError("Nothing was answered.") from None


async def _completed(question: AskedQuestion, answer: str) -> str:
    """The number of the own words alone takes them here."""
    chosen = choices(question).read(answer)
    if chosen is None or not chosen.wants_words:
        return answer
    try:
        return f"{answer} {await ask_words(question.words)}"
    except ClosedInputError:
        raise CommandError("Nothing was answered.") from None


def _typed(offered: Choices, answered: tuple[str, ...] | str) -> str:
    """An answer as somebody would have typed it, so that no words are taken for a number."""
    if isinstance(answered, str):
        return f"{len(offered.numbered)} {answered}" if offered.labels else answered
    return ",".join(str(offered.labels.index(label) + 1) for label in answered)

"""What a server asks: of the user, put as a form and as questions of ours, and of the session's model, if the user allows it.

Nothing is answered in the user's name, and what does not fit the form is never sent on: it is asked again, with the
reason. A form that cannot be shown or checked has no answer.
"""

import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct, field
from pydantic import JsonValue

from sould.agents.journal.log import SessionLog
from sould.agents.llm.provider import ChatRequest, Finish, ProviderError
from sould.agents.llm.retry import stream_with_retry
from sould.agents.mcp.forms import choices, problem, read_form, text_of, typed
from sould.agents.mcp.naming import cleaned
from sould.agents.mcp.results import Elicitation, Elicited, Sampled, Sampling
from sould.agents.permissions.asking import shown_words
from sould.agents.permissions.questions import Questions
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.soul import NO_MODEL
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import QuestionItem, QuestionOption, QuestionResponse
from sould.agents.wire.requests import ServerForm

logger = logging.getLogger(__name__)
ONCE, SESSION, NO = "Allow once", "Allow for this session", "Decline"
SHOWN = 4000
"""Characters of what the server says to the model that the user is shown."""
MOST_CHARS = 400_000
"""Of the answer, however many tokens the server wants."""
LONGEST_TOKEN = 8
"""Characters of one token, at most: where an answer is cut when the server wants only so many tokens."""
_STOPS = {"length": "maxTokens"}
Affordable: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether the session may spend more. It may ask the user."""
LONGEST: Final = 4000
TRIES: Final = 3
"""How often a form is put to the user when the answers do not fit."""
WARNING = "Type no password or key here: the server reads it, and this session keeps it."
_SECRET = re.compile(r"passw|passphrase|secret|credential|api.?key|private.?key|token|\bpin\b|\bcvc\b", re.IGNORECASE)
DONE = "Done"
_DISMISSED = Elicited("cancel")


async def ask_user(log: SessionLog, server: str, question: Elicitation) -> Elicited:
    """Ask everybody who looks at the session, again while the answers do not fit."""
    warning = WARNING if not question.url and _SECRET.search(f"{question.message} {question.schema}") else ""
    message = shown_words(cleaned(question.message)[:LONGEST])
    form = read_form(cleaned(server), message, warning, question.schema, _address(question.url))
    if form is None or (question.url and not form.url):
        return _DISMISSED
    for _ in range(TRIES):
        response = await _asked(log, form)
        if response is None or response.declined:
            return _DISMISSED if response is None else Elicited("decline")
        if form.url:
            return Elicited("accept") if response.answers or response.content is not None else _DISMISSED
        content = content_of(form, response)
        if content is None:
            return _DISMISSED
        why = problem(form, content)
        if not why:
            return Elicited("accept", content)
        form = form.model_copy(update={"problem": why})
    return _DISMISSED


async def _asked(log: SessionLog, form: ServerForm) -> QuestionResponse | None:
    return await Questions(log.channel).put(f"mcp_{secrets.token_hex(4)}", tuple(items(form).values()), form)


def _address(url: str) -> str:
    """The page, if it is one that a browser may be sent to and a person can read whole."""
    fits = url.startswith(("https://", "http://")) and cleaned(url) == url and len(url) <= LONGEST
    return url if fits and not any(char.isspace() for char in url) else ""


def items(form: ServerForm) -> dict[str, QuestionItem]:
    """The form as questions, by field; what is said above it stands at the first of them."""
    if form.url or not form.properties:
        said = f"{form.text}\n\nIt wants you to visit {form.url}" if form.url else form.text
        return {"": QuestionItem(question=said, header="MCP", options=(QuestionOption(label=DONE),))}
    found: dict[str, QuestionItem] = {}
    known: set[str] = set()
    for name, given in form.properties.items():
        item = _item(name, given, form.text if not found else "", known)
        known.add(item.question)
        found[name] = item
    return found


def _item(name: str, field: Mapping[str, JsonValue], said: str, known: set[str]) -> QuestionItem:
    title, about = str(field["title"]), str(field.get("description") or "")
    question = f"{title}: {about}" if about else title
    return QuestionItem(
        question=question if question not in known else f"{question} ({cleaned(name)})",
        header=title[:40],
        body=said,
        options=tuple(QuestionOption(label=label) for label in choices(field)),
        multi_select=field["type"] == "array",
    )


def content_of(form: ServerForm, response: QuestionResponse) -> dict[str, Any] | None:
    """The values of an answer; None when it was dismissed, or leaves out what is required and cannot be asked there."""
    if response.content is not None:
        return typed(form, response.content)
    given = typed_answers(form, response.answers)
    return None if not response.answers or any(name not in given for name in form.required) else given


def typed_answers(form: ServerForm, answers: Mapping[str, str]) -> dict[str, JsonValue]:
    """The values of answers to the questions, by field; what is no value stays text, and does not fit."""
    asked = items(form).items()
    return typed(form, {name: answers[item.question] for name, item in asked if item.question in answers})


def answers_of(form: ServerForm, content: Mapping[str, JsonValue]) -> dict[str, str]:
    """The values as answers to the questions, for everybody who sees what was answered."""
    return {
        item.question: text_of(form.properties[name], content[name])
        for name, item in items(form).items()
        if name in form.properties and content.get(name) is not None
    }


async def _always() -> bool:
    return True


class Sampler(Struct):
    """Of one session. What the user allowed for the session is forgotten with it."""

    caller: ModelCaller | None
    affordable: Affordable = _always
    """Asked before every answer: a server that the user allowed for the session could ask for ever."""
    _allowed: set[str] = field(default_factory=set[str])
    """Servers."""

    async def answer(self, server: str, wanted: Sampling) -> Sampled | str:
        """The model's answer, or why there is none: the user declined, or the model could not be had."""
        if self.caller is None:
            return NO_MODEL
        if server not in self._allowed:
            said = await self._ask(self.caller, server, wanted)
            if said not in (ONCE, SESSION):
                return "The user declined."
            if said == SESSION:
                self._allowed.add(server)
        if not await self.affordable():
            return "The user's budget is used up."
        try:
            return await self._answered(self.caller, wanted)
        except ProviderError as error:
            logger.info("the model for %s: %s", server, error.message)
            return f"The model could not answer: {error.message}"

    async def _ask(self, caller: ModelCaller, server: str, wanted: Sampling) -> str:
        question = f"May the MCP server {cleaned(server)} ask the model this?"
        shown = "\n\n".join(_said(wanted))
        more = f"\n[... {len(shown) - SHOWN} more characters ...]" if len(shown) > SHOWN else ""
        about = "It gets the model's answer, which this session pays for. It sees nothing of this conversation."
        options = tuple(QuestionOption(label=label) for label in (ONCE, SESSION, NO))
        item = QuestionItem(question=question, header="MCP", body=f"{about}\n\n{shown[:SHOWN]}{more}", options=options)
        answers = await Questions(caller.log.channel).ask(f"mcp_{secrets.token_hex(4)}", (item,))
        return answers.get(question, NO)

    async def _answered(self, caller: ModelCaller, wanted: Sampling) -> Sampled:
        model = caller.models.model()
        request = ChatRequest(wanted.system_prompt, wanted.messages, (), model.thought_level, caller.session_id)
        room = min(max(wanted.max_tokens, 1) * LONGEST_TOKEN, MOST_CHARS)
        text: list[str] = []
        stop = "endTurn"
        async with stream_with_retry(model.provider, request, caller.policy, lambda _: None) as stream:
            async for batch in stream:
                for delta in batch:
                    if isinstance(delta, TextPart):
                        text.append(delta.text[: max(0, room)])
                        room -= len(delta.text)
                    elif isinstance(delta, Finish):
                        caller.meter.costs.charge(model.provider.info, delta)
                        stop = _STOPS.get(delta.reason or "", "endTurn")
                if room <= 0:
                    stop = "maxTokens"
                    break
        return Sampled("".join(text), model.provider.info.model, stop)


def _said(wanted: Sampling) -> Iterator[str]:
    if wanted.system_prompt:
        yield f"system: {wanted.system_prompt}"
    for message in wanted.messages:
        parts = (part.text if isinstance(part, TextPart) else "[an image or audio]" for part in message.content)
        yield f"{message.role}: {' '.join(parts)}"

"""Questions of agents by what a message with buttons can ask: one choice, or several one after the other.

Words of the user's own no such message can take: how to give them is told, and the question stays open.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from sould.agents.clients.text_questions import NONE_OF_THESE, TextQuestions
from sould.agents.wire.messages import QuestionItem
from sould.editors.lsp.connection.editor import EditorConnection
from sould.editors.lsp.words import Importance, tell

DONE: Final = "Done"
IN_WORDS: Final = (
    "To answer in words, write them into any document, select them and choose the code action “Answer sould with the "
    'selection”, or run the command sould.answer with {"text": "…"}.'
)


Press: TypeAlias = Callable[[Importance, str, Sequence[str]], Awaitable[str | None]]
"""Shows a message with buttons. Returns the one that was pressed; None: none."""


async def answer_with_buttons(client: EditorConnection, questions: TextQuestions, press: Press) -> None:
    """Ask one after the other, until all are answered, one is dismissed, or one needs words; the others stay open then."""
    while (item := questions.item) is not None:
        answer = await (_several(item, press) if item.multi_select else _one(item, press)) if item.options else ""
        if answer == "":
            tell(client, "info", f"{_shown(item)}\n{IN_WORDS}")
        if not answer:
            return
        questions.give(answer)


async def _one(item: QuestionItem, press: Press) -> str | None:
    """The label; "": words are to come; None: it was dismissed."""
    pressed = await press("info", _shown(item), [*(option.label for option in item.options), *_other(item)])
    return "" if pressed in _other(item) else pressed


async def _several(item: QuestionItem, press: Press) -> str | None:
    """The labels in their order, as for `_one`; each message offers what is not chosen yet."""
    chosen: set[str] = set()
    labels = [option.label for option in item.options]
    while len(chosen) < len(labels):
        named = [label for label in labels if label in chosen]
        done = f"{DONE}: {', '.join(named)}" if named else f"{DONE}: {NONE_OF_THESE.lower()}"
        pressed = await press(
            "info", _shown(item), [*(each for each in labels if each not in chosen), *_other(item), done]
        )
        if pressed is None:
            return None
        if pressed in _other(item):
            return ""
        if pressed == done:
            break
        chosen.add(pressed)
    return ", ".join(label for label in labels if label in chosen) or NONE_OF_THESE


def _other(item: QuestionItem) -> list[str]:
    return [item.other_label] if item.other_label else []


def _shown(item: QuestionItem) -> str:
    described = [f"{option.label}: {option.description}" for option in item.options if option.description]
    return "\n".join(part for part in (item.question, item.body, *described) if part)

"""A session made of a conversation that another agent kept: as messages of ours, so that the next prompt goes on with it.

Calls of tools are text here: they were not ours, and are never run again. Nothing is asked of a model.
"""

import secrets
from collections.abc import Iterator, Sequence

from sould.agents.base.text import plural
from sould.agents.sessions.store.imported.shape import ImportedConversation, ImportedMessage, Part
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote, Notification, StepBegin, TurnBegin, TurnEnd, WireMessage
from sould.agents.wire.notice import notice

_BEFORE = "(What came before is not in the file.)"


def turns_of(found: ImportedConversation) -> Iterator[WireMessage]:
    """The conversation, turn by turn, with what its model is to know of it first."""
    yield ContextNote(
        text=f"The conversation up to the next note was imported from {_source(found)}. What stands in brackets are calls "
        "of its tools and their answers, as records; files may have changed since."
    )
    said = list(found.said)
    if said and said[0].who == "assistant":
        said.insert(0, ImportedMessage("user", (TextPart(text=_BEFORE),)))
    turn, step = "", 0
    for each in said:
        if each.who == "user":
            if turn:
                yield TurnEnd(turn_id=turn)
            turn, step = secrets.token_hex(8), 0
            yield TurnBegin(user_input=_input(each.parts), turn_id=turn)
            continue
        step += 1
        if step == 1:
            yield StepBegin(n=1)
        for part in each.parts:
            text = part.text if isinstance(part, TextPart) else "[An image was here.]"
            yield TextPart(text=text if step == 1 else f"\n\n{text}")
            step += 1
    yield TurnEnd(turn_id=turn)
    yield ContextNote(text="The imported conversation ends here.")
    yield imported_notice(found)


def imported_notice(found: ImportedConversation) -> Notification:
    """What its user is told: from where it is, and what was passed over."""
    passed = ", ".join(f"{why} ({count})" for why, count in sorted(found.skipped.items()))
    body = f"{plural(len(found.said), 'message')}." + (f" Passed over: {passed}." if passed else "")
    return notice("imported", f"Imported from {_source(found)}", body)


def _source(found: ImportedConversation) -> str:
    return " ".join(filter(None, (found.agent, "".join(char for char in found.version[:20] if char.isprintable()))))


def _input(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    only = parts[0] if len(parts) == 1 else None
    return only.text if isinstance(only, TextPart) else tuple(parts)

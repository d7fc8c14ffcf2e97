"""Questions in clients that cannot show them otherwise: asked in words, answered by what somebody types, one after the other.

Pure: one request's questions, until each has an answer. A slip is never taken for an answer.
"""

from collections.abc import Sequence

from sould.agents.clients.choice_input import Choices
from sould.agents.wire.messages import QuestionItem

DISMISS = "n"
NONE_OF_THESE = "None of these"
"""The answer of somebody who is done with choosing several, and chose none."""


class TextQuestions:
    """The questions of one request, and the answers so far. `text` is what the user is to read now; "" when all is said."""

    def __init__(self, questions: Sequence[QuestionItem]) -> None:
        self._left = list(questions)
        self.answers: dict[str, str] = {}
        self.text = self._asked()

    @property
    def item(self) -> QuestionItem | None:
        """The question that is open; None when all is said."""
        return self._left[0] if self._left else None

    def give(self, answer: str) -> None:
        """The answer to the question that is open, chosen otherwise."""
        self.answers[self._left[0].question] = answer
        self._next()

    def take(self, typed: str) -> None:
        """What the user typed."""
        item = self._left[0]
        if typed.strip().lower() == DISMISS:
            self._next()
            return
        chosen = _choices(item).read(typed)
        if chosen is None:
            self.text = f"{typed.strip()[:40] or 'Nothing'} is not one of the answers. {_how(item)}"
        elif chosen.wants_words:
            self.text = f"{item.other_label}: which? Type {len(item.options) + 1} and your words."
        else:
            self.give(chosen.words or ", ".join(chosen.labels))

    def _next(self) -> None:
        del self._left[0]
        self.text = self._asked()

    def _asked(self) -> str:
        if not self._left:
            return ""
        item = self._left[0]
        described = {option.label: option.description for option in item.options}
        lines = [
            f"{number}. {label}{f': {described[label]}' if described.get(label) else ''}"
            for number, label in _choices(item).numbered.items()
        ]
        return "\n\n".join(part for part in (item.question, item.body, "\n".join(lines), _how(item)) if part)


def _choices(item: QuestionItem) -> Choices:
    return Choices(tuple(option.label for option in item.options), item.multi_select, item.other_label)


def _how(item: QuestionItem) -> str:
    numbers = list(_choices(item).numbered) if item.options else []
    dismiss = f"{DISMISS} dismisses the question."
    if not numbers:
        return f"Answer in your own words; {dismiss}"
    listed = f"{', '.join(numbers[:-1])} or {numbers[-1]}" if len(numbers) > 1 else numbers[0]
    several = ", or several such as 1,2" if item.multi_select else ""
    return f"Answer {listed}{several}; {dismiss}"

"""AskUserQuestion: the model puts up to four questions to the user and waits for the answers.

Offered only where a client can answer; an answer is never made up.
"""

from typing import Annotated, ClassVar

import orjson
from pydantic import ConfigDict, Field, JsonValue, StringConstraints, field_validator

from sould.agents.base.parsed import Parsed
from sould.agents.permissions.asking import shown_words
from sould.agents.permissions.questions import Questions
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_ok
from sould.agents.wire.messages import QuestionItem, QuestionOption, ToolKind, ToolReturn

DISMISSED = "The user dismissed the question without answering."
NOBODY_HERE = "Nobody can be asked here since sould was started again."
INSTEAD = "Decide yourself, or ask in plain words and end your turn."
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Option(Parsed):
    """One choice."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: Text = Field(description="The choice in one to five words.")
    description: str = Field(default="", description="What choosing it means.")


class Question(Parsed):
    """One question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Text = Field(description="The complete question, ending with a question mark.")
    header: str = Field(default="", description="A very short name for it, at most 12 characters.")
    options: list[Option] = Field(min_length=2, max_length=4, description="The choices, different from each other.")
    multi_select: bool = Field(default=False, description="Whether several may be chosen.")

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: list[Option]) -> list[Option]:
        if len({option.label for option in options}) != len(options):
            raise ValueError("two options have the same label")
        return options


class Params(ToolParams):
    """What to ask."""

    questions: list[Question] = Field(min_length=1, max_length=4, description="One to four questions.")

    @field_validator("questions")
    @classmethod
    def _distinct(cls, questions: list[Question]) -> list[Question]:
        if len({question.question for question in questions}) != len(questions):
            raise ValueError("two questions are the same")
        return questions


class AskUserQuestion(Tool[Params]):
    """Ask the user."""

    name = "AskUserQuestion"
    title = "Ask a question"
    kind: ClassVar[ToolKind] = "think"
    example: ClassVar[dict[str, JsonValue]] = {
        "questions": [
            {
                "question": "Which database should the tests use?",
                "header": "Database",
                "options": [
                    {"label": "SQLite", "description": "No server needed."},
                    {"label": "PostgreSQL", "description": "Like production."},
                ],
            }
        ]
    }
    params = Params

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def view(self, params: Params) -> CallView:
        """The first question."""
        more = len(params.questions) - 1
        return CallView(title=shown_words(params.questions[0].question) + (f" (and {more} more)" if more else ""))

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Wait for the answers."""
        answers = dict(await self._questions.ask(call.id, tuple(map(_item, params.questions))))
        if not answers:
            return _unanswered(DISMISSED)
        return tool_ok(orjson.dumps({"answers": answers}).decode())


def nobody_here() -> ToolReturn:
    """The result of a call whose question was carried to where the tool is not offered."""
    return _unanswered(NOBODY_HERE)


def _unanswered(why: str) -> ToolReturn:
    return tool_ok(orjson.dumps({"answers": {}, "note": f"{why} {INSTEAD}"}).decode())


def _item(question: Question) -> QuestionItem:
    return QuestionItem(
        question=question.question,
        header=question.header,
        options=tuple(QuestionOption(label=each.label, description=each.description) for each in question.options),
        multi_select=question.multi_select,
        other_label="Other",
        other_description="Your own words.",
    )

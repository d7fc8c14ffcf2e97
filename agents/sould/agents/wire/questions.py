"""What a `QuestionRequest` asks: questions with options or free answers, and the form of an MCP server as it is.

Values only: nothing here asks, or knows how a client shows it.
"""

from pydantic import Field, JsonValue

from sould.agents.wire.extensions import Message


class QuestionOption(Message):
    """One choice."""

    label: str
    description: str = ""


class QuestionItem(Message):
    """One question of a `QuestionRequest`. `default` (ours): the text a free answer begins with."""

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multi_select: bool = False
    body: str = ""
    other_label: str = ""
    other_description: str = ""
    default: str = ""


class ServerForm(Message):
    """A form of an MCP server, or a page it wants the user to visit (`url`). The same is in the questions, without types.

    `properties` are JSON schemas of single values, with nothing but what is shown and checked; `required` names some of them.
    `message` is what the server says, and `warning` what we say of it. `problem`: why the last answer was not taken.
    """

    server: str
    message: str
    warning: str = ""
    problem: str = ""
    properties: dict[str, dict[str, JsonValue]] = Field(default_factory=dict[str, dict[str, JsonValue]])
    required: tuple[str, ...] = ()
    url: str = ""

    @property
    def text(self) -> str:
        """What is said above the form, each thing once."""
        asks = f"The MCP server {self.server} asks: {self.message}"
        return "\n\n".join(part for part in (self.problem, asks, self.warning) if part)

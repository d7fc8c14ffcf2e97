"""What a soul asks of people and of clients, and the answers: each request is answered once, the first answer wins.

Values only: nothing here asks, or knows how a client shows it. `messages` has the union they are part of.
"""

from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from sould.agents.wire.content import ContentPart, Extras
from sould.agents.wire.display import Display
from sould.agents.wire.extensions import Message

ApprovalKind: TypeAlias = Literal["approve", "approve_for_session", "reject"]
Lasts: TypeAlias = Literal["project", "always"]
"""For all sessions of one project; for all there are."""


class LastingScope(Message):
    """Ours: an approval that holds beyond the session. `remembers`: what it covers, in a sentence; `button`: in 40 columns."""

    scope: Lasts
    button: str
    remembers: str


class ToolReturn(Message):
    """What a call came to. `output` and `message` are for the model, `display` is for people, `extras` for programs."""

    is_error: bool
    output: str | tuple[ContentPart, ...] = ""
    message: str = ""
    display: Display = ()
    extras: Extras = None


class OutputSource(Message):
    """Where an output comes from: a tool as rules name it (`fetch`, `mcp:NAME`), and, of a web page, its host."""

    tool: str
    host: str = ""


class HeldOutput(Message):
    """What a call that ran has come to, before its model knows: it waits for the user, and over a restart it is here.

    `words`: what the user said as they allowed the call.
    """

    result: ToolReturn
    sources: tuple[OutputSource, ...]
    words: tuple[str, ...] = ()


class ApprovalRequest(Message):
    """May this call run? Nothing of it runs before the answer. Self-contained: `display` shows all that will happen.

    Ours: `digest` binds the answer to the exact action. `scope` says in a sentence what "for session" covers (`scope_button`: in 40
    columns); empty: not offered. `changed`: what it runs is not as it was allowed. `lasting`: what may be approved for longer.
    `in_every_mode`: full access asks this, too. Lines of `description` below the first say why it is asked.
    `subagent_chain`: kinds, the asker's last. `held`: the call has run; may its model see this? A rejection withholds it.
    """

    id: str
    tool_call_id: str
    sender: str
    action: str
    description: str
    source_kind: str | None = "foreground_turn"
    source_id: str | None = None
    agent_id: str | None = None
    subagent_type: str | None = None
    subagent_chain: tuple[str, ...] = ()
    source_description: str | None = None
    display: Display = ()
    digest: str = ""
    scope: str = ""
    scope_button: str = ""
    changed: bool = False
    in_every_mode: bool = False
    lasting: tuple[LastingScope, ...] = ()
    held: HeldOutput | None = None


class ApprovalResponse(Message):
    """The answer everybody sees, once, before the call's result.

    Ours: `answered_by` (client), `also_changed` (see the button), `lasting`: for longer than the session, which the response alone
    says, `text`: what the user made of the file or command.
    """

    request_id: str
    response: ApprovalKind
    feedback: str = ""
    answered_by: str = ""
    also_changed: bool = False
    lasting: Literal[""] | Lasts = ""
    text: str | None = None


class ToolCallRequest(Message):
    """A client runs this external tool; `id` is the tool call's id. Answered by a `ToolResult`.

    `client_id` (ours): by whom.
    """

    id: str
    name: str
    arguments: str | None = None
    client_id: str = ""


class QuestionOption(Message):
    """One choice."""

    label: str
    description: str = ""


class QuestionItem(Message):
    """One question of a `QuestionRequest`.

    `default` (ours): the text a free answer begins with.
    """

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


class QuestionRequest(Message):
    """The soul asks the user. Answered by `QuestionResponse`; no answers: dismissed.

    `form` (ours): the same as an MCP server put it. Whoever can show that need not ask the questions.
    """

    id: str
    tool_call_id: str
    questions: tuple[QuestionItem, ...]
    form: ServerForm | None = None


class QuestionResponse(Message):
    """Question text to chosen label (several joined by commas) or free text. Published by us so that every client sees it.

    Ours: `content` has the values of a `form` by their fields; `declined` is a no, where dismissing is none.
    """

    request_id: str
    answers: dict[str, str] = Field(default_factory=dict)
    content: dict[str, JsonValue] | None = None
    declined: bool = False
    answered_by: str = ""


class HookRequest(Message):
    """A client decides on a hook event; no answer means allow.

    `client_id` (ours): whom `subscription_id` belongs to.
    """

    id: str
    subscription_id: str
    event: str
    target: str
    input_data: dict[str, JsonValue] = Field(default_factory=dict)
    client_id: str = ""


class HookResponse(Message):
    """A hook's decision."""

    request_id: str
    action: Literal["allow", "block"] = "allow"
    reason: str = ""

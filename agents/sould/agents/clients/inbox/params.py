"""What clients ask of the inbox: the parameters of all methods below `_sould/inbox` (docs/inbox-clients.md).

Read as `rpc.params` says; what an answer means must fit.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from sould.agents.clients.params import Inbound
from sould.agents.permissions.actions import Scope

MOST_ANSWERS = 100
"""Questions of one request, and options of one question."""
LONGEST_WORDS = 20_000
"""Characters."""
LONGEST_TEXT = 8_000_000
"""Characters of a file that the user made another one of."""


class InboxParams(Inbound):
    """`_sould/inbox/list`, `subscribe`, `unsubscribe`: of all projects."""


class ShowParams(Inbound):
    """`_sould/inbox/show`: one request."""

    id: str


class GivenAnswer(Inbound):
    """To one question: labels of its options, words of the user's own where it takes them, or both; nothing of either skips it."""

    chosen: Annotated[list[str], Field(max_length=MOST_ANSWERS)] = Field(default_factory=list)
    words: Annotated[str, Field(max_length=LONGEST_WORDS)] = ""


class AnswerParams(Inbound):
    """`_sould/inbox/answer`: what the user decided about the request `id`.

    `approve`, for a `scope` that the request offers; once also with another `text` for the command, or the one file that would be written.
    `reject`, with `words` for the agent: without them its turn ends. `answer` has `answers` in the order of the questions, or of a
    form `content`, its values by field; `dismiss` answers none, and is no "no": that is `decline`, of a form.
    """

    id: str
    decision: Literal["approve", "reject", "answer", "dismiss", "decline"]
    scope: Scope = "once"
    words: Annotated[str, Field(max_length=LONGEST_WORDS)] = ""
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    answers: Annotated[list[GivenAnswer], Field(max_length=MOST_ANSWERS)] = Field(default_factory=list[GivenAnswer])
    content: dict[str, JsonValue] | None = None

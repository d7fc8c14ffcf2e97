"""What ACP clients send, parsed once at the edge and read leniently (`rpc.params`), as the official schema asks.

`_meta` is kept apart in `meta` and never merged into the parameters. Nothing here is built before it is first used.
`initialize` is read by `introduction`, because it is answered before this module is loaded.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, SecretStr

from sould.agents.clients.params import Inbound, Items, Json, Lenient
from sould.agents.clients.review.params import RangeParams

# --- signing in --------------------------------------------------------------------------------------------------------


class AuthenticateParams(Inbound):
    """`authenticate`."""

    method_id: str


class EmptyParams(Inbound):
    """`logout`, `auth/status`, `providers/list`."""


class ProviderParams(Inbound):
    """`providers/disable`."""

    provider_id: str


class SetProviderParams(ProviderParams):
    """`providers/set`."""

    api_type: str
    base_url: str
    headers: dict[str, SecretStr] = Field(default_factory=dict)


# --- sessions ---------------------------------------------------------------------------------------------------------


class Pair(Inbound):
    """An environment variable or an HTTP header."""

    name: str
    value: str


class McpServerParams(Inbound):
    """An MCP server: stdio has no `type`, the others name theirs. `acp`: the client serves it on this connection."""

    type: Literal["stdio", "http", "sse", "acp"] = "stdio"
    name: str
    command: str = ""
    args: Items[str] = Field(default_factory=list)
    env: Items[Pair] = Field(default_factory=list)
    url: str = ""
    headers: Items[Pair] = Field(default_factory=list)
    server_id: str = ""


class UnusableServer(Inbound):
    """An entry of `mcpServers` that is no server as we know them; what names it is read, so that it can be told."""

    type: Lenient[str] = ""
    name: Lenient[str] = ""


def _entry(value: Any) -> Any:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] -- raw input


ServerEntry: TypeAlias = Annotated[
    McpServerParams | UnusableServer, Field(union_mode="left_to_right"), BeforeValidator(_entry)
]


class McpMessageParams(Inbound):
    """`mcp/message` from a client: what one of its servers says about a request of ours."""

    server_id: str
    request_id: str
    method: str
    params: Lenient[Json | None] = None


class SystemPromptParams(Inbound):
    """Instructions for the agent: behind its own, or in their place."""

    mode: Literal["append", "override"]
    content: list["TextBlock"]


class OwnOpening(Inbound):
    """What clients that know us say of a session they open, in `_meta.sould` (docs/session-clients.md)."""

    restricted: Lenient[bool | None] = None
    """Whether their user holds the workspace restricted."""
    worktree: Lenient[bool | str | None] = None
    """A new session is to have a git worktree of its own: `true`, or a name for it."""

    @property
    def worktree_name(self) -> str | None:
        """See `SessionRequest.worktree`."""
        return None if self.worktree in (None, False) else "" if self.worktree is True else self.worktree


class OpeningMeta(Inbound):
    """`_meta` of such a request, as far as we know it."""

    sould: Lenient[OwnOpening] = Field(default_factory=OwnOpening)


class OpeningParams(Inbound):
    """`session/new`, and what the other ways to open a session share."""

    cwd: str
    additional_directories: Items[str] = Field(default_factory=list)
    mcp_servers: Items[ServerEntry] = Field(default_factory=list)
    system_prompt: SystemPromptParams | None = None

    @property
    def own(self) -> OwnOpening:
        """What it says beyond the protocol."""
        return OpeningMeta.model_validate(self.meta).sould


class SessionParams(Inbound):
    """A request about one session: close, delete, cancel, archive, status."""

    session_id: str


class StoredOpeningParams(OpeningParams):
    """`session/load`, `session/resume`, `session/fork`."""

    session_id: str


OriginChoice: TypeAlias = Literal["editor", "terminal", "run", "wire", "any"]


class OwnList(Inbound):
    """What clients that know us ask of a list beyond the protocol, in `_meta.sould` (docs/clients.md)."""

    archived: Lenient[bool] = False
    """Also archived sessions."""
    origin: Lenient[OriginChoice | None] = None
    """Only sessions of this origin, or all; None: all but runs with nobody there."""


class ListMeta(Inbound):
    """`_meta` of a list's request, as far as we know it."""

    sould: Lenient[OwnList] = Field(default_factory=OwnList)


class ListSessionsParams(Inbound):
    """`session/list`."""

    cwd: Lenient[str | None] = None
    cursor: str | None = None
    archived: Literal["exclude", "include", "only"] | None = None

    @property
    def own(self) -> OwnList:
        """What it asks beyond the protocol."""
        return ListMeta.model_validate(self.meta).sould


class TitleParams(SessionParams):
    """`session/set_title`."""

    title: str


class TranscriptParams(SessionParams):
    """`_sould/session/transcript`: the newest page, or the one that ends at `before`, which the page after it said."""

    before: int | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class SearchParams(Inbound):
    """`_sould/session/search`: sessions with every word of `query` in their title or in what was said; of the directory `cwd`, or all."""

    query: str
    cwd: str | None = None
    limit: int = Field(default=20, ge=1, le=200)
    archived: bool = False
    origin: OriginChoice | None = None


class TaskParams(SessionParams):
    """`_sould/session/tasks/stop`, `_sould/session/tasks/output`: of one background task."""

    id: str


class TasksParams(SessionParams):
    """`_sould/session/tasks`."""


class BreakdownParams(SessionParams):
    """`_sould/session/context`."""


class ResourcesParams(SessionParams):
    """`_sould/session/resources`."""


class ApplyParams(SessionParams):
    """`_sould/session/apply`: `text` in the place of what stands in `range` of a file, or of all of it.

    `expected`: what stood there as the user saw it; where that is another text by now, nothing is written.
    """

    path: str = Field(min_length=1)
    text: str
    range: RangeParams | None = None
    expected: str | None = None


class CommitMessageParams(SessionParams):
    """`_sould/session/commit_message`."""


class ExportParams(SessionParams):
    """`_sould/session/export`."""


class ImportsParams(Inbound):
    """`_sould/session/imports`: conversations about the directory `cwd` that other agents keep."""

    cwd: str


class ImportParams(Inbound):
    """`_sould/session/import`: a new session in `cwd` with the conversation in the file `path`; of which `agent`, shows in it."""

    cwd: str
    path: str
    agent: Literal["claude", "codex", "kimi"] | None = None


class FindFilesParams(Inbound):
    """`_sould/files/search`: files and directories below `cwd` by some letters of their names."""

    cwd: str
    query: str = Field(default="", max_length=500)
    limit: int = Field(default=50, ge=1, le=500)


class ArchiveParams(SessionParams):
    """`_sould/session/archive`: out of the lists, or back into them."""

    archived: bool = True


class ModeParams(SessionParams):
    """`session/set_mode`."""

    mode_id: str


class OptionParams(SessionParams):
    """`session/set_config_option`."""

    config_id: str
    value: str | bool


class RegisterToolsParams(SessionParams):
    """`_sould/tools/register`."""

    tools: list[Json]


# --- prompts ----------------------------------------------------------------------------------------------------------


class TextBlock(Inbound):
    """Text."""

    type: Literal["text"]
    text: str


class ImageBlock(Inbound):
    """An image, base64."""

    type: Literal["image"]
    data: str
    mime_type: str
    uri: Lenient[str | None] = None


class AudioBlock(Inbound):
    """Audio, base64."""

    type: Literal["audio"]
    data: str
    mime_type: str


class ResourceLink(Inbound):
    """Something the agent may look up itself."""

    type: Literal["resource_link"]
    uri: str
    name: Lenient[str] = ""
    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    mime_type: Lenient[str | None] = None
    size: Lenient[int | None] = None


class ResourceContents(Inbound):
    """The contents of a resource: text, or a base64 blob."""

    uri: str
    mime_type: Lenient[str | None] = None
    text: str | None = None
    blob: str | None = None


class ResourceBlock(Inbound):
    """A resource with its contents."""

    type: Literal["resource"]
    resource: ResourceContents


ContentBlock: TypeAlias = Annotated[
    TextBlock | ImageBlock | AudioBlock | ResourceLink | ResourceBlock, Field(discriminator="type")
]


class PromptParams(SessionParams):
    """`session/prompt`, `_session/steering`."""

    prompt: list[ContentBlock]


class WaitingParams(SessionParams):
    """`_sould/queue/remove`: a prompt that waits."""

    id: str


class WaitingEditParams(WaitingParams):
    """`_sould/queue/edit`."""

    prompt: list[ContentBlock]


class WaitingMoveParams(WaitingParams):
    """`_sould/queue/move`: to this place, 1 being next."""

    position: Annotated[int, Field(ge=1)]


class TimelineParams(SessionParams):
    """`_sould/timeline`: the turns, with `steps` also the steps between them."""

    steps: bool = False


class UndoTurnParams(SessionParams):
    """`_sould/undo`. `kept`: also what the user kept; after one that left such changes, only these."""

    kept: bool = False


class RewindParams(SessionParams):
    """`_sould/rewind`: to this checkpoint of the timeline."""

    checkpoint: Annotated[int, Field(ge=0)]


# --- answers to what we ask -------------------------------------------------------------------------------------------


class PermissionOutcome(Inbound):
    """What the user chose."""

    outcome: Literal["selected", "cancelled"]
    option_id: str = ""


class OwnAnswer(Inbound):
    """What clients that know us say beside a choice, in `_meta.sould` (docs/clients.md)."""

    feedback: Lenient[str] = ""
    """What the agent is told: with a rejection instead of the call's result, with an approval beside it."""
    command: Lenient[str | None] = None
    """With an approval for once: the command as the user wrote it anew."""


class AnswerMeta(Inbound):
    """`_meta` of an answer, as far as we know it."""

    sould: Lenient[OwnAnswer] = Field(default_factory=OwnAnswer)


class PermissionAnswer(Inbound):
    """`session/request_permission`."""

    outcome: PermissionOutcome

    @property
    def feedback(self) -> str:
        """What the agent is told; "" when there is nothing."""
        return AnswerMeta.model_validate(self.meta).sould.feedback

    @property
    def command(self) -> str | None:
        """What is to be run in place of the command that was shown."""
        return AnswerMeta.model_validate(self.meta).sould.command


class FileAnswer(Inbound):
    """`fs/read_text_file`."""

    content: str


class HookAnswer(Inbound):
    """`_sould/hook`."""

    action: Literal["allow", "block"] = "allow"
    reason: Lenient[str] = ""


class ElicitationAnswer(Inbound):
    """`elicitation/create`."""

    action: str
    content: Lenient[Json | None] = None

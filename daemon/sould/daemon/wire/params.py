"""What a Wire client says: parameters of its methods, and answers to requests. Read leniently, as everywhere at the edge."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from sould.agents.clients.params import Inbound, Items, Lenient
from sould.agents.wire.content import UserInput
from sould.agents.wire.requests import ApprovalKind


class WireParams(Inbound):
    """Base: Wire's names have underscores."""

    model_config = ConfigDict(alias_generator=None, validate_by_name=True)


class ClientName(WireParams):
    """Who a client is."""

    name: str
    version: Lenient[str] = ""


class HookSubscription(WireParams):
    """A hook event on which the client wants to decide."""

    id: str
    event: str
    matcher: Lenient[str] = ""
    timeout: Lenient[float] = 30.0


class Capabilities(WireParams):
    """What a client can do."""

    supports_question: Lenient[bool] = False
    supports_plan_mode: Lenient[bool] = False


class Own(WireParams):
    """What only sould has. `view`: text as it streams, or whole messages. `queue`: prompts wait behind a running turn.

    `extensions`: messages and fields beyond Wire's. `role`: an observer is shown everything and does nothing.
    """

    view: Lenient[Literal["raw", "merged"]] = "raw"
    queue: Lenient[bool] = False
    extensions: Lenient[bool] = False
    role: Lenient[Literal["controller", "observer"]] = "controller"


class InitializeParams(WireParams):
    """Of `initialize`."""

    protocol_version: str
    client: Lenient[ClientName | None] = None
    external_tools: Items[dict[str, Any]] | None = None
    hooks: Items[HookSubscription] = Field(default_factory=list[HookSubscription])
    capabilities: Lenient[Capabilities | None] = None
    sould: Lenient[Own] = Field(default_factory=Own)


class InputParams(WireParams):
    """Of `prompt` and `steer`."""

    user_input: UserInput


class PlanModeParams(WireParams):
    """Of `set_plan_mode`."""

    enabled: bool


class ReplayParams(WireParams):
    """Of `replay`. Ours: at most `limit` messages, beginning with message `since`."""

    since: Lenient[Annotated[int, Field(ge=0)]] = 0
    limit: Lenient[Annotated[int, Field(ge=1)] | None] = None


class RequestAnswer(WireParams):
    """Base of results: `request_id` is the request's, whose number tells as much."""

    request_id: Lenient[str] = ""


class ApprovalAnswer(RequestAnswer):
    """The result of an `ApprovalRequest`."""

    response: ApprovalKind
    feedback: Lenient[str] = ""


class QuestionAnswer(RequestAnswer):
    """The result of a `QuestionRequest`; no answers: dismissed."""

    answers: Lenient[dict[str, str]] = Field(default_factory=dict[str, str])


class HookVerdict(RequestAnswer):
    """The result of a `HookRequest`."""

    action: Lenient[Literal["allow", "block"]] = "allow"
    reason: Lenient[str] = ""


class ToolAnswer(WireParams):
    """The result of a `ToolCallRequest`."""

    return_value: Any = None

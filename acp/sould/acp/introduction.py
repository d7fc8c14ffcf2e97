"""What a client says of itself in `initialize`, read by hand: loading pydantic would double the wait for the first answer.

Read as leniently as all of `schema`: what does not fit counts as absent, a broken item of a list is dropped. Nothing that
the daemon has not loaded when it begins to listen may be imported here.
"""

from typing import TypeVar, cast

from msgspec import Struct, field

from sould.acp.outbound import Json
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError

T = TypeVar("T")

MOST_HOOKS = 100
"""Of one client; further ones are dropped."""


class Implementation(Struct, frozen=True):
    """Who the client is."""

    name: str
    title: str | None = None
    version: str = ""


class HookWish(Struct, frozen=True):
    """An event the client wants to decide on, as in Wire's `initialize`."""

    id: str
    event: str
    matcher: str = ""
    timeout: float = 30


class OwnCapabilities(Struct, frozen=True):
    """What clients that know us say beyond the protocol, in `_meta.sould` of their capabilities (docs/clients.md)."""

    hooks: tuple[HookWish, ...] = ()
    """The events it wants to decide on."""
    queue: bool = False
    """It shows the prompts that wait, and wants to be told of every change."""
    custom: bool = False
    """It knows messages that tools and hooks of the user's make up (D35)."""
    tools: bool = False
    """It may register tools that it runs for the agent."""
    review: bool = False
    """It shows edits for review (D20)."""
    buffers: bool = False
    """It has edits written into the files that it says it has open."""
    sequence: bool = False
    """Each update of what is kept of a session tells where in it stands, so that it fits a transcript."""
    own_turns: bool = False
    """It shows one answer, its own: what others do in the session stays out of it."""
    questions: bool = True
    """Somebody is there who can answer a question; only a program that says otherwise is alone."""
    remember_choices: bool = True
    """A mode chosen there is the project's from then on; a client whose choices are flags of one run says otherwise."""


class ClientCapabilities(Struct, frozen=True):
    """What the client can do; absent is unsupported."""

    read_text_file: bool = False
    write_text_file: bool = False
    terminal: bool = False
    display_terminals: bool = False
    """It shows terminals that the agent feeds (`_meta.terminal_*`)."""
    notices: bool = False
    compaction: bool = False
    terminal_sign_in: bool = False
    """It runs our `login` in a terminal for its user, or has a way of its own to sign in."""
    forms: bool = False
    """It asks the user with forms."""
    pages: bool = False
    """It sends the user to pages."""
    subagents: bool = False
    """It shows subagents as child sessions."""
    own: OwnCapabilities = field(default_factory=OwnCapabilities)

    @property
    def names(self) -> frozenset[str]:
        """What is supported, by the names conditional tools ask for."""
        offered = {
            "fs.readTextFile": self.read_text_file,
            "fs.writeTextFile": self.write_text_file,
            "terminal": self.terminal,
            "elicitation.form": self.forms,
            "review": self.own.review,
            "questions": self.own.questions,
            "plan_mode": self.own.questions,
        }
        return frozenset(name for name, supported in offered.items() if supported)


class Introduction(Struct, frozen=True):
    """`initialize`. Which version of the protocol the client speaks matters to it alone."""

    capabilities: ClientCapabilities
    client: Implementation | None


def read_introduction(raw: Json) -> Introduction:
    """What the client says. Raises RpcError: the version, which is required, is missing or is none."""
    version = raw.get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool):
        wrong = "must be a whole number" if "protocolVersion" in raw else "is required"
        data = {"kind": "invalid_params", "field": "protocolVersion"}
        raise RpcError(INVALID_PARAMS, f"protocolVersion {wrong}.", data)
    return Introduction(_capabilities(_object(raw, "clientCapabilities")), _client(_object(raw, "clientInfo")))


def _client(raw: Json) -> Implementation | None:
    name = raw.get("name")
    if not isinstance(name, str):
        return None
    return Implementation(name, _typed(raw, "title", str, None), _typed(raw, "version", str, ""))


def _capabilities(raw: Json) -> ClientCapabilities:
    files, session, meta = _object(raw, "fs"), _object(raw, "session"), _object(raw, "_meta")
    elicitation = _object(raw, "elicitation")
    return ClientCapabilities(
        read_text_file=_typed(files, "readTextFile", bool, False),
        write_text_file=_typed(files, "writeTextFile", bool, False),
        terminal=_typed(raw, "terminal", bool, False),
        display_terminals=_typed(meta, "terminal_output", bool, False),
        notices=_supported(session, "notices"),
        compaction=_supported(session, "compaction"),
        terminal_sign_in=_typed(_object(raw, "auth"), "terminal", bool, False),
        forms=_supported(elicitation, "form"),
        pages=_supported(elicitation, "url"),
        subagents=_supported(raw, "subagents"),
        own=_own(_object(meta, "sould")),
    )


def _own(raw: Json) -> OwnCapabilities:
    hooks = (_hook(each) for each in _typed(raw, "hooks", list, list[object]()))
    return OwnCapabilities(
        hooks=tuple(hook for hook in hooks if hook is not None)[:MOST_HOOKS],
        queue=_typed(raw, "queue", bool, False),
        custom=_typed(raw, "custom", bool, False),
        tools=_typed(raw, "tools", bool, False),
        review=_typed(raw, "review", bool, False),
        buffers=_typed(raw, "buffers", bool, False),
        sequence=_typed(raw, "sequence", bool, False),
        own_turns=_typed(raw, "ownTurns", bool, False),
        questions=_typed(raw, "questions", bool, True),
        remember_choices=_typed(raw, "rememberChoices", bool, True),
    )


def _hook(raw: object) -> HookWish | None:
    if not isinstance(raw, dict):
        return None
    said = cast("Json", raw)
    name, event, timeout = said.get("id"), said.get("event"), said.get("timeout")
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or not isinstance(event, str):
        return None
    matcher = _typed(said, "matcher", str, "")
    seconds = float(timeout) if isinstance(timeout, int | float) and 1 <= timeout <= 600 else 30.0
    return HookWish(name, event, matcher if len(matcher) <= 1000 else "", seconds)


def _object(raw: Json, name: str) -> Json:
    """An object; empty when it is absent or something else."""
    return _typed(raw, name, dict, Json())


def _supported(raw: Json, name: str) -> bool:
    """Whether it is said to be supported, by an object."""
    return isinstance(raw.get(name), dict)


def _typed(raw: Json, name: str, kind: type[object], default: T) -> T:
    value = raw.get(name)
    return cast("T", value) if isinstance(value, kind) else default

"""The configuration model: every key a configuration file may hold, with its default.

Pure data: reading files, layering and error messages belong to the daemon. It knows all keys of a kimi-cli file (D22);
those nothing of ours reads are listed in `NOT_USED` and reported once. The defaults are the table of D7, nowhere else.
Secrets are `SecretStr` and appear in no `repr`.
"""

from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

from sould.agents.base.parsed import Parsed

ModeName: TypeAlias = Literal["plan", "ask", "review", "auto", "full"]
LanguageName: TypeAlias = Literal[
    "c",
    "csharp",
    "css",
    "dart",
    "elixir",
    "erlang",
    "go",
    "haskell",
    "html",
    "java",
    "json",
    "kotlin",
    "lua",
    "nix",
    "ocaml",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "shell",
    "svelte",
    "swift",
    "terraform",
    "tex",
    "toml",
    "typescript",
    "vue",
    "yaml",
    "zig",
]
"""What `languageservers.commands` may name."""
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


Capability: TypeAlias = Literal["image_in", "video_in", "audio_in", "thinking", "always_thinking"]
"""What a model can do, by the names of the configuration."""


class Section(Parsed):
    """Base of all tables of the file: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)


def _private_address(url: str) -> str:
    """Secrets are sent there: encrypted, or to this machine."""
    parts = urlsplit(url)
    if url and parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError("it must begin with https:// (http:// is for this machine only)")
    return url


AuthUrl: TypeAlias = Annotated[str, AfterValidator(_private_address)]


class OAuth(Section):
    """How one signs in to a provider (D24): by its device flow, or, with kimi's `storage` and `key`, through kimi-cli."""

    storage: Literal["keyring", "file"] = "file"
    key: str = ""
    device_authorization_url: AuthUrl = ""
    token_url: AuthUrl = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> "OAuth":
        flow = (self.device_authorization_url, self.token_url, self.client_id)
        if not all(flow) and (any(flow) or not self.key):
            raise ValueError("a sign-in needs `device_authorization_url`, `token_url` and `client_id`")
        return self


class ProviderConfig(Section):
    """A server that answers model calls.

    The key is taken from `api_key`, else from the session's environment (`api_key_env`), else from the keyring. What is not said
    is the vendor's: of `vendor`, of the `type`, or of the provider's own name (`llm.registry`).
    """

    type: str = ""
    vendor: str = ""
    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    api_key_env: str = ""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    custom_headers: dict[str, SecretStr] = Field(default_factory=dict)
    reasoning_key: str = ""
    oauth: OAuth | None = None


class ModelConfig(Section):
    """A model of a provider. Prices are per million tokens; absent means unknown, never free (D38)."""

    provider: str
    model: str
    max_context_size: Annotated[int, Field(ge=1000)]
    capabilities: frozenset[Capability] = frozenset()
    display_name: str = ""
    max_output_tokens: Count | None = None
    temperature: float | None = None
    top_p: float | None = None
    input_price: float | None = None
    cached_input_price: float | None = None
    output_price: float | None = None
    currency: str = "USD"


class LoopControl(Section):
    """Limits of the agent loop. Times in seconds, sizes in tokens."""

    max_steps_per_turn: Count = Field(
        default=1000, validation_alias=AliasChoices("max_steps_per_turn", "max_steps_per_run")
    )
    max_retries_per_step: Count = 3
    """Attempts in all, the first included."""
    max_ralph_iterations: Annotated[int, Field(ge=-1)] = 0
    ralph_max_tokens: Count | None = None
    ralph_max_cost: Positive | None = None
    ralph_max_time_s: Positive | None = None
    """Budgets of a loop; None means none."""
    reserved_context_size: Annotated[int, Field(ge=1000)] = 50_000
    compaction_trigger_ratio: Annotated[float, Field(ge=0.5, le=0.99)] = 0.85
    max_preserved_messages: Count = 2
    retry_first_wait_s: Positive = 0.3
    retry_max_wait_s: Positive = 8.0
    retry_jitter_s: Annotated[float, Field(ge=0)] = 0.5
    retry_total_s: Positive = 45.0
    retry_after_max_s: Positive = 60.0
    repeat_remind: tuple[int, ...] = (3, 5)
    repeat_ask: Count = 8
    repeat_stop: Count = 12
    parallel_tools: Count = 16


class ModelTimeouts(Section):
    """Seconds a model server may take: to accept a connection, to begin its answer, and between events.

    A server in a private network may take `private_s` to begin: local models read a long prompt for minutes.
    """

    connect_s: Positive = 10.0
    first_byte_s: Positive = 60.0
    private_s: Positive = 900.0
    progress_s: Positive = 90.0


class ToolLimits(Section):
    """Limits of built-in tools; characters are what the model gets, the rest is spilled to a file."""

    shell_timeout_s: Positive = 60.0
    shell_max_timeout_s: Positive = 300.0
    shell_max_background_s: Positive = 86_400.0
    output_chars: Count = 50_000
    line_chars: Count = 2_000
    fetch_timeout_s: Positive = 60.0
    fetch_bytes: Count = 5 * 1024 * 1024
    fetch_private_hosts: tuple[str, ...] = ()
    """Hosts of the private network that pages may be fetched from, by exact name or address."""


SettleRule: TypeAlias = Literal["decision", "commit", "never"]


class ReviewSettings(Section):
    """Whose changes are, and when what agents changed needs no review any more (D42)."""

    certain_within: Annotated[float, Field(ge=0)] = 2.0
    """What changes on disk while a command runs that takes so many seconds, or more, may be the user's."""
    settle: SettleRule = "decision"
    """`decision`: when somebody keeps or rejects it, or stages or commits it; `commit`: also when an agent commits it;
    `never`: nothing is to be reviewed, undo takes it back all the same."""


class CaptureLimits(Section):
    """How much of a project is looked at and copied around a command, so that it can be taken back (D19)."""

    max_files: Count = 200_000
    """Of more only sizes and times are compared, a directory at a time."""
    max_file_bytes: Count = 2 * 1024 * 1024
    max_kept_bytes: Count = 1024 * 1024 * 1024
    """Of all copies of a session."""
    copy_s: Positive = 2.0
    """Files that cannot be copied in so many seconds are compared by size and time."""
    wait_s: Positive = 0.15
    """A call waits at most so many seconds until everything was looked at, where that is necessary; the rest is done behind."""
    look_s: Positive = 30.0
    """What cannot be looked at in so many seconds, while nobody waits, is not known."""


class FlowLimits(Section):
    """Limits of flow skills."""

    max_moves: Count = 1000
    choice_reprompts: Annotated[int, Field(ge=0)] = 3


class SubagentLimits(Section):
    """Limits of subagents."""

    max_depth: Count = 2


class Background(Section):
    """Background tasks; kimi's names."""

    max_running_tasks: Count = 4
    agent_task_timeout_s: Positive = 900.0
    kill_grace_period_ms: Count = 2_000
    """From TERM to KILL, for every process we end."""
    print_wait_ceiling_s: Count = 3600
    read_max_bytes: Count = 30_000
    notification_tail_lines: Count = 20
    notification_tail_chars: Count = 3_000
    wait_poll_interval_ms: Count = 500
    worker_heartbeat_interval_ms: Count = 5_000
    worker_stale_after_ms: Count = 15_000
    keep_alive_on_exit: bool = False


class Notifications(Section):
    """kimi's notification claims."""

    claim_stale_after_ms: Count = 15_000


class Service(Section):
    """A web service for tools."""

    base_url: str
    api_key: SecretStr = SecretStr("")
    custom_headers: dict[str, SecretStr] = Field(default_factory=dict)
    oauth: OAuth | None = None


class SearchService(Service):
    """A web search with an address of its own."""

    base_url: str = ""


class Services(Section):
    """Services tools can use."""

    moonshot_search: Service | None = None
    moonshot_fetch: Service | None = None
    searxng: Service | None = None
    brave: SearchService | None = None
    tavily: SearchService | None = None


class McpClient(Section):
    """Limits of calls to MCP servers."""

    tool_call_timeout_ms: Count = 60_000
    output_chars: Count = 100_000
    start_timeout_ms: Count = 60_000
    """Until a server has told its tools."""
    turn_wait_ms: Annotated[int, Field(ge=0)] = 5_000
    """How long a session's first turns wait for servers that are still starting."""
    max_restarts: Count = 5
    """Within `restart_window_s`; then a server stays failed until a new session asks for it."""
    restart_window_s: Positive = 180.0
    restart_first_wait_s: Positive = 0.5
    idle_stop_s: Positive = 600.0
    """How long a server runs on after the last session that used it."""


class Mcp(Section):
    """MCP."""

    client: McpClient = Field(default_factory=McpClient)


class LanguageServers(Section):
    """Language servers that the daemon runs for trusted projects."""

    enabled: bool = True
    idle_stop_s: Positive = 300.0
    """How long one runs on after it was last asked."""
    max_memory_mb: Annotated[int, Field(ge=64)] = 2048
    """Of one, with all that it started; it is stopped when it has more."""
    commands: dict[LanguageName, tuple[str, ...]] = Field(default_factory=dict)
    """By language, in place of what sould looks for: a program with its arguments; none at all: no server."""


class Hook(Section):
    """A command run on an event."""

    event: str
    command: str
    matcher: str = ""
    timeout: Annotated[int, Field(ge=1, le=600)] = 30


class Compaction(Section):
    """How the conversation is compacted when the window fills, and whether a person confirms it (D26, D27)."""

    strategy: Literal["simple", "smart", "hierarchical"] = "smart"
    embedding_model: str = ""
    """A model of the same provider for similarity; "" compares words."""
    confirm: Literal["never", "ask"] = "never"


class BudgetLimit(Section):
    """A ceiling in money, tokens, or both; absent means none."""

    money: Positive | None = None
    tokens: Count | None = None


class Budget(Section):
    """Ceilings at which work stops with a question (D38)."""

    session: BudgetLimit = Field(default_factory=BudgetLimit)
    day: BudgetLimit = Field(default_factory=BudgetLimit)


class DaemonSettings(Section):
    """The process itself."""

    idle_exit_s: Positive = 1800.0
    on_last_detach: Literal["continue", "cancel"] = "continue"


class SessionSettings(Section):
    """How sessions are listed."""

    titles_by_model: bool = True
    """After the first turn of a session in an editor the model is asked, with a small request, for a title."""


class AttentionSettings(Section):
    """How the user is told that something waits, when nobody is there."""

    notify: Literal["auto", "off"] | Annotated[tuple[str, ...], Field(min_length=1)] = "auto"
    """`auto`: the desktop's own notifications; or a program and its arguments, which is given JSON on its standard input."""
    after_s: Positive = 30.0
    """Seconds that it has waited, and that no client has said anything."""


class EnvironmentSettings(Section):
    """Provider keys are kept from commands and MCP servers, except the variables named here (D14)."""

    pass_keys: tuple[str, ...] = ()


FilePattern: TypeAlias = Annotated[str, Field(min_length=1)]


class SecretSettings(Section):
    """Further names of files that hold secrets: for `certain` ones you are asked always, for `likely` ones by content."""

    certain: tuple[FilePattern, ...] = ()
    likely: tuple[FilePattern, ...] = ()


def can_search(services: Services) -> bool:
    """Whether a web search service is configured."""
    return any((services.moonshot_search, services.searxng, services.brave, services.tavily))


def _none_is_absent(value: object) -> object:
    return "" if value is None else value


class Config(Section):
    """A whole configuration. A default-constructed one is valid: models then come from the environment."""

    default_model: Annotated[str, BeforeValidator(_none_is_absent)] = ""
    default_mode: ModeName | None = None
    """None: `review` for clients known to show hunks, else `ask` (D20)."""
    default_thinking: bool = False
    default_yolo: bool = False
    default_plan_mode: bool = False
    default_editor: str = ""
    theme: str = "dark"
    show_thinking_stream: bool = True
    skip_afk_prompt_injection: bool = False
    merge_all_available_skills: bool = True
    extra_skill_dirs: tuple[str, ...] = ()
    telemetry: bool = False
    models: dict[str, ModelConfig] = Field(default_factory=dict)
    providers: dict[str, ProviderConfig] = Field(default_factory=dict)
    loop_control: LoopControl = Field(default_factory=LoopControl)
    timeouts: ModelTimeouts = Field(default_factory=ModelTimeouts)
    tools: ToolLimits = Field(default_factory=ToolLimits)
    capture: CaptureLimits = Field(default_factory=CaptureLimits)
    attention: AttentionSettings = Field(default_factory=AttentionSettings)
    review: ReviewSettings = Field(default_factory=ReviewSettings)
    flows: FlowLimits = Field(default_factory=FlowLimits)
    subagents: SubagentLimits = Field(default_factory=SubagentLimits)
    background: Background = Field(default_factory=Background)
    notifications: Notifications = Field(default_factory=Notifications)
    services: Services = Field(default_factory=Services)
    mcp: Mcp = Field(default_factory=Mcp)
    languageservers: LanguageServers = Field(default_factory=LanguageServers)
    hooks: tuple[Hook, ...] = ()
    compaction: Compaction = Field(default_factory=Compaction)
    budget: Budget = Field(default_factory=Budget)
    sessions: SessionSettings = Field(default_factory=SessionSettings)
    daemon: DaemonSettings = Field(default_factory=DaemonSettings)
    environment: EnvironmentSettings = Field(default_factory=EnvironmentSettings)
    secrets: SecretSettings = Field(default_factory=SecretSettings)


NOT_USED = frozenset(
    {
        "theme",
        "show_thinking_stream",
        "telemetry",
        "notifications",
        "background.print_wait_ceiling_s",
        "background.read_max_bytes",
        "background.notification_tail_lines",
        "background.notification_tail_chars",
        "background.wait_poll_interval_ms",
        "background.worker_heartbeat_interval_ms",
        "background.worker_stale_after_ms",
        "background.keep_alive_on_exit",
    }
)
"""Keys of kimi-cli that nothing of ours reads: known, so that its file is accepted as it stands (D22)."""

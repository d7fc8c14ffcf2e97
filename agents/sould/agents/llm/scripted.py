"""The scripted model: answers from a file, one script per call, so that a workflow can be rehearsed without a key.

Used by the demo, by tests and by users. It never touches the network. `EchoProvider` reads the same lines from the last
user message. The line format is described at `parse_script`.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from sould.agents.base.text import plural
from sould.agents.llm.provider import (
    ChatRequest,
    Delta,
    DeltaStream,
    EmptyAnswerError,
    Finish,
    ModelInfo,
    ProviderConnectionError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    ScriptExhaustedError,
)
from sould.agents.llm.provider_errors import status_error_plain
from sould.agents.wire.content import (
    AudioPart,
    FunctionCall,
    ImagePart,
    MediaUrl,
    TextPart,
    ThinkPart,
    VideoPart,
    input_text,
)
from sould.agents.wire.messages import TokenUsage, ToolCall, ToolCallPart

SCRIPTS_VARIABLE = "KIMI_SCRIPTED_ECHO_SCRIPTS"

Step: TypeAlias = Delta | ProviderError | float
"""What a script does next: say something, fail, or wait so many seconds."""


class ScriptedProvider:
    """Answers a session's call n with script n of the file: every session begins with the first."""

    def __init__(self, info: ModelInfo, scripts: Path) -> None:
        self.info = replace(info, scripted=True)
        self._path = scripts
        self._scripts: list[str] | None = None
        self._played: Counter[str] = Counter()

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """Play the session's next script.

        Raises:
            ScriptExhaustedError: all scripts are played.
            ProviderProtocolError: the file or a line of it cannot be read.
        """
        if self._scripts is None:
            self._scripts = read_scripts(self._path)
        call = self._played[request.session_id]
        if call >= len(self._scripts):
            raise ScriptExhaustedError(
                f"The scripted model has {plural(len(self._scripts), 'script')} ({self._path}) and this is call {call + 1}.",
                kind="provider",
            )
        self._played[request.session_id] += 1
        steps = parse_script(self._scripts[call], f"{self._path}, script {call + 1}")
        async with aclosing(_play(steps)) as deltas:
            yield deltas


class EchoProvider:
    """Plays the script found in the last user message; a message that is no script is echoed as text."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = replace(info, scripted=True)

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """Play what the user wrote."""
        said = next((input_text(m.content) for m in reversed(request.messages) if m.role == "user"), "")
        try:
            steps: Sequence[Step] = parse_script(said, "the message")
        except ProviderProtocolError:
            steps = [TextPart(text=said), Finish("stop")] if said else [Finish("stop")]
        async with aclosing(_play(steps)) as deltas:
            yield deltas


def read_scripts(path: Path) -> list[str]:
    """The scripts of a file: a JSON array of strings, or text parted by lines of `---`.

    Raises:
        ProviderProtocolError: the file cannot be read or is neither.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderProtocolError(
            f"The scripts of the scripted model cannot be read: {path}: {error}", kind="provider"
        ) from error
    if not text.lstrip().startswith("["):
        return text.split("\n---\n")
    try:
        scripts: Any = json.loads(text)
    except ValueError as error:
        raise ProviderProtocolError(
            f"{path} begins like a JSON array but is not JSON: {error}", kind="provider"
        ) from error
    if not all(isinstance(script, str) for script in scripts):
        raise ProviderProtocolError(f"{path} must be a JSON array of strings.", kind="provider")
    return cast("list[str]", scripts)


def parse_script(script: str, where: str) -> list[Step]:
    """A script's steps, `Finish` last unless it fails before.

    One step a line, `kind: payload`; empty lines, lines with `#` or ``` and the word `echo` are skipped.

    - `text: …` and `think: …` are deltas; `line: …` is a text with a line end
    - `image_url: …`, `audio_url: …`, `video_url: …` with a URL or `{"url", "id"}`
    - `tool_call: {"id", "name", "arguments", "extras"}`, `tool_call_part: <fragment>` or `{"arguments_part", "tool_call_id"}`
    - `usage: {json}` or `usage: input_other=10 output=5`, `id: <message id>`, `finish: <reason>`
    - `error: 429 <text>`, `error: connection <text>`, `error: timeout <text>`; `wait: <seconds>`

    Raises:
        ProviderProtocolError: a line that is none of these; names it.
    """
    reader = _ScriptReader()
    for number, raw in enumerate(script.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith(("#", "```")) or line.lower() == "echo":
            continue
        kind, colon, payload = line.partition(":")
        read = reader.kinds.get(kind.strip().lower()) if colon else None
        try:
            if read is None:
                raise ValueError(f"the kinds are {', '.join(reader.kinds)}")
            read(payload.removeprefix(" "))
        except (ValueError, KeyError, TypeError) as error:
            raise ProviderProtocolError(
                f"{where}, line {number}: {line[:80]!r} is not a script line: {error}", kind="provider"
            ) from error
    return reader.finished()


LineReader: TypeAlias = Callable[[str], None]
"""Takes up what stands behind one kind of line."""


class _ScriptReader:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._usage: TokenUsage | None = None
        self._id: str | None = None
        self._finish: str | None = None
        self.kinds: dict[str, LineReader] = {
            "text": lambda text: self.steps.append(TextPart(text=text)),
            "line": lambda text: self.steps.append(TextPart(text=text + "\n")),
            "think": lambda text: self.steps.append(ThinkPart(think=text)),
            "image_url": lambda text: self.steps.append(ImagePart(image_url=_media(text))),
            "audio_url": lambda text: self.steps.append(AudioPart(audio_url=_media(text))),
            "video_url": lambda text: self.steps.append(VideoPart(video_url=_media(text))),
            "tool_call": lambda text: self.steps.append(_tool_call(text)),
            "tool_call_part": lambda text: self.steps.append(_tool_call_part(text)),
            "error": lambda text: self.steps.append(_error(text.strip())),
            "wait": lambda text: self.steps.append(float(text)),
            "usage": self._read_usage,
            "id": self._read_id,
            "finish": self._read_finish,
        }

    def finished(self) -> list[Step]:
        """The steps with their end."""
        called = any(isinstance(step, ToolCall) for step in self.steps)
        spoke = called or any(isinstance(step, TextPart) and step.text.strip() for step in self.steps)
        spoke = spoke or any(isinstance(step, ImagePart | AudioPart | VideoPart) for step in self.steps)
        reason = self._finish or ("tool_calls" if called else "stop")
        end: Step = Finish(reason, self._usage, self._id)
        if not spoke:
            end = EmptyAnswerError(
                f"The model sent an empty answer (finish_reason={reason}).", retryable=True, kind="empty"
            )
        return [*self.steps, end]

    def _read_usage(self, payload: str) -> None:
        text = payload.strip()
        if text.startswith("{"):
            self._usage = TokenUsage.model_validate_json(text)
        else:
            pairs = (pair.split("=", 1) for pair in text.replace(",", " ").split())
            self._usage = TokenUsage.model_validate({name: int(value) for name, value in pairs})

    def _read_id(self, payload: str) -> None:
        self._id = payload.strip().strip("\"'")

    def _read_finish(self, payload: str) -> None:
        self._finish = payload.strip()


def _tool_call(payload: str) -> ToolCall:
    fields: dict[str, Any] = json.loads(payload)
    function: dict[str, Any] = fields.get("function") or fields
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return ToolCall(
        id=str(fields.get("id") or ""),
        function=FunctionCall(name=function["name"], arguments=arguments),
        extras=fields.get("extras"),
    )


def _media(payload: str) -> MediaUrl:
    text = payload.strip()
    if text.startswith("{"):
        return MediaUrl.model_validate_json(text)
    if not text:
        raise ValueError("there is no URL")
    return MediaUrl(url=text.strip("\"'"))


def _tool_call_part(payload: str) -> ToolCallPart:
    try:
        fields = json.loads(payload)
    except ValueError:
        fields = None
    if isinstance(fields, dict) and "arguments_part" in fields:
        return ToolCallPart.model_validate(fields)
    return ToolCallPart(arguments_part=fields if isinstance(fields, str) else payload)


def _error(payload: str) -> ProviderError:
    what, _, text = payload.partition(" ")
    text = text.strip() or "as the script says"
    if what == "connection":
        return ProviderConnectionError(
            f"The connection to the model server failed: {text}", retryable=True, kind="connection"
        )
    if what == "timeout":
        return ProviderTimeoutError(f"The model server took too long: {text}", retryable=True, kind="connection")
    return status_error_plain(int(what), text)


async def _play(steps: Sequence[Step]) -> DeltaStream:
    for step in steps:
        if isinstance(step, ProviderError):
            raise step
        if isinstance(step, (float, int)):
            await asyncio.sleep(step)
        else:
            yield [step]

"""The scripted model: answers from a file, one script per call, so that a workflow can be rehearsed without a key.

Used by the demo, by tests and by users. It never touches the network. `EchoProvider` reads the same lines from the last
user message. The line format is in `parse_script`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

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
    ProviderStatusError,
    ProviderTimeoutError,
    ScriptExhaustedError,
)

SCRIPTS_VARIABLE = "KIMI_SCRIPTED_ECHO_SCRIPTS"


class ScriptedProvider:
    """Answers call n with script n of the file. The position is shared by all sessions that use the provider."""

    def __init__(self, info: ModelInfo, scripts: Path) -> None:
        self.info = info
        self._path = scripts

    def stream(self, request: ChatRequest):
        raise NotImplementedError
